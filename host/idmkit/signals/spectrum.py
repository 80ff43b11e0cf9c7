"""How fast a motion is, seen in its spectrum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.signal import get_window

Samples = NDArray[np.float64]

POWER_SHARE = 0.999
"""Share of the position's power below the highest motion frequency: what lies above has less than 3 % of the
amplitude. Shares of the speed's power sound more natural, but on real records they find chatter and encoder steps."""


def highest_motion_frequency(position: Samples, sample_rate_hz: float) -> float:
    """Frequency in Hz up to which an axis moves, for positions [S]; 0 at standstill or below 16 samples."""
    count = len(position)
    if count < 16:
        return 0.0
    trend = np.linspace(position[0], position[-1], count)
    power = np.abs(np.fft.rfft((position - trend) * get_window("hann", count))) ** 2
    total = float(power.sum())
    if total == 0:
        return 0.0
    return float(np.searchsorted(np.cumsum(power), POWER_SHARE * total) * sample_rate_hz / count)


def position_noise(position: Samples) -> float:
    """Standard deviation of the noise on positions [S], same unit: white noise, or the steps of the encoder.

    White noise is what the upper half of the spectrum shows, where no motion is; an encoder of step h makes
    h / sqrt(12). The larger of the two.
    """
    count = len(position)
    steps = np.diff(np.unique(position))
    steps = steps[steps > 1e-9 * np.ptp(position)]
    quantisation = float(steps.min()) / np.sqrt(12) if len(steps) else 0.0
    if count < 16:
        return float(quantisation)
    window = get_window("hann", count)
    trend = np.linspace(position[0], position[-1], count)
    power = np.abs(np.fft.rfft((position - trend) * window)) ** 2
    # The power of white noise in one line is exponentially distributed: its median is ln 2 of its mean.
    white = float(np.median(power[len(power) // 2 :])) / np.log(2) / float(window @ window)
    return float(max(quantisation, np.sqrt(white)))
