"""Point-to-point motions within a robot's limits."""

from __future__ import annotations

import math
from collections.abc import Sequence

from idmkit.bench.bench import Bench
from idmkit.board import units
from idmkit.link import motion
from idmkit.robot import Axis

# The quintic 10 s^3 - 15 s^4 + 6 s^5: its largest speed, acceleration and jerk in distance / duration^k.
PEAK_VELOCITY = 15 / 8
PEAK_ACCELERATION = 10 / math.sqrt(3)
PEAK_JERK = 60.0
COMFORT = 1.25
"""A move that only has to get somewhere takes this much longer than the limits ask for."""


def shortest_time(axis: Axis, distance: float) -> float:
    """The shortest time in s in which `axis` may travel `distance` (rad or m) by the board's point-to-point motion."""
    way = abs(distance)
    return max(
        PEAK_VELOCITY * way / axis.velocity_max,
        math.sqrt(PEAK_ACCELERATION * way / axis.acceleration_max),
        math.cbrt(PEAK_JERK * way / axis.jerk_max),
    )


def move_to(bench: Bench, target: Sequence[float]) -> None:
    """Moves all axes to `target` (rad or m) together, at leisure, and waits until they hold there."""
    here = positions(bench)
    times = [
        shortest_time(axis, goal - start) for axis, goal, start in zip(bench.robot.axes, target, here, strict=True)
    ]
    cycles = max(10, bench.cycles(COMFORT * max(times)))
    start = bench.begin(lambda cycle: motion.move(bench.board, target, cycles, start_cycle=cycle))
    bench.run_until(start + cycles + 2)
    bench.settle()


def positions(bench: Bench) -> list[float]:
    """Where the axes are commanded to be, rad or m."""
    return [
        units.value(count, "position", revolute=axis.revolute)
        for axis, count in zip(bench.robot.axes, bench.board.status().position_command, strict=True)
    ]
