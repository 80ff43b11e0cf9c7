"""What the virtual plant and its drives are built from: the [rig] table of a robot file.

Masses, inertias, friction and ripple are joint-side SI (kg, kg m2, Nm or N, per rad/s or m/s); the rotor's inertia is
motor-side. Angles carry their unit in the name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from idmkit.axis import Axis
from idmkit.errors import RobotFileError
from idmkit.rig.bodies import MachineBodies, read_bodies
from idmkit.robot import Robot
from idmkit.toml_table import TomlTable

SUBSTEP_S = 0.00025
"""Period of the drives' control loops and time step of the physics, s."""


@dataclass(frozen=True)
class RigAxis:
    """The plant and the drive's loops of one axis.

    Revolute: a link of `link_mass` whose centre lies `centre_distance` from the axis and whose inertia about
    that centre is `link_inertia`; position 0 points up. `tilt_deg` is the angle between the vertical and the plane
    of motion, or the line of travel. These four are 0 where the axis is part of a machine.

    `breakaway_friction` falls to `coulomb_friction` with exp(-(speed / stribeck_speed)^2). `torque_ripple` is the
    amplitude of a torque that the motor makes `ripple_periods` times in a turn, whatever its current.
    `gear_resonance_hz`, 0 for a stiff gear: where the link swings on its gear at the start position while all motors
    are held. `end_stops`: between them the link moves. `coupled` (inertia, viscous and Coulomb friction, behind the
    motor's own gear): what a motor that turns with several joints has beside the rotor and friction of its own joint.
    """

    link_mass: float
    centre_distance: float
    link_inertia: float
    rotor_inertia: float
    coulomb_friction: float
    viscous_friction: float
    breakaway_friction: float
    stribeck_speed: float
    torque_ripple: float
    ripple_periods: int
    gear_resonance_hz: float
    gear_damping_ratio: float
    end_stops: tuple[float, float]
    coupled: tuple[float, float, float]
    tilt_deg: float
    start_position: float
    brake_torque: float
    speed_loop_hz: float
    position_gain: float
    integral_time_s: float
    speed_filter_s: float
    current_lag_s: float
    setpoint_buffer_cycles: int
    torque_buffer_cycles: int
    quick_stop_deceleration: float
    torque_noise: float


@dataclass(frozen=True)
class RigSpec:
    """The [rig] table: one entry an axis, in the order of the robot's axes, and the bodies of a machine."""

    axes: tuple[RigAxis, ...]
    substeps: int
    bodies: MachineBodies = field(default_factory=MachineBodies)

    @property
    def elastic(self) -> bool:
        """Whether the gears give way."""
        return any(axis.gear_resonance_hz for axis in self.axes)


def read_rig_spec(robot: Robot) -> RigSpec:
    """Reads and checks the [rig] table of `robot`; raises RobotFileError."""
    table = _rig_table(robot)
    entries = table.tables("axes")
    if len(entries) != len(robot.axes):
        table.fail("axes", f"describes {len(entries)} axes, the robot has {len(robot.axes)}; one [[rig.axes]] for each")
    alone = robot.model_kind == "axes"
    axes = tuple(_read_axis(entry, axis, alone) for entry, axis in zip(entries, robot.axes, strict=True))
    if len({axis.gear_resonance_hz > 0 for axis in axes}) > 1:
        table.fail("axes", "has stiff and elastic gears; give gear_resonance_hz for every axis, or for none")
    _check_coupled(table, axes, robot)
    bodies = MachineBodies() if alone else read_bodies(table, robot)
    table.finish()
    substeps = round(robot.cycle_time_s / SUBSTEP_S)
    if substeps < 1 or abs(substeps * SUBSTEP_S - robot.cycle_time_s) > 1e-9:
        raise RobotFileError(
            f"cycle_time_us is {robot.cycle_time_s * 1e6:.0f}; the virtual rig needs a multiple of "
            f"{SUBSTEP_S * 1e6:.0f} us",
            file=robot.file,
            field="cycle_time_us",
        )
    return RigSpec(axes, substeps, bodies)


