"""Tracking error, settling time and position delay, on records made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from idmkit.bench.performance import named, position_delay, settling_cycles, tracking
from idmkit.records import Channel, Record

WINDOW, DWELL = 0.01, 5
Samples = NDArray[np.float64]


def record(**channels: Samples) -> Record:
    return Record(1000.0, tuple(Channel(name, "position", "rad", "a", samples) for name, samples in channels.items()))


def move(error: Samples) -> Record:
    """A ramp of 10 cycles to 1.0, its last change in row 10; then `error` = target - actual, row by row."""
    command = np.concatenate((np.linspace(0, 1, 11), np.ones(len(error) - 1)))
    actual = np.concatenate((command[:10] - 0.2, 1.0 - error))
    return record(position_command=command, position_feedback=actual)


def settled(*error: float) -> int | None:
    return settling_cycles(move(np.array(error)), "a", WINDOW, DWELL)


IN, OUT = 0.0, 0.02


def test_tracking_is_the_largest_and_the_root_mean_square() -> None:
    found = tracking(record(position_error=np.array([0.0, 3.0, -4.0, 0.0])), "a")
    assert found.largest == 4.0
    assert found.rms == 2.5


def test_settled_at_the_end_of_the_profile() -> None:
    assert settled(*[IN] * 5) == 0


def test_settling_counts_from_the_end_of_the_profile() -> None:
    assert settled(OUT, OUT, OUT, *[IN] * 10) == 3


def test_the_edge_of_the_window_is_inside() -> None:
    # 1 - 0.0078125 has no rounding error, so the window is met exactly.
    error = np.full(6, 2.0**-7)
    assert settling_cycles(move(error), "a", 2.0**-7, DWELL) == 0
    assert settling_cycles(move(-error), "a", 2.0**-7, DWELL) == 0
    assert settling_cycles(move(error), "a", 2.0**-7 * 0.99, DWELL) is None


def test_passing_through_the_window_is_not_settling() -> None:
    assert settled(OUT, *[IN] * 4, -OUT, -OUT, *[IN] * 5, OUT) == 7


def test_what_comes_after_the_dwell_does_not_count() -> None:
    assert settled(OUT, *[IN] * 5, OUT, OUT) == 1


def test_never_settled() -> None:
    assert settled(*[OUT] * 20) is None
    assert settled(*[OUT, IN] * 10) is None


def test_a_record_that_ends_too_early_says_nothing() -> None:
    assert settled(OUT, *[IN] * 4) is None
    assert settled(IN) is None


def test_a_gap_is_not_inside() -> None:
    assert settled(IN, IN, np.nan, *[IN] * 5) == 3


def test_without_motion_it_counts_from_the_first_row() -> None:
    still = record(position_command=np.ones(10), position_feedback=np.ones(10))
    assert settling_cycles(still, "a", WINDOW, DWELL) == 0


@pytest.mark.parametrize("delay", [0, 1, 5, 31])
def test_the_delay_is_found(delay: int) -> None:
    time = np.arange(2000) / 1000.0
    noise = np.random.default_rng(1).normal(size=len(time)) * 1e-3
    found = record(
        position_command=np.sin(2 * np.pi * time), position_feedback=np.sin(2 * np.pi * (time - delay / 1000)) + noise
    )
    assert position_delay(found, "a") == delay


def test_a_channel_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match=r"a\.torque_feedback"):
        named(record(position_error=np.zeros(3)), "a", "torque_feedback")
