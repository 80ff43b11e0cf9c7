"""Delays of signals behind each other: exact where they are made, inside their intervals under noise."""

import numpy as np
import pytest

from idmkit.signals.delay import delay_between

TIME = np.arange(600.0)


def swing(late, length=300.0):
    """A smooth move from 0 to 1 that begins at row 100 + late."""
    s = np.clip((TIME - 100 - late) / length, 0, 1)
    return s**4 * (35 - 84 * s + 70 * s**2 - 20 * s**3)


EVERY = np.ones(len(TIME), dtype=bool)


@pytest.mark.parametrize("late", [-3.25, 0.0, 0.4, 5.5, 16.0])
def test_a_delay_is_found_to_a_thousandth_of_a_sample(late):
    """The quintic spline follows a move of 300 samples to 1e-6 of its slope."""
    first, second = [swing(0.0), -swing(0.0, 200.0)], [3 * swing(late) + 7, -3 * swing(late, 200.0) - 2]
    found = delay_between(first, second, [EVERY, EVERY], 20, -20)
    assert found.samples == pytest.approx(late, abs=1e-3)
    assert found.gain == pytest.approx(3.0, rel=1e-3)


def test_the_interval_holds_the_delay_as_often_as_it_says():
    """Coloured noise, as loops leave it behind: 95 % of 200 intervals, within four deviations of that share."""
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(200):
        noise = np.convolve(rng.standard_normal(len(TIME) + 9), np.ones(10) / 10, mode="valid")
        found = delay_between([swing(0.0)], [swing(2.6) + 0.02 * noise], [EVERY], 10)
        inside += abs(found.samples - 2.6) < found.interval
    assert inside > 200 * (0.95 - 4 * np.sqrt(0.95 * 0.05 / 200))


def test_samples_that_do_not_count_may_say_anything():
    second = swing(2.0)
    used = EVERY.copy()
    used[:150] = False
    second[120:140] += 0.5
    assert delay_between([swing(0.0)], [second], [used], 10).samples == pytest.approx(2.0, abs=1e-3)
