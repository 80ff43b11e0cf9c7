"""Least squares, plain or with a weight an axis, on decimated rows above the velocity threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import IdentificationError
from idmkit.identify.covariance import long_run_covariance
from idmkit.identify.estimate import Estimate
from idmkit.identify.observations import Observations
from idmkit.signals import decimation_factor

Array = NDArray[np.float64]

RANK_TOLERANCE = 1e-7
"""Singular values of the column-scaled regressor below this share of the largest count as zero: filtered
measurements are not exact to more than that."""
WEIGHT_PASSES = 3


@dataclass(frozen=True, eq=False)
class Equations:
    """Decimated rows of all axes: regressor [n, K, p], torque [n, K], usable [n, K].

    `tick` [K] numbers the rows in steps of the decimation; a hole between stretches is a jump.
    """

    regressor: Array
    torque: Array
    usable: NDArray[np.bool_]
    tick: NDArray[np.intp]


def decimated(observations: Observations) -> Equations:
    """Every n-th row of each stretch, n by the cutoff; the samples are low-passed already."""
    factor = decimation_factor(observations.sample_rate_hz, observations.cutoff_hz)
    starts = np.flatnonzero(np.concatenate(([True], np.diff(observations.row) != 1)))
    since = np.arange(observations.rows) - np.repeat(starts, np.diff(np.append(starts, observations.rows)))
    kept = since % factor == 0
    row = observations.row[kept]
    # A hole is wider than the correlation of the residuals: one empty step keeps stretches apart.
    steps = np.where(np.diff(row) == factor, 1, np.maximum(2, np.diff(row) // factor))
    tick = np.concatenate(([0], np.cumsum(steps)))
    return Equations(observations.regressor[:, kept], observations.torque[:, kept], observations.fitted[:, kept], tick)


def fit_least_squares(observations: Observations, *, weighted: bool = False) -> Estimate:
    """Ordinary least squares, or weighted by 1/sigma of each axis' residuals (three passes).

    Raises IdentificationError where an axis has fewer usable rows than its share of the parameters.
    """
    equations = decimated(observations)
    counts = equations.usable.sum(axis=1)
    n, p = len(counts), equations.regressor.shape[2]
    for axis, count, speed, threshold in zip(
        observations.axes,
        counts,
        np.abs(observations.qd).max(axis=0),
        observations.velocity_thresholds,
        strict=True,
    ):
        if count * n <= p:
            raise IdentificationError(
                f"axis {axis!r} moves faster than its velocity threshold {threshold:.4g} in {count} independent "
                f"samples only (top speed {speed:.4g}); move faster or longer, or lower the threshold"
            )
    weight = np.ones(n)
    for last in [False] * (WEIGHT_PASSES - 1) * weighted + [True]:
        solution = _solve(equations, weight)
        residual = np.where(equations.usable, equations.torque - equations.regressor @ solution.values, 0.0)
        sigma = np.sqrt(np.sum(residual**2, axis=1) / np.maximum(counts - p / n, 1))
        if not last:
            weight = 1 / np.where(sigma > 0, sigma, 1.0)
    covariance = _sandwich(equations, residual, weight, solution.inverse)
    entangled = _entangled(solution.null, observations.names)
    for index, name in enumerate(observations.names):
        if any(name in group for group in entangled):
            covariance[index, index] = np.inf
    return Estimate(
        estimator="weighted least squares" if weighted else "least squares",
        names=observations.names,
        values=solution.values,
        covariance=covariance,
        fitted_rows=int(counts.sum()),
        rank=p - len(solution.null),
        condition=solution.condition,
        entangled=entangled,
        sigma=sigma,
        shares=_shares(equations, solution.values),
    )


@dataclass(frozen=True, eq=False)
class _Solution:
    """Values [p], (W'W)^-1 [p, p] within the rank, directions [p - rank, p] that the samples do not see."""

    values: Array
    inverse: Array
    null: Array
    condition: float


def _solve(equations: Equations, weight: Array) -> _Solution:
    usable = equations.usable
    rows = np.concatenate([w * equations.regressor[k][usable[k]] for k, w in enumerate(weight)])
    target = np.concatenate([w * equations.torque[k][usable[k]] for k, w in enumerate(weight)])
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
    return _Solution(values, inverse, right[rank:], condition)


def _sandwich(equations: Equations, residual: Array, weight: Array, inverse: Array) -> Array:
    """Covariance [p, p] from the scores of all axes, summed at each tick, so that axes may be correlated too."""
    p = equations.regressor.shape[2]
    scores = np.zeros((int(equations.tick[-1]) + 1, p))
    scores[equations.tick] = np.einsum("nkp,nk,n->kp", equations.regressor, residual, weight**2)
    count = int(equations.usable.sum())
    correction = count / max(count - p, 1)
    return np.asarray(correction * (inverse @ long_run_covariance(scores) @ inverse))


def _shares(equations: Equations, values: Array) -> Array:
    """Root mean square of each parameter's torque over that of the axis, the largest over the axes, shape [p]."""
    usable = equations.usable
    parts = np.sqrt(np.einsum("nkp,nkp,nk->np", equations.regressor, equations.regressor, usable.astype(float)))
    torque = np.sqrt(np.sum(equations.torque**2 * usable, axis=1))
    return np.asarray((parts * np.abs(values) / np.where(torque > 0, torque, 1.0)[:, None]).max(axis=0))


def _entangled(null: Array, names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """For each direction [p] the samples do not see, the parameters that take part in it."""
    return tuple(
        tuple(name for name, part in zip(names, direction, strict=True) if abs(part) > 0.05 * np.abs(direction).max())
        for direction in null
    )
