"""Essential parameters: those that a record determines well, the others left out one by one.

The parameter with the largest relative standard deviation goes first, until none is 30 times less certain than the
best, or until leaving one out would raise the residual by more than 2 %.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from idmkit.identify.equations import Equations
from idmkit.identify.estimate import Estimate
from idmkit.identify.least_squares import fit_least_squares

Array = NDArray[np.float64]

UNCERTAIN_RATIO = 30.0
RESIDUAL_RISE = 0.02


def fit_essential(equations: Equations) -> Estimate:
    """Weighted least squares over the essential parameters of `equations`."""
    names = equations.names
    best = fit_least_squares(equations, weighted=True)
    first = _weighted_residual(equations, best, best.sigma)
    scale = best.sigma
    while len(names) > 1:
        relative = best.std / np.where(best.values == 0, 1e-300, np.abs(best.values))
        worst = int(np.argmax(relative))
        if relative[worst] <= UNCERTAIN_RATIO * relative.min():
            break
        fewer = tuple(name for k, name in enumerate(names) if k != worst)
        trial = fit_least_squares(equations.columns(fewer), weighted=True)
        if _weighted_residual(equations.columns(fewer), trial, scale) > (1 + RESIDUAL_RISE) * first:
            break
        names, best = fewer, trial
    return best


def _weighted_residual(equations: Equations, estimate: Estimate, sigma: Array) -> float:
    """Root mean square of the residuals, each axis in parts of its `sigma` [n]."""
    residual = equations.residual(estimate.values) / np.where(sigma > 0, sigma, 1.0)[:, None]
    return float(np.sqrt(np.mean(residual**2)))
