"""Estimators: from clean records and a linear model to parameters with honest standard deviations."""

from idmkit.identify.consistent import ConsistentEstimate, fit_consistent
from idmkit.identify.equations import Equations, equations_of
from idmkit.identify.estimate import Estimate, predicted
from idmkit.identify.least_squares import fit_huber, fit_least_squares
from idmkit.identify.observations import LinearModel, Observations, observe

__all__ = [
    "ConsistentEstimate",
    "Equations",
    "Estimate",
    "LinearModel",
    "Observations",
    "equations_of",
    "fit_consistent",
    "fit_huber",
    "fit_least_squares",
    "observe",
    "predicted",
]
