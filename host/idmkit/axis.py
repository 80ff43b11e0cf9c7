"""One axis of a robot file: limits, geometry, drive, guards, identification run; read and checked.

SI and radians, joint-side unless the name says motor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TypeVar

from idmkit.errors import RobotFileError
from idmkit.toml_table import TomlTable

DYNAMIC_MODELS = {"revolute": (0, 1, 2, 3), "prismatic": (0, 1, 2, 3)}
"""softMC's DynamicModel numbers of single axes; 0 is no model."""

PARAMETER_NAMES = (
    "I",
    "L2",
    "MgA",
    "gL",
    "M",
    "Mgcos",
    "gcos",
    "F0",
    "k",
    "Fv",
    "Fc",
    "payload_mass",
    "payload_inertia",
)
"""Parameters for which a robot file may state a range; which of them an axis has, its model says."""
FRICTION_NAMES = ("Fv", "Fc")
"""The same for an axis of a robot with one model for all of them."""

MAX_DELAY_CYCLES = 16
MAX_NODE = 126
"""CANopen's last node, 127, is the board itself."""
MAX_ERROR_DELAY_CYCLES = 31
"""As the board can: its delay line holds 32 cycles."""
MAX_TURNS = 128.0
MAX_METRES = 128.0
MAX_SPEED = 2048.0
MAX_ACCELERATION = 131072.0
MAX_TORQUE = 32768.0
"""What an int32 of the wire's scale table can hold."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Drive:
    """One servo drive with motor and gear; motor-side torques in Nm, rated values as in 0x6075 and 0x6076.

    `bus` counts the robot's buses from 0.
    """

    node_id: int
    encoder_counts_per_turn: int
    gear_ratio: float
    travel_per_turn: float
    rated_torque: float
    rated_current: float
    peak_torque: float
    additive_torque_delay_cycles: int
    torque_error_delay_cycles: int
    position_error_delay_cycles: int
    torque_feedback_lag_cycles: float
    """The measured torque describes the time so long before that of the position beside it: half a cycle where it is
    the mean over the cycle."""
    bus: int = field(default=0, kw_only=True)

    @property
    def motor_turns_per_unit(self) -> float:
        """Motor turns for one radian or one metre of the joint, signed like the gear ratio."""
        return self.gear_ratio / self.travel_per_turn

    @property
    def counts_per_unit(self) -> float:
        """Encoder counts for one radian or metre of the joint."""
        return self.encoder_counts_per_turn * self.motor_turns_per_unit

    @property
    def joint_torque_per_motor_torque(self) -> float:
        """Joint torque (Nm) or force (N) that one Nm of motor torque makes, without losses: virtual work."""
        return 2 * math.pi * self.motor_turns_per_unit

    @property
    def joint_rated_torque(self) -> float:
        """Rated torque at the joint, Nm or N: 1000 per mille of 0x6077, 0x6078 and 0x60B2."""
        return abs(self.rated_torque * self.joint_torque_per_motor_torque)

    @property
    def joint_peak_torque(self) -> float:
        """Peak torque at the joint, Nm or N."""
        return abs(self.peak_torque * self.joint_torque_per_motor_torque)


@dataclass(frozen=True)
class Guards:
    """Limits that the board watches; torques in Nm or N, positions in rad or m.

    `torque_error_max_rest` holds instead of `torque_error_max` at rest, `torque_error_rest_cycles` after it and in a
    controlled stop (0: nowhere): there friction may be anything up to Coulomb's, and the model does not look ahead.
    """

    torque_threshold: float
    torque_error_max: float
    torque_error_max_rest: float
    torque_error_rest_cycles: int
    torque_error_filter: float
    torque_error_duration_cycles: int
    position_error_max: float


@dataclass(frozen=True)
class Settling:
    """A motion is over when |target - actual| <= `position_error` (PositionErrorSettle) for `time_s` (TimeSettle)."""

    position_error: float
    time_s: float


@dataclass(frozen=True)
class Identification:
    """The identification run: q(t) = c - A cos(2 pi f t), from rest at `start` to `target` and back.

    Samples below `velocity_threshold` are left out; with a `velocity_ceiling` (semi-static models) those above it.
    """

    start: float
    target: float
    frequency_hz: float
    duration_s: float
    cutoff_hz: float
    velocity_threshold: float
    velocity_ceiling: float | None = None

    @property
    def amplitude(self) -> float:
        """A = (target - start)/2, rad or m, signed."""
        return (self.target - self.start) / 2

    @property
    def peak_velocity(self) -> float:
        """|A| 2 pi f, rad/s or m/s."""
        return abs(self.amplitude) * 2 * math.pi * self.frequency_hz

    @property
    def peak_acceleration(self) -> float:
        """|A| (2 pi f)^2, rad/s^2 or m/s^2."""
        return self.peak_velocity * 2 * math.pi * self.frequency_hz


@dataclass(frozen=True)
class Axis:
    """One axis. Limits in rad or m and seconds; `dynamic_model` is softMC's number for this kind of joint, 0 for none.

    A robot that is known from records only needs no drive, guards and identification tables; who uses one
    that is missing gets a `RobotFileError` that says which.
    """

    name: str
    joint: str
    dynamic_model: int
    position_min: float
    position_max: float
    velocity_max: float
    acceleration_max: float
    jerk_max: float
    geometry: dict[str, float] = field(default_factory=dict)
    parameter_ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    drive_or_none: Drive | None = None
    guards_or_none: Guards | None = None
    identification_or_none: Identification | None = None
    settling_or_none: Settling | None = None
    torque_max_or_none: float | None = None

    @property
    def peak_torque(self) -> float | None:
        """Largest torque at the joint, Nm or N: the drive's, or the file's torque_max; None where it is not known."""
        return self.torque_max_or_none if self.drive_or_none is None else self.drive_or_none.joint_peak_torque

    @property
    def revolute(self) -> bool:
        """True for rad and Nm, False for m and N."""
        return self.joint == "revolute"

    @property
    def drive(self) -> Drive:
        """The drive table; RobotFileError where the file has none."""
        return self._given(self.drive_or_none, "drive")

    @property
    def guards(self) -> Guards:
        """The guards table; RobotFileError where the file has none."""
        return self._given(self.guards_or_none, "guards")

    @property
    def identification(self) -> Identification:
        """The identification table; RobotFileError where the file has none."""
        return self._given(self.identification_or_none, "identification")

    @property
    def settling(self) -> Settling:
        """The settling table; RobotFileError where the file has none."""
        return self._given(self.settling_or_none, "settling")

    def _given(self, value: _T | None, table: str) -> _T:
        if value is None:
            raise RobotFileError(
                f"axis {self.name!r} has no table [axes.{table}], which this step needs; add it to the robot file"
            )
        return value


def read_axis(
    table: TomlTable, cycle_time_s: float, *, own_model: bool = True, buses: tuple[str, ...] = ("can",)
) -> Axis:
    """Reads one [[axes]] table; `cycle_time_s` bounds what its identification run may ask for.

    `own_model`: whether the axis has a dynamic model of its own or is a part of the robot's. `buses`: the names of the
    robot's buses.
    """
    name = table.text("name")
    joint = table.text("joint", choices=tuple(DYNAMIC_MODELS))
    reach = MAX_TURNS * 2 * math.pi if joint == "revolute" else MAX_METRES
    models = DYNAMIC_MODELS[joint]
    dynamic_model = table.integer("dynamic_model", minimum=models[0], maximum=models[-1]) if own_model else 0
    position_min = table.number("position_min", minimum=-reach, maximum=reach)
    position_max = table.number("position_max", minimum=-reach, maximum=reach)
    if not position_min < position_max:
        table.fail("position_max", f"must be greater than position_min = {position_min:g}, is {position_max:g}")
    axis = Axis(
        name=name,
        joint=joint,
        dynamic_model=dynamic_model,
        position_min=position_min,
        position_max=position_max,
        velocity_max=table.number("velocity_max", above=0, maximum=MAX_SPEED),
        acceleration_max=table.number("acceleration_max", above=0, maximum=MAX_ACCELERATION),
        jerk_max=table.number("jerk_max", above=0),
        geometry=_read_geometry(table, joint),
        parameter_ranges=table.intervals("parameter_ranges", PARAMETER_NAMES if own_model else FRICTION_NAMES),
        drive_or_none=_read_drive(table.table("drive"), joint, buses) if table.has("drive") else None,
        guards_or_none=_read_guards(table.table("guards")) if table.has("guards") else None,
        settling_or_none=_read_settling(table.table("settling")) if table.has("settling") else None,
        torque_max_or_none=table.number("torque_max", above=0, maximum=MAX_TORQUE) if table.has("torque_max") else None,
    )
    if axis.drive_or_none is not None and axis.torque_max_or_none is not None:
        table.fail("torque_max", "follows from the drive's peak_torque and gear; leave it out, or the drive")
    _check_counts(table, axis)
    identification = None
    if table.has("identification"):
        identification = _read_identification(table.table("identification"), axis, cycle_time_s)
    table.finish()
    return replace(axis, identification_or_none=identification)


def _check_counts(table: TomlTable, axis: Axis) -> None:
    """Target and actual position are int32 encoder counts on the bus (0x607A, 0x6064)."""
    if axis.drive_or_none is None:
        return
    counts = max(abs(axis.position_min), abs(axis.position_max)) * abs(axis.drive_or_none.counts_per_unit)
    if counts >= 2**31:
        table.fail(
            "drive.encoder_counts_per_turn",
            f"the position limits are {counts:.3g} counts away from zero, which int32 on the bus cannot hold; "
            "narrow the limits or lower the drive's resolution",
        )


def _read_geometry(axis: TomlTable, joint: str) -> dict[str, float]:
    """What cannot be identified without payload: the crank's length (m), the tilt from the vertical (rad)."""
    if not axis.has("geometry"):
        return {}
    table = axis.table("geometry")
    result = {}
    if joint == "revolute" and table.has("crank_length"):
        result["crank_length"] = table.number("crank_length", minimum=0, maximum=100)
    if joint == "prismatic" and table.has("tilt"):
        result["tilt"] = table.number("tilt", minimum=0, maximum=math.pi / 2)
    table.finish()
    return result


