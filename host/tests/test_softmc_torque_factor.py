"""Torque units against the page's formulas, the corrected screw case and the drive scaling of the robot file."""

import json
import math

import pytest

from idmkit.cli.main import main
from idmkit.errors import IdmError
from idmkit.robot import load_robot
from idmkit.softmc.torque_factor import Mechanics, Motor, TorqueUnits, explain, units_of_axis

MKT, MICONT, MIPEAK = 0.45, 2.8, 8.4
MOTOR = Motor(MKT, MICONT, MIPEAK)


def page_factor(constant: float, micont_ma: float, gear: float = 1.0) -> float:
    """The printed formula, MICONT in mA."""
    return 1_000_000 / (constant * micont_ma * gear)


def test_rotary_and_geared_axes_are_as_printed():
    direct = TorqueUnits(MOTOR, Mechanics("rotary"), prismatic=False)
    geared = TorqueUnits(MOTOR, Mechanics("gear", 50), prismatic=False)
    assert direct.current_factor == pytest.approx(page_factor(MKT, 2800))
    assert geared.current_factor == pytest.approx(page_factor(MKT, 2800, 50))
    assert direct.unit == "Nm"


def test_a_linear_motor_is_as_printed():
    units = TorqueUnits(Motor(60.0, 3.0, linear=True), Mechanics("linear motor"), prismatic=True)
    assert units.current_factor == pytest.approx(page_factor(60.0, 3000))
    assert units.unit == "N"
    assert units.peak_threshold is None


@pytest.mark.parametrize("gear", [1.0, -3.0])
def test_a_screw_does_the_work_of_its_motor(gear):
    lead = 0.005
    units = TorqueUnits(MOTOR, Mechanics("screw", gear, lead=lead), prismatic=True)
    force = units.torque_from_current(1000)
    # One turn behind the gear: force x lead = motor torque x motor angle.
    assert force * lead == pytest.approx(MKT * MICONT * 2 * math.pi * abs(gear))
    printed = 1_000_000 * (1000 * lead) / (MKT * 2800 * abs(gear))
    assert printed / units.current_factor == pytest.approx(2000 * math.pi)


def test_a_pulley_is_a_screw_with_its_circumference_as_lead():
    pulley = TorqueUnits(MOTOR, Mechanics("pulley", 3, radius=0.02), prismatic=True)
    screw = TorqueUnits(MOTOR, Mechanics("screw", 3, lead=2 * math.pi * 0.02), prismatic=True)
    assert pulley.current_factor == pytest.approx(screw.current_factor)


def test_thresholds_and_objects_of_the_drive():
    units = TorqueUnits(MOTOR, Mechanics("gear", 50), prismatic=False)
    assert units.continuous_threshold == pytest.approx(1000 / units.current_factor)
    assert units.peak_threshold == pytest.approx(1000 * MIPEAK / (units.current_factor * MICONT))
    assert units.peak_per_mille == 3000
    assert units.torque_from_current(1000) == pytest.approx(MKT * MICONT * 50)
    assert units.offset(units.continuous_threshold) == 1000
    assert units.offset(-1e9) == -32768
    assert units.offset(1e9) == 32767


def test_a_rated_torque_of_its_own_scales_torque_objects_only():
    motor = Motor(MKT, MICONT, MIPEAK, stated_rated_torque=1.27)
    units = TorqueUnits(motor, Mechanics("gear", 10), prismatic=False)
    assert units.torque_from_torque(1000) == pytest.approx(12.7)
    assert units.torque_from_current(1000) == pytest.approx(MKT * MICONT * 10)
    assert units.offset(12.7) == 1000
    assert any("0x6076 says 1.27 Nm, +0.79 %" in line for line in explain(units))


@pytest.mark.parametrize("name", ["crank", "slide"])
def test_agrees_with_the_robot_file(name):
    axis = load_robot(name).axes[0]
    units = units_of_axis(axis)
    assert units.continuous_threshold == pytest.approx(axis.drive.joint_rated_torque)
    assert units.peak_threshold == pytest.approx(axis.drive.joint_peak_torque)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Motor(0.0, 1.0), "constant must be a positive number, is 0"),
        (lambda: Motor(0.1, 2800.0, 8.4), "both are in amperes here"),
        (lambda: Mechanics("screw"), "a screw axis needs a lead in m"),
        (lambda: Mechanics("gear", 5, lead=0.01), "a gear axis has no lead"),
        (lambda: Mechanics("gear", 0), "other than 0"),
        (lambda: Mechanics("linear motor", 2), "has no gear"),
        (lambda: TorqueUnits(Motor(1.0, 1.0, linear=True), Mechanics("gear", 2), prismatic=True), "drives its axis"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(IdmError, match=words):
        make()


def test_the_command_explains_its_number(capsys):
    assert main(["torque-factor", "--micont", "2.8", "--mkt", "0.45", "--gear", "3", "--lead", "0.005"]) == 0
    out = capsys.readouterr().out
    factor = 1000 * 0.005 / (0.45 * 2.8 * 2 * math.pi * 3)
    assert f"TorqueFactor = {factor:.6g}" in out
    assert "0.45 Nm/A x 2.8 A = 1.26 Nm" in out
    assert "6283.2 times too large" in out


def test_the_command_takes_a_robot(capsys):
    assert main(["torque-factor", "--robot", "slide", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["slide"]
    assert shown["TorqueThreshold_at_MICONT"] == pytest.approx(load_robot("slide").axes[0].drive.joint_rated_torque)


def test_the_command_says_what_it_needs(capsys):
    assert main(["torque-factor", "--micont", "2.8"]) == 1
    assert "--mkt" in capsys.readouterr().err
