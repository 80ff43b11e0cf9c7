"""Do the torques of the axes fit each other? A wrong TorqueFactor of one axis shows where axes share parameters.

The torque of axis k is taken for s_k times what the model says, s = 1 on the axis with the largest torque:
tau_k = s_k Y_k theta. All s and theta follow together (Gauss-Newton), every axis weighted by the noise that a fit to
it alone leaves. Where axis k has its parameters nearly for itself, s_k cannot be told from them, and nothing is said
about it. With three axes or more the median is what is right, so that one wrong axis is named and not all the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low

import numpy as np
from numpy.typing import NDArray

from idmkit.identify import Equations, Estimate

Array = NDArray[np.float64]

PASSES = 50
SETTLED = 1e-6
DISTINCT = 1e-10
"""Eigenvalues of the scaled normal matrix below this share of the largest count as zero."""
KNOWN_TO, SURE_TO = 0.05, 0.02
"""Standard deviation, in parts of a scale, up to which it is known; up to which it may say which axis is right."""
MAJORITY = 3


@dataclass(frozen=True)
class Scale:
    """The torque of axis number `axis` is `value` +- `std` times what the torques of the axes `against` ask for."""

    axis: int
    against: tuple[int, ...]
    value: float
    std: float


@dataclass(frozen=True, eq=False)
class _Sums:
    """Y'Y [p, p] and Y'tau [p] of one axis, and its weight 1/sigma^2."""

    gram: Array
    moment: Array
    weight: float


def torque_scales(equations: Equations, estimate: Estimate) -> list[Scale]:
    """The scales that can be known, of axes that share parameters with others."""
    n = len(equations.axes)
    if n < 2:
        return []
    norms = np.linalg.norm(equations.regressor[equations.used], axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    sums = [_sums(equations, norms, k) for k in range(n)]
    power = [float(np.sum(equations.torque[k, equations.used[k]] ** 2)) for k in range(n)]
    reference = int(np.argmax(power))
    values = estimate.values * norms
    others = [k for k in range(n) if k != reference]
    std = _std(_normal(sums, values, np.ones(n), others)[0], len(values))
    free = [k for k, deviation in zip(others, std, strict=True) if deviation < KNOWN_TO]
    if not free:
        return []
    scale, matrix = _solve(sums, values, np.ones(n), free)
    return _against_the_rest(scale, _std(matrix, len(values)), reference, free)


def _against_the_rest(scale: Array, std: Array, reference: int, free: list[int]) -> list[Scale]:
    """Scales against the reference, or against the median of those that are known well, where these are three."""
    spread = dict(zip(free, std.tolist(), strict=True))
    sure = [reference, *(k for k in free if spread[k] < SURE_TO * scale[k])]
    if len(sure) < MAJORITY:
        return [Scale(k, (reference,), float(scale[k]), spread[k]) for k in free]
    centre = median_low(scale[sure].tolist())
    spread[reference] = max(spread[k] for k in sure if k != reference)
    return [
        Scale(k, tuple(j for j in sorted(sure) if j != k), float(scale[k]) / centre, spread[k] / centre)
        for k in sorted({*sure, *free})
    ]


def _sums(equations: Equations, norms: Array, k: int) -> _Sums:
    Y, torque = equations.regressor[k, equations.used[k]] / norms, equations.torque[k, equations.used[k]]
    alone, *_ = np.linalg.lstsq(Y, torque, rcond=1e-10)
    noise = float(np.mean((torque - Y @ alone) ** 2)) or float(np.mean(torque**2)) * 1e-12 or 1.0
    return _Sums(Y.T @ Y, Y.T @ torque, 1 / noise)


def _normal(sums: list[_Sums], values: Array, scale: Array, free: list[int]) -> tuple[Array, Array]:
    """Normal matrix and right-hand side of a step in the parameters and in the free scales."""
    p = len(values)
    matrix, side = np.zeros((p + len(free), p + len(free))), np.zeros(p + len(free))
    for k, axis in enumerate(sums):
        model = axis.gram @ values
        s, w = float(scale[k]), axis.weight
        matrix[:p, :p] += w * s**2 * axis.gram
        side[:p] += w * s * (axis.moment - s * model)
        if k in free:
            place = p + free.index(k)
            matrix[:p, place] = matrix[place, :p] = w * s * model
            matrix[place, place] = w * float(values @ model)
            side[place] = w * float(values @ (axis.moment - s * model))
    return matrix, side


def _solve(sums: list[_Sums], values: Array, scale: Array, free: list[int]) -> tuple[Array, Array]:
    """(scales [n], normal matrix at the solution); a scale is at most halved or doubled in one pass."""
    p = len(values)
    for _ in range(PASSES):
        matrix, side = _normal(sums, values, scale, free)
        step = _inverse(matrix) @ side
        change = np.clip(step[p:], -0.5 * scale[free], scale[free])
        values, scale = values + step[:p], scale.copy()
        scale[free] += change
        if np.abs(change).max() < SETTLED:
            break
    return scale, _normal(sums, values, scale, free)[0]


def _std(matrix: Array, p: int) -> Array:
    """Standard deviations of the scales; infinite where a scale is the same as a change of parameters."""
    diagonal = np.sqrt(np.diag(matrix))
    scaled = matrix / np.outer(np.where(diagonal > 0, diagonal, 1.0), np.where(diagonal > 0, diagonal, 1.0))
    eigenvalues, vectors = np.linalg.eigh(scaled)
    small = eigenvalues < DISTINCT * eigenvalues[-1]
    entangled = np.sum(vectors[:, small] ** 2, axis=1)[p:] > DISTINCT
    return np.where(entangled, np.inf, np.sqrt(np.diag(_inverse(matrix))[p:]))


def _inverse(matrix: Array) -> Array:
    """Pseudo-inverse of a normal matrix, scaled by its diagonal."""
    diagonal = np.sqrt(np.diag(matrix))
    diagonal = np.where(diagonal > 0, diagonal, 1.0)
    inverse = np.linalg.pinv(matrix / np.outer(diagonal, diagonal), rcond=DISTINCT, hermitian=True)
    return np.asarray(inverse / np.outer(diagonal, diagonal))
