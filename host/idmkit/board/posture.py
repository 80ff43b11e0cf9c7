"""Posture tables: parameters of a board's model that go by the position of an axis, made, packed and emulated.

Identified at several postures of another axis, an axis' parameters are a table over that posture (sequential
identification); the board looks them up in every cycle.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idmkit.board import units
from idmkit.errors import IdmError, ModelError
from idmkit.files import write_text
from idmkit.fixedpoint import Program
from idmkit.sequential import Sequential
from idmwire import posture

Ints = NDArray[np.int64]
STEP_SHIFT = 19
"""Values stand 2^19 counts apart, 1/32 turn: a cosine of posture is off by a 200th of its amplitude in between."""


@dataclass(frozen=True)
class PostureTable:
    """Values (SI) of the parameter `key` at positions first + k 2^shift (counts) of axis number `axis`."""

    key: str
    axis: int
    first: int
    shift: int
    values: tuple[float, ...]

    def words(self, program: Program) -> tuple[int, ...]:
        """As it stands in a parameter image; ModelError where it is no table for this program."""
        keys = [parameter.key for parameter in program.parameters]
        if self.key not in keys:
            raise ModelError(f"the model has no parameter {self.key} for a posture table; it has {', '.join(keys)}")
        index = keys.index(self.key)
        known = dict.fromkeys(keys, 0.0)
        mantissas = [program.mantissas({**known, self.key: value})[index] for value in self.values]
        words = (index, self.axis, self.first, self.shift, len(mantissas), *mantissas)
        limits = tuple(parameter.limit for parameter in program.parameters)
        if not mantissas or not posture.fits(words, program.n_axes, limits):
            raise ModelError(
                f"the posture table of {self.key} (axis {self.axis}, first {self.first}, shift {self.shift}, "
                f"{len(mantissas)} values) does not fit: shifts are {posture.SHIFT_MIN} to {posture.SHIFT_MAX}, "
                f"positions within 64 turns, and there are {program.n_axes} axes"
            )
        return words


def tables_of(words: Sequence[int], program: Program) -> list[PostureTable]:
    """The tables of an image for this program; ModelError where they are of another one."""
    split = posture.split(tuple(words))
    limits = tuple(parameter.limit for parameter in program.parameters)
    if split is None or not all(posture.fits(table, program.n_axes, limits) for table in split):
        raise ModelError("the posture tables do not fit the compiled model; make them anew with `idm sequential`")
    found = []
    for index, axis, first, shift, _, *mantissas in split:
        parameter = program.parameters[index]
        values = tuple(mantissa * 2.0**parameter.exponent for mantissa in mantissas)
        found.append(PostureTable(parameter.key, axis, first, shift, values))
    return found


def look_up(words: Sequence[int], position: ArrayLike) -> Ints:
    """The mantissa that the board takes from a table's words at positions (counts, int32), bit by bit."""
    _, _, first, shift, n = words[: posture.HEAD_WORDS]
    values = np.array(words[posture.HEAD_WORDS :], dtype=np.int64)
    x = np.clip(np.asarray(position, dtype=np.int64), -posture.POSITION_MAX, posture.POSITION_MAX) - first
    cell = np.clip(x >> shift, 0, max(0, n - 2))
    value = values[cell]
    rise = values[np.minimum(cell + 1, n - 1)] - value
    part = x & ((1 << shift) - 1)
    part = part >> (shift - 15) if shift > 15 else part << (15 - shift)
    between = value + (rise >> 15) * part + (((rise & 0x7FFF) * part + 0x4000) >> 15)
    inside: Ints = np.where(x >> shift >= n - 1, values[-1], between)
    return np.where(x < 0, values[0], inside).astype(np.int64)


def table_over(
    key: str, axis: int, postures: Sequence[float], values: Sequence[float], *, shift: int = STEP_SHIFT
) -> PostureTable:
    """A table from values (SI) at `postures` (rad): on straight lines between them, constant beyond."""
    order = np.argsort(postures)
    places = np.array([units.counts(postures[k], "position", revolute=True) for k in order], dtype=np.int64)
    known = np.array(values, dtype=float)[order]
    step = 1 << shift
    first = int(places[0]) // step * step
    nodes = np.arange(first, int(places[-1]) + step, step)
    return PostureTable(key, axis, first, shift, tuple(np.interp(nodes, places, known).tolist()))


def sequential_tables(found: Sequential, program: Program) -> list[PostureTable]:
    """Tables of axis 1 over the posture of axis 2: its inertia and its friction.

    In a two-link model M1 is what the inertia at each posture leaves of it, so that the model has exactly that inertia
    there; in one of single axes it is the axis' own inertia I.
    """
    steps = [step for step in found.steps if step.axis == 0]
    postures = [step.posture for step in steps]
    axis = program.axes[0]
    inertia = [step.values[0] for step in steps]
    if any(parameter.key == "M1" for parameter in program.parameters):
        coupled = [2 * found.values["R"] * math.cos(posture) for posture in postures]
        columns = {"M1": [whole - part for whole, part in zip(inertia, coupled, strict=True)]}
    else:
        columns = {f"{axis}.I": inertia}
    columns |= {f"{axis}.Fv": [step.values[1] for step in steps], f"{axis}.Fc": [step.values[2] for step in steps]}
    return [table_over(key, 1, postures, values) for key, values in columns.items()]


def save_tables(tables: Sequence[PostureTable], path: Path) -> None:
    """Writes tables as JSON."""
    write_text(path, json.dumps([asdict(table) for table in tables], indent=1) + "\n")


def load_tables(path: Path) -> list[PostureTable]:
    """Reads what save_tables wrote; IdmError where it is something else."""
    try:
        rows: Any = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(rows, list):
            raise TypeError(type(rows))
        return [
            PostureTable(
                str(row["key"]), int(row["axis"]), int(row["first"]), int(row["shift"]),
                tuple(float(value) for value in row["values"]),
            )
            for row in rows
        ]  # fmt: skip
    except OSError as problem:
        raise IdmError(f"{path} cannot be read: {problem.strerror or problem}") from problem
    except (ValueError, TypeError, KeyError) as problem:
        raise IdmError(f"{path} holds no posture tables ({problem!r}); `idm sequential --tables` writes some") from None
