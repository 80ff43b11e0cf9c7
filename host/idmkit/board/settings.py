"""From a robot file to the settings of a board: every property of the parameter image, in counts.

The board converts by integers only: result = (value * mantissa + 2^(shift-1)) >> shift, for a negative mantissa the
negative of what its magnitude gives. The conversions between drive counts, per mille of rated torque and the wire's
scales are computed here, once, from encoder counts, gear and rated torque; each is exact to 2^-29.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from idmkit.axis import Axis
from idmkit.board import units
from idmkit.errors import RobotFileError
from idmkit.robot import Robot
from idmwire import properties, scales
from idmwire.image import ParameterImage

MANTISSA_LIMIT = 2**30
NAME_BYTES = 16
SHIFT_MIN, SHIFT_MAX = 1, 45
MANTISSA_LEAST = 2**28
"""A smaller mantissa, rounded to a whole number, could be off by more than 2^-29."""


class CompiledParameter(Protocol):
    """A parameter of a compiled model."""

    @property
    def key(self) -> str:
        """Its name."""

    @property
    def unit(self) -> str:
        """Its SI unit."""


class CompiledModel(Protocol):
    """What the image needs of a compiled model (idmkit.fixedpoint's Program)."""

    @property
    def hash(self) -> int:
        """The program's hash, which the board reports, too."""

    @property
    def parameters(self) -> Sequence[CompiledParameter]:
        """The parameters in the order in which the board reads them."""

    def mantissas(self, values: Mapping[str, float]) -> list[int]:
        """The board's integers for SI values; raises where one is missing or outside the range compiled for."""


def multiplier(factor: float) -> tuple[int, int]:
    """(mantissa, shift) with mantissa / 2^shift = `factor` to a relative 2^-29; (0, SHIFT_MAX) for 0.

    The mantissa is as large as possible below 2^30 and the shift lies in 1..45, which the board's wide
    multiplication wants; raises ValueError for a factor that does not fit.
    """
    if factor == 0:
        return 0, SHIFT_MAX
    if not math.isfinite(factor):
        raise ValueError(f"a factor of {factor} is no number")
    # frexp: |factor| = fraction * 2^exponent with fraction in [1/2, 1), so 30 bits of it make the mantissa.
    shift = min(30 - math.frexp(factor)[1], SHIFT_MAX)
    mantissa = round(math.ldexp(factor, shift))
    if abs(mantissa) == MANTISSA_LIMIT:
        shift -= 1
        mantissa //= 2
    if shift < SHIFT_MIN:
        raise ValueError(f"a factor of {factor:g} is above the board's {2.0 ** (30 - SHIFT_MIN):g}")
    if abs(mantissa) < MANTISSA_LEAST:
        raise ValueError(f"a factor of {factor:g} is below the board's {MANTISSA_LEAST * 2.0**-SHIFT_MAX:g}")
    return mantissa, shift


def multiply(number: int, mantissa: int, shift: int) -> int:
    """What the board makes of `number`: (number * |mantissa|) / 2^shift, halves rounded up, then the sign."""
    magnitude = (number * abs(mantissa) + (1 << (shift - 1))) >> shift
    return -magnitude if mantissa < 0 else magnitude


def conversion_factors(axis: Axis, cycle_time_s: float) -> dict[str, float]:
    """The factors of one axis by the stem of their property: counts, position, offset, feedback, step, rate.

    counts    drive counts per count of position
    position  the inverse
    offset    per mille of rated torque (0x60B2) per count of joint torque, signed like the gear
    feedback  the inverse (0x6078)
    step      counts of position in a cycle per count of velocity
    rate      counts of acceleration per count of velocity gained in a cycle
    """
    drive = axis.drive
    scale = {name: 2.0 ** scales.SCALES[name][0] for name in scales.SCALE_ORDER}
    # One unit of the wire's position is a turn or a metre; the drive's figures are per radian or metre.
    position_unit = 2 * math.pi if axis.revolute else 1.0
    counts = drive.counts_per_unit * position_unit * scale["position"]
    rated = drive.rated_torque * drive.joint_torque_per_motor_torque
    offset = 1000.0 / rated * scale["torque"]
    return {
        "counts": counts,
        "position": 1 / counts,
        "offset": offset,
        "feedback": 1 / offset,
        "step": cycle_time_s / position_unit * scale["velocity"] / scale["position"],
        "rate": scale["velocity"] / cycle_time_s / scale["acceleration"],
    }


def axis_settings(robot: Robot, index: int, *, with_model: bool) -> dict[str, int]:
    """The counts of every property of axis `index` that the robot file decides; raises RobotFileError.

    Without a model there is no torque to compare with, so the torque error is not watched.
    """
    axis = robot.axes[index]
    guards = axis.guards
    place = f"axes[{index}]"
    settings = {
        "dynamic_model": robot.dynamic_model(index) if with_model else 0,
        "additive_torque_delay": axis.drive.additive_torque_delay_cycles,
        "torque_error_enable": int(with_model),
        "torque_error_delay": axis.drive.torque_error_delay_cycles,
        "torque_error_duration": guards.torque_error_duration_cycles,
        "torque_error_rest_cycles": guards.torque_error_rest_cycles,
        "position_error_delay": axis.drive.position_error_delay_cycles,
        "node_id": axis.drive.node_id,
        "bus": axis.drive.bus,
        "bitrate": robot.buses[axis.drive.bus].bitrate // 1000,
    }
    in_si = (
        ("torque_threshold", guards.torque_threshold, "guards.torque_threshold"),
        ("torque_error_max", guards.torque_error_max, "guards.torque_error_max"),
        ("torque_error_max_rest", guards.torque_error_max_rest, "guards.torque_error_max_rest"),
        ("torque_error_filter", guards.torque_error_filter, "guards.torque_error_filter"),
        ("position_min", axis.position_min, "position_min"),
        ("position_max", axis.position_max, "position_max"),
        ("position_error_max", guards.position_error_max, "guards.position_error_max"),
        ("stop_acceleration", axis.acceleration_max, "acceleration_max"),
    )
    for name, value, field in in_si:
        try:
            settings[name] = units.counts(value, properties.BY_NAME[name][4], revolute=axis.revolute)
        except ValueError as error:
            raise RobotFileError(
                f"{error}; choose a smaller value", file=robot.file, field=f"{place}.{field}"
            ) from error
    for stem, factor in conversion_factors(axis, robot.cycle_time_s).items():
        try:
            settings[f"{stem}_mantissa"], settings[f"{stem}_shift"] = multiplier(factor)
        except ValueError as error:
            raise RobotFileError(
                f"the board's conversion {stem!r} cannot be set: {error}; check {_CAUSES[stem]}",
                file=robot.file,
                field=place,
            ) from error
    _check_ranges(robot, place, settings)
    return settings


_CAUSES = {
    "counts": "encoder_counts_per_turn, gear_ratio and travel_per_turn",
    "position": "encoder_counts_per_turn, gear_ratio and travel_per_turn",
    "offset": "rated_torque, gear_ratio and travel_per_turn",
    "feedback": "rated_torque, gear_ratio and travel_per_turn",
    "step": "cycle_time_us",
    "rate": "cycle_time_us",
}


def _check_ranges(robot: Robot, place: str, settings: Mapping[str, int]) -> None:
    for name, number in settings.items():
        low, high = properties.BY_NAME[name][5:7]
        if not low <= number <= high:
            raise RobotFileError(
                f"{name} would be {number} on the board, which takes {low} to {high}", file=robot.file, field=place
            )


def parameter_image(
    robot: Robot,
    program: CompiledModel | None = None,
    values: Mapping[str, float] | None = None,
    *,
    generation: int = 0,
    tables: Sequence[int] = (),
) -> ParameterImage:
    """The image of a robot: its settings and, with a compiled model, the model's parameters in SI.

    `tables`: words of posture tables (idmkit.board.posture), which belong to the same model.

    Without a program the board runs without feed-forward (DynamicModel 0), as for the first identification.
    Raises RobotFileError for what the board cannot hold, and what the program raises for its parameters.
    """
    if len(robot.name.encode()) > NAME_BYTES:
        raise RobotFileError(
            f"{robot.name!r} is longer than the {NAME_BYTES} bytes a board keeps; shorten it",
            file=robot.file,
            field="name",
        )
    table = properties.defaults(len(robot.axes))
    places = properties.slots(len(robot.axes))
    for index in range(len(robot.axes)):
        for name, number in axis_settings(robot, index, with_model=program is not None).items():
            table[places[name] + index] = number
    table[places["torque_lead"]] = units.counts(robot.torque_lead_cycles, "ratio", revolute=True)
    mantissas: tuple[int, ...] = ()
    engineering: tuple[float, ...] = ()
    if program is not None:
        given = dict(values or {})
        mantissas = tuple(program.mantissas(given))
        engineering = tuple(float(given[parameter.key]) for parameter in program.parameters)
    return ParameterImage(
        robot.name,
        round(robot.cycle_time_s * 1e6),
        len(robot.axes),
        table,
        0 if program is None else program.hash,
        mantissas,
        engineering,
        generation,
        tuple(tables),
    )
