import numpy as np
import pytest

from idmkit.errors import IdentificationError
from idmkit.signals import (
    FLAT,
    check_cutoff,
    decimation_factor,
    edge_rows,
    highest_motion_frequency,
    low_pass,
    position_noise,
    shifted,
    spline_derivatives,
)

RATE = 1000.0
TIME = np.arange(4000) / RATE
INNER = slice(300, -300)


def sine(frequency: float, time: np.ndarray = TIME) -> np.ndarray:
    return np.sin(2 * np.pi * frequency * time)


@pytest.mark.parametrize(("order", "power"), [(2, 4), (FLAT, 8)])
@pytest.mark.parametrize("frequency", [2.0, 10.0, 20.0, 40.0])
def test_low_pass_has_no_phase_and_the_gain_it_says(order, power, frequency):
    out = low_pass(sine(frequency), RATE, 20.0, order)
    # The bilinear transform warps 40 Hz at 1 kHz by 0.4 %, so the gain by up to 8 times that.
    gain = 1 / (1 + (frequency / 20.0) ** power)
    assert np.abs(out - gain * sine(frequency))[INNER].max() < 0.04 * gain


def test_low_pass_works_on_columns():
    both = np.stack((sine(3), sine(50)), axis=1)
    assert np.array_equal(low_pass(both, RATE, 20.0)[:, 1], low_pass(both[:, 1], RATE, 20.0))


def test_a_step_is_forgotten_within_one_period_of_the_cutoff():
    step = np.where(np.arange(4000) < 2000, -1.0, 1.0)
    error = np.abs(low_pass(step, RATE, 20.0) - step)
    assert error[2000 + 50 :].max() < 0.015
    assert error[2000 + 100 :].max() < 0.001


def test_cutoffs_outside_of_motion_and_nyquist_are_refused_with_the_numbers():
    check_cutoff(20, RATE, 3)
    with pytest.raises(IdentificationError, match="500 Hz is not below the Nyquist frequency 500 Hz"):
        check_cutoff(500, RATE, 3)
    with pytest.raises(IdentificationError, match=r"cutoff of 3 Hz would cut off the motion itself.* up to 3 Hz"):
        check_cutoff(3, RATE, 3)
    with pytest.raises(IdentificationError, match="Nyquist"):
        low_pass(TIME, RATE, 600)
    with pytest.raises(IdentificationError, match="100 samples at 1000 Hz are too few for a cutoff of 20 Hz: 501"):
        low_pass(TIME[:100], RATE, 20)


def test_edges_are_five_periods():
    assert edge_rows(20, 250) == 63  # softMC: 50000 samples at 250 Hz become 49876, 62 an end


def test_derivatives_are_exact_for_slow_motion_and_have_no_phase():
    w = 2 * np.pi * 10  # 100 samples a period
    first, second = spline_derivatives(np.stack((sine(10), TIME), axis=1), RATE)
    assert np.abs(first[:, 0] - w * np.cos(w * TIME))[INNER].max() < 1e-9 * w
    assert np.abs(second[:, 0] + w * w * sine(10))[INNER].max() < 1e-7 * w * w
    # A straight line has its slope up to the ends.
    assert np.abs(first[:, 1] - 1).max() < 1e-8
    assert np.abs(second[:, 1]).max() < 1e-5


def test_short_signals_have_derivatives_too():
    first, _ = spline_derivatives(TIME[:5], RATE)
    assert np.allclose(first, 1.0)


@pytest.mark.parametrize("delay", [-0.0021, 0.0003, 0.0005, 0.001])
def test_a_delay_of_a_fraction_of_a_sample_is_undone(delay):
    late = sine(5, TIME - delay)
    assert np.abs(shifted(late, RATE, delay) - sine(5))[INNER].max() < 1e-9


def test_decimation_keeps_what_the_cutoff_lets_through():
    for rate, cutoff in ((1000, 20), (250, 20), (100, 45)):
        factor = decimation_factor(rate, cutoff)
        assert rate / factor / 2 > cutoff or factor == 1


def test_motion_frequency_of_sums_and_of_rest():
    # A component of 5 % amplitude belongs to the motion, one of 2 % does not.
    assert highest_motion_frequency(sine(1) + 0.05 * sine(4), RATE) == pytest.approx(4, abs=0.5)
    assert highest_motion_frequency(sine(1) + 0.02 * sine(40), RATE) == pytest.approx(1, abs=0.5)
    assert highest_motion_frequency(np.full(4000, 2.5), RATE) == 0
    assert highest_motion_frequency(TIME[:3], RATE) == 0


def test_noise_of_a_position_is_the_white_part_or_the_encoder_steps():
    noise = 1e-3 * np.random.default_rng(0).standard_normal(4000)
    # 2000 lines with exponential power: their median has a standard error of 2 %.
    assert position_noise(sine(1) + noise) == pytest.approx(1e-3, rel=0.1)
    assert position_noise(0.01 * np.round(100 * sine(0.2))) == pytest.approx(0.01 / np.sqrt(12), rel=0.2)
