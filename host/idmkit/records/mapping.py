"""The mapping file: a TOML file that says what the columns of a recorded table mean.

Nothing is guessed: quantity, unit, sign, axis and side of every column are declared here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from idmkit.errors import MappingFileError, RecordError
from idmkit.records.quantities import UNITS, to_si
from idmkit.records.record import Provenance, Samples
from idmkit.toml_table import TomlTable

SCHEMA = 1
MAX_POWERS = 3
"""Of a drive map: i, i^3, i^5."""
_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": None}


@dataclass(frozen=True)
class Column:
    """One column: joint value = coupling(drive_map(factor * cell)) + offset, in the SI unit `unit`.

    `drive_map`: k1, k3, k5 of torque = k1 i + k3 i^3 + k5 i^5 for a torque in amperes, (1.0,) for all else. `file` is
    the stem of the table that has the column ("" = whichever has it). `side` "motor" asks for the joint-motor matrix.
    `delay_s` as in `Channel`.
    """

    column: str
    file: str
    axis: str
    name: str
    quantity: str
    unit: str
    factor: float
    offset: float
    side: str
    delay_s: float
    drive_map: tuple[float, ...] = (1.0,)

    def value(self, cells: Samples) -> Samples:
        """Cells as the column's own side has them, before coupling and offset."""
        x = self.factor * cells
        return np.asarray(sum(k * x ** (2 * j + 1) for j, k in enumerate(self.drive_map)))


@dataclass(frozen=True)
class Mapping:
    """A mapping file, read and checked. `time_column` is "" where the table has a fixed rate.

    `joint_motor` [n, n] over `motor_axes`: motor positions = joint_motor @ joint positions, so
    joint torques = joint_motor.T @ motor torques.
    """

    file: Path
    delimiter: str | None
    time_column: str
    time_factor: float
    sample_rate_hz: float | None
    columns: tuple[Column, ...]
    motor_axes: tuple[str, ...]
    joint_motor: Samples
    provenance: Provenance


def load_mapping(path: Path) -> Mapping:
    """Reads a mapping file; raises MappingFileError with file, line and field."""
    root = TomlTable.read(path, MappingFileError)
    root.integer("schema", minimum=SCHEMA, maximum=SCHEMA)
    delimiter = _DELIMITERS[root.text("delimiter", default="comma", choices=tuple(_DELIMITERS))]
    time_column, time_factor, rate = _read_time(root)
    motor_axes, joint_motor = _read_joint_motor(root)
    provenance = _read_provenance(root)
    tables = root.tables("channels")
    columns = tuple(_read_column(table, motor_axes) for table in tables)
    for index, column in enumerate(columns):
        for other in columns[:index]:
            if (column.axis, column.name) == (other.axis, other.name):
                tables[index].fail("name", f"axis {column.axis!r} has two channels called {column.name!r}")
    root.finish()
    return Mapping(path, delimiter, time_column, time_factor, rate, columns, motor_axes, joint_motor, provenance)


def _read_time(root: TomlTable) -> tuple[str, float, float | None]:
    if root.has("time") == root.has("sample_rate_hz"):
        root.fail("", "give either a table [time] with the time column, or sample_rate_hz")
    if root.has("sample_rate_hz"):
        return "", 1.0, root.number("sample_rate_hz", above=0)
    table = root.table("time")
    column = table.text("column")
    factor = _TIME_UNITS[table.text("unit", choices=tuple(_TIME_UNITS))]
    table.finish()
    return column, factor, None


def _read_joint_motor(root: TomlTable) -> tuple[tuple[str, ...], Samples]:
    if not root.has("joint_motor"):
        return (), np.empty((0, 0))
    table = root.table("joint_motor")
    axes = table.texts("axes")
    matrix = np.array(table.square("matrix", len(axes)))
    if np.linalg.matrix_rank(matrix) < len(axes):
        table.fail("matrix", "is singular: every joint needs a motor of its own")
    table.finish()
    return axes, matrix


def _read_provenance(root: TomlTable) -> Provenance:
    if not root.has("provenance"):
        return Provenance()
    table = root.table("provenance")
    provenance = Provenance(
        robot=table.text("robot", default=""),
        source=table.text("source", default=""),
        firmware=table.text("firmware", default=""),
        date=table.text("date", default=""),
    )
    table.finish()
    return provenance


def _read_column(table: TomlTable, motor_axes: tuple[str, ...]) -> Column:
    axis = table.text("axis")
    quantity = table.text("quantity", choices=tuple(UNITS))
    si_unit, factor, drive_map = _read_unit(table, quantity)
    sign = table.integer("sign", default=1, minimum=-1, maximum=1)
    if sign == 0:
        table.fail("sign", "must be 1 or -1")
    side = table.text("side", choices=("joint", "motor"))
    if side == "motor" and axis not in motor_axes:
        table.fail("side", f"axis {axis!r} is not in [joint_motor], which says how motors turn joints")
    column = Column(
        column=table.text("column"),
        file=table.text("file", default=""),
        axis=axis,
        name=table.text("name", default=quantity),
        quantity=quantity,
        unit=si_unit,
        factor=sign * factor,
        offset=table.number("offset", default=0.0),
        side=side,
        delay_s=table.number("delay_s", default=0.0),
        drive_map=drive_map,
    )
    table.finish()
    return column


def _read_unit(table: TomlTable, quantity: str) -> tuple[str, float, tuple[float, ...]]:
    """SI unit, factor and drive map; a torque recorded in amperes needs torque_per_ampere (Nm/A, N/A, k1 to k5)."""
    unit = table.text("unit")
    try:
        if not table.has("torque_per_ampere"):
            return *to_si(quantity, unit), (1.0,)
        if quantity != "torque":
            table.fail("torque_per_ampere", f"belongs to a torque, this is a {quantity}")
        return "Nm", to_si("current", unit)[1], table.polynomial("torque_per_ampere", MAX_POWERS)
    except RecordError as problem:
        table.fail("unit", str(problem))
