"""Maximum likelihood for periodic motion: torque and position are both noisy, and both noises are known.

The motion of one averaged period is a finite Fourier series. Its coefficients and the parameters of the model are
found together, such that positions and torques are matched in units of their own noise:

    minimise  sum (q - q(a))^2 / s_q^2 + sum (tau - model(q(a), theta))^2 / s_tau^2

With noise-free positions this is weighted least squares (Swevers, Verdonck and De Schutter, 2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import IdentificationError
from idmkit.identify.estimate import Estimate
from idmkit.identify.observations import LinearModel, mean_direction

Array = NDArray[np.float64]

_STEPS = 50
_SETTLED = 1e-9
_NUDGE = 1e-6


@dataclass(frozen=True, eq=False)
class Period:
    """One averaged period of K samples of n axes: positions and torques [K, n], the variances [n] of their noise.

    `harmonics` of the motion, 0 excluded; the torque may have more, friction makes them.
    """

    axes: tuple[str, ...]
    sample_rate_hz: float
    harmonics: int
    position: Array
    torque: Array
    position_variance: Array
    torque_variance: Array

    @property
    def basis(self) -> tuple[Array, Array, Array]:
        """Fourier functions [K, 2 H + 1] and their first two derivatives: 1, cos, sin of each harmonic."""
        count = len(self.position)
        w = 2 * np.pi * self.sample_rate_hz / count * np.arange(1, self.harmonics + 1)
        phase = np.outer(np.arange(count) / self.sample_rate_hz, w)
        cosine, sine = np.cos(phase), np.sin(phase)
        one, nothing = np.ones((count, 1)), np.zeros((count, 1))
        return (
            np.hstack((one, cosine, sine)),
            np.hstack((nothing, -w * sine, w * cosine)),
            np.hstack((nothing, -w * w * cosine, -w * w * sine)),
        )


def fit_maximum_likelihood(period: Period, model: LinearModel, *, exact_positions: bool = False) -> Estimate:
    """The parameters of `model` with the covariance that the known noise gives.

    `exact_positions` takes the series of the averaged positions for the motion: weighted least squares. Raises
    IdentificationError where the search does not settle.
    """
    search = _Search(period, model)
    coefficients: Array = np.asarray(np.linalg.lstsq(period.basis[0], period.position, rcond=None)[0], dtype=np.float64)
    values = search.weighted_least_squares(coefficients)
    if not exact_positions:
        for _ in range(_STEPS):
            step, _ = search.step(coefficients, values)
            split = coefficients.size
            coefficients = coefficients + step[:split].reshape(coefficients.shape)
            values = values + step[split:]
            if np.linalg.norm(step[split:]) <= _SETTLED * np.linalg.norm(values):
                break
        else:
            raise IdentificationError(
                f"maximum likelihood did not settle in {_STEPS} steps; the motion may not be periodic with "
                f"{period.harmonics} harmonics. Use weighted least squares"
            )
    return search.estimate(coefficients, values, exact_positions)


@dataclass(frozen=True, eq=False)
class _Search:
    period: Period
    model: LinearModel

    def motion(self, coefficients: Array) -> tuple[Array, Array, Array]:
        """(q, qd, qdd) [K, n] of Fourier coefficients [2 H + 1, n]."""
        value, first, second = self.period.basis
        return value @ coefficients, first @ coefficients, second @ coefficients

    def rows(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
        """(Y [n, K, p], offset [n, K]), with the reversals between the samples."""
        return self.model(q, qd, qdd, mean_direction(qd, qdd, self.period.sample_rate_hz))

    def weighted_least_squares(self, coefficients: Array) -> Array:
        """Parameters [p] for the motion of the coefficients."""
        Y, offset = self.rows(*self.motion(coefficients))
        scale = 1 / np.sqrt(self.period.torque_variance)
        target = (self.period.torque.T - offset) * scale[:, None]
        rows = Y * scale[:, None, None]
        return np.asarray(np.linalg.lstsq(rows.reshape(-1, Y.shape[2]), target.reshape(-1), rcond=None)[0])

    def step(self, coefficients: Array, values: Array) -> tuple[Array, Array]:
        """(Gauss-Newton step, information matrix) of coefficients and parameters."""
        period = self.period
        q, qd, qdd = self.motion(coefficients)
        Y, offset = self.rows(q, qd, qdd)
        n, count, p = Y.shape
        torque_scale, position_scale = 1 / np.sqrt(period.torque_variance), 1 / np.sqrt(period.position_variance)
        width = coefficients.shape[0]
        error = [((period.position - q) * position_scale).T.reshape(-1)]
        error.append(((period.torque.T - offset - Y @ values) * torque_scale[:, None]).reshape(-1))
        jacobian = np.zeros((2 * n * count, width * n + p))
        slopes = self._slopes(q, qd, qdd, values)
        for i in range(n):
            # Coefficients [2 H + 1, n] lie axis after axis along the last index.
            places = np.arange(width) * n + i
            jacobian[i * count : (i + 1) * count, places] = period.basis[0] * position_scale[i]
            for j in range(n):
                rows = slice((n + j) * count, (n + j + 1) * count)
                jacobian[rows, places] = torque_scale[j] * sum(
                    slopes[order][j, :, i, None] * period.basis[order] for order in range(3)
                )
        jacobian[n * count :, width * n :] = (Y * torque_scale[:, None, None]).reshape(-1, p)
        step = np.linalg.lstsq(jacobian, np.concatenate(error), rcond=None)[0]
        return step, jacobian.T @ jacobian

    def _slopes(self, q: Array, qd: Array, qdd: Array, values: Array) -> list[Array]:
        """How the torque [n, K] changes with q, qd, qdd of each axis: three arrays [n, K, n]."""
        direction = mean_direction(qd, qdd, self.period.sample_rate_hz)
        states = [q, qd, qdd]
        slopes = []
        for order in range(3):
            size = _NUDGE * max(float(np.abs(states[order]).max()), 1.0)
            slope = np.empty((q.shape[1], len(q), q.shape[1]))
            for i in range(q.shape[1]):
                torques = []
                for sign in (1, -1):
                    moved = [state.copy() for state in states]
                    moved[order][:, i] += sign * size
                    Y, offset = self.model(moved[0], moved[1], moved[2], direction)
                    torques.append(Y @ values + offset)
                slope[:, :, i] = (torques[0] - torques[1]) / (2 * size)
            slopes.append(slope)
        return slopes

    def estimate(self, coefficients: Array, values: Array, exact_positions: bool) -> Estimate:
        period = self.period
        Y, offset = self.rows(*self.motion(coefficients))
        n, count, p = Y.shape
        rows = (Y / np.sqrt(period.torque_variance)[:, None, None]).reshape(-1, p)
        lengths = np.linalg.norm(rows, axis=0)
        singular = np.linalg.svd(rows / np.where(lengths > 0, lengths, 1.0), compute_uv=False)
        rank = int(np.sum(singular > 1e-7 * singular[0]))
        if rank < p:
            raise IdentificationError(
                f"the motion shows {rank} of {p} parameters; use least squares, which names those it does not show"
            )
        information = rows.T @ rows if exact_positions else self.step(coefficients, values)[1]
        covariance = np.asarray(np.linalg.inv(information)[-p:, -p:], dtype=np.float64)
        residual = period.torque.T - offset - Y @ values
        torque = np.sqrt(np.sum((period.torque.T - offset) ** 2, axis=1))
        parts = np.sqrt(np.sum(Y**2, axis=1)) * np.abs(values)
        return Estimate(
            estimator="weighted least squares over periods" if exact_positions else "maximum likelihood",
            names=self.model.names,
            values=values,
            covariance=covariance,
            fitted_rows=n * count,
            rank=rank,
            condition=float(singular[0] / singular[-1]),
            entangled=(),
            sigma=np.sqrt(np.mean(residual**2, axis=1)),
            shares=(parts / np.where(torque > 0, torque, 1.0)[:, None]).max(axis=0),
        )
