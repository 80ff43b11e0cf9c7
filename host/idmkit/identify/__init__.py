"""Estimators: from clean records and a linear model to parameters with honest standard deviations."""

from idmkit.identify.estimate import Estimate, predicted
from idmkit.identify.least_squares import fit_least_squares
from idmkit.identify.observations import LinearModel, Observations, observe

__all__ = ["Estimate", "LinearModel", "Observations", "fit_least_squares", "observe", "predicted"]
