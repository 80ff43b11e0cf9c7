"""A delta with its stiffness, masses and workspace, from its robot file."""

from __future__ import annotations

from dataclasses import dataclass

from idmkit.errors import RobotFileError
from idmkit.robot import Robot
from idmkit.stiffness.resonance import Compliant


@dataclass(frozen=True)
class Workspace:
    """What a map shows: arms between two angles (rad), platform within a radius and between two heights (m)."""

    angle_min: float
    angle_max: float
    radius: float
    z_min: float
    z_max: float


@dataclass(frozen=True)
class SoftDelta:
    """A delta that gives way; `platform_mass` kg with payload. `rod_force_max` (Fr_max, N): None where not given."""

    name: str
    robot: Compliant
    platform_mass: float
    gravity: float
    excitation_ratio: float
    rod_force_max: float | None
    workspace: Workspace


def soft_delta(robot: Robot) -> SoftDelta:
    """The delta of a robot file; raises RobotFileError for another robot, and where [model.stiffness] is missing."""
    machine = robot.machine
    if machine is None or machine.kind != "delta":
        raise RobotFileError(
            f"robot {robot.name!r} is no delta ([model] kind = {robot.model_kind!r}); only a delta has this stiffness",
            file=robot.file,
        )
    found = machine.stiffness
    if found is None:
        raise RobotFileError(
            "has no table [model.stiffness]; it says c_q, c_r, R_ext, M_P and the workspace (see docs/stiffness.md)",
            file=robot.file,
        )
    arms = robot.axes[:3]
    workspace = Workspace(
        angle_min=max(arm.position_min for arm in arms),
        angle_max=min(arm.position_max for arm in arms),
        radius=found.radius,
        z_min=found.z_min,
        z_max=found.z_max,
    )
    mass = found.platform_mass + found.rods_mass
    body = Compliant(machine.delta_geometry, found.c_q, found.c_r, mass)
    return SoftDelta(
        name=robot.name,
        robot=body,
        platform_mass=found.platform_mass,
        gravity=robot.gravity,
        excitation_ratio=found.excitation_ratio,
        rod_force_max=found.rod_force_max,
        workspace=workspace,
    )
