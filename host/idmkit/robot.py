"""The robot file: one TOML file for model choice, compile ranges, excitation, drive scaling, guards and rig.

SI and radians. Positions, speeds and torques are joint-side unless the name says motor. Everything is checked
while it is read; `RobotFileError` names the file, the line and the field.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idmkit import canbus
from idmkit.axis import Axis, Drive, Guards, Identification, read_axis
from idmkit.errors import ModelError, RobotFileError
from idmkit.toml_table import TomlTable

if TYPE_CHECKING:
    from idmkit.dynamics.load import SerialModel
    from idmkit.machine import Machine

__all__ = ["Axis", "Bus", "Drive", "Guards", "Identification", "Robot", "load_robot", "ready_robots"]

SCHEMA = 1
STANDARD_GRAVITY = 9.80665
READY_FOLDER = Path(__file__).parent / "robots"

MODEL_KINDS = ("axes", "scara", "delta", "puma", "two_link", "serial")
MAX_BUSES = 8


@dataclass(frozen=True)
class Bus:
    """A field bus to drives: kind "can", bitrate in bit/s."""

    name: str
    kind: str
    bitrate: int


@dataclass(frozen=True)
class Robot:
    """A robot file, read and checked. `rig` is the table from which the virtual plant is built, unread.

    `machine` is the model of a robot with one model for all its axes, `serial` that of an arm given by its geometry;
    both are None where each axis has its own model.
    `torque_lead_cycles` in [0, 1]: how far ahead of the command the board evaluates the model, beside the whole
    cycles of AdditiveTorqueDelay.
    """

    name: str
    description: str
    gravity: float
    cycle_time_s: float
    model_kind: str
    buses: tuple[Bus, ...]
    axes: tuple[Axis, ...]
    rig: dict[str, Any]
    file: Path
    machine: Machine | None = None
    torque_lead_cycles: float = 0.0
    serial: SerialModel | None = field(default=None, compare=False)

    def dynamic_model(self, index: int) -> int:
        """DynamicModel of axis `index`: its own, or the number of the model that all axes share."""
        return self.axes[index].dynamic_model if self.machine is None else self.machine.number

    def axes_on(self, bus: int) -> int:
        """How many axes have their drive on a bus."""
        return sum(axis.drive_or_none is not None and axis.drive_or_none.bus == bus for axis in self.axes)

    def bus_load(self, bus: int) -> float:
        """Share of a cycle that a bus is busy: one command and one answer an axis, and the SYNC."""
        return canbus.load(self.axes_on(bus), self.buses[bus].bitrate, self.cycle_time_s)


def ready_robots() -> tuple[str, ...]:
    """Names of the robot files that come with the package."""
    return tuple(sorted(path.stem for path in READY_FOLDER.glob("*.toml")))


def load_robot(path_or_ready_name: str | Path) -> Robot:
    """Reads a robot file, or a ready one by its name ("crank"); raises RobotFileError."""
    text = str(path_or_ready_name)
    if text in ready_robots():
        path = READY_FOLDER / f"{text}.toml"
    else:
        path = Path(path_or_ready_name)
        if not path.exists():
            raise RobotFileError(
                f"no such file and no ready robot of this name; ready are {', '.join(ready_robots())}",
                file=path,
            )
    root = TomlTable.read(path, RobotFileError)
    root.integer("schema", minimum=SCHEMA, maximum=SCHEMA)
    name = root.text("name")
    description = root.text("description", default="")
    gravity = root.number("gravity", default=STANDARD_GRAVITY, minimum=0, maximum=30)
    cycle_time_s = root.integer("cycle_time_us", minimum=100, maximum=20_000) * 1e-6
    torque_lead_cycles = root.number("torque_lead_cycles", default=0.0, minimum=0, maximum=1)
    model = root.table("model")
    model_kind = model.text("kind", choices=MODEL_KINDS)
    buses = _read_buses(root)
    names = tuple(bus.name for bus in buses)
    axes = tuple(
        read_axis(table, cycle_time_s, own_model=model_kind == "axes", buses=names) for table in root.tables("axes")
    )
    machine = serial = None
    if model_kind == "serial":
        serial = _read_serial(model, path.parent, axes, gravity)
    elif model_kind != "axes":
        # Reading a machine builds its model, which takes a third of a second to import; most robots need none here.
        from idmkit.machine import read_machine

        machine = read_machine(model, model_kind, [(axis.name, axis.joint) for axis in axes], gravity)
    model.finish()
    rig = root.raw("rig")
    root.finish()
    about = name, description, gravity, cycle_time_s, model_kind
    robot = Robot(*about, buses, axes, rig, path, machine, torque_lead_cycles, serial)
    _check_together(robot, root)
    return robot


def _read_serial(model: TomlTable, folder: Path, axes: tuple[Axis, ...], gravity: float) -> SerialModel:
    # As with machines, most robots need no rigid-body dynamics here.
    from idmkit.dynamics.load import read_serial_model

    table = model.everything()
    try:
        return read_serial_model(table, folder, [(axis.name, axis.joint) for axis in axes], gravity)
    except ModelError as problem:
        field, _, text = str(problem).partition(": ")
        named = field in table or field in ("gravity_direction", "urdf")
        model.fail(field if named else "", text if named else str(problem))


def _read_buses(root: TomlTable) -> tuple[Bus, ...]:
    """One [bus], or [[buses]] with a name each, which drives then choose from; by default a bus of 1 Mbit/s."""
    if root.has("buses"):
        if root.has("bus"):
            root.fail("bus", "stands beside [[buses]]; describe all buses in one place")
        tables = root.tables("buses")
        if not 1 <= len(tables) <= MAX_BUSES:
            root.fail("buses", f"names {len(tables)} buses; a board has 1 to {MAX_BUSES}")
        buses = tuple(_read_bus(table, table.text("name")) for table in tables)
        names = [bus.name for bus in buses]
        for index, name in enumerate(names):
            if name in names[:index]:
                root.fail("buses", f"name {name!r} is used by two buses; each needs its own")
        return buses
    if root.has("bus"):
        return (_read_bus(root.table("bus"), "can"),)
    return (Bus("can", "can", 1_000_000),)


def _read_bus(table: TomlTable, name: str) -> Bus:
    bitrates = canbus.BITRATES
    bus = Bus(
        name,
        table.text("kind", choices=("can",)),
        table.integer("bitrate", minimum=bitrates[0], maximum=bitrates[-1]),
    )
    if bus.bitrate not in bitrates:
        table.fail("bitrate", f"is {bus.bitrate}; CAN buses run at {', '.join(map(str, bitrates))} bit/s")
    table.finish()
    return bus


def _check_together(robot: Robot, root: TomlTable) -> None:
    names = [axis.name for axis in robot.axes]
    drives = [axis.drive_or_none for axis in robot.axes if axis.drive_or_none]
    unique: list[tuple[str, list[object]]] = [("name", list(names))]
    unique += [
        ("drive.node_id", [drive.node_id for drive in drives if drive.bus == number])
        for number in range(len(robot.buses))
    ]
    for what, values in unique:
        for index, value in enumerate(values):
            if value in values[:index]:
                root.fail("axes", f"{what} {value!r} is used by two axes; each needs its own")
    for number, bus in enumerate(robot.buses):
        count = robot.axes_on(number)
        if count and robot.bus_load(number) > canbus.MAX_LOAD:
            root.fail(
                "buses" if root.has("buses") else "bus",
                f"{bus.name!r}: {canbus.explain(count, bus.bitrate, robot.cycle_time_s)}, above "
                f"{100 * canbus.MAX_LOAD:.0f} %; lengthen cycle_time_us, raise the bitrate or put axes on another bus",
            )
