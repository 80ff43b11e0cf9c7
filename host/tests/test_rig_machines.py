"""Machines in MuJoCo: measured parameters follow from the link data, loops stay closed, walls are refused."""

import math
from pathlib import Path

import mujoco
import numpy as np
import pytest
from armstrong import constants, with_motors
from test_machine_files import without_axis

import idmkit
from idmkit.errors import RigError
from idmkit.rig.machine_plant import build_plant
from idmkit.rig.spec import read_rig_spec
from idmkit.rig.truth import measure
from idmkit.robot import load_robot

READY = Path(idmkit.__file__).parent / "robots"
G = 9.80665
ORACLE = 1e-10
"""Of an axis' peak torque: what model and MuJoCo's inverse dynamics may differ by."""
LOOPS = 1e-8
"""The same for a delta: its rods spin with 1e-6 of their inertia, its accelerations are differences over 1 ms."""


def plant_of(robot):
    return build_plant(robot, read_rig_spec(robot))


def measured(robot, allowed=ORACLE):
    """(parameters of the machine, everything) and that they explain MuJoCo's torques."""
    truth = measure(robot, plant_of(robot))
    for axis in robot.axes:
        assert truth[axis.name]["residual"] < allowed * axis.drive.joint_peak_torque, axis.name
    return truth[robot.name], truth


def test_the_scara_is_its_link_data():
    own, truth = measured(load_robot("scara"))
    L1, L2, m2, A2, quill, turns = 0.35, 0.25, 5.0, 0.1, 1.5, 2 * math.pi / 0.02
    nut = 2.5e-6
    # The nut, as axis 3 feels it, is part of P5 and taken from what it does not load: see the model.
    J3 = nut * turns**2
    expected = {
        "P1": 8.0 * 0.16**2 + 0.12 + 6e-5 * 80**2 + m2 * L1**2 - L1**2 * J3,
        "P2": m2 * A2**2 + 0.05 + 0.0004 - L2**2 * J3,
        "P3": 3e-5 * 50**2,
        "P4": m2 * A2 * L1 - L1 * L2 * J3,
        "P5": quill + J3,
        "P6": quill * G,
        "P7": 0.0012,
        "P8": 8e-6 * 20**2 + nut,
        "J34": nut * turns,
    }
    assert own == pytest.approx(expected, rel=1e-9)
    assert truth["j3"]["Fc"] == pytest.approx(9.0)


def test_a_scara_without_its_fourth_axis(tmp_path):
    text = without_axis((READY / "scara.toml").read_text(), 3).replace("spline = true", "spline = false")
    text = text.replace("screw_inertia", "#").replace("screw_lead", "#").replace("P7 = [", "#").replace("P8 = [", "#")
    text = text.replace("J34 = [", "#")
    before, last = text.rsplit("[[rig.bodies]]", 1)
    path = tmp_path / "robot.toml"
    path.write_text(before + last[last.index("[[rig.axes]]") :])
    own, _ = measured(load_robot(path))
    assert own["P5"] == pytest.approx(1.1)


def test_the_two_link_arm_is_its_link_data():
    own, _ = measured(load_robot("two_link"))
    M2 = 0.02 + 2.2 * 0.14**2
    expected = {"M1": 0.06 + 4.0 * 0.19**2 + 0.05 + M2 + 2.2 * 0.4**2, "M2": M2, "R": 2.2 * 0.14 * 0.4}
    assert own == pytest.approx(expected, rel=1e-9)


def test_the_puma_has_armstrongs_constants():
    """Explicit model, formulas over the link data and MuJoCo with masses shifted on link 3: one arm."""
    own, _ = measured(load_robot("puma"))
    expected = with_motors(constants(G))
    # Rotors stand in the file motor-side with six digits.
    assert own == pytest.approx(expected, rel=3e-6, abs=1e-11)


def test_the_delta_is_its_link_data():
    own, _ = measured(load_robot("delta"), LOOPS)
    rotor = 1.3e-4 * 20**2
    expected = {"Theta_AB": 0.009 + 1.1 * 0.11**2 + rotor, "gLM": 1.1 * 0.11 * G, "Theta_BC": 0.0148, "M_P": 0.85}
    assert own == pytest.approx(expected, rel=1e-6)


def test_a_delta_with_a_telescopic_shaft(tmp_path):
    text = (READY / "delta.toml").read_text()
    start, end = text.index("[[axes]]"), text.index("\n# What the virtual robot")
    fourth = text[start:end].split("[[axes]]")[3].replace('"j3"', '"j4"').replace("node_id = 3", "node_id = 4")
    text = text[:end] + "\n[[axes]]" + fourth + text[end:] + "\n[[rig.axes]]" + text.rsplit("[[rig.axes]]", 1)[1]
    text = text.replace("[rig.platform]", "[rig.shaft]\ninertia = 0.002\n\n[rig.platform]")
    path = tmp_path / "robot.toml"
    path.write_text(text)
    own, _ = measured(load_robot(path), LOOPS)
    assert own["Theta_Tphi"] == pytest.approx(0.002 + 1.3e-4 * 20**2)
    assert own["M_P"] == pytest.approx(0.85, rel=1e-6)


def test_the_loops_of_the_delta_stay_closed_in_motion():
    plant = plant_of(load_robot("delta"))
    for index in range(3):
        plant.set_brake(index, False)
    worst = 0.0
    for step in range(2000):
        plant.force[:] = 12 * np.sin(step * 0.00025 * 2 * np.pi * np.array([3.0, 4.1, 5.3]))
        plant.step()
        mujoco.mj_kinematics(plant.model, plant.data)
        gaps = [plant.data.site(f"rod{k}").xpos - plant.data.site(f"end{k}").xpos for k in range(3)]
        worst = max(worst, float(np.abs(gaps).max()))
    assert np.abs(plant.speed).max() > 1.0
    # Measured: 0.3 um at these accelerations.
    assert worst < 1e-6


def test_a_drive_finds_the_inertia_of_all_that_moves_with_it():
    delta = plant_of(load_robot("delta"))
    alone = 0.009 + 1.1 * 0.11**2 + 1.3e-4 * 20**2
    assert delta.inertia(0) > alone + 0.85 * 0.3**2 / 9
    assert delta.inertia(0) == pytest.approx(delta.inertia(2), rel=1e-6)


def test_a_tip_that_turns_on_the_spot_meets_no_wall():
    plant = plant_of(load_robot("scara"))
    with pytest.raises(RigError, match="axis 3 turns the robot's tip on the spot"):
        plant.place_wall(3, 0.3)


def test_arms_of_a_delta_that_rods_cannot_join(tmp_path):
    path = tmp_path / "robot.toml"
    text = (READY / "delta.toml").read_text()
    path.write_text(text.replace("R_A = 0.2", "R_A = 0.02").replace("l_B = 0.8", "l_B = 0.28"))
    plant = plant_of(load_robot(path))
    with pytest.raises(RigError, match=r"rods do not meet at arm angles \[-1.5, 1.5, 1.5\] rad"):
        plant.torques(plant.released_copy(), np.array([[-1.5, 1.5, 1.5]]), np.zeros((1, 3)), np.zeros((1, 3)))
