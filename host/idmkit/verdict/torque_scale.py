"""Do the torques of the axes fit each other? A wrong TorqueFactor of one axis shows where axes share parameters.

The torque of axis k is taken for s_k times what the model says, s = 1 on the axis with the largest torque. Where
parameters appear in the torques of several axes, all s and the parameters follow together (Gauss-Newton). Where axis k
has its parameters for itself, s_k cannot be told from them, and nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.identify import Equations, Estimate

Array = NDArray[np.float64]

PASSES = 30
SETTLED = 1e-6
INDEPENDENT = 1e-3
"""Part of a scale's column that must stick out of the others for the scale to be known."""


@dataclass(frozen=True)
class Scale:
    """The torque of axis number `axis` is `value` +- `std` times what the torque of axis `reference` asks for."""

    axis: int
    reference: int
    value: float
    std: float


def torque_scales(equations: Equations, estimate: Estimate) -> list[Scale]:
    """The scales that can be known, of axes that share parameters with others."""
    n = len(equations.axes)
    if n < 2:
        return []
    power = [float(np.sum(equations.torque[k, equations.used[k]] ** 2)) for k in range(n)]
    reference = int(np.argmax(power))
    others = [k for k in range(n) if k != reference]
    rows = [equations.regressor[k, equations.used[k]] for k in range(n)]
    torques = [equations.torque[k, equations.used[k]] for k in range(n)]
    scale, values = np.ones(n), estimate.values.copy()
    known = _known(rows, values, others)
    if not known:
        return []
    for _ in range(PASSES):
        weights = [1 / max(_rms(t - s * (Y @ values)), 1e-12) for t, s, Y in zip(torques, scale, rows, strict=True)]
        A, b = _linearised(rows, torques, values, scale, known, weights)
        norms = np.linalg.norm(A, axis=0)
        norms = np.where(norms > 0, norms, 1.0)
        step, *_ = np.linalg.lstsq(A / norms, b, rcond=1e-10)
        step = step / norms
        values = values + step[: len(values)]
        change = np.clip(step[len(values) :], -0.5 * scale[known], scale[known])
        scale[known] += change
        if np.abs(change).max() < SETTLED:
            break
    covariance = np.linalg.pinv((A / norms).T @ (A / norms), rcond=1e-12) / np.outer(norms, norms)
    std = np.sqrt(np.diag(covariance))[len(values) :]
    return [Scale(k, reference, float(scale[k]), float(s)) for k, s in zip(known, std, strict=True)]


def _known(rows: list[Array], values: Array, others: list[int]) -> list[int]:
    """The axes whose scale is not the same as a change of parameters."""
    found = []
    for k in others:
        column = np.concatenate([Y @ values if j == k else np.zeros(len(Y)) for j, Y in enumerate(rows)])
        stacked = np.concatenate(rows)
        norms = np.linalg.norm(stacked, axis=0)
        scaled = stacked[:, norms > 0] / norms[norms > 0]
        inside = scaled @ np.linalg.lstsq(scaled, column, rcond=1e-10)[0]
        if np.linalg.norm(column - inside) > INDEPENDENT * np.linalg.norm(column):
            found.append(k)
    return found


def _linearised(
    rows: list[Array], torques: list[Array], values: Array, scale: Array, known: list[int], weights: list[float]
) -> tuple[Array, Array]:
    """Weighted columns of a change of the parameters and of the known scales, and the torques that are left."""
    blocks, left = [], []
    for k, (Y, torque, weight) in enumerate(zip(rows, torques, weights, strict=True)):
        model = Y @ values
        scales = np.column_stack([model if j == k else np.zeros(len(Y)) for j in known])
        blocks.append(weight * np.hstack([scale[k] * Y, scales]))
        left.append(weight * (torque - scale[k] * model))
    return np.concatenate(blocks), np.concatenate(left)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
