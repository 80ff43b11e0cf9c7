"""Do the torques of the axes fit each other? A wrong TorqueFactor of one axis shows where axes share parameters.

The torque of axis k is taken for s_k times what the model says, known part and all, tau_k = s_k (Y_k theta + known_k),
s = 1 on the axis with the largest torque of those that share parameters. All s and theta follow together
(Gauss-Newton), every axis weighted by the noise that a fit to it alone leaves. Where axis k has its parameters nearly
for itself, s_k cannot be told from them. With three axes or more the median is what is right, so that one wrong axis is
named and not all the others.
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
KNOWN_TO, SURE_TO = 0.03, 0.02
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
    """Z'Z [p + 1, p + 1] and Z'tau [p + 1] of one axis, Z its regressor and the known torque; its weight 1/sigma^2."""

    gram: Array
    moment: Array
    weight: float


def torque_scales(equations: Equations, known: Array, estimate: Estimate) -> list[Scale]:
    """The scales that can be known, of axes that share parameters with others.

    `known` [n, K] is what the model knew of each torque beforehand; equations hold the rest.
    """
    n = len(equations.axes)
    if n < 2:
        return []
    norms = np.linalg.norm(equations.regressor[equations.used], axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    sums = [_sums(equations, known, norms, k) for k in range(n)]
    power = [float(np.sum((equations.torque + known)[k, equations.used[k]] ** 2)) for k in range(n)]
    # An axis that shares nothing, as one that slides beside others that turn, tells nothing about them.
    for reference in sorted(range(n), key=lambda k: -power[k]):
        others = [k for k in range(n) if k != reference]
        scale, matrix = _solve(sums, estimate.values * norms, np.ones(n), others)
        std = dict(zip(others, _std(matrix, len(norms)).tolist(), strict=True))
        free = [k for k in others if std[k] < KNOWN_TO * scale[k]]
        if free:
            return _against_the_rest(scale, std, reference, free)
    return []


def _against_the_rest(scale: Array, std: dict[int, float], reference: int, free: list[int]) -> list[Scale]:
    """Scales against the reference, or against the median of those that are known well, where these are three."""
    spread = {k: std[k] for k in free}
    sure = [reference, *(k for k in free if spread[k] < SURE_TO * scale[k])]
    if len(sure) < MAJORITY:
        return [Scale(k, (reference,), float(scale[k]), spread[k]) for k in free]
    centre = median_low(scale[sure].tolist())
    spread[reference] = max(spread[k] for k in sure if k != reference)
    return [
        Scale(k, tuple(j for j in sorted(sure) if j != k), float(scale[k]) / centre, spread[k] / centre)
        for k in sorted({*sure, *free})
    ]


def _sums(equations: Equations, known: Array, norms: Array, k: int) -> _Sums:
    used = equations.used[k]
    Y, known = equations.regressor[k, used] / norms, known[k, used]
    torque = equations.torque[k, used] + known
    # Scaled as a whole, the known part is a column like the others.
    Z = np.column_stack([Y, known])
    alone, *_ = np.linalg.lstsq(Z, torque, rcond=1e-10)
    noise = float(np.mean((torque - Z @ alone) ** 2)) or float(np.mean(torque**2)) * 1e-12 or 1.0
    return _Sums(Z.T @ Z, Z.T @ torque, 1 / noise)


def _normal(sums: list[_Sums], values: Array, scale: Array, free: list[int]) -> tuple[Array, Array]:
    """Normal matrix and right-hand side of a step in the parameters and in the free scales."""
    p = len(values)
    matrix, side = np.zeros((p + len(free), p + len(free))), np.zeros(p + len(free))
    all_values = np.append(values, 1.0)
    for k, axis in enumerate(sums):
        model = axis.gram @ all_values
        s, w = float(scale[k]), axis.weight
        error = axis.moment - s * model
        matrix[:p, :p] += w * s**2 * axis.gram[:p, :p]
        side[:p] += w * s * error[:p]
        if k in free:
            place = p + free.index(k)
            matrix[:p, place] = matrix[place, :p] = w * s * model[:p]
            matrix[place, place] = w * float(all_values @ model)
            side[place] = w * float(all_values @ error)
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
