"""Physically consistent least squares as a cone program: cvxpy states it, Clarabel solves it."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import IdentificationError
from idmkit.identify.physical import Problem, pseudo_inertia

Array = NDArray[np.float64]

INSIDE = 1e-9
"""How far inside of the cones the solution is asked to be, in parts of the columns' scale: the solver is exact to
about as much, and a body just outside has no density."""


def available() -> bool:
    """Whether cvxpy and Clarabel are installed."""
    return all(importlib.util.find_spec(name) for name in ("cvxpy", "clarabel"))


def minimise(problem: Problem) -> Array:
    """The minimum x [m]; raises IdentificationError where the solver does not say that it found it."""
    if not available():
        raise IdentificationError(
            "the cone solver needs cvxpy and clarabel; install them (pip install cvxpy clarabel), "
            "or use the solver 'cholesky'"
        )
    import cvxpy

    cp: Any = cvxpy  # its types are looser than its manual
    model = problem.model
    scale = np.linalg.norm(problem.matrix, axis=0)
    # The ten parameters of a body share a scale, or its cone would be another one.
    for body in range(model.bodies):
        part = slice(10 * body, 10 * body + 10)
        scale[part] = scale[part].max()
    y = cp.Variable(len(scale))
    basis = np.stack([pseudo_inertia(unit) for unit in np.eye(10)])
    constraints = []
    for body in range(model.bodies):
        P = sum(y[10 * body + k] * basis[k] for k in range(10))
        constraints.append(P >> INSIDE * np.eye(4))
    places = list(model.nonnegative)
    if places:
        constraints.append(y[places] >= 0)
    if len(model.dissipation):
        constraints.append((model.dissipation / scale) @ y >= 0)
    objective = cp.Minimize(cp.sum_squares((problem.matrix / scale) @ y - problem.target))
    program = cp.Problem(objective, constraints)
    try:
        with warnings.catch_warnings():
            # The status is looked at below; cvxpy's warning says no more.
            warnings.simplefilter("ignore")
            program.solve(solver=cp.CLARABEL)
    except (cp.SolverError, ValueError) as failure:
        raise IdentificationError(f"the cone solver failed: {failure}") from failure
    if program.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE) or y.value is None:
        raise IdentificationError(f"the cone solver ended with {program.status!r}")
    return np.asarray(y.value / scale)
