"""Tracking: how far axes are from their command while they move, and how far one that moves disturbs one that holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idmkit.bench import RobotModel
from idmkit.bench.bench import Bench
from idmkit.bench.moves import move_to
from idmkit.bench.performance import named
from idmkit.bench.run import TRACKING, Run, capture_while
from idmkit.experiments.moves import move_of, there_and_back
from idmkit.experiments.outcome import Curve, Outcome, Panel, Table
from idmkit.experiments.stage import stage
from idmkit.link import motion
from idmkit.robot import Axis, Robot

Array = NDArray[np.float64]

WITHOUT, IDENTIFIED, TRUE = "without model", "identified", "true parameters"
DISTURBED, MOVED = 1, 2
"""Axes 2 and 3 of a PUMA, counted from 0."""
SOURCE = "softMC's PUMA, axis 2 while axis 3 moves: 1.04e-3 -> 0.627e-3 peak to peak, -40 %"
PERIODS = 4


def run(robot: Robot, seed: int, say: Callable[[str], None]) -> Outcome:
    """The move of `moves.move_of`; for a PUMA axis 3 by itself, too."""
    move = move_of(robot)
    puma = robot.machine is not None and robot.machine.kind == "puma"
    moved: dict[str, Sequence[Run]] = {}
    disturbed: dict[str, Run] = {}
    with stage(robot, seed, RobotModel.of(robot)) as here:
        say("identification")
        identified, true = here.identified(here.identify()), here.true()
        for way, values in ((WITHOUT, None), (IDENTIFIED, identified), (TRUE, true)):
            say(way)
            here.use(values)
            moved[way] = there_and_back(here.bench, move)
            if puma:
                disturbed[way] = _one_axis_swings(here.bench, MOVED)
    tables, panels, data = _tracking(robot, move.text, moved)
    if move.source:
        tables[0] = Table(tables[0].title, tables[0].header, tables[0].rows, [*tables[0].notes, move.source])
    if puma:
        table, panel, figures = _disturbance(robot, disturbed)
        tables.append(table)
        panels.append(panel)
        data |= figures
    return Outcome("tracking", robot.name, tables, panels, data)


def _one_axis_swings(bench: Bench, index: int) -> Run:
    """A sine of one axis as fast as its limits allow, the others hold at the middles of their identification runs."""
    axes = bench.robot.axes
    middle = [(axis.identification.start + axis.identification.target) / 2 for axis in axes]
    amplitude = abs(axes[index].identification.amplitude) / 2
    frequency = 0.9 * min(
        axes[index].velocity_max / (2 * math.pi * amplitude),
        math.sqrt(axes[index].acceleration_max / amplitude) / (2 * math.pi),
    )
    start, target = ([*middle] for _ in range(2))
    start[index] -= amplitude
    target[index] += amplitude
    cycles = bench.cycles(PERIODS / frequency)
    frequencies = [frequency if k == index else 1.0 for k in range(len(axes))]
    with bench.armed():
        move_to(bench, target)
        move_to(bench, start)
        run = capture_while(
            bench,
            TRACKING,
            cycles,
            lambda cycle: motion.sine(bench.board, target, frequencies, cycles, start_cycle=cycle),
        )
        bench.settle()
    return run


def _errors(axis: Axis, runs: Sequence[Run]) -> Array:
    """Tracking error of all runs behind each other, mrad or mm, while anything moves.

    Where an axis sticks after a stop is a matter of settling, and of the last rounding on the way to its drive.
    """
    errors = []
    for run in runs:
        names = {channel.axis for channel in run.record.channels}
        commands = [named(run.record, name, "position_command") for name in names]
        moving = max(int(np.flatnonzero(np.diff(command)).max(initial=0)) for command in commands)
        errors.append(named(run.record, axis.name, "position_error")[: moving + 1])
    return 1e3 * np.concatenate(errors)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _tracking(
    robot: Robot, text: str, moved: dict[str, Sequence[Run]]
) -> tuple[list[Table], list[Panel], dict[str, Any]]:
    rows, panels, figures = [], [], {}
    for axis in robot.axes:
        unit = "mrad" if axis.revolute else "mm"
        errors = {way: _errors(axis, runs) for way, runs in moved.items()}
        rms = {way: _rms(error) for way, error in errors.items()}
        count = 1e3 / abs(axis.drive.counts_per_unit)
        rows.append(
            [f"{axis.name}, {unit}", *(f"{rms[way]:.5f}" for way in moved), f"{rms[WITHOUT] / rms[IDENTIFIED]:.0f}",
             f"{rms[IDENTIFIED] / rms[TRUE]:.2f}", f"{count:.5f}"]
        )  # fmt: skip
        figures[axis.name] = {
            way: {"rms": 1e-3 * rms[way], "max": 1e-3 * float(np.abs(e).max())} for way, e in errors.items()
        }
        first = {way: _errors(axis, runs[:1]) for way, runs in moved.items()}
        time = robot.cycle_time_s * np.arange(len(first[WITHOUT]))
        panels.append(
            Panel(axis.name, "s", f"tracking error, {unit}", [Curve(way, time, e) for way, e in first.items()])
        )
    table = Table(
        f"{robot.name}: {text}; tracking error rms over the move and its way back",
        ["", *moved, "without / identified", "identified / true", "encoder count"],
        rows,
    )
    return [table], panels, {"move": text, "tracking": figures}


def _disturbance(robot: Robot, runs: dict[str, Run]) -> tuple[Table, Panel, dict[str, Any]]:
    held, moving = robot.axes[DISTURBED], robot.axes[MOVED]
    errors = {way: _errors(held, [run]) for way, run in runs.items()}
    peak = {way: float(np.ptp(error)) for way, error in errors.items()}
    rows = [
        [way, f"{peak[way]:.5f}", f"{_rms(error):.5f}", f"{100 * (peak[way] / peak[WITHOUT] - 1):.0f}"]
        for way, error in errors.items()
    ]
    table = Table(
        f"{held.name} holds while {moving.name} swings at its limits: error of {held.name}",
        ["", "peak to peak, mrad", "rms, mrad", "change, %"],
        rows,
        [
            f"identified / true: {peak[IDENTIFIED] / peak[TRUE]:.2f} peak to peak, "
            f"{_rms(errors[IDENTIFIED]) / _rms(errors[TRUE]):.2f} rms",
            f"for information: {SOURCE}",
        ],
    )
    time = robot.cycle_time_s * np.arange(len(errors[WITHOUT]))
    curves = [Curve(way, time, error) for way, error in errors.items()]
    panel = Panel(f"{held.name} while {moving.name} swings", "s", "tracking error, mrad", curves)
    return table, panel, {"disturbance_peak_to_peak": {way: 1e-3 * value for way, value in peak.items()}}
