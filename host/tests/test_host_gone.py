"""A short form of `make bench-host_gone`: a host that goes away costs a streaming board no cycle, drops are counted."""

from __future__ import annotations

import pytest
from bench_host_gone import LIMIT, check, measure

pytestmark = pytest.mark.emulated


def test_a_host_that_goes_away_costs_no_cycle_and_every_drop_is_counted() -> None:
    # The counts are held to what came inside of `check`.
    result = check(measure(2, 400))
    assert result["ratio_cycle_gone_to_present"] <= LIMIT
    assert result["ratio_turn_gone_to_present"] <= LIMIT
