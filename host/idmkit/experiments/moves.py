"""The moves of settling and tracking: those of the sources where the robot is one of theirs, else those of a proof."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.bench.bench import Bench
from idmkit.bench.moves import PEAK_VELOCITY, move_time, move_to
from idmkit.bench.prove import reach
from idmkit.bench.run import TRACKING, Run, capture_while
from idmkit.cartesian.pose import Tool
from idmkit.errors import IdmError
from idmkit.link import motion
from idmkit.robot import Robot

Array = NDArray[np.float64]

DWELL_S = 0.5
"""Recorded after each move."""
_SHARES = np.linspace(0.0, 1.0, 201)


@dataclass(frozen=True)
class ToolMove:
    """The tool between two points (m), `speed` (m/s) at its fastest, from near axes `near`; what softMC's page says."""

    ends: tuple[Sequence[float], Sequence[float]]
    speed: float
    near: Sequence[float]
    source: str


TOOL_MOVES = {
    "delta": ToolMove(
        ((-0.275, 0.0, -0.75), (0.275, 0.0, -0.75)),
        3.0,
        (0.4, 0.4, 0.4),
        "softMC's DELTA, 550 mm at 3 m/s: 268 -> 44 ms",
    ),
    "scara": ToolMove(
        ((0.55, -0.1, -0.1), (0.05, 0.23166247903554, -0.1)),
        0.9,
        (-0.7, 1.0, -0.1, 0.0),
        "softMC's SCARA, 600 mm at 0.9 m/s: 300 -> 260 ms",
    ),
}


@dataclass(frozen=True)
class There:
    """A move between two places of the axes (rad, m), in whole cycles; `text` says what it is."""

    start: tuple[float, ...]
    goal: tuple[float, ...]
    cycles: int
    text: str
    source: str = ""


def move_of(robot: Robot) -> There:
    """The move that settling and tracking are measured on."""
    kind = robot.machine.kind if robot.machine is not None else ""
    if kind not in TOOL_MOVES:
        low, high = reach(robot)
        cycles = math.ceil(move_time(robot, low, high) / robot.cycle_time_s)
        return There(tuple(low), tuple(high), cycles, "all axes as fast as their limits allow")
    asked, tool = TOOL_MOVES[kind], Tool(robot)
    start = _axes_at(tool, asked.ends[0], np.array(asked.near[: len(robot.axes)]))
    goal = _axes_at(tool, asked.ends[1], start)
    path = np.array([tool.position(start + share * (goal - start)) for share in _SHARES])
    # Of the quintic move, s(t) = 10 t^3 - 15 t^4 + 6 t^5: the tool's speed in units of 1/duration.
    share = 10 * _SHARES**3 - 15 * _SHARES**4 + 6 * _SHARES**5
    slope = PEAK_VELOCITY * 16 * (_SHARES * (1 - _SHARES)) ** 2
    along = np.linalg.norm(np.gradient(path, _SHARES, axis=0), axis=1)
    fastest = float(np.max(slope * np.interp(share, _SHARES, along)))
    shortest = move_time(robot, start.tolist(), goal.tolist())
    cycles = math.ceil(max(fastest / asked.speed, shortest) / robot.cycle_time_s)
    way = 1e3 * float(np.linalg.norm(np.subtract(*asked.ends)))
    text = f"tool over {way:.0f} mm at up to {fastest / (cycles * robot.cycle_time_s):.2f} m/s, axes together"
    return There(tuple(start.tolist()), tuple(goal.tolist()), cycles, text, asked.source)


def _axes_at(tool: Tool, point: Sequence[float], near: Array) -> Array:
    """Axes with the tool at `point`, found in small steps from `near`."""
    begin, goal, q = tool.position(near), np.asarray(point, dtype=float), near
    for share in np.linspace(0.0, 1.0, 51)[1:]:
        found = tool.solve(begin + share * (goal - begin), q, near)
        if found is None:
            raise IdmError(f"{tool.robot.name}: the tool does not reach {point} m, where this experiment moves")
        q = found
    return q


def there_and_back(bench: Bench, move: There) -> tuple[Run, Run]:
    """The move and the way back, each recorded with DWELL_S of rest; the robot is armed and disarmed."""
    with bench.armed():
        # Friction remembers where a motion came from, and a brake how it let go: every record comes the same way.
        move_to(bench, move.start)
        for target in (move.goal, move.start):
            _recorded(bench, target, move.cycles)
        return _recorded(bench, move.goal, move.cycles), _recorded(bench, move.start, move.cycles)


def _recorded(bench: Bench, target: Sequence[float], cycles: int) -> Run:
    run = capture_while(
        bench,
        TRACKING,
        cycles + bench.cycles(DWELL_S),
        lambda cycle: motion.move(bench.board, target, cycles, start_cycle=cycle),
    )
    bench.settle()
    return run
