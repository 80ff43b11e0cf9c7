"""The uniform cubic B-spline that the board makes of streamed points (motionboard.stream), on the host.

Points before the first are the start, points after the last are the last one; knot i lies between points i-3, i-2, i-1,
so a stream of N points has knots 0 .. N+2, at rest at both.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_banded

from idmkit.dynamics.rotations import Array


def control_points(knots: Array) -> Array:
    """[K-3, n] points whose curve goes through `knots` [K, n]; the first two knots and the last two must be equal."""
    rest = knots[2:-2]
    count = len(rest)
    if not count:
        return knots[1:2]
    right = 6 * rest
    right[0] -= knots[0]
    right[-1] -= knots[-1]
    bands = np.ones((3, count))
    bands[1] = 4.0
    inner = np.asarray(solve_banded((1, 1), bands, right))
    return np.vstack([inner, knots[-1:]])


def derivatives(points: Array, start: Array, segment_s: float) -> tuple[Array, Array, Array]:
    """(speed, acceleration [K, n] at the knots, jerk [K-1, n] between them) of the curve of `points` [N, n]."""
    c = np.vstack([start, start, start, points, points[-1:], points[-1:], points[-1:]])
    return (
        (c[2:] - c[:-2]) / (2 * segment_s),
        np.diff(c, n=2, axis=0) / segment_s**2,
        np.diff(c, n=3, axis=0) / segment_s**3,
    )
