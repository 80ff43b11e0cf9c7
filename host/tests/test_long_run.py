"""Short forms of `make bench-long`: over the turns of ticks and cycle numbers nothing is missed, lost, or grows."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_long import run_cycles, run_timed
from runtimes import WORDS, micropython


@pytest.mark.parametrize("words", WORDS)
def test_cycles_over_the_turns_of_ticks_and_numbers(words: int) -> None:
    found = run_cycles(60.0, 20_000, Path(micropython(words)))
    assert found["cycles"] == found["samples_taken"] == 20_000
    assert found["turns_of_ticks"] == found["turns_of_cycle_numbers"] == 1


def test_a_board_on_its_own_clock_says_how_late_its_cycles_began() -> None:
    found = run_timed(2.0)
    # Every cycle is in the histogram: those of the run, and the few around it.
    counted = sum(found["began_late_by_at_most_us"].values())
    assert found["cycles"] <= counted
    # Cycles and those left out fill the time, whatever this machine did meanwhile.
    filled = found["cycles"] + found["cycles_missed"]
    assert filled >= 0.9 * 1000 * found["clock"]["span_s"]
    assert found["samples"] + found["samples_lost"] <= counted
    assert found["clock"]["looks"] >= 3
