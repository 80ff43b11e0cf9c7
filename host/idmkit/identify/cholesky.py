"""Physically consistent least squares over log-Cholesky factors: always feasible, no cone solver.

The pseudo-inertia of each body is P = L L', L lower triangular with exp on its diagonal (Rucker and Wensing, 2022),
and what must not be negative is an exp, too, so every point of the search is physical. Two things make the search
end at the same point as a cone solver. The curvature of the factors is added to that of the residuals: where the
best body has no thickness in some direction, Gauss and Newton's step alone does not see the way there. And a barrier,
a reward for the logarithms of det P and of what is positive, keeps a body from losing its thickness on the way in a
direction that it needs in the end; it shrinks until it has no say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from idmkit.identify.physical import PhysicalModel, Problem, from_pseudo_inertia, pseudo_inertia

Array = NDArray[np.float64]

_LOWER = np.tril_indices(4)
_DIAGONAL = np.flatnonzero(_LOWER[0] == _LOWER[1])
_BARRIERS = tuple(10.0**-k for k in range(3, 12))
"""Weights of the barrier, in parts of the cost of no parameters at all. The last one leaves 1e-5 in the torque."""
_STEPS = 150
_SETTLED, _ROUNDING = 1e-1, 1e-14
"""A search ends where the next step promises less than this part of the barrier's weight, or next to rounding."""
_LEAST_DAMPING, _MOST_DAMPING = 1e-14, 1e6
_LONGEST = 2.0
"""A step changes no logarithm by more."""
_UNITS = np.eye(16).reshape(16, 4, 4)
_TO_PARAMETERS = np.stack([from_pseudo_inertia((unit + unit.T) / 2) for unit in _UNITS])
"""d(parameters [10]) for each element of a symmetric P, [16, 10]."""


def minimise(problem: Problem) -> Array:
    """The minimum x [m], strictly inside of what is physical."""
    search = _Search(problem)
    phi = search.start()
    for barrier in _BARRIERS:
        phi = search.settle(phi, barrier)
    return search.parameters(phi)


