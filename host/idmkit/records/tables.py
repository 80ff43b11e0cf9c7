"""Recorded tables (CSV, plain or gzipped) to records, through a mapping file."""

from __future__ import annotations

import gzip
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import RecordError
from idmkit.finding import Finding
from idmkit.records.mapping import Mapping
from idmkit.records.record import Channel, Record, Samples

_NOT_MEASURED = frozenset(("", "nan", "null", "none", "na", "n/a", "-"))


@dataclass(frozen=True)
class Table:
    """Cells of one file: `names` of the columns, `cells` [rows, columns], NaN where a cell is empty."""

    file: Path
    names: tuple[str, ...]
    cells: NDArray[np.float64]


def import_tables(paths: Sequence[Path], mapping: Mapping) -> tuple[Record, list[Finding]]:
    """A record of the mapped columns, joint side and SI, times as they were recorded.

    Raises RecordError where a table or column is missing, a cell is no number, or tables differ in length.
    """
    findings: list[Finding] = []
    tables = [_read_table(path, mapping.delimiter, findings) for path in paths]
    lengths = {table.file.name: len(table.cells) for table in tables}
    if len(set(lengths.values())) != 1:
        raise RecordError("the tables differ in rows: " + ", ".join(f"{k} {v}" for k, v in lengths.items()))
    raw = [column.value(_cells(tables, column.column, column.file, mapping)) for column in mapping.columns]
    channels = tuple(
        Channel(column.name, column.quantity, column.unit, column.axis, samples, column.delay_s)
        for column, samples in zip(mapping.columns, _joint_side(mapping, raw), strict=True)
    )
    provenance = mapping.provenance
    if not provenance.source:
        provenance = replace(provenance, source=", ".join(path.name for path in paths))
    if mapping.sample_rate_hz is not None:
        return Record(mapping.sample_rate_hz, channels, provenance=provenance), findings
    time = mapping.time_factor * _cells(tables, mapping.time_column, "", mapping)
    rate = _nominal_rate(time, mapping.time_column)
    return Record(rate, channels, time=time, provenance=provenance), findings


def _nominal_rate(time: Samples, column: str) -> float:
    steps = np.diff(time[np.isfinite(time)])
    steps = steps[steps > 0]
    if not len(steps):
        raise RecordError(
            f"column {column!r} does not advance: {len(time)} row(s) at the same time; "
            "a record needs at least two rows in time"
        )
    return 1.0 / float(np.median(steps))


def _joint_side(mapping: Mapping, raw: list[Samples]) -> list[Samples]:
    """Applies the joint-motor matrix to motor-side columns and adds the offsets."""
    joint = list(raw)
    motor = [(column.name, column.quantity) for column in mapping.columns if column.side == "motor"]
    for name, quantity in dict.fromkeys(motor):
        place = {
            column.axis: index
            for index, column in enumerate(mapping.columns)
            if column.side == "motor" and column.name == name
        }
        torque = quantity == "torque"
        matrix = mapping.joint_motor.T if torque else np.linalg.inv(mapping.joint_motor)
        for row, axis in enumerate(mapping.motor_axes):
            if axis not in place:
                continue
            total = np.zeros_like(raw[0])
            for other, factor in zip(mapping.motor_axes, matrix[row], strict=True):
                if factor == 0:
                    continue
                if other not in place:
                    raise RecordError(
                        f"{name} of joint {axis!r} depends on the motor of {other!r}, whose column is not mapped"
                    )
                total += factor * raw[place[other]]
            joint[place[axis]] = total
    return [samples + column.offset for samples, column in zip(joint, mapping.columns, strict=True)]


def _cells(tables: list[Table], column: str, file: str, mapping: Mapping) -> Samples:
    """The one column of this name, shape [rows]."""
    holders = [table for table in tables if column in table.names and file in ("", _stem(table.file))]
    if not holders:
        where = f" in table {file!r}" if file else ""
        present = "; ".join(f"{table.file.name}: {', '.join(table.names)}" for table in tables)
        raise RecordError(f"{mapping.file.name} asks for column {column!r}{where}, but there is: {present}")
    if len(holders) > 1:
        names = ", ".join(table.file.name for table in holders)
        raise RecordError(f'column {column!r} stands in {names}; say which with file = "..." in {mapping.file.name}')
    table = holders[0]
    if table.names.count(column) > 1:
        raise RecordError(f"{table.file.name} has {table.names.count(column)} columns called {column!r}; rename them")
    return np.ascontiguousarray(table.cells[:, table.names.index(column)])


def _stem(path: Path) -> str:
    return path.name.split(".")[0]


def _read_table(path: Path, delimiter: str | None, findings: list[Finding]) -> Table:
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        lines = data.decode("utf-8-sig").splitlines()
    except (gzip.BadGzipFile, EOFError) as problem:
        raise RecordError(f"{path} is damaged: {problem}; copy it again") from problem
    except UnicodeDecodeError as problem:
        raise RecordError(f"{path} is not UTF-8 text; export it as plain CSV") from problem
    except OSError as problem:
        raise RecordError(f"{path} cannot be read: {problem.strerror or problem}") from problem
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise RecordError(f"{path} is empty")
    names = tuple(name.strip().strip('"') for name in lines[0].split(delimiter))
    if all(_is_number(name) for name in names):
        raise RecordError(f"{path} has no header line; its first line must name the columns")
    if len(lines) == 1:
        raise RecordError(f"{path} has a header but no rows")
    try:
        cells = np.loadtxt(lines[1:], delimiter=delimiter, ndmin=2)
        if cells.shape[1] != len(names):
            raise ValueError
    except ValueError:
        cells = _read_slowly(path, names, lines[1:], delimiter, findings)
    return Table(path, names, cells)


def _read_slowly(
    path: Path, names: tuple[str, ...], lines: list[str], delimiter: str | None, findings: list[Finding]
) -> NDArray[np.float64]:
    """Cell by cell: empty cells become NaN, a cut last line is left out and said, anything else is refused."""
    rows: list[list[float]] = []
    for number, line in enumerate(lines, start=2):
        cells = line.split(delimiter)
        if len(cells) != len(names):
            if number == len(lines) + 1 and len(cells) < len(names) and rows:
                findings.append(
                    Finding(
                        "cut_row",
                        "info",
                        "",
                        f"the last line of {path.name} has {len(cells)} of {len(names)} columns and is left out.",
                        {"line": number, "columns": len(cells)},
                    )
                )
                break
            raise RecordError(f"{path}:{number}: {len(cells)} columns, the header names {len(names)}")
        rows.append([_number(cell, path, number, name) for cell, name in zip(cells, names, strict=True)])
    return np.array(rows, dtype=np.float64)


def _number(cell: str, path: Path, line: int, column: str) -> float:
    text = cell.strip().strip('"')
    if text.lower() in _NOT_MEASURED:
        return math.nan
    try:
        return float(text)
    except ValueError:
        raise RecordError(f"{path}:{line}: column {column!r} holds {text!r}, which is no number") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
