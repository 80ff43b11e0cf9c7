"""Posture tables: the board looks up what the host computes, to the bit; made from sequential identification."""

from __future__ import annotations

import json
import math
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest
from emulated import Mps2, RawRepl
from runtimes import ROOT, WORDS, micropython

from idmkit.board.posture import (
    PostureTable,
    load_tables,
    look_up,
    save_tables,
    sequential_tables,
    table_over,
    tables_of,
)
from idmkit.board.settings import parameter_image
from idmkit.errors import IdmError, ModelError
from idmkit.fixedpoint import ParameterOutOfRange, Program, compile_robot
from idmkit.robot import load_robot
from idmkit.sequential import Sequential, Step
from idmwire import posture
from idmwire.image import unpack

RUN = """
import sys
from array import array
from motionboard.posture import look_up
sh = 32 if sys.maxsize > 2**31 - 1 else 0
parameters = array("i", [7] * {parameters})
ahead = array("i", [0] * {axes})
words = array("i", {words})
tables = array("i", [len(words)]) + words
for x in array("i", {positions}):
    for axis in range({axes}):
        ahead[axis] = x
    look_up(tables, ahead, parameters, sh)
    print(*parameters)
"""


@pytest.fixture(scope="module")
def arm() -> Program:
    return compile_robot(load_robot("two_link"))


def random_tables(seed: int) -> list[tuple[int, ...]]:
    """Tables of four parameters over three axes: all shifts, few and many values, the largest and any."""
    rng = random.Random(seed)
    found = []
    for parameter in (0, 1, 3):
        shift = rng.randint(posture.SHIFT_MIN, posture.SHIFT_MAX)
        n = rng.choice((1, 2, 3, 9))
        first = rng.randint(-posture.POSITION_MAX, posture.POSITION_MAX - (n << shift))
        ends = (-(2**30) + 1, 2**30 - 1)
        values = [rng.choice(ends) if rng.random() < 0.4 else rng.randint(*ends) for _ in range(n)]
        found.append((parameter, rng.randrange(3), first, shift, n, *values))
    return found


def positions_at(tables: list[tuple[int, ...]], rng: random.Random) -> list[int]:
    """Where tables begin and end, at every value, just beside it, and anywhere."""
    found = [-(2**31), 2**31 - 1, -(2**30), 2**30, 0, -1]
    for _, _, first, shift, n, *_ in tables:
        for k in range(-1, n + 1):
            found += [first + (k << shift) + aside for aside in (-1, 0, 1, 1 << (shift - 1))]
        found += [rng.randint(first, first + (n << shift)) for _ in range(20)]
    found += [rng.randint(-(2**31), 2**31 - 1) for _ in range(20)]
    return [min(max(x, -(2**31)), 2**31 - 1) for x in found]


def expected(tables: list[tuple[int, ...]], positions: list[int]) -> str:
    """What the board has to print: its parameters, 7 where there is no table."""
    columns = {table[0]: look_up(table, positions) for table in tables}
    rows = ([str(columns[k][row]) if k in columns else "7" for k in range(4)] for row in range(len(positions)))
    return "".join(" ".join(row) + "\n" for row in rows)


def script(tables: list[tuple[int, ...]], positions: list[int]) -> str:
    words = [word for table in tables for word in table]
    return RUN.format(parameters=4, axes=3, words=words, positions=positions)


