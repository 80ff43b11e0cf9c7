"""Derivatives without phase shift, from an interpolating spline evaluated at the original sample times."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d, shift, spline_filter1d

Samples = NDArray[np.float64]

DEGREE: Final = 5
"""Quintic: the error of the second derivative is of order (w Ts)^4, below 1e-6 at 100 samples a period."""
_SLOPE = np.array([-1.0, -10.0, 0.0, 10.0, 1.0]) / 24
_CURVATURE = np.array([1.0, 2.0, -6.0, 2.0, 1.0]) / 6
"""First and second derivative of the quintic B-spline at the neighbouring knots."""
_PAD = 24
"""Samples added at each end; what they are worth has died down to 1e-9 when the first real one comes."""


def spline_derivatives(samples: Samples, sample_rate_hz: float) -> tuple[Samples, Samples]:
    """First and second derivative along the first axis of uniform samples [S, ...], in unit/s and unit/s^2.

    Beyond its ends the signal is taken to go on point-symmetrically, so the second derivative tends to zero there.
    """
    widths = [(_PAD, _PAD)] + [(0, 0)] * (samples.ndim - 1)
    extended = np.pad(samples, widths, mode="reflect", reflect_type="odd")
    coefficients = spline_filter1d(extended, DEGREE, axis=0, mode="mirror")
    first = correlate1d(coefficients, _SLOPE, axis=0, mode="mirror")
    second = correlate1d(coefficients, _CURVATURE, axis=0, mode="mirror")
    kept = slice(_PAD, _PAD + len(samples))
    return first[kept] * sample_rate_hz, second[kept] * sample_rate_hz**2


def shifted(samples: Samples, sample_rate_hz: float, delay_s: float) -> Samples:
    """Samples [S] as they would read had they been taken `delay_s` later: undoes a channel's delay.

    A fraction of a sample is interpolated by a quintic spline, so low-pass first. The ends, where nothing was
    measured, hold the last value; they lie within the edges that are trimmed.
    """
    if delay_s == 0:
        return samples
    return np.asarray(shift(samples, -delay_s * sample_rate_hz, order=DEGREE, mode="nearest"))
