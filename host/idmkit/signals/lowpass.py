"""Zero-phase low-pass: Butterworth forwards and backwards, with the checks that keep a cutoff meaningful."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt

from idmkit.errors import IdentificationError

Samples = NDArray[np.float64]

SHORT, FLAT = 2, 4
"""Orders. SHORT: its answer to a step has died down to 1 % within one period of the cutoff, so that what happens at
a reversal stays there. FLAT: loses 1e-5 of the amplitude at a quarter of the cutoff, for signals whose amplitude
counts by itself."""
EDGE_PERIODS = 5
"""Periods of the cutoff frequency that are trimmed at each end: what the filter makes of the unknown beyond."""


def check_cutoff(cutoff_hz: float, sample_rate_hz: float, motion_hz: float) -> None:
    """Refuses a cutoff that is not between the highest motion frequency and the Nyquist frequency."""
    nyquist = sample_rate_hz / 2
    if not cutoff_hz < nyquist:
        raise IdentificationError(
            f"the cutoff of {cutoff_hz:g} Hz is not below the Nyquist frequency {nyquist:g} Hz "
            f"of samples at {sample_rate_hz:g} Hz; choose a lower cutoff or sample faster"
        )
    if not cutoff_hz > motion_hz:
        raise IdentificationError(
            f"the cutoff of {cutoff_hz:g} Hz would cut off the motion itself, which goes up to {motion_hz:.3g} Hz; "
            f"choose a cutoff between {motion_hz:.3g} and {nyquist:g} Hz, five times the motion where possible"
        )


def edge_rows(cutoff_hz: float, sample_rate_hz: float) -> int:
    """Rows to trim at each end after the low-pass."""
    return int(np.ceil(EDGE_PERIODS * sample_rate_hz / cutoff_hz))


def low_pass(samples: Samples, sample_rate_hz: float, cutoff_hz: float, order: int = SHORT) -> Samples:
    """Filters along the first axis without phase shift; shape [S] or [S, ...], same unit.

    Amplitude 1/(1 + (f/cutoff)^(2 order)): a Butterworth filter, applied forwards and backwards. Raises
    IdentificationError where the samples are shorter than the edges that would have to be trimmed.
    """
    if not 0 < cutoff_hz < sample_rate_hz / 2:
        check_cutoff(cutoff_hz, sample_rate_hz, 0.0)
    needed = 2 * edge_rows(cutoff_hz, sample_rate_hz) + 1
    if len(samples) < needed:
        raise IdentificationError(
            f"{len(samples)} samples at {sample_rate_hz:g} Hz are too few for a cutoff of {cutoff_hz:g} Hz: "
            f"{needed} are lost at the ends; record longer or raise the cutoff"
        )
    sections = _sections(order, cutoff_hz, sample_rate_hz)
    padding = min(len(samples) - 1, 2 * edge_rows(cutoff_hz, sample_rate_hz))
    return np.asarray(sosfiltfilt(sections, samples, axis=0, padlen=padding))


@lru_cache(maxsize=64)
def _sections(order: int, cutoff_hz: float, sample_rate_hz: float) -> Samples:
    """Second-order sections [K, 6] of the filter."""
    return np.asarray(butter(order, cutoff_hz, fs=sample_rate_hz, output="sos"))
