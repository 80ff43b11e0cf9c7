"""Physically consistent estimates: least squares over bodies that have a density and friction that dissipates.

The same convex problem is solved in two independent ways: as a cone program (Clarabel through cvxpy), and over
log-Cholesky factors of the pseudo-inertias by Gauss-Newton steps, which needs no cone solver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import IdentificationError
from idmkit.identify import cholesky, cone
from idmkit.identify.equations import Equations
from idmkit.identify.estimate import Estimate
from idmkit.identify.least_squares import axis_weights, estimate_of, solve
from idmkit.identify.physical import PhysicalModel, Problem, violation

Array = NDArray[np.float64]
Solver = Literal["cone", "cholesky"]

PASSES = 3
ALLOWED_VIOLATION = 1e-6


@dataclass(frozen=True, eq=False)
class ConsistentEstimate:
    """The estimate of the columns and the full parameters x [m] (`PhysicalModel.names`) behind it."""

    estimate: Estimate
    full: Array


def fit_consistent(equations: Equations, model: PhysicalModel, solver: Solver | None = None) -> ConsistentEstimate:
    """Weighted least squares under physical consistency, the weights from the residuals, in three passes.

    `solver` None takes the cone program where cvxpy is installed. Standard deviations are those of the
    unconstrained estimator, which are no smaller. Raises IdentificationError where no solver ends well.
    """
    minimise = _solver(solver)
    weights = axis_weights(equations, solve(equations, np.ones(len(equations.axes))).values)
    for _ in range(PASSES):
        x = _checked(_problem(equations, model, weights), minimise)
        values = model.mapping @ x
        before, weights = weights, axis_weights(equations, values)
    solution = replace(solve(equations, before), values=values)
    return ConsistentEstimate(estimate_of("physically consistent", equations, solution, before), x)


def _problem(equations: Equations, model: PhysicalModel, weights: Array) -> Problem:
    rows, target = equations.stacked(weights)
    p = rows.shape[1]
    reduced = np.asarray(np.linalg.qr(np.column_stack((rows, target)), mode="r"))
    size = float(np.linalg.norm(target))
    fit = reduced[:p, :p] @ model.mapping / size
    # Each parameter of the prior counts by the largest column, so that units do not matter much.
    scale = np.diag(np.sqrt(model.prior_weights) * np.linalg.norm(fit, axis=0).max())
    return Problem(
        model,
        np.vstack((fit, scale)),
        np.concatenate((reduced[:p, p] / size, scale @ model.prior)),
    )


def _solver(solver: Solver | None) -> Callable[[Problem], Array]:
    if solver == "cholesky" or (solver is None and not cone.available()):
        return cholesky.minimise
    return cone.minimise


def _checked(problem: Problem, minimise: Callable[[Problem], Array]) -> Array:
    """A solution whose constraints were looked at; where the cone solver fails, the other way is taken."""
    try:
        x = minimise(problem)
        if violation(problem.model, x) <= ALLOWED_VIOLATION:
            return x
    except IdentificationError:
        if minimise is cholesky.minimise:
            raise
    x = cholesky.minimise(problem)
    outside = violation(problem.model, x)
    if outside > ALLOWED_VIOLATION:
        raise IdentificationError(
            f"no physically consistent parameters were found (best violation {outside:.2g}); "
            "use weighted least squares and look at which parameters are not physical"
        )
    return x