@dataclass(eq=False)
class _Search:
    """Newton's method in phi [m]: log-Cholesky numbers of the bodies, logarithms of what is positive, the rest."""

    problem: Problem

    def __post_init__(self) -> None:
        model = self.problem.model
        self._model: PhysicalModel = model
        self._bodies = [slice(10 * body, 10 * body + 10) for body in range(model.bodies)]
        self._positive = np.array(model.nonnegative, dtype=int)
        scale = np.linalg.norm(self.problem.matrix, axis=0)
        self._scale = np.where(scale > 0, scale, 1.0)
        self._hessian = self.problem.matrix.T @ self.problem.matrix
        self._logarithms = np.concatenate([self._positive, *(part.start + _DIAGONAL for part in self._bodies)]).astype(
            int
        )

    def start(self) -> Array:
        """Small balls of 1 kg; everything positive at a hundredth of what would make all of the torque."""
        L = np.linalg.cholesky(pseudo_inertia(np.array([1.0, 0, 0, 0, 1e-2, 0, 1e-2, 0, 0, 1e-2])))
        ball = L[_LOWER]
        ball[_DIAGONAL] = np.log(ball[_DIAGONAL])
        phi = np.zeros(len(self._scale))
        for part in self._bodies:
            phi[part] = ball
        phi[self._positive] = np.log(1e-2)
        return phi

    def parameters(self, phi: Array) -> Array:
        """Full parameters x [m] of a point."""
        x = phi / self._scale
        x[self._positive] = np.exp(phi[self._positive]) / self._scale[self._positive]
        for part in self._bodies:
            L = _factor(phi[part])
            x[part] = from_pseudo_inertia(L @ L.T)
        return x

    def settle(self, phi: Array, barrier: float) -> Array:
        """Damped Newton steps from phi until the next would change next to nothing."""
        damping = _LEAST_DAMPING
        cost, gradient, curvature = self._cost(phi, barrier)
        for _ in range(_STEPS):
            slope, hessian = self._in_phi(phi, gradient, curvature)
            slope += self._reward(barrier)
            while damping < _MOST_DAMPING:
                step = _damped_step(slope, hessian, damping)
                if step is not None:
                    if damping <= _LEAST_DAMPING and -float(slope @ step) < max(_SETTLED * barrier, _ROUNDING):
                        return phi
                    step /= max(1.0, float(np.abs(step[self._logarithms]).max(initial=0.0)) / _LONGEST)
                    trial = self._cost(phi + step, barrier)
                    if trial[0] < cost:
                        break
                damping *= 10
            else:
                break
            damping = max(damping / 10, _LEAST_DAMPING)
            phi, (cost, gradient, curvature) = phi + step, trial
        return phi

    def _reward(self, barrier: float) -> Array:
        """Gradient [m] of the barrier in phi: log det P is twice the sum of a body's logarithms."""
        reward = np.zeros(len(self._scale))
        reward[self._positive] = -barrier
        for part in self._bodies:
            reward[part.start + _DIAGONAL] = -2 * barrier
        return reward

    def _cost(self, phi: Array, barrier: float) -> tuple[float, Array, Array]:
        """(cost with barrier, gradient [m] and curvature [m, m] of what depends on x); infinite outside."""
        problem = self.problem
        x = self.parameters(phi)
        error = problem.matrix @ x - problem.target
        gradient = problem.matrix.T @ error
        cost = float(error @ error) / 2 + float(self._reward(barrier) @ phi)
        spare = self._model.dissipation @ x
        if len(spare) == 0:
            return cost, gradient, self._hessian
        if spare.min() <= 0:
            return np.inf, gradient, self._hessian
        rows = self._model.dissipation / spare[:, None]
        cost -= barrier * float(np.log(spare).sum())
        return cost, gradient - barrier * rows.sum(axis=0), self._hessian + barrier * rows.T @ rows

    def _in_phi(self, phi: Array, gradient: Array, curvature: Array) -> tuple[Array, Array]:
        """(slope [m], curvature [m, m]) in phi from those in x: J' g and J' H J + sum_k g_k d2 x_k / dphi2."""
        slope = gradient / self._scale
        hessian = curvature / np.outer(self._scale, self._scale)
        grown = np.exp(phi[self._positive])
        slope[self._positive] *= grown
        hessian[self._positive] *= grown[:, None]
        hessian[:, self._positive] *= grown
        hessian[self._positive, self._positive] += slope[self._positive]
        for part in self._bodies:
            jacobian, bend = _body_slopes(phi[part], gradient[part])
            # A body's own scale is not used: its parameters share one factor.
            slope[part] = jacobian.T @ gradient[part]
            hessian[:, part] = (hessian[:, part] * self._scale[part]) @ jacobian
            hessian[part] = jacobian.T @ (hessian[part] * self._scale[part, None])
            hessian[part, part] += bend
        return slope, hessian


def _damped_step(slope: Array, hessian: Array, damping: float) -> Array | None:
    """Newton's step with `damping` on the diagonal; None where the curvature is not positive."""
    damped = hessian.copy()
    damped[np.diag_indices_from(damped)] += damping
    factor, info = lapack.dpotrf(damped, lower=1, overwrite_a=1)
    if info != 0:
        return None
    solution, _ = lapack.dpotrs(factor, -slope, lower=1)
    return np.asarray(solution)


def _body_slopes(phi: Array, gradient: Array) -> tuple[Array, Array]:
    """(dx/dphi [10, 10], sum over x_k of gradient_k d2 x_k / dphi2 [10, 10]) of one body."""
    L = _factor(phi)
    # The gradient with respect to P: gradient' x = <S, L L'>, so its curvature in L is 2 <S, dL dL'>.
    S = (_TO_PARAMETERS @ gradient).reshape(4, 4)
    directions = np.zeros((10, 4, 4))
    directions[np.arange(10), _LOWER[0], _LOWER[1]] = 1.0
    directions[_DIAGONAL] *= np.diag(L)[:, None, None]
    change = directions @ L.T
    jacobian = ((change + change.swapaxes(1, 2)).reshape(10, 16) @ _TO_PARAMETERS).T
    bend = 2 * np.einsum("aij,ik,bkj->ab", directions, S, directions)
    bend[_DIAGONAL, _DIAGONAL] += 2 * np.diag(S @ L) * np.diag(L)
    return jacobian, bend


def _factor(phi: Array) -> Array:
    """L [4, 4] of ten log-Cholesky numbers."""
    L = np.zeros((4, 4))
    L[_LOWER] = phi
    L[np.diag_indices(4)] = np.exp(phi[_DIAGONAL])
    return L
