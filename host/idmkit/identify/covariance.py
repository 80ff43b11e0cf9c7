"""Standard deviations that stay true when residuals are coloured.

Least squares with covariance s^2 (W'W)^-1 assumes white residuals. Filtered torque is not white, and neither is what
a model leaves unexplained. Here the covariance is (W'W)^-1 S (W'W)^-1 with S the long-run covariance of the scores
w e: their autocovariances, summed under the quadratic spectral kernel with Andrews' automatic bandwidth
(Econometrica 59(3), 1991).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST_BANDWIDTH = 3.0
"""Steps. The low-pass alone correlates the residuals over one period of its cutoff, 2.5 steps of the decimation."""


def long_run_covariance(scores: Array) -> Array:
    """Sum of the autocovariances over all lags, times N, for scores [N, p] at equal steps; shape [p, p].

    Steps without a sample hold zeros. The result estimates the covariance of the sum of the scores.
    """
    bandwidth = _bandwidth(scores)
    count = len(scores)
    total = scores.T @ scores
    # The kernel is below 1e-3 beyond 12 bandwidths.
    for lag in range(1, min(count - 1, int(12 * bandwidth) + 1)):
        part = _kernel(lag / bandwidth) * (scores[:-lag].T @ scores[lag:])
        total += part + part.T
    return np.asarray(total)


def _bandwidth(scores: Array) -> float:
    """Andrews' choice for the quadratic spectral kernel, from an AR(1) fit to each score; at least LEAST_BANDWIDTH."""
    before, after = scores[:-1], scores[1:]
    power = np.sum(before**2, axis=0)
    used = power > 0
    if not used.any():
        return LEAST_BANDWIDTH
    rho = np.clip(np.sum(before * after, axis=0)[used] / power[used], -0.97, 0.97)
    innovation = np.mean((after[:, used] - rho * before[:, used]) ** 2, axis=0) / power[used]
    numerator = np.sum(4 * rho**2 * innovation**2 / (1 - rho) ** 8)
    denominator = np.sum(innovation**2 / (1 - rho) ** 4)
    alpha = numerator / denominator if denominator > 0 else 0.0
    return float(max(LEAST_BANDWIDTH, 1.3221 * (alpha * len(scores)) ** 0.2))


def _kernel(x: float) -> float:
    z = 6 * np.pi * x / 5
    return float(3 / z**2 * (np.sin(z) / z - np.cos(z)))
