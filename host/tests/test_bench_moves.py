"""The shortest time of a point-to-point motion, against the quintic itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from idmkit.bench.moves import shortest_time
from idmkit.robot import load_robot

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
