"""The file that says what a delta's stiffness is computed from. SI; names are the sources' symbols."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from idmkit.dynamics.delta import DeltaGeometry
from idmkit.errors import ModelError, TomlFileError
from idmkit.robot import load_robot
from idmkit.stiffness.resonance import Compliant
from idmkit.toml_table import TomlTable


class DeltaFileError(TomlFileError):
    """The file of a delta's stiffness is missing, is not TOML, or a field in it is missing, unknown or out of range."""


@dataclass(frozen=True)
class Workspace:
    """What a map shows: arms between two angles (rad), platform within a radius and between two heights (m)."""

    angle_min: float
    angle_max: float
    radius: float
    z_min: float
    z_max: float


@dataclass(frozen=True)
class DeltaFile:
    """A delta, read and checked. `rod_force_max` (Fr_max, N) is None where it is not given."""

    name: str
    robot: Compliant
    platform_mass: float
    excitation_ratio: float
    rod_force_max: float | None
    workspace: Workspace


def load_delta(path: Path) -> DeltaFile:
    """Reads a file; raises DeltaFileError that names file, line and field."""
    root = TomlTable.read(path, DeltaFileError)
    root.integer("schema", minimum=1, maximum=1)
    name = root.text("name")
    geometry, angles = _geometry(root, path.parent)
    table = root.table("stiffness")
    c_q, c_r = table.number("c_q", above=0), table.number("c_r", above=0)
    table.finish()
    table = root.table("mass")
    payload = table.number("payload", default=0.0, minimum=0)
    platform = table.number("M_P", above=0) + payload
    mass = platform + table.number("M_BC", minimum=0)
    table.finish()
    table = root.table("excitation")
    ratio = table.number("R_ext", above=0, maximum=1)
    force = table.number("Fr_max", above=0) if table.has("Fr_max") else None
    table.finish()
    workspace = _workspace(root, angles)
    root.finish()
    return DeltaFile(name, Compliant(geometry, c_q, c_r, mass), platform, ratio, force, workspace)


def _geometry(root: TomlTable, folder: Path) -> tuple[DeltaGeometry, tuple[float, float] | None]:
    """The four lengths, written here or in a robot file; and the arms' limits, where a robot file says them."""
    table = root.table("geometry")
    if table.has("robot"):
        name = table.text("robot")
        robot = load_robot(folder / name if name.endswith(".toml") else name)
        if robot.machine is None or robot.machine.kind != "delta":
            table.fail("robot", f"robot {robot.name!r} is no delta; give the robot file of one")
        table.finish()
        arms = robot.axes[:3]
        limits = (max(arm.position_min for arm in arms), min(arm.position_max for arm in arms))
        return robot.machine.delta_geometry, limits
    lengths = [table.number(name, above=0) for name in ("R_A", "R_P", "l_A", "l_B")]
    table.finish()
    try:
        return DeltaGeometry(*lengths), None
    except ModelError as problem:
        table.fail("", str(problem))


def _workspace(root: TomlTable, angles: tuple[float, float] | None) -> Workspace:
    table = root.table("workspace")
    low, high = angles or (None, None)
    found = Workspace(
        angle_min=table.number("angle_min", default=low, minimum=-math.pi, maximum=math.pi),
        angle_max=table.number("angle_max", default=high, minimum=-math.pi, maximum=math.pi),
        radius=table.number("radius", above=0),
        z_min=table.number("z_min"),
        z_max=table.number("z_max"),
    )
    table.finish()
    if not (found.angle_min < found.angle_max and found.z_min < found.z_max):
        table.fail("", "angle_min must be below angle_max, and z_min below z_max")
    return found
