import numpy as np
import pytest

from idmkit.errors import IdentificationError
from idmkit.signals import average_periods, central_derivatives, fourier_derivatives, low_pass, spline_derivatives

RATE, K, M, HARMONICS = 250.0, 1000, 20, 5
F = RATE / K
TIME = np.arange(K * M) / RATE
SIGMA = 1e-3


def motion(order: int, time: np.ndarray = TIME) -> np.ndarray:
    """A finite Fourier series of five harmonics and its derivatives."""
    total = np.zeros_like(time)
    for harmonic in range(1, HARMONICS + 1):
        w = 2 * np.pi * F * harmonic
        total += w**order / harmonic * np.sin(w * time + harmonic + order * np.pi / 2)
    return total


def noisy(seed: int) -> np.ndarray:
    return motion(0) + SIGMA * np.random.default_rng(seed).standard_normal(len(TIME))


def test_variance_of_the_noise_is_unbiased_and_that_of_the_mean_falls_with_the_periods():
    variances, errors = [], []
    for seed in range(20):
        averaged = average_periods(noisy(seed), K)
        variances.append(averaged.variance)
        errors.append(np.mean((averaged.mean - motion(0)[:K]) ** 2))
    # 20 runs of 19,000 free samples know a variance to 0.2 %; dividing by M K - 1 would be 5 % low.
    assert np.mean(variances) == pytest.approx(SIGMA**2, rel=0.01)
    # 20 runs of 1,000 samples: 1 %.
    assert np.mean(errors) == pytest.approx(SIGMA**2 / M, rel=0.05)
    assert averaged.mean_variance == pytest.approx(averaged.variance / M)


def test_frequency_derivatives_have_the_noise_that_theory_gives():
    """Measured noise of the derivatives of the averaged period, against s^2/M (2/K) sum (2 pi f l)^(2 d)."""
    squares = np.zeros(3)
    runs = 200
    for seed in range(runs):
        averaged = average_periods(noisy(seed), K)
        for order, values in enumerate(fourier_derivatives(averaged.mean, RATE, HARMONICS)):
            squares[order] += np.mean((values - motion(order)[:K]) ** 2) / runs
    w = 2 * np.pi * F * np.arange(1, HARMONICS + 1)
    for order in range(3):
        constant = 1 / K if order == 0 else 0.0  # the mean position is a line, too
        theory = SIGMA**2 / M * (2 / K * np.sum(w ** (2 * order)) + constant)
        # 200 runs of about ten free numbers: 3 %, and the acceleration hangs on two of them: 7 %.
        assert squares[order] == pytest.approx(theory, rel=0.2)


def test_averaging_and_frequency_derivatives_beat_a_low_pass():
    """At equal bandwidth: a low-pass passes all noise below its cutoff, the series only its ten lines of it."""
    averaged = average_periods(noisy(0), K)
    _, _, series = fourier_derivatives(averaged.mean, RATE, HARMONICS)
    _, filtered = spline_derivatives(low_pass(noisy(0), RATE, 5 * HARMONICS * F), RATE)
    inner = slice(5 * K, 6 * K)
    best = np.std(series - motion(2)[:K])
    assert best < 0.05 * np.std(filtered[inner] - motion(2)[inner])


def test_derivatives_without_noise_are_exact():
    for order, values in enumerate(fourier_derivatives(motion(0)[:K], RATE, HARMONICS)):
        assert np.abs(values - motion(order)[:K]).max() < 1e-9 * np.abs(motion(order)).max()
    both = np.stack((motion(0)[:K], motion(1)[:K]), axis=1)
    assert np.allclose(fourier_derivatives(both, RATE, HARMONICS)[1][:, 0], motion(1)[:K])


def test_central_differences_lose_what_theory_says():
    f = 5.0
    w = 2 * np.pi * f
    sine, cosine, inner = np.sin(w * TIME), np.cos(w * TIME), slice(K, 2 * K)  # whole periods
    first, second = central_derivatives(sine, RATE)
    gains = [2 * float(values[inner] @ shape[inner]) / K for values, shape in ((first, cosine), (second, -sine))]
    assert gains[0] == pytest.approx(w * (1 - (w / RATE) ** 2 / 6), rel=1e-5)
    assert gains[1] == pytest.approx(w * w * (1 - (w / RATE) ** 2 / 12), rel=1e-5)
    # No phase: nothing of the sine in the speed, nothing of the cosine in the acceleration.
    assert abs(first[inner] @ sine[inner]) < 1e-9 * K * w
    assert abs(second[inner] @ cosine[inner]) < 1e-9 * K * w * w


def test_too_few_periods_or_samples_are_refused():
    with pytest.raises(IdentificationError, match=r"1500 samples hold 1 period\(s\) of 1000; averaging needs two"):
        average_periods(TIME[:1500], K)
    with pytest.raises(IdentificationError, match="10 samples a period carry at most 4 harmonics, 5 are asked for"):
        fourier_derivatives(TIME[:10], RATE, 5)
