"""What a board holds, kept in a folder on the host, and carried over to firmware with another registry.

A backup is a folder with the date in its name: backup.json, and below files/ what stood on the board's file system
besides the firmware. Values are kept by the number and name of their property, so that they outlive the image's
layout; the images are kept as they were, too.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from idmkit.errors import IdmError, LinkError
from idmkit.files import write_text
from idmkit.link.client import Board
from idmkit.link.history import read_faults
from idmkit.link.images import read_image
from idmkit.link.refusals import Refusal
from idmwire import image, properties, scales

SCHEMA = 1
FILE = "backup.json"
PROPERTY_NUMBERS = range(1, 256)


@dataclass
class Settings:
    """An image taken apart. `values` are counts by property name, one an axis, in the scale that `exponents` gives.

    A property that this package does not know stands there as "property NUMBER", or by the name the board has for it.
    """

    robot: str
    cycle_time_us: int
    axes: int
    generation: int
    exponents: list[int]
    values: dict[str, list[int]]
    program_hash: int
    mantissas: list[int]
    engineering: list[float]
    tables: list[int] = field(default_factory=list)


@dataclass
class Backup:
    """What a board said of itself and held when the backup was taken (UTC, ISO 8601). Images are hexadecimal."""

    taken: str
    hello: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)
    images: dict[str, str] = field(default_factory=dict)
    settings: Settings | None = None
    schema: int = SCHEMA

    @property
    def unsaved(self) -> bool:
        """True where the board ran on settings that it had not stored."""
        return bool(self.status.get("applied_differs_from_stored"))

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), indent=1)


@dataclass(frozen=True)
class Migration:
    """An image for the registry of this package, and in sentences what could not be carried over as it was."""

    image: image.ParameterImage
    notes: tuple[str, ...]


def take(board: Board) -> Backup:
    """Asks a board for all it tells; a board of another schema as well. It must be disarmed."""
    status = _status(board)
    if status.get("state", "disarmed") != "disarmed":
        raise IdmError(f"the board is {status['state']}; disarm it first (`idm info PORT --clear`)")
    images = {which: _image(board, which) for which in ("applied", "stored", "previous")}
    return Backup(
        datetime.now(UTC).replace(microsecond=0).isoformat(),
        asdict(board.hello),
        status,
        board.board_statistics() if board.mismatch is None else {},
        [asdict(record) for record in read_faults(board)] if board.mismatch is None else [],
        {which: data.hex() for which, data in images.items()},
        _settings(board, images["applied"]) if images["applied"] else None,
    )


def _status(board: Board) -> dict[str, Any]:
    try:
        return asdict(board.status())
    except LinkError:
        # The layout of this answer, too, may be another one there.
        if board.mismatch is None:
            raise
        return {}


def _image(board: Board, which: str) -> bytes:
    try:
        return read_image(board, which)
    except Refusal:
        # Firmware older than this kind of image.
        return b""


def _settings(board: Board, data: bytes) -> Settings:
    """Takes an image apart; where only the board knows the order of its values, they are asked for by number."""
    head = struct.unpack_from(image.HEADER, data)
    if head[:2] != (image.MAGIC, image.LAYOUT):
        raise IdmError(f"the board's image has layout {head[1]}, this package reads {image.LAYOUT}; update the package")
    axes, parameters, tables = head[13:]
    # Parameters and tables stand at the end, whatever the registry in front of them.
    at = len(data) - 4 - 4 * tables - 12 * parameters
    if board.mismatch is None:
        values = _own_values(image.unpack(data))
    else:
        values = {_name(number): found for number in PROPERTY_NUMBERS if (found := _ask(board, number, axes))}
    return Settings(
        head[7].rstrip(b"\0").decode(errors="replace"),
        head[6],
        axes,
        head[5],
        list(board.hello.exponents),
        values,
        head[4],
        list(struct.unpack_from(f"<{parameters}i", data, at)),
        list(struct.unpack_from(f"<{parameters}d", data, at + 4 * parameters)),
        list(struct.unpack_from(f"<{tables}i", data, at + 12 * parameters)),
    )


def _own_values(contents: image.ParameterImage) -> dict[str, list[int]]:
    return {
        prop[1]: [contents.value(prop[1], axis) for axis in range(contents.n_axes if prop[3] == properties.AXIS else 1)]
        for prop in properties.PROPERTIES
    }


def _name(number: int) -> str:
    return str(properties.NAMES.get(number, f"property {number}"))


def _ask(board: Board, number: int, axes: int) -> list[int]:
    """The values of a property on all axes that it has there; none where the board does not know it."""
    found: list[int] = []
    for axis in range(axes):
        try:
            found.append(board.request("read_property", property=number, axis=axis)["value"])
        except Refusal:
            break
    return found


def keep(backup: Backup, folder: Path, files: dict[str, bytes]) -> Path:
    """Writes the backup below `folder`, in one of its own with the date in its name; gives that one."""
    stamp = backup.taken.replace("-", "").replace(":", "").replace("+0000", "Z")
    name = f"idm-backup-{backup.hello.get('board', 'board')}-{stamp}"
    place = next(
        path for number in range(1000) if not (path := folder / (f"{name}-{number}" if number else name)).exists()
    )
    try:
        for below, data in files.items():
            target = place / "files" / below
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise IdmError(f"the backup cannot be written to {place}: {problem.strerror or problem}") from problem
    # Last: a folder with this file is a whole backup.
    write_text(place / FILE, backup.text() + "\n")
    return place


def load(path: Path) -> Backup:
    """A backup, by its folder or its file; raises IdmError for anything else."""
    file = path / FILE if path.is_dir() else path
    try:
        return parse(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise IdmError(f"{file} cannot be read: {problem.strerror or problem}") from problem
    except ValueError as problem:
        raise IdmError(f"{file} is no backup of a board: {problem}") from problem


def parse(text: str) -> Backup:
    """A backup from its JSON; raises ValueError where it is none."""
    try:
        data = json.loads(text)
        if data["schema"] != SCHEMA:
            raise ValueError(f"it has schema {data['schema']!r}, this package reads {SCHEMA}")
        settings = data.pop("settings")
        return Backup(**data, settings=None if settings is None else Settings(**settings))
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"{problem}") from problem


def migrate(settings: Settings) -> Migration:
    """The settings as an image of this package's registry, values carried by name."""
    notes: list[str] = []
    steps = [theirs - ours for theirs, ours in zip(settings.exponents, scales.exponents(), strict=True)]
    shifts = dict(zip(scales.SCALE_ORDER, steps, strict=True))
    table: list[int] = []
    for prop in properties.PROPERTIES:
        name, quantity, default = prop[1], prop[4], prop[7]
        count = settings.axes if prop[3] == properties.AXIS else 1
        there = settings.values.get(name)
        if there is None:
            notes.append(f"{name} is new and takes its default {default}")
            table += [default] * count
            continue
        shift = shifts.get(quantity, 0)
        carried = [_scaled(value, shift) for value in (there * count if len(there) == 1 else there)[:count]]
        for axis, value in enumerate(carried):
            if not prop[5] <= value <= prop[6]:
                notes.append(f"{name} of axis {axis} was {value}, beyond {prop[5]} to {prop[6]}: default {default}")
                carried[axis] = default
        table += carried
    gone = {name: there for name, there in settings.values.items() if name not in properties.BY_NAME}
    notes += [f"{name} is gone; it was {there}" for name, there in gone.items()]
    program_hash, mantissas, engineering = settings.program_hash, settings.mantissas, settings.engineering
    tables = settings.tables
    if any(steps) and program_hash:
        notes.append("the scale table changed: compile the model anew and write its parameters again")
        program_hash, mantissas, engineering, tables = 0, [], [], []
        places = properties.slots(settings.axes)
        for axis in range(settings.axes):
            table[places["dynamic_model"] + axis] = 0
    contents = image.ParameterImage(
        settings.robot, settings.cycle_time_us, settings.axes, table, program_hash, tuple(mantissas),
        tuple(engineering), settings.generation, tuple(tables),
    )  # fmt: skip
    return Migration(contents, tuple(notes))


def _scaled(value: int, shift: int) -> int:
    """A value counted in units 2^shift times as large, rounded."""
    return value << shift if shift >= 0 else (value + (1 << (-shift - 1))) >> -shift