def _read_drive(table: TomlTable, joint: str, buses: tuple[str, ...]) -> Drive:
    gear_ratio = table.number("gear_ratio", minimum=-10_000, maximum=10_000)
    if gear_ratio == 0:
        table.fail("gear_ratio", "must not be 0: it is the motor turns per turn behind the gear")
    if joint == "prismatic":
        travel_per_turn = table.number("travel_per_turn", above=0, maximum=10)
    else:
        travel_per_turn = 2 * math.pi
    rated_torque = table.number("rated_torque", above=0, maximum=MAX_TORQUE)
    drive = Drive(
        node_id=table.integer("node_id", minimum=1, maximum=MAX_NODE),
        bus=buses.index(table.text("bus", choices=buses)) if len(buses) > 1 else 0,
        encoder_counts_per_turn=table.integer("encoder_counts_per_turn", minimum=4, maximum=2**24),
        gear_ratio=gear_ratio,
        travel_per_turn=travel_per_turn,
        rated_torque=rated_torque,
        rated_current=table.number("rated_current", above=0),
        peak_torque=table.number("peak_torque", minimum=rated_torque, maximum=MAX_TORQUE),
        additive_torque_delay_cycles=table.integer(
            "additive_torque_delay_cycles", default=3, minimum=0, maximum=MAX_DELAY_CYCLES
        ),
        torque_error_delay_cycles=table.integer("torque_error_delay_cycles", minimum=0, maximum=MAX_ERROR_DELAY_CYCLES),
        position_error_delay_cycles=table.integer(
            "position_error_delay_cycles", minimum=0, maximum=MAX_ERROR_DELAY_CYCLES
        ),
        torque_feedback_lag_cycles=table.number("torque_feedback_lag_cycles", default=0.5, minimum=0, maximum=16),
    )
    table.finish()
    return drive


