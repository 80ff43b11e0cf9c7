"""Derivatives without phase shift, from an interpolating spline evaluated at the original sample times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

Samples = NDArray[np.float64]

DEGREE = 5
"""Quintic: the error of the second derivative at the samples is of order (w Ts)^4, below 1e-6 at 20 samples a
period."""


def spline_derivatives(samples: Samples, sample_rate_hz: float) -> tuple[Samples, Samples]:
    """First and second derivative along the first axis of uniform samples [S, ...], in unit/s and unit/s^2."""
    times = np.arange(len(samples)) / sample_rate_hz
    spline = make_interp_spline(times, samples, k=DEGREE, axis=0)
    return np.asarray(spline(times, 1)), np.asarray(spline(times, 2))


def shifted(samples: Samples, sample_rate_hz: float, delay_s: float) -> Samples:
    """Samples [S] as they would read had they been taken `delay_s` later: undoes a channel's delay.

    A fraction of a sample is interpolated by a cubic spline, so low-pass first. The ends, where nothing was
    measured, hold the last value; they lie within the edges that are trimmed.
    """
    if delay_s == 0:
        return samples
    times = np.arange(len(samples)) / sample_rate_hz
    spline = make_interp_spline(times, samples, k=3)
    return np.asarray(spline(np.clip(times + delay_s, times[0], times[-1])))
