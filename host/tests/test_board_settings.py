"""From the robot file to the counts of a board."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idmkit.axis import Axis
from idmkit.board import units
from idmkit.board.parameters import parameters_of, settings_of, with_parameters
from idmkit.board.settings import axis_settings, conversion_factors, multiplier, multiply, parameter_image
from idmkit.errors import ModelError, RobotFileError
from idmkit.robot import Robot, load_robot
from idmwire import properties, scales
from idmwire.image import unpack

GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "tests" / "golden"
SMALLEST, LARGEST = 2.0**-17, 2.0**29
"""What a mantissa of 28 to 30 bits over 2^1..2^45 can express."""


@dataclasses.dataclass(frozen=True)
class OneParameter:
    key: str
    unit: str


class Doubler:
    """A compiled model whose mantissas are twice the values."""

    hash = 0xABCDEF
    parameters = (OneParameter("crank.I", "kg m^2"), OneParameter("crank.Fv", "Nm s/rad"))

    def mantissas(self, values: Mapping[str, float]) -> list[int]:
        return [round(2 * values[parameter.key]) for parameter in self.parameters]


@given(st.floats(SMALLEST, LARGEST, exclude_max=True), st.sampled_from([1, -1]))
def test_a_multiplier_is_exact_to_29_bits(factor: float, sign: int) -> None:
    try:
        mantissa, shift = multiplier(sign * factor)
    except ValueError:
        # Rounding up to 2^30 halves the mantissa, which at the upper end has nowhere to go.
        assert factor > LARGEST * (1 - 2.0**-30)
        return
    assert 1 <= shift <= 45
    assert 2**28 <= abs(mantissa) < 2**30
    # As large as possible: one bit more would not fit, or the shift is at its end.
    assert abs(mantissa) >= 2**29 or shift == 45
    assert abs(Fraction(mantissa, 2**shift) / Fraction(sign * factor) - 1) <= Fraction(1, 2**29)


@pytest.mark.parametrize(("factor", "expected"), [(1.0, (2**29, 29)), (-0.5, (-(2**29), 30)), (0.0, (0, 45)),
                                                  (1 - 2.0**-40, (2**29, 29)), (3.0, (3 << 28, 28))])  # fmt: skip
def test_multipliers_one_can_see(factor: float, expected: tuple[int, int]) -> None:
    assert multiplier(factor) == expected


@pytest.mark.parametrize(
    ("factor", "text"),
    [(LARGEST, "above the board's 5.3687"), (-1e9, "above"), (SMALLEST / 2, "below the board's 7.6"), (math.inf, "no")],
)
def test_a_factor_beyond_the_shifts_is_refused(factor: float, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        multiplier(factor)


def test_multiplying_agrees_with_the_golden_vectors() -> None:
    for row in json.loads((GOLDEN / "conversions.json").read_text(encoding="utf-8")):
        for number, result in zip(row["values"], row["results"], strict=True):
            assert multiply(number, row["mantissa"], row["shift"]) == result


@given(st.integers(-(2**31), 2**31 - 1), st.floats(1e-4, 100))
def test_multiplying_rounds_to_the_nearest(number: int, factor: float) -> None:
    mantissa, shift = multiplier(factor)
    exact = Fraction(number) * Fraction(mantissa, 2**shift)
    assert abs(multiply(number, mantissa, shift) - exact) <= Fraction(1, 2)


def convert(robot: Robot, axis: int, stem: str, number: int) -> int:
    """What the board makes of a number with the mantissas of the image."""
    image = parameter_image(robot)
    return multiply(number, image.value(f"{stem}_mantissa", axis), image.value(f"{stem}_shift", axis))


def with_axis(robot: Robot, **changes: object) -> Robot:
    return dataclasses.replace(robot, axes=(dataclasses.replace(robot.axes[0], **changes),))


def with_drive(robot: Robot, **changes: object) -> Robot:
    return with_axis(robot, drive_or_none=dataclasses.replace(robot.axes[0].drive, **changes))


@pytest.mark.parametrize("name", ["crank", "slide"])
def test_conversions_of_the_ready_robots(name: str) -> None:
    robot = load_robot(name)
    axis = robot.axes[0]
    drive = axis.drive
    # One motor turn: encoder counts, and at the joint a turn or a travel divided by the gear.
    joint = 1 / drive.gear_ratio if axis.revolute else drive.travel_per_turn / drive.gear_ratio
    position = scales.to_counts(joint, "position")
    # Rounding of the joint's own counts, then of the conversion.
    counts = convert(robot, 0, "counts", position)
    assert abs(counts - drive.encoder_counts_per_turn) <= 0.5 * conversion_factors(axis, 1e-3)["counts"] + 0.5
    assert abs(convert(robot, 0, "position", drive.encoder_counts_per_turn) - position) <= 1
    # Rated motor torque is 1000 per mille; at the joint it is its work over the joint's way.
    rated = drive.rated_torque * (2 * math.pi / (joint * (2 * math.pi if axis.revolute else 1)))
    assert rated == pytest.approx(drive.joint_rated_torque, rel=1e-12)
    torque = units.counts(rated, "torque", revolute=axis.revolute)
    assert convert(robot, 0, "offset", torque) == 1000
    # Half a count of torque, and 2^-29 of it.
    assert abs(convert(robot, 0, "feedback", 1000) - torque) <= 1
    # One unit a second for one cycle; one unit a second per second gained in a cycle.
    one = 1.0
    speed = units.counts(one, "velocity", revolute=axis.revolute)
    step = units.value(convert(robot, 0, "step", speed), "position", revolute=axis.revolute)
    half_a_count = units.value(1, "position", revolute=axis.revolute) / 2
    assert step == pytest.approx(one * robot.cycle_time_s, abs=1.01 * half_a_count)
    gained = units.counts(one * robot.cycle_time_s, "velocity", revolute=axis.revolute)
    rate = units.value(convert(robot, 0, "rate", gained), "acceleration", revolute=axis.revolute)
    # A count of velocity is 2^-20 in a cycle.
    assert rate == pytest.approx(one, abs=2.0**-20 / robot.cycle_time_s / 2 + 2.0**-14)


def test_a_gear_that_turns_the_other_way_turns_position_and_torque() -> None:
    robot = load_robot("crank")
    turned = with_drive(robot, gear_ratio=-robot.axes[0].drive.gear_ratio)
    for stem, number in (("counts", 12345), ("position", 12345), ("offset", 99999), ("feedback", 777)):
        assert abs(convert(turned, 0, stem, number) + convert(robot, 0, stem, number)) <= 1
    assert convert(turned, 0, "step", 12345) == convert(robot, 0, "step", 12345) > 0


def test_there_and_back_over_the_whole_range() -> None:
    robot = load_robot("crank")
    for number in np.linspace(-(2**30), 2**30, 101).astype(int):
        back = convert(robot, 0, "counts", convert(robot, 0, "position", int(number)))
        # Two roundings of positions that are 12.8 times finer, and twice 2^-30 relative.
        assert abs(back - number) <= 1 + abs(number) * 2.0**-29


def test_the_image_holds_what_the_robot_file_says() -> None:
    robot = load_robot("crank")
    rows = {row.name: row for row in settings_of(parameter_image(robot), ("revolute",))}
    axis = robot.axes[0]
    assert rows["dynamic_model"].value == 0
    assert rows["torque_error_enable"].value == 0
    assert rows["torque_threshold"].value == axis.guards.torque_threshold
    assert rows["torque_threshold"].softmc_name == "TorqueThreshold"
    assert rows["position_max"].value == pytest.approx(axis.position_max, abs=math.pi * 2.0**-24)
    assert (rows["position_max"].unit, rows["position_max"].axis) == ("rad", 0)
    assert (rows["heartbeat_timeout"].unit, rows["heartbeat_timeout"].axis) == ("cycle", None)
    assert rows["torque_error_filter"].value == pytest.approx(axis.guards.torque_error_filter, abs=2.0**-16)
    assert rows["stop_acceleration"].value == axis.acceleration_max
    assert rows["node_id"].value == axis.drive.node_id
    assert set(rows) == set(properties.BY_NAME)


def test_every_setting_of_an_axis_comes_from_the_robot_file() -> None:
    """What the file does not decide keeps the registry's default, and that is the whole board's alone."""
    decided = set(axis_settings(load_robot("crank"), 0, with_model=True))
    assert decided == {prop[1] for prop in properties.PROPERTIES if prop[3] == properties.AXIS}


def test_several_axes_keep_to_their_places() -> None:
    crank, slide = load_robot("crank"), load_robot("slide")
    both = dataclasses.replace(crank, axes=(crank.axes[0], slide.axes[0]))
    image = parameter_image(both)
    for name in axis_settings(crank, 0, with_model=False):
        assert image.value(name, 0) == parameter_image(crank).value(name)
        assert image.value(name, 1) == parameter_image(slide).value(name)
    rows = settings_of(image, ("revolute", "prismatic"))
    assert [row.unit for row in rows if row.name == "position_min"] == ["rad", "m"]
    assert unpack(image.pack()).values == image.values


def test_with_a_model_come_its_parameters_and_the_watch_over_its_error() -> None:
    robot, program = load_robot("crank"), Doubler()
    image = parameter_image(robot, program, {"crank.I": 3.0, "crank.Fv": 0.5}, generation=4)
    assert (image.program_hash, image.mantissas, image.engineering) == (0xABCDEF, (6, 1), (3.0, 0.5))
    assert image.value("dynamic_model") == robot.axes[0].dynamic_model
    assert image.value("torque_error_enable") == 1
    assert image.generation == 4
    named = parameters_of(unpack(image.pack()), program)
    assert [(row.name, row.value, row.unit, row.mantissa) for row in named] == [
        ("crank.I", 3.0, "kg m^2", 6), ("crank.Fv", 0.5, "Nm s/rad", 1)]  # fmt: skip


def test_parameters_are_changed_by_name() -> None:
    program = Doubler()
    image = parameter_image(load_robot("crank"), program, {"crank.I": 3.0, "crank.Fv": 0.5})
    changed = with_parameters(image, program, {"crank.Fv": 2.0})
    assert (changed.mantissas, changed.engineering) == ((6, 4), (3.0, 2.0))
    assert changed.values == image.values
    assert image.engineering == (3.0, 0.5)
    with pytest.raises(ModelError, match=r"no parameter 'Fx'; it has crank.I, crank.Fv"):
        with_parameters(image, program, {"Fx": 1.0})


def test_an_image_of_another_program_is_named() -> None:
    with pytest.raises(ModelError, match=r"compiled model 0x00000000 with 0 .* not to 0x00abcdef with 2"):
        parameters_of(parameter_image(load_robot("crank")), Doubler())


def guards_with(axis: Axis, **changes: object) -> object:
    return dataclasses.replace(axis.guards, **changes)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda r: dataclasses.replace(r, name="a-robot-of-seventeen"), r"name: 'a-robot-of-seventeen' is longer"),
        (lambda r: with_axis(r, position_max=900.0), r"axes\[0\].position_max: position of 143"),
        (lambda r: with_axis(r, acceleration_max=1e-4), r"stop_acceleration would be 2 on the board, which takes 256"),
        (lambda r: with_axis(r, guards_or_none=guards_with(r.axes[0], torque_error_max=2.0**15)),
         r"axes\[0\].guards.torque_error_max: torque of 32768 is outside"),
        (lambda r: with_axis(r, guards_or_none=guards_with(r.axes[0], torque_error_duration_cycles=5000)),
         "torque_error_duration would be 5000 on the board, which takes 1 to 1000"),
        (lambda r: with_drive(r, rated_torque=1e-10, gear_ratio=0.01),
         "conversion 'offset' cannot be set: .* above .*; check rated_torque"),
        (lambda r: with_drive(r, rated_torque=1e6), "conversion 'offset' cannot be set: .* below"),
        (lambda r: with_drive(r, encoder_counts_per_turn=4, gear_ratio=0.5),
         "conversion 'counts' cannot be set: .* below .*; check encoder_counts_per_turn"),
        (lambda r: with_drive(r, rated_torque=1e-10, gear_ratio=1e12), "'counts' cannot be set: .* above"),
    ],
)  # fmt: skip
def test_what_the_board_cannot_hold_names_file_and_field(change, text: str) -> None:
    robot = load_robot("crank")
    with pytest.raises(RobotFileError, match=text) as caught:
        parameter_image(change(robot))
    assert str(caught.value).startswith(str(robot.file))


@given(st.sampled_from(scales.SCALE_ORDER), st.floats(-100, 100), st.booleans())
def test_units_there_and_back(quantity: str, value: float, revolute: bool) -> None:
    number = units.counts(value, quantity, revolute=revolute)
    step = units.value(1, quantity, revolute=revolute)
    # Half a count, and the rounding of a double on the way to radians.
    assert abs(units.value(number, quantity, revolute=revolute) - value) <= step / 2 + 1e-13
    array = units.values(np.array([number], dtype=np.int32), quantity, revolute=revolute)
    assert array[0] == pytest.approx(units.value(number, quantity, revolute=revolute), rel=1e-15)


def test_units_have_names() -> None:
    assert units.unit("position", revolute=True) == "rad"
    assert units.unit("position", revolute=False) == "m"
    assert units.unit("torque", revolute=False) == "N"
    assert units.unit("ratio", revolute=True) == ""
    with pytest.raises(ValueError, match="is no number"):
        units.counts(math.inf, "torque", revolute=True)