@pytest.mark.parametrize("words", WORDS)
def test_the_board_looks_up_what_the_host_computes(words: int, tmp_path: Path) -> None:
    for seed in range(12):
        tables = random_tables(seed)
        positions = positions_at(tables, random.Random(seed))
        (tmp_path / "run.py").write_text(script(tables, positions))
        done = subprocess.run(
            [micropython(words), str(tmp_path / "run.py")],
            env={"MICROPYPATH": f"{ROOT}/firmware:{ROOT}/shared"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout == expected(tables, positions)


@pytest.mark.emulated
def test_a_cortex_m3_does_so_too(tmp_path: Path) -> None:
    with Mps2(tmp_path, []) as board:
        repl = RawRepl(board.port)
        for seed in range(3):
            tables = random_tables(seed)
            positions = positions_at(tables, random.Random(seed))[:120]
            assert repl.run(script(tables, positions)).replace("\r", "") == expected(tables, positions)
        repl.close()


def test_between_two_values_lies_a_straight_line() -> None:
    for seed in range(12):
        for table in random_tables(seed):
            _, _, first, shift, n, *values = table
            positions = np.array(positions_at([table], random.Random(seed)), dtype=np.int64)
            exact = np.interp(positions, first + (np.arange(n) << shift), np.array(values, dtype=float))
            found = look_up(table, positions)
            # The place between two values has 15 bits, so it is off by 2^-15 of their difference, and half a unit.
            steps = np.abs(np.diff(values)) if n > 1 else np.zeros(1)
            assert np.max(np.abs(found - exact)) <= steps.max() * 2.0**-15 + 1
            assert found.min() >= min(values)
            assert found.max() <= max(values)


def test_a_table_in_an_image_comes_back(arm: Program) -> None:
    table = table_over("M1", 1, [1.9, -2.0, 0.0, 1.0], [0.9, 0.8, 1.3, 1.1])
    assert table.first <= -2.0 / (2 * math.pi) * 2**24 < table.first + (1 << table.shift)
    assert table.values[0] == pytest.approx(0.8)
    assert table.values[-1] == pytest.approx(0.9)
    zeros = dict.fromkeys((parameter.key for parameter in arm.parameters), 0.0)
    image = parameter_image(load_robot("two_link"), arm, zeros, tables=table.words(arm))
    (back,) = tables_of(unpack(image.pack()).tables, arm)
    assert (back.key, back.axis, back.first, back.shift) == ("M1", 1, table.first, table.shift)
    assert back.values == pytest.approx(table.values, rel=1e-6)


def test_what_is_no_table_of_this_model_is_said(arm: Program, tmp_path: Path) -> None:
    def table(key: str = "M1", axis: int = 1, first: int = 0, shift: int = 19, n: int = 3) -> PostureTable:
        return PostureTable(key, axis, first, shift, (0.5,) * n)

    with pytest.raises(ModelError, match=r"no parameter I for a posture table; it has M1, M2, R, j1\.Fv"):
        table(key="I").words(arm)
    far = (table(first=2**30), table(first=2**30 - 2**20))
    for wrong in (table(axis=2), table(shift=9), table(shift=25), table(n=0), *far):
        with pytest.raises(ModelError, match=r"the posture table of M1 .* does not fit"):
            wrong.words(arm)
    with pytest.raises(ParameterOutOfRange, match="M1 = 99"):
        PostureTable("M1", 1, 0, 19, (0.5, 99.0)).words(arm)
    for words in ((1,), (0, 1, 0, 19, 0), (0, 1, 0, 19, 2, 5), (0, 1, 0, 19, 1, 2**30), (0, 1, 0, 19, -1, 3)):
        with pytest.raises(ModelError, match="do not fit the compiled model"):
            tables_of(words, arm)
    path = tmp_path / "tables.json"
    for text in ("", "{}", "[1]", json.dumps([{"key": "M1"}])):
        path.write_text(text)
        with pytest.raises(IdmError, match="holds no posture tables"):
            load_tables(path)
    with pytest.raises(IdmError, match="cannot be read: No such file"):
        load_tables(tmp_path / "none.json")
    save_tables([table(), table(key="j1.Fc")], path)
    assert load_tables(path) == [table(), table(key="j1.Fc")]


def test_sequential_identification_gives_tables(arm: Program) -> None:
    m1, r = 0.9, 0.11
    postures = (-2.0, -1.0, 0.0, 1.0, 2.0)
    # Something that the model does not know: 0.05 sin q2, as of a centre of mass beside the link's line.
    steps = tuple(
        Step(0, q, (m1 + 2 * r * math.cos(q) + 0.05 * math.sin(q), 1.0 + 0.1 * q, 2.0), (0.01, 0.01, 0.01))
        for q in postures
    )
    found = Sequential(steps, {"M1": m1, "R": r}, {"M1": 0.01, "R": 0.01}, 0.0)
    inertia, viscous, coulomb = sequential_tables(found, arm)
    assert [t.key for t in (inertia, viscous, coulomb)] == ["M1", "j1.Fv", "j1.Fc"]
    assert {t.axis for t in (inertia, viscous, coulomb)} == {1}
    counts = np.round(np.array(postures) / (2 * math.pi) * 2**24).astype(int)
    exponent = arm.parameters[0].exponent
    at_postures = look_up(inertia.words(arm), counts) * 2.0**exponent
    # Values stand on a grid of 1/32 turn, so what was measured beside it is cut off by a fraction of a corner.
    assert at_postures == pytest.approx(m1 + 0.05 * np.sin(postures), abs=0.01)
    assert np.ptp(coulomb.values) == pytest.approx(0, abs=1e-12)
