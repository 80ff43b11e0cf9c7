"""Periodic motion: periods averaged, their scatter as the noise, derivatives taken in the frequency domain.

For x measured over M periods of K samples each (Swevers' processing):

    mean      xbar(k) = 1/M sum_m x_m(k)
    variance  s^2 = sum_k,m (x_m(k) - xbar(k))^2 / (K (M - 1)), unbiased; the mean has the variance s^2 / M
    derivative: of the discrete Fourier series of one period, only the harmonics of the motion are kept and multiplied
    by j w and (j w)^2: no phase, and no noise from the other lines
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import IdentificationError

Samples = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Averaged:
    """One period [K] or [K, c], and the variance of the noise of a single sample: a number, or [c]."""

    mean: Samples
    variance: Samples
    periods: int

    @property
    def mean_variance(self) -> Samples:
        """Variance of the noise that is left on the mean."""
        return self.variance / self.periods


def average_periods(samples: Samples, period_rows: int) -> Averaged:
    """Averages the whole periods of samples [S] or [S, c]; a rest at the end is left out.

    Raises IdentificationError for fewer than two periods: one period says nothing about the noise.
    """
    periods = len(samples) // period_rows if period_rows > 0 else 0
    if periods < 2:
        raise IdentificationError(
            f"{len(samples)} samples hold {periods} period(s) of {period_rows}; averaging needs two at least"
        )
    stacked = samples[: periods * period_rows].reshape(periods, period_rows, *samples.shape[1:])
    mean = stacked.mean(axis=0)
    scatter = np.sum((stacked - mean) ** 2, axis=(0, 1))
    return Averaged(mean, np.asarray(scatter / (period_rows * (periods - 1))), periods)


def fourier_derivatives(period: Samples, sample_rate_hz: float, harmonics: int) -> tuple[Samples, Samples, Samples]:
    """(x, xd, xdd) of one period [K] or [K, c], its harmonics 0 to `harmonics` only, in unit, unit/s, unit/s^2.

    White noise of variance s^2 on the period leaves s^2 (2/K) sum_l (2 pi f l)^(2 d) on the d-th derivative, f the
    frequency of the period, l = 1 .. harmonics. Raises IdentificationError where the samples cannot carry the
    harmonics.
    """
    count = len(period)
    if not 0 < 2 * harmonics < count:
        raise IdentificationError(
            f"{count} samples a period carry at most {(count - 1) // 2} harmonics, {harmonics} are asked for"
        )
    lines = np.fft.rfft(period, axis=0)
    lines[harmonics + 1 :] = 0
    w = 2j * np.pi * np.fft.rfftfreq(count, 1 / sample_rate_hz)
    w = w.reshape(-1, *[1] * (period.ndim - 1))
    value, first, second = (np.fft.irfft(lines * w**order, count, axis=0) for order in range(3))
    return value, first, second


def central_derivatives(samples: Samples, sample_rate_hz: float) -> tuple[Samples, Samples]:
    """First and second central differences along the first axis of samples [S, ...]; the ends hold their neighbours.

    No phase; a sine of frequency f loses (2 pi f Ts)^2 / 6 of its speed and / 12 of its acceleration.
    """
    first = np.empty_like(samples)
    second = np.empty_like(samples)
    first[1:-1] = (samples[2:] - samples[:-2]) * (sample_rate_hz / 2)
    second[1:-1] = (samples[2:] - 2 * samples[1:-1] + samples[:-2]) * sample_rate_hz**2
    for values in (first, second):
        values[0], values[-1] = values[1], values[-2]
    return first, second
