"""The tool along a straight line: points for the board's spline, sent while it moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from idmkit.bench.bench import Bench
from idmkit.bench.moves import positions
from idmkit.bench.performance import named
from idmkit.bench.run import TRACKING, Run, capture_while
from idmkit.cartesian import Line, plan_line
from idmkit.cartesian.pose import Tool
from idmkit.dynamics.rotations import Array
from idmkit.excitation.coefficients import counts_per_unit
from idmkit.excitation.trapezoid import SEGMENT_CYCLES
from idmkit.link import long_motion

Points = Sequence[Sequence[int]]


class Feeder:
    """Sends points to a board as it has room for them."""

    def __init__(self, bench: Bench, points: Points) -> None:
        self._bench = bench
        self._points = points
        self._sent = 0
        self._free = 0

    def __call__(self) -> bool:
        """Sends what there is room for; False once all points are on the board."""
        board, points = self._bench.board, self._points
        most = long_motion.points_at_once(board)
        while True:
            some = points[self._sent : self._sent + min(most, self._free)] if self._sent else points[:most]
            room = long_motion.stream_points(board, self._sent, some, total=len(points))
            self._sent, self._free = room.next, room.free
            if self._sent == len(points):
                return False
            if not self._free:
                return True


def move_straight(bench: Bench, goal: Sequence[float], speed: float) -> tuple[Line, Run]:
    """Moves the tool from where the axes hold to `goal` [3] (m) at `speed` (m/s); the bench must be armed.

    Raises IdmError before anything moves where the tool cannot go there, and what the link and the board raise.
    """
    line = plan_line(bench.robot, np.array(positions(bench)), np.asarray(goal, dtype=float), speed)
    size = counts_per_unit(bench.robot)
    points = [[int(count) for count in row] for row in np.round(line.points * size)]
    return line, stream_along(bench, points)


def stream_along(bench: Bench, points: Points) -> Run:
    """Moves the axes along the spline of `points` [N, n] (counts) from where they hold, and records it."""
    feed = Feeder(bench, points)
    feed()

    def start(cycle: int) -> None:
        long_motion.stream(bench.board, bench.board.status().position_command, start_cycle=cycle)

    cycles = SEGMENT_CYCLES * (len(points) + 2)
    run = capture_while(bench, TRACKING, cycles, start, feed=feed)
    bench.settle()
    return run


def off_the_line(run: Run, tool: Tool, begin: Array, goal: Array) -> tuple[float, float]:
    """(commanded, measured): the largest distance in m of the tool from the line between two points [3]."""
    along = (goal - begin) / np.linalg.norm(goal - begin)
    found = []
    for channel in ("position_command", "position_feedback"):
        axes = np.column_stack([named(run.record, axis.name, channel) for axis in tool.robot.axes])
        places = np.array([tool.position(q) for q in axes]) - begin
        away = places - np.outer(places @ along, along)
        found.append(float(np.linalg.norm(away, axis=1).max()))
    return found[0], found[1]