def _rig_table(robot: Robot) -> TomlTable:
    """The table with its lines in the file; without lines where the robot was altered after reading."""
    if not robot.rig:
        raise RobotFileError(
            "is missing; without masses, friction and drive loops there is no virtual robot: add [[rig.axes]]",
            file=robot.file,
            field="rig",
        )
    root = TomlTable.read(robot.file, RobotFileError)
    if root.raw("rig") == robot.rig:
        return root.table("rig")
    return TomlTable(robot.rig, "rig", str(robot.file), {}, RobotFileError)


def _read_axis(table: TomlTable, axis: Axis, alone: bool) -> RigAxis:
    crank = alone and axis.revolute
    speed_loop_hz = table.number("speed_loop_hz", default=25.0, above=0, maximum=200)
    bandwidth = 2 * math.pi * speed_loop_hz
    coulomb = table.number("coulomb_friction", default=0.0, minimum=0)
    result = RigAxis(
        link_mass=table.number("link_mass", above=0) if alone else 0.0,
        centre_distance=table.number("centre_distance", minimum=0) if crank else 0.0,
        link_inertia=table.number("link_inertia", above=0) if crank else 0.0,
        rotor_inertia=table.number("rotor_inertia", default=0.0, minimum=0),
        coulomb_friction=coulomb,
        viscous_friction=table.number("viscous_friction", default=0.0, minimum=0),
        breakaway_friction=table.number("breakaway_friction", default=coulomb, minimum=coulomb),
        stribeck_speed=table.number("stribeck_speed", default=0.01 * axis.velocity_max, above=0),
        torque_ripple=table.number("torque_ripple", default=0.0, minimum=0),
        ripple_periods=table.integer("ripple_periods", default=1, minimum=1, maximum=1000),
        gear_resonance_hz=table.number("gear_resonance_hz", default=0.0, minimum=0, maximum=200),
        gear_damping_ratio=table.number("gear_damping_ratio", default=0.02, minimum=0, maximum=1),
        end_stops=_read_end_stops(table, axis),
        coupled=(
            table.number("coupled_inertia", default=0.0, minimum=0),
            table.number("coupled_viscous_friction", default=0.0, minimum=0),
            table.number("coupled_coulomb_friction", default=0.0, minimum=0),
        ),
        tilt_deg=table.number("tilt_deg", default=0.0, minimum=0, maximum=90) if alone else 0.0,
        start_position=table.number(
            "start_position", default=0.0, minimum=axis.position_min, maximum=axis.position_max
        ),
        brake_torque=table.number("brake_torque", default=3 * axis.drive.joint_peak_torque, minimum=0),
        speed_loop_hz=speed_loop_hz,
        position_gain=table.number("position_gain", default=0.4 * bandwidth, above=0),
        integral_time_s=table.number("integral_time_s", default=2 / bandwidth, above=0),
        speed_filter_s=table.number("speed_filter_s", default=0.0003, above=0),
        current_lag_s=table.number("current_lag_s", default=0.0005, above=0),
        setpoint_buffer_cycles=table.integer("setpoint_buffer_cycles", default=2, minimum=0, maximum=16),
        torque_buffer_cycles=table.integer("torque_buffer_cycles", default=0, minimum=0, maximum=16),
        quick_stop_deceleration=table.number("quick_stop_deceleration", default=axis.acceleration_max, above=0),
        torque_noise=table.number("torque_noise", default=0.0, minimum=0),
    )
    table.finish()
    return result


def _check_coupled(table: TomlTable, axes: tuple[RigAxis, ...], robot: Robot) -> None:
    motors = None if robot.serial is None else robot.serial.motors
    for index, axis in enumerate(axes):
        if any(axis.coupled) and (motors is None or index not in motors.coupled):
            table.fail(
                f"axes[{index}]",
                f"has coupled_... of a motor that turns several joints; the motor of {robot.axes[index].name!r} turns "
                f"one: use rotor_inertia, viscous_friction and coulomb_friction, or give [model] a joint_motor matrix",
            )


def _read_end_stops(table: TomlTable, axis: Axis) -> tuple[float, float]:
    """Positions between which the link moves; without them it is free."""
    if not table.has("end_stops"):
        return -math.inf, math.inf
    low, high = table.vector("end_stops", 2)
    if not low <= axis.position_min < axis.position_max <= high:
        table.fail(
            "end_stops",
            f"are {low:g} and {high:g}, inside of what the axis may do, {axis.position_min:g} to "
            f"{axis.position_max:g}; an end stop lies behind position_min or position_max",
        )
    return low, high
