"""Finite Fourier series that begin and end at rest (Swevers et al. 1997): the motion of an exciting run.

With w = 2 pi / period, for every axis

    q(t) = q0 + sum_l a_l/(w l) sin(w l t) - b_l/(w l) cos(w l t),      l = 1..H

so a and b are amplitudes of the speed. Speed and acceleration vanish at t = 0, and so after every period, where
sum_l a_l = 0 and sum_l l b_l = 0. `rest_basis` spans what is left.

A trigonometric polynomial of degree H that is at most 1 on M > 2 H equidistant points of its period is at most
1/cos(pi H/M) between them (Ehlich and Zeller 1964): what bounds position, speed, acceleration and jerk for all time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

DERIVATIVES = 5
"""Position, speed, acceleration, jerk and the derivative of the jerk."""
PROOF_POINTS = 64
"""Points a period, times the degree, from which bounds are computed: they are 0.12 % above the true ones at most."""


@dataclass(frozen=True)
class Enclosure:
    """Intervals of the states of n axes over N spans of time: `low` and `high` [3, N, n] of q, qd, qdd."""

    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class FourierSeries:
    """A periodic motion of n axes. `offset` [n] (rad, m), `a` and `b` [n, H] (rad/s, m/s)."""

    period_s: float
    offset: Array
    a: Array
    b: Array

    @property
    def duration_s(self) -> float:
        """Length of what is proved: one period."""
        return self.period_s

    @property
    def harmonics(self) -> int:
        """H."""
        return int(self.a.shape[1])

    @property
    def highest_hz(self) -> float:
        """Frequency of the last harmonic."""
        return self.harmonics / self.period_s

    @property
    def n_axes(self) -> int:
        """Number of axes n."""
        return len(self.offset)

    def derivatives(self, t: ArrayLike, count: int = 3) -> Array:
        """Position and its derivatives [count, N, n] at times t [N] (s)."""
        both = np.hstack([self.a, self.b])
        out = np.stack([harmonic_matrix(t, self.period_s, self.harmonics, k) @ both.T for k in range(count)])
        out[0] += self.offset
        return out

    def bounds(self, count: int = 4) -> tuple[Array, Array]:
        """(lowest, highest) [count, n] of position and its derivatives over all time, proved."""
        points = PROOF_POINTS * self.harmonics
        values = self.derivatives(np.arange(points) * (self.period_s / points), count)
        low, high = values.min(axis=1), values.max(axis=1)
        radius = (high - low) / 2 / math.cos(math.pi / PROOF_POINTS)
        return (low + high) / 2 - radius, (low + high) / 2 + radius

    def enclose(self, middle: ArrayLike, width: float) -> Enclosure:
        """What q, qd, qdd can be within width/2 (s) of the times `middle` [N]: Taylor with the next bounds."""
        values = self.derivatives(middle, 4)
        largest = np.abs(np.stack(self.bounds(DERIVATIVES))).max(axis=0)
        h = width / 2
        reach = np.abs(values[1:4]) * h + largest[2:5, None, :] * (h * h / 2)
        return Enclosure(values[:3] - reach, values[:3] + reach)


def harmonic_matrix(t: ArrayLike, period_s: float, harmonics: int, derivative: int = 0) -> Array:
    """[N, 2 H]: what the coefficients (a, b) of one axis are multiplied by for a derivative of q at times t [N] (s)."""
    w = 2 * np.pi / period_s * np.arange(1, harmonics + 1)
    phase = np.outer(np.asarray(t, dtype=float), w)
    # The k-th derivative of sin is sin shifted by k quarters of a turn; -cos is sin shifted by one back.
    quarter = derivative % 4
    sine = (np.sin(phase), np.cos(phase), -np.sin(phase), -np.cos(phase))
    return np.hstack([sine[quarter], sine[(quarter + 3) % 4]]) * np.tile(w ** (derivative - 1.0), 2)


def rest_basis(harmonics: int) -> Array:
    """[2 H, 2 H - 2] orthonormal: all (a, b) with sum a = 0 and sum l b = 0."""
    conditions = np.zeros((2, 2 * harmonics))
    conditions[0, :harmonics] = 1.0
    conditions[1, harmonics:] = np.arange(1, harmonics + 1)
    return np.asarray(np.linalg.svd(conditions)[2][2:].T)
