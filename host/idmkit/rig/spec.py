"""What the virtual plant and its drives are built from: the [rig] table of a robot file.

Masses, inertias and friction are joint-side SI (kg, kg m2, Nm or N, per rad/s or m/s); the rotor's inertia is
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
    """

    link_mass: float
    centre_distance: float
    link_inertia: float
    rotor_inertia: float
    coulomb_friction: float
    viscous_friction: float
    tilt_deg: float
    start_position: float
    brake_torque: float
    speed_loop_hz: float
    position_gain: float
    integral_time_s: float
    speed_filter_s: float
    current_lag_s: float
    setpoint_buffer_cycles: int
    quick_stop_deceleration: float
    torque_noise: float


@dataclass(frozen=True)
class RigSpec:
    """The [rig] table: one entry an axis, in the order of the robot's axes, and the bodies of a machine."""

    axes: tuple[RigAxis, ...]
    substeps: int
    bodies: MachineBodies = field(default_factory=MachineBodies)


def read_rig_spec(robot: Robot) -> RigSpec:
    """Reads and checks the [rig] table of `robot`; raises RobotFileError."""
    table = _rig_table(robot)
    entries = table.tables("axes")
    if len(entries) != len(robot.axes):
        table.fail("axes", f"describes {len(entries)} axes, the robot has {len(robot.axes)}; one [[rig.axes]] for each")
    alone = robot.machine is None
    axes = tuple(_read_axis(entry, axis, alone) for entry, axis in zip(entries, robot.axes, strict=True))
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
    result = RigAxis(
        link_mass=table.number("link_mass", above=0) if alone else 0.0,
        centre_distance=table.number("centre_distance", minimum=0) if crank else 0.0,
        link_inertia=table.number("link_inertia", above=0) if crank else 0.0,
        rotor_inertia=table.number("rotor_inertia", default=0.0, minimum=0),
        coulomb_friction=table.number("coulomb_friction", default=0.0, minimum=0),
        viscous_friction=table.number("viscous_friction", default=0.0, minimum=0),
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
        quick_stop_deceleration=table.number("quick_stop_deceleration", default=axis.acceleration_max, above=0),
        torque_noise=table.number("torque_noise", default=0.0, minimum=0),
    )
    table.finish()
    return result
