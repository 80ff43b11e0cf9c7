"""Bench files: what stands where, read and checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from idmkit.axis import Axis
from idmkit.errors import TomlFileError
from idmkit.robot import Robot, load_robot, ready_robots
from idmkit.toml_table import TomlTable

BENCHES = Path(__file__).parent / "benches"
VIRTUAL = "rig:"
EMULATED = "qemu:"
"""The virtual rig with the firmware on a Cortex-M3 in QEMU."""
LIMITS = ("velocity_max", "acceleration_max", "jerk_max")


class BenchFileError(TomlFileError):
    """The bench file is missing, or a field in it is missing, unknown or out of range."""


@dataclass(frozen=True)
class Power:
    """Commands that switch board and drives off and on; seconds of darkness, and until the board must answer."""

    off: str
    on: str
    off_s: float
    boot_s: float


@dataclass(frozen=True)
class BenchFile:
    """One bench. `robot` has the limits of the bench; `moves` says that it may move with nobody to ask."""

    name: str
    description: str
    robot: Robot
    port: str
    dtr: bool
    moves: bool
    power: Power | None

    @property
    def virtual(self) -> bool:
        """True where the bench is made for the run."""
        return self.port in (VIRTUAL, EMULATED)

    @property
    def lacks(self) -> dict[str, str]:
        """Why tests with a marker cannot run here, by marker."""
        missing = {}
        if not self.moves:
            missing["moves_robot"] = f"bench {self.name} does not say `moves = true`"
        if not self.virtual and self.power is None:
            missing["needs_power_cycle"] = f"bench {self.name} has no [power] table"
        return missing


def load_bench(name_or_path: str) -> BenchFile:
    """Reads a bench file of hil_tests/benches by its name, or one anywhere by its path; raises BenchFileError."""
    path = BENCHES / f"{name_or_path}.toml"
    if not path.exists():
        path = Path(name_or_path)
    if not path.exists():
        known = ", ".join(sorted(file.stem for file in BENCHES.glob("*.toml")))
        raise BenchFileError(f"no such file and no bench of this name; there are {known}", file=path)
    root = TomlTable.read(path, BenchFileError)
    root.integer("schema", minimum=1, maximum=1)
    description = root.text("description")
    robot_name = root.text("robot")
    robot = load_robot(robot_name if robot_name in ready_robots() else path.parent / robot_name)
    bench = BenchFile(
        name=path.stem,
        description=description,
        robot=_limited(robot, root),
        port=root.text("port"),
        dtr=root.flag("dtr", default=True),
        moves=root.flag("moves", default=False),
        power=_power(root.table("power")) if root.has("power") else None,
    )
    root.finish()
    return bench


def _power(table: TomlTable) -> Power:
    power = Power(
        off=table.text("off"),
        on=table.text("on"),
        off_s=table.number("off_s", default=2.0, minimum=0, maximum=600),
        boot_s=table.number("boot_s", default=10.0, minimum=0, maximum=600),
    )
    table.finish()
    return power


def _limited(robot: Robot, root: TomlTable) -> Robot:
    """The robot within what its bench allows."""
    if not root.has("axes"):
        return robot
    tables = root.table("axes")
    axes = tuple(_limited_axis(axis, tables.table(axis.name)) if tables.has(axis.name) else axis for axis in robot.axes)
    tables.finish()
    return replace(robot, axes=axes)


def _limited_axis(axis: Axis, table: TomlTable) -> Axis:
    low = table.number("position_min", default=axis.position_min, minimum=axis.position_min, maximum=axis.position_max)
    high = table.number("position_max", default=axis.position_max, minimum=low, maximum=axis.position_max)
    limits = {
        name: table.number(name, default=getattr(axis, name), above=0, maximum=getattr(axis, name)) for name in LIMITS
    }
    run = axis.identification
    for field, limit, value, fits in (
        ("position_min", low, min(run.start, run.target), low <= min(run.start, run.target)),
        ("position_max", high, max(run.start, run.target), max(run.start, run.target) <= high),
        ("velocity_max", limits["velocity_max"], run.peak_velocity, run.peak_velocity <= limits["velocity_max"]),
        (
            "acceleration_max",
            limits["acceleration_max"],
            run.peak_acceleration,
            run.peak_acceleration <= limits["acceleration_max"],
        ),
    ):
        if not fits:
            table.fail(
                field,
                f"the robot file's identification run reaches {value:.4g}, this bench allows {limit:g}; "
                f"give the bench a robot file with a smaller motion",
            )
    table.finish()
    return replace(axis, position_min=low, position_max=high, **limits)
