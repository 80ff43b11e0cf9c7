"""Link data of machines in the [rig] table: rigid bodies of a serial arm, or arms, rods and platform of a delta."""

from __future__ import annotations

import math
from dataclasses import dataclass

from idmkit.robot import Robot
from idmkit.toml_table import TomlTable

ROUNDING = 1e-9


@dataclass(frozen=True)
class Body:
    """One link: mass (kg), centre of mass (m) and principal moments about it (kg m^2), in the frame of its joint."""

    mass: float
    centre: tuple[float, ...]
    moments: tuple[float, ...]


@dataclass(frozen=True)
class DeltaBodies:
    """A delta: one arm (mass, distance of its centre, inertia about it), one pair of rods (mass, inertia across its
    middle), the platform's mass, the inertia of what axis 4 turns. SI.
    """

    arm: tuple[float, float, float]
    rods: tuple[float, float]
    platform: float
    shaft: float


@dataclass(frozen=True)
class MachineBodies:
    """What a machine is made of. `screw`: inertia (kg m^2) of a ball screw's nut and its turns' angle per metre of
    axis 3 (rad/m), beside axis 4's own turning. `tool`: in the last link's frame (m), where a payload is carried and
    walls are met: by default the end of a two-link arm, and where the last joint stands else. A delta's is its
    platform.
    """

    links: tuple[Body, ...] = ()
    delta: DeltaBodies | None = None
    screw: tuple[float, float] = (0.0, 0.0)
    tool: tuple[float, ...] = (0.0, 0.0, 0.0)


def read_bodies(table: TomlTable, robot: Robot) -> MachineBodies:
    """Reads the link data of a robot that is one machine; raises RobotFileError."""
    if robot.model_kind == "delta":
        return MachineBodies(delta=_read_delta(table, len(robot.axes)))
    links = tuple(_read_body(entry) for entry in table.tables("bodies"))
    if len(links) != len(robot.axes):
        table.fail("bodies", f"describes {len(links)} links, the robot has {len(robot.axes)}; one [[rig.bodies]] each")
    screw = (0.0, 0.0)
    if table.has("screw_inertia"):
        if len(robot.axes) < 4:
            table.fail("screw_inertia", "couples axes 3 and 4 of a SCARA; this robot has no axis 4")
        lead = table.number("screw_lead", above=0, maximum=1)
        screw = (table.number("screw_inertia", minimum=0), 2 * math.pi / lead)
    reach = robot.machine.geometry["l2"] if robot.machine is not None and robot.machine.kind == "two_link" else 0.0
    tool = table.vector("tool", 3) if table.has("tool") else (reach, 0.0, 0.0)
    return MachineBodies(links=links, screw=screw, tool=tool)


def _read_body(table: TomlTable) -> Body:
    body = Body(
        mass=table.number("mass", above=0),
        centre=table.vector("centre", 3),
        moments=table.vector("moments", 3),
    )
    low, middle, high = sorted(body.moments)
    if low <= 0 or low + middle < high * (1 - ROUNDING):
        table.fail(
            "moments",
            f"{low:g}, {middle:g} and {high:g} belong to no body: moments are positive and none exceeds the sum of "
            "the others; move some inertia along the chain, where the sum is all that shows",
        )
    table.finish()
    return body


def _read_delta(table: TomlTable, axes: int) -> DeltaBodies:
    arm, rods, platform = (table.table(name) for name in ("arm", "rods", "platform"))
    shaft = 0.0
    if axes == 4:
        turned = table.table("shaft")
        shaft = turned.number("inertia", above=0)
        turned.finish()
    bodies = DeltaBodies(
        arm=(
            arm.number("mass", above=0),
            arm.number("centre_distance", minimum=0),
            arm.number("inertia", above=0),
        ),
        rods=(rods.number("mass", above=0), rods.number("inertia", above=0)),
        platform=platform.number("mass", above=0),
        shaft=shaft,
    )
    for part in (arm, rods, platform):
        part.finish()
    return bodies
