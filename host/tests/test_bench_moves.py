"""The shortest time of a point-to-point motion, against the quintic itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from idmkit.bench.moves import least_acceleration_time, move_time, shortest_time
from idmkit.robot import load_robot
from idmkit.stiffness import soft_delta
from idmkit.stiffness.geometry import platform_position

AXES = [load_robot(name).axes[0] for name in ("crank", "slide")]
# s(u) = 10 u^3 - 15 u^4 + 6 u^5 and its derivatives, evaluated densely.
QUINTIC = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])
DENSE = np.linspace(0, 1, 100_001)
PEAKS = [float(np.abs(QUINTIC.deriv(order)(DENSE)).max()) for order in (1, 2, 3)]


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
@pytest.mark.parametrize("distance", [1e-6, 1e-3, 0.01, -0.05, 0.3, 0.9])
def test_one_limit_is_reached_and_none_is_passed(axis, distance: float) -> None:
    limits = (axis.velocity_max, axis.acceleration_max, axis.jerk_max)
    duration = shortest_time(axis, distance)
    used = [peak * abs(distance) / duration**k / limit for k, peak, limit in zip((1, 2, 3), PEAKS, limits, strict=True)]
    # A grid of 1e-5 misses the peak of the acceleration, a smooth one, by less than 1e-9.
    assert max(used) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("limit", ["velocity_max", "acceleration_max", "jerk_max"])
def test_each_limit_can_be_the_one(limit: str) -> None:
    axis = AXES[0]
    slower = replace(axis, **{limit: getattr(axis, limit) / 1000})
    assert shortest_time(slower, 1.0) > 5 * shortest_time(axis, 1.0)


def test_no_way_takes_no_time() -> None:
    assert shortest_time(AXES[0], 0.0) == 0.0


def test_a_delta_accelerates_no_shorter_than_its_resonance_allows() -> None:
    robot = load_robot("delta")
    delta = soft_delta(robot)
    start, short, far = [0.2, 0.3, 0.4], [0.25, 0.32, 0.41], [0.9, 0.5, 0.1]
    least = least_acceleration_time(robot, start, short)
    # 1 / (2 R_ext f) with the lower resonance along the move, by the table of docs/stiffness.md.
    ends = [platform_position(delta.robot.geometry, q) for q in (start, short)]
    lowest = min(delta.robot.at(end, ends[1] - ends[0]).resonance_hz for end in ends)
    assert least == pytest.approx(1 / (2 * 0.3 * lowest), rel=1e-12)
    # Short ways are limited by it, long ones by the axes; the quintic speeds up for half of its time.
    by_axes = [max(map(shortest_time, robot.axes, np.subtract(goal, start))) for goal in (short, far)]
    assert by_axes[0] < 2 * least == move_time(robot, start, short)
    assert move_time(robot, start, far) == by_axes[1] > 2 * least_acceleration_time(robot, start, far)
    assert QUINTIC.deriv(2)(0.5) == pytest.approx(0, abs=1e-12)
    # Softer or heavier: longer. Stiffness that is not given: no such limit.
    stiffness = robot.machine.stiffness
    soft = replace(robot, machine=replace(robot.machine, stiffness=replace(stiffness, c_q=2000.0)))
    assert least_acceleration_time(soft, start, short) > 1.3 * least
    rigid = replace(robot, machine=replace(robot.machine, stiffness=None))
    assert least_acceleration_time(rigid, start, short) == 0.0
    assert least_acceleration_time(robot, start, start) == 0.0
