"""Both clocks: drift and turns of synthetic ones, and what a board says of its own."""

from __future__ import annotations

import numpy as np
import pytest
from fake_board import FakeBoard
from scripted_port import ScriptedPort, connect

from idmkit.link.timing import TICKS, ClockComparison, latest_in_bin, read_timing


@pytest.mark.parametrize("drift_ppm", [-120.0, 0.0, 35.0])
def test_a_drift_is_found_over_the_turns_of_the_ticks(drift_ppm: float) -> None:
    rng = np.random.default_rng(3)
    comparison = ClockComparison()
    noise = rng.normal(0.0, 20.0, 400)
    for k in range(400):
        host_s = 900.0 + 60.0 * k
        # Starts just before a turn; 24,000 s are 22 turns.
        board_us = TICKS - 5_000_000 + 60e6 * k * (1 + 1e-6 * drift_ppm) + noise[k]
        comparison.add(host_s, round(board_us) % TICKS)
    fit = comparison.fit()
    assert (fit.looks, fit.span_s) == (400, pytest.approx(60.0 * 399))
    # The slope's standard deviation: noise over the spread of the times.
    spread = 60.0 * np.arange(400).std() * np.sqrt(400)
    assert fit.drift_ppm == pytest.approx(drift_ppm, abs=5 * 20.0 / spread)
    assert fit.residual_rms_us == pytest.approx(noise.std(), rel=0.02)
    assert fit.residual_max_us <= np.abs(noise).max() + 5.0


def test_two_looks_fit_any_line() -> None:
    comparison = ClockComparison()
    comparison.add(0.0, 0)
    comparison.add(1.0, 10**6)
    with pytest.raises(ValueError, match="2 looks at the clocks are too few"):
        comparison.fit()


def test_a_board_is_looked_at() -> None:
    board = FakeBoard()
    with connect(ScriptedPort(board)) as link:
        timing = read_timing(link)
        assert timing.lateness == (*range(15), 2**32 - 1)
        assert (timing.missed, timing.latest_us) == (3, 20_000)
        host = iter([1.0, 1.5, 2.0, 2.5, 3.0, 3.5])
        comparison = ClockComparison(now=lambda: next(host))
        for cycle in (1000, 2000, 3000):
            board.cycle = cycle
            assert comparison.look(link).cycle == cycle
        fit = comparison.fit()
        assert (fit.looks, fit.span_s) == (3, 2.0)
        assert fit.drift_ppm == pytest.approx(0.0, abs=1e-6)


def test_bins_are_powers_of_two() -> None:
    assert [latest_in_bin(index) for index in (0, 1, 2, 3, 14)] == [0, 1, 3, 7, 16383]
