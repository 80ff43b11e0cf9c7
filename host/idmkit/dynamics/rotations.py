"""Rotation matrices whose right angles are exact.

Robot files write 1.5708 or -1.57079632679 for a right angle. Taken literally, such a number tilts axes by
4e-6 or 5e-12 rad, turns zeros of the model into noise, and makes base parameters with factors of 1e6 and more
out of nothing. So an angle this close to a multiple of 90 degrees is meant to be one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idmkit.errors import ModelError

Array = NDArray[np.float64]

RIGHT_ANGLE_TOLERANCE = 1e-5
"""rad. Half a unit in the last digit of 1.5708 and 3.1416 is 7.3e-6 off at most."""

_QUARTERS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


def cos_sin(angle: float) -> tuple[float, float]:
    """(cos, sin) of an angle in rad, exact where the angle is a multiple of 90 degrees within the tolerance."""
    quarters = round(angle / (math.pi / 2))
    if abs(angle - quarters * math.pi / 2) <= RIGHT_ANGLE_TOLERANCE:
        return _QUARTERS[quarters % 4]
    return math.cos(angle), math.sin(angle)


def distance_to_right_angle(angle: float) -> float:
    """What `cos_sin` moves this angle by, rad; 0 where it leaves it alone."""
    quarters = round(angle / (math.pi / 2))
    distance = abs(angle - quarters * math.pi / 2)
    return distance if distance <= RIGHT_ANGLE_TOLERANCE else 0.0


def skew(vector: ArrayLike) -> Array:
    """[3, 3] matrix S with S @ b = vector x b."""
    x, y, z = np.asarray(vector, dtype=float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def turn(axis: ArrayLike, cosine: float, sine: float) -> Array:
    """[3, 3] rotation about a unit axis [3] by the angle with this cosine and sine (Rodrigues)."""
    a = np.asarray(axis, dtype=float)
    along = np.outer(a, a)
    return along + cosine * (np.eye(3) - along) + sine * skew(a)


def turn_by(axis: ArrayLike, angle: float) -> Array:
    """[3, 3] rotation by an angle (rad) of a description: right angles are exact."""
    return turn(axis, *cos_sin(angle))


def from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """[3, 3] rotation of URDF's rpy: about the fixed x, then y, then z axis, rad; right angles are exact."""
    return turn_by((0, 0, 1), yaw) @ turn_by((0, 1, 0), pitch) @ turn_by((1, 0, 0), roll)


def unit_vector(vector: ArrayLike, what: str) -> Array:
    """The direction [3] of a vector, with components below 1e-9 set to 0; ModelError for a zero vector."""
    v = np.asarray(vector, dtype=float)
    if v.shape != (3,) or not np.all(np.isfinite(v)) or np.linalg.norm(v) < 1e-9:
        raise ModelError(f"{what} must be a direction of three numbers that are not all zero, is {v.tolist()}")
    v = v / np.linalg.norm(v)
    v[np.abs(v) < 1e-9] = 0.0
    return np.asarray(v / np.linalg.norm(v))