def _read_guards(table: TomlTable) -> Guards:
    torque_error_max = table.number("torque_error_max", above=0, maximum=MAX_TORQUE)
    guards = Guards(
        torque_threshold=table.number("torque_threshold", above=0, maximum=MAX_TORQUE),
        torque_error_max=torque_error_max,
        torque_error_max_rest=table.number(
            "torque_error_max_rest", default=torque_error_max, above=0, maximum=MAX_TORQUE
        ),
        torque_error_rest_cycles=table.integer("torque_error_rest_cycles", default=0, minimum=0, maximum=30),
        torque_error_filter=table.number("torque_error_filter", above=0, maximum=1),
        torque_error_duration_cycles=table.integer("torque_error_duration_cycles", minimum=1, maximum=10_000),
        position_error_max=table.number("position_error_max", above=0),
    )
    table.finish()
    return guards


def _read_settling(table: TomlTable) -> Settling:
    settling = Settling(
        position_error=table.number("position_error_settle", above=0),
        time_s=table.number("time_settle", above=0, maximum=10),
    )
    table.finish()
    return settling


def _read_identification(table: TomlTable, axis: Axis, cycle_time_s: float) -> Identification:
    low, high, nyquist = axis.position_min, axis.position_max, 0.5 / cycle_time_s
    run = Identification(
        start=table.number("start", minimum=low, maximum=high),
        target=table.number("target", minimum=low, maximum=high),
        frequency_hz=table.number("frequency_hz", above=0, maximum=nyquist),
        duration_s=table.number("duration_s", above=0, maximum=3600),
        cutoff_hz=table.number("cutoff_hz", above=0),
        velocity_threshold=table.number("velocity_threshold", minimum=0),
        velocity_ceiling=table.number("velocity_ceiling", above=0) if table.has("velocity_ceiling") else None,
    )
    if run.start == run.target:
        table.fail("target", f"must differ from start = {run.start:g}: the axis would not move")
    for name, peak, limit in (
        ("velocity_max", run.peak_velocity, axis.velocity_max),
        ("acceleration_max", run.peak_acceleration, axis.acceleration_max),
    ):
        if peak > limit:
            table.fail(
                "frequency_hz",
                f"the sine peaks at {peak:.4g}, above {name} = {limit:g}; lower it or move start and target together",
            )
    if not run.frequency_hz < run.cutoff_hz < nyquist:
        table.fail(
            "cutoff_hz",
            f"must lie between the motion's {run.frequency_hz:g} Hz and the Nyquist frequency "
            f"{nyquist:g} Hz, is {run.cutoff_hz:g}",
        )
    if run.velocity_threshold >= run.peak_velocity:
        table.fail(
            "velocity_threshold",
            f"must be below the sine's peak speed {run.peak_velocity:.4g}, or no sample is left; "
            f"is {run.velocity_threshold:g}",
        )
    if run.velocity_ceiling is not None and run.velocity_ceiling <= run.velocity_threshold:
        table.fail(
            "velocity_ceiling",
            f"must be above velocity_threshold = {run.velocity_threshold:g}, or no sample is left; "
            f"is {run.velocity_ceiling:g}",
        )
    table.finish()
    return run
