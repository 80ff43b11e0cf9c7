"""Least squares: plain, with a weight an axis, or robust against outliers (Huber)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from idmkit.identify.covariance import long_run_covariance
from idmkit.identify.equations import Equations
from idmkit.identify.estimate import Estimate

Array = NDArray[np.float64]

RANK_TOLERANCE = 1e-7
"""Singular values of the column-scaled regressor below this share of the largest count as zero: filtered
measurements are not exact to more than that."""
WEIGHT_PASSES = 4
HUBER_PASSES = 30
HUBER = 1.345
"""Standard deviations within which Huber's estimator is least squares: 95 % efficient under normal errors."""
HUBER_CONVERGED = 1e-8


def fit_least_squares(equations: Equations, *, weighted: bool = False) -> Estimate:
    """Ordinary least squares, or weighted by 1/sigma of each axis' residuals, in four passes."""
    weight = np.ones(len(equations.axes))
    for _ in range(WEIGHT_PASSES - 1 if weighted else 0):
        weight = axis_weights(equations, solve(equations, weight).values)
    solution = solve(equations, weight)
    name = "weighted least squares" if weighted else "least squares"
    return estimate_of(name, equations, solution, weight)


def fit_huber(equations: Equations) -> Estimate:
    """Huber's M-estimator with a scale an axis: residuals count linearly beyond 1.345 robust sigmas.

    A contact or a burst of disturbed samples then cannot pull the parameters far.
    """
    weight = np.broadcast_to(np.ones((len(equations.axes), 1)), equations.torque.shape)
    values = solve(equations, weight).values
    for _ in range(HUBER_PASSES):
        residual = equations.residual(values)
        scale = np.array(
            [1.4826 * np.median(np.abs(r[used])) for r, used in zip(residual, equations.used, strict=True)]
        )
        scale = np.where(scale > 0, scale, 1.0)[:, None]
        share = np.minimum(1.0, HUBER * scale / np.maximum(np.abs(residual), 1e-300))
        weight = np.sqrt(share) / scale
        before, values = values, solve(equations, weight).values
        if np.linalg.norm(values - before) <= HUBER_CONVERGED * np.linalg.norm(values):
            break
    # Outliers have no slope: what a small change of the parameters does is told by the rows within the bound.
    solution = replace(solve(equations, weight), inverse=solve(equations, (share == 1) / scale).inverse)
    return estimate_of("Huber", equations, solution, weight)


@dataclass(frozen=True, eq=False)
class Solution:
    """Values [p], (W'W)^-1 [p, p] within the rank, directions [p - rank, p] that the samples do not see."""

    values: Array
    inverse: Array
    null: Array
    condition: float


def solve(equations: Equations, weight: Array) -> Solution:
    """Least squares with rows multiplied by `weight` [n] or [n, K]; the smallest of all solutions."""
    rows, target = equations.stacked(weight)
    scale = np.linalg.norm(rows, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    # One orthogonal reduction serves the solution and the rank; the normal equations would square the condition.
    reduced = np.asarray(np.linalg.qr(np.column_stack((rows / scale, target)), mode="r"))
    p = len(scale)
    left, singular, right = np.linalg.svd(reduced[:p, :p])
    rank = int(np.sum(singular > RANK_TOLERANCE * singular[0]))
    seen = right[:rank]
    values = seen.T @ ((left[:, :rank].T @ reduced[:p, p]) / singular[:rank]) / scale
    inverse = (seen.T / singular[:rank] ** 2) @ seen / np.outer(scale, scale)
    condition = float(singular[0] / singular[-1]) if singular[-1] > 0 else float("inf")
    return Solution(values, inverse, right[rank:], condition)


def estimate_of(name: str, equations: Equations, solution: Solution, weight: Array) -> Estimate:
    """The estimate of a solution, with a covariance that holds for coloured and correlated residuals."""
    residual = equations.residual(solution.values)
    covariance = _sandwich(equations, residual, weight, solution.inverse)
    entangled = _entangled(solution.null, equations.names)
    for index, parameter in enumerate(equations.names):
        if any(parameter in group for group in entangled):
            covariance[index, index] = np.inf
    return Estimate(
        estimator=name,
        names=equations.names,
        values=solution.values,
        covariance=covariance,
        fitted_rows=int(equations.counts.sum()),
        rank=len(equations.names) - len(solution.null),
        condition=solution.condition,
        entangled=entangled,
        sigma=_sigma(equations, residual),
        shares=_shares(equations, solution.values),
    )


def _sigma(equations: Equations, residual: Array) -> Array:
    """Standard deviation [n] of the residuals, the parameters shared equally among the axes."""
    free = np.maximum(equations.counts - len(equations.names) / len(equations.axes), 1)
    return np.asarray(np.sqrt(np.sum(residual**2, axis=1) / free))


def axis_weights(equations: Equations, values: Array) -> Array:
    """1/sigma [n] of the residuals that `values` leave."""
    sigma = _sigma(equations, equations.residual(values))
    return 1 / np.where(sigma > 0, sigma, 1.0)


def _sandwich(equations: Equations, residual: Array, weight: Array, inverse: Array) -> Array:
    """Covariance [p, p] from the scores of all axes, summed at each tick, so that axes may be correlated too."""
    p = len(equations.names)
    squared = np.broadcast_to(np.asarray(weight).reshape(len(equations.axes), -1) ** 2, residual.shape)
    scores = np.zeros((int(equations.tick[-1]) + 1, p))
    scores[equations.tick] = np.einsum("nkp,nk->kp", equations.regressor, residual * squared)
    count = int(equations.counts.sum())
    correction = count / max(count - p, 1)
    return np.asarray(correction * (inverse @ long_run_covariance(scores) @ inverse))


def _shares(equations: Equations, values: Array) -> Array:
    """Root mean square of each parameter's torque over that of the axis, the largest over the axes, shape [p]."""
    used = equations.used.astype(float)
    parts = np.sqrt(np.einsum("nkp,nkp,nk->np", equations.regressor, equations.regressor, used))
    torque = np.sqrt(np.sum(equations.torque**2 * used, axis=1))
    return np.asarray((parts * np.abs(values) / np.where(torque > 0, torque, 1.0)[:, None]).max(axis=0))


def _entangled(null: Array, names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """For each direction [p] the samples do not see, the parameters that take part in it."""
    return tuple(
        tuple(name for name, part in zip(names, direction, strict=True) if abs(part) > 0.05 * np.abs(direction).max())
        for direction in null
    )
