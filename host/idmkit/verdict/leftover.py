"""What a model leaves of the torque: noise, or something that follows the motion, and what that could be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.identify import Equations, Estimate, Observations

Array = NDArray[np.float64]

NEW = 1e-6
"""Part of a column that must stick out of the model's own columns for it to be something new."""

HINTS = {
    "a constant": "a tilted or vertical axis (linear model 2), an offset of the torque, or friction that differs by "
    "direction",
    "sine and cosine of the position": "gravity on a crank (rotary model 3)",
    "the position": "a spring",
    "the acceleration": "inertia",
    "the square of the speed": "friction that grows with the square of the speed, or a coupling",
}


@dataclass(frozen=True)
class Leftover:
    """Residual of one axis over its K independent samples.

    `rms` and `torque_rms` in Nm or N; `systematic` the share of the residual's power that follows position, speed and
    acceleration (0 to 1, corrected for chance); `term` what alone would explain most, `term_share` of the power.
    """

    samples: int
    rms: float
    torque_rms: float
    largest_torque: float
    systematic: float
    term: str
    term_share: float

    @property
    def relative(self) -> float:
        """Residual over torque, root mean squares."""
        return self.rms / self.torque_rms if self.torque_rms > 0 else float("inf")

    @property
    def noise(self) -> float:
        """Standard deviation of what does not follow the motion, Nm or N."""
        return self.rms * float(np.sqrt(1 - self.systematic))

    @property
    def largest_by_noise(self) -> float:
        """What the largest of K normal errors of this noise comes to, Nm or N."""
        return self.noise * float(np.sqrt(2 * np.log(max(self.samples, 2))))


def leftover_of(observations: Observations, equations: Equations, estimate: Estimate, k: int) -> Leftover:
    """Takes the residual of axis `k` apart; torque is all that was measured, with the model's known part."""
    used = equations.used[k]
    rows = np.searchsorted(observations.row, equations.row[used])
    torque = equations.torque[k, used] + observations.known[k, rows]
    error = equations.torque[k, used] - equations.regressor[k, used] @ estimate.values
    candidates = _candidates(observations, rows, k)
    # Only lengths and angles of columns count: an orthogonal transformation to as many rows as columns keeps them.
    *parts, regressor, rest = _turned([*candidates.values(), equations.regressor[k, used], error[:, None]])
    rest = rest[:, 0]
    own = _basis(regressor)
    outside = rest - own @ (own.T @ rest)
    power, count = float(rest @ rest), len(error)
    shares = {name: _explained(part, own, outside, power, count) for name, part in zip(candidates, parts, strict=True)}
    everything = np.column_stack([*parts, regressor])
    together = _explained(everything, np.zeros((len(rest), 0)), rest, power, count)
    term = max(shares, key=shares.__getitem__)
    return Leftover(
        samples=len(error),
        rms=float(np.sqrt(np.mean(error**2))),
        torque_rms=float(np.sqrt(np.mean(torque**2))),
        largest_torque=float(np.abs(torque).max()),
        systematic=together,
        term=term,
        term_share=shares[term],
    )


def _candidates(observations: Observations, rows: NDArray[np.intp], k: int) -> dict[str, Array]:
    """Columns [K, c] of what a torque may depend on, by name."""
    q, qd, qdd = (states[rows] for states in (observations.q, observations.qd, observations.qdd))
    own_q, own_qd, own_qdd = q[:, k], qd[:, k], qdd[:, k]
    found = {
        "a constant": np.ones((len(rows), 1)),
        "sine and cosine of the position": np.column_stack([np.sin(own_q), np.cos(own_q)]),
        "the position": own_q[:, None],
        "the acceleration": own_qdd[:, None],
        "the square of the speed": np.column_stack([own_qd * np.abs(own_qd), own_qd**2]),
    }
    for j, axis in enumerate(observations.axes):
        if j != k:
            found[f"the motion of {axis}"] = np.column_stack([qdd[:, j], qd[:, j], np.sign(qd[:, j]), qd[:, j] ** 2])
    return found


def _turned(parts: list[Array]) -> list[Array]:
    """Parts [K, c] with the same inner products in fewer rows."""
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]
    return np.split(np.linalg.qr(np.column_stack(parts), mode="r"), ends, axis=1)


def _explained(columns: Array, own: Array, error: Array, power: float, count: int) -> float:
    """Share of `power` that columns [R, c] explain beyond `own` (orthonormal), corrected for chance of `count` samples;
    0 to 1.
    """
    fresh = columns - own @ (own.T @ columns)
    kept = np.linalg.norm(fresh, axis=0) > NEW * np.linalg.norm(columns, axis=0)
    basis = _basis(fresh[:, kept])
    free = count - basis.shape[1] - 1
    if power <= 0 or free < 1 or not basis.shape[1]:
        return 0.0
    inside = float(np.sum((basis.T @ error) ** 2))
    unexplained = max(0.0, power - inside) * (count - 1) / free
    return float(np.clip(1 - unexplained / power, 0.0, 1.0))


def _basis(columns: Array) -> Array:
    """Orthonormal basis [K, r] of the columns; without those that are zero or follow from others."""
    norms = np.linalg.norm(columns, axis=0)
    scaled = columns[:, norms > 0] / norms[norms > 0]
    if not scaled.shape[1]:
        return np.zeros((len(columns), 0))
    u, s, _ = np.linalg.svd(scaled, full_matrices=False)
    return np.asarray(u[:, s > NEW * s[0]])
