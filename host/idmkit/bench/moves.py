"""Point-to-point motions within a robot's limits, and of a delta no faster than its resonance allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from idmkit.bench.bench import Bench
from idmkit.board import units
from idmkit.link import motion
from idmkit.robot import Axis, Robot
from idmkit.stiffness import soft_delta
from idmkit.stiffness.geometry import platform_position
from idmkit.stiffness.resonance import acceleration_time_of_move

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


def move_time(robot: Robot, start: Sequence[float], target: Sequence[float]) -> float:
    """The shortest time in s in which all axes may travel from `start` to `target` (rad or m) together.

    A delta with a [model.stiffness] table accelerates for T_AccMin at least: half the move.
    """
    times = [shortest_time(axis, goal - here) for axis, here, goal in zip(robot.axes, start, target, strict=True)]
    return max(*times, 2 * least_acceleration_time(robot, start, target))


def least_acceleration_time(robot: Robot, start: Sequence[float], target: Sequence[float]) -> float:
    """T_AccMin in s between two positions of a delta's axes, by its stiffness; 0 where there is none, and no way."""
    if robot.machine is None or robot.machine.stiffness is None:
        return 0.0
    delta = soft_delta(robot)
    first, last = (platform_position(delta.robot.geometry, np.array(q[:3])) for q in (start, target))
    if np.array_equal(first, last):
        return 0.0
    return acceleration_time_of_move(delta.robot, first, last, delta.excitation_ratio)


def farthest(axis: Axis, seconds: float) -> float:
    """The longest way (rad or m) that `axis` may travel in a time by the board's point-to-point motion."""
    return min(
        axis.velocity_max * seconds / PEAK_VELOCITY,
        axis.acceleration_max * seconds**2 / PEAK_ACCELERATION,
        axis.jerk_max * seconds**3 / PEAK_JERK,
    )


def move_to(bench: Bench, target: Sequence[float], comfort: float = COMFORT) -> None:
    """Moves all axes to `target` (rad or m) together, at leisure, and waits until they hold there."""
    cycles = max(10, bench.cycles(comfort * move_time(bench.robot, positions(bench), target)))
    start = bench.begin(lambda cycle: motion.move(bench.board, target, cycles, start_cycle=cycle))
    bench.run_until(start + cycles + 2)
    bench.settle()


def positions(bench: Bench) -> list[float]:
    """Where the axes are commanded to be, rad or m."""
    return [
        units.value(count, "position", revolute=axis.revolute)
        for axis, count in zip(bench.robot.axes, bench.board.status().position_command, strict=True)
    ]
