"""The outcome of an estimator: values, covariance, how well the samples could tell the parameters apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values [p] of the parameters `names` with covariance [p, p], SI units.

    `fitted_rows` counts the decimated equations. `condition` is that of the column-scaled regressor. Parameters
    in `entangled` cannot be told apart by these samples (rank deficiency); their values are one choice of many
    and their variance is infinite. `sigma` [n] is the standard deviation of each axis' residual torque.
    `shares` [p] is the root mean square of what each parameter adds to the torque, in parts of the torque, on
    the axis where it matters most.
    """

    estimator: str
    names: tuple[str, ...]
    values: Array
    covariance: Array
    fitted_rows: int
    rank: int
    condition: float
    entangled: tuple[tuple[str, ...], ...]
    sigma: Array
    shares: Array

    @property
    def std(self) -> Array:
        """Standard deviations [p]; infinite for what cannot be told apart."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def predicted(regressor: Array, values: Array) -> Array:
    """Model torque [n, S] of a regressor [n, S, p]."""
    return np.asarray(regressor @ values)
