"""A two-link arm without a model of its coupling: the inertia of axis 1 as a table over the posture of axis 2."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import idmkit
from idmkit.bench import Bench, RobotModel, flash_model, write_model
from idmkit.bench.moves import move_time, move_to
from idmkit.board.posture import look_up, sequential_tables, tables_of
from idmkit.fixedpoint import Emulator
from idmkit.link import motion
from idmkit.link.capture import CaptureResult, start_capture
from idmkit.link.client import Board
from idmkit.link.images import read_image
from idmkit.rig import Rig
from idmkit.robot import Robot, load_robot
from idmkit.sequential import Sequential, Step
from idmwire.image import ParameterImage, unpack

READY = Path(idmkit.__file__).parent / "robots"
CHANNELS = (
    "position_command", "velocity_command", "acceleration_command", "direction", "torque_model", "position_error",
)  # fmt: skip
Ints = NDArray[np.int64]
STRETCHED, FOLDED = 0.0, 2.4
"""Postures of axis 2, rad: axis 1 has most inertia, and little."""
POSTURES = (-2.4, -1.8, -1.2, -0.6, 0.0, 0.6, 1.2, 1.8, 2.4)


def single_axes(folder: Path) -> Robot:
    """The ready arm as two single rotary axes (softMC's model 1), each with an inertia of its own."""
    text = (READY / "two_link.toml").read_text()
    text = text[: text.index("# What the virtual robot is built from")]
    text = re.sub(r'kind = "two_link"\n.*?\n\[bus\]', 'kind = "axes"\n\n[bus]', text, flags=re.DOTALL)
    text = text.replace('joint = "revolute"', 'joint = "revolute"\ndynamic_model = 1')
    # What one axis does to the other is no part of such a model, and no collision.
    text = text.replace("torque_error_max = 25.0", "torque_error_max = 100.0")
    text = text.replace("torque_error_max = 8.0", "torque_error_max = 35.0")
    text = text.replace("[axes.parameter_ranges]", "[axes.parameter_ranges]\nI = [0.0, 3.0]")
    (folder / "arm.toml").write_text(text)
    return load_robot(folder / "arm.toml")


def swing(bench: Bench, posture: float) -> dict[str, Ints]:
    """A fast move of axis 1 with axis 2 held: counts [S, 2] by channel."""
    low, high = [-0.8, posture], [0.8, posture]
    cycles = 1 + bench.cycles(move_time(bench.robot, low, high))
    columns = [(name, axis) for name in CHANNELS for axis in (0, 1)]

    def move(first: int) -> CaptureResult:
        with start_capture(bench.board, columns, samples=cycles + 20, start_cycle=first) as capture:
            motion.move(bench.board, high, cycles, start_cycle=first)
            bench.run_until(first + cycles + 20)
            return capture.finish()

    with bench.armed():
        move_to(bench, low)
        data = bench.begin(move).data.astype(np.int64)
        bench.settle()
    return {name: data[:, 2 * k : 2 * k + 2] for k, name in enumerate(CHANNELS)}


def as_the_board_computes(swung: dict[str, Ints], model: RobotModel, image: ParameterImage) -> Ints:
    """The torques [S, 2] in counts that the host's twins give for the captured command."""
    states = np.concatenate([swung[name] for name in CHANNELS[:4]], axis=1)
    mantissas = np.tile(np.array(image.mantissas, dtype=np.int64), (len(states), 1))
    for table in tables_of(image.tables, model.program):
        words = table.words(model.program)
        mantissas[:, words[0]] = look_up(words, states[:, table.axis])
    return Emulator(model.program).run(states, mantissas)[:, :2].astype(np.int64)


def test_a_table_over_the_posture_tracks_where_one_inertia_does_not(tmp_path: Path) -> None:
    arm, robot = load_robot("two_link"), single_axes(tmp_path)
    model = RobotModel.of(robot)
    with Rig(arm, folder=tmp_path / "board") as rig, Board.open(rig.port, ["revolute"] * 2) as board:
        truth = rig.truth()
        own = truth["two_link"]
        friction = [(truth[axis]["Fv"], truth[axis]["Fc"]) for axis in ("j1", "j2")]
        # As a sequential identification finds it: axis 1 at nine postures of axis 2.
        steps = tuple(
            Step(0, q, (own["M1"] + 2 * own["R"] * math.cos(q), *friction[0]), (0.01, 0.01, 0.01)) for q in POSTURES
        )
        found = Sequential(steps, {"R": own["R"]}, {"R": 0.01}, 0.0)
        flash_model(board, model.program)
        bench = Bench(robot, board, rig.advance)
        stretched = model.values(
            {"j1.I": own["M1"] + 2 * own["R"], "j1.Fv": friction[0][0], "j1.Fc": friction[0][1],
             "j2.I": own["M2"], "j2.Fv": friction[1][0], "j2.Fc": friction[1][1]}
        )  # fmt: skip
        tables = [word for table in sequential_tables(found, model.program) for word in table.words(model.program)]
        errors: dict[tuple[bool, float], float] = {}
        for with_table in (False, True):
            write_model(bench, model.program, stretched, tables=tables if with_table else ())
            for posture in (STRETCHED, FOLDED):
                swung = swing(bench, posture)
                image = unpack(read_image(board, "applied"))
                assert bool(image.tables) == with_table
                np.testing.assert_array_equal(swung["torque_model"], as_the_board_computes(swung, model, image))
                errors[with_table, posture] = float(np.sqrt(np.mean(swung["position_error"][:, 0] ** 2.0)))
    # Where the fixed inertia is right, both are alike; folded, the table takes most of the error away.
    assert errors[True, STRETCHED] == pytest.approx(errors[False, STRETCHED], rel=0.2)
    assert errors[True, FOLDED] < 0.2 * errors[False, FOLDED]
