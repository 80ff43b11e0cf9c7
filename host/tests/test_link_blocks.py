"""The store of a capture's blocks: counts are exact, gaps are marked, stale blocks stay out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idmkit.errors import LinkError
from idmkit.link import blocks
from idmkit.link.blocks import BlockStore

PER_BLOCK = 3
EVERY = 2
START = 100


def samples(number: int, count: int = PER_BLOCK) -> bytes:
    rows = [[number * PER_BLOCK + k, -(number * PER_BLOCK + k)] for k in range(count)]
    return np.array(rows, dtype="<i4").tobytes()


def cycle(number: int) -> int:
    return START + number * PER_BLOCK * EVERY


def started(wanted: int = 0) -> BlockStore:
    store = BlockStore(2, EVERY, wanted)
    store.begin(START, PER_BLOCK)
    return store


def put(store: BlockStore, number: int, count: int = PER_BLOCK) -> None:
    store.add(number, cycle(number), samples(number, count), 40)


def test_blocks_in_order() -> None:
    store = started(8)
    for number, count in ((0, 3), (1, 3), (2, 2)):
        assert not store.complete()
        put(store, number, count)
    assert store.complete()
    store.end(3, 8)
    data, gaps = store.assemble()
    assert gaps == []
    assert np.array_equal(data, [[k, -k] for k in range(8)])
    counts = store.counts
    assert (counts.blocks, counts.samples, counts.missing, counts.requested, counts.repeated) == (3, 8, 0, 0, 0)
    assert counts.payload_share == 8 * 8 / 120


@given(st.permutations(range(7)), st.sets(st.integers(0, 6), max_size=3), st.lists(st.integers(0, 6), max_size=5))
def test_counts_are_exact_in_any_order(order: list[int], lost: set[int], again: list[int]) -> None:
    store = started()
    missing: set[int] = set()
    arrived: list[int] = []
    for number in [*order, *again]:
        if number in lost:
            continue
        missing |= {k for k in range(number) if k > max(arrived, default=-1)}
        put(store, number)
        arrived.append(number)
    for number in lost:
        store.mark_lost(number)
        missing |= {k for k in range(number + 1) if k > max(arrived, default=-1)}
    store.end(7, 21)
    assert store.complete()
    counts = store.counts
    assert counts.blocks == len(set(arrived))
    assert counts.samples == 3 * counts.blocks
    assert counts.repeated == len(arrived) - len(set(arrived))
    assert counts.missing == len(missing)
    assert counts.lost == len(lost)
    data, gaps = store.assemble()
    marked = np.zeros(21, dtype=bool)
    for first, rows in gaps:
        marked[first : first + rows] = True
    assert np.array_equal(marked, np.repeat([k in lost for k in range(7)], 3))
    expected = np.array([[k, -k] for k in range(21)])
    expected[marked] = 0
    assert np.array_equal(data, expected)


def test_the_rest_is_missing_only_when_the_board_has_stopped() -> None:
    store = started()
    put(store, 0)
    assert not store.miss_the_rest()
    assert store.counts.missing == 0
    store.end(3, 9)
    assert not store.complete()
    assert store.miss_the_rest()
    assert store.to_ask_for() == [1, 2]
    assert store.counts.missing == 2


def test_a_block_is_asked_for_again_after_a_while_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(blocks.time, "monotonic", lambda: now)
    store = started()
    now = 10.0
    put(store, 1)
    for _ in range(blocks.MOST_REQUESTS):
        assert store.to_ask_for() == [0]
        store.count_request(0)
        assert store.to_ask_for() == []
        now += 1.01 * blocks.ASK_AGAIN_S
    with pytest.raises(LinkError, match="Block 0 of the capture was asked for 6 times"):
        store.to_ask_for()
    put(store, 0)
    assert store.to_ask_for() == []
    assert store.counts.requested == blocks.MOST_REQUESTS


def test_what_came_before_the_answer_is_sorted_out() -> None:
    store = BlockStore(2, EVERY, 0)
    store.add(5, 4711, samples(5), 40)
    put(store, 0)
    assert store.counts.blocks == 0
    store.begin(START, PER_BLOCK)
    put(store, 1)
    assert (store.counts.blocks, store.counts.stale, store.counts.missing) == (2, 1, 0)
    assert store.counts.stream_bytes == 80


@pytest.mark.parametrize(("first", "data"), [(0, samples(1)), (cycle(1), samples(1)[:-1]), (cycle(1), b""),
                                             (cycle(1), samples(1) + samples(2))])  # fmt: skip
def test_a_block_that_cannot_be_of_this_capture(first: int, data: bytes) -> None:
    store = started()
    store.add(1, first, data, 40)
    assert (store.counts.blocks, store.counts.stale, store.counts.missing) == (0, 1, 0)


def test_a_block_that_turns_up_after_all_is_not_lost() -> None:
    store = started()
    put(store, 1)
    store.mark_lost(0)
    assert store.next_needed() == 2
    put(store, 0)
    assert (store.counts.lost, store.counts.repeated, store.counts.missing) == (0, 0, 1)


def test_acknowledgements_stop_at_the_first_missing_block() -> None:
    store = started(18)
    for number in (0, 1, 3, 4):
        put(store, number)
    assert store.acknowledgement(2) == 2
    assert store.acknowledgement(2) is None
    put(store, 2)
    assert store.acknowledgement(4) is None
    assert store.acknowledgement(2) == 5
    put(store, 5)
    assert store.acknowledgement(4) == 6


def test_a_block_beyond_what_the_board_says_it_took() -> None:
    store = started()
    put(store, 0)
    put(store, 1)
    store.end(2, 4)
    with pytest.raises(LinkError, match="Block 1 ends at sample 6, the board says it took 4"):
        store.assemble()


def test_a_short_block_in_the_middle_is_a_gap() -> None:
    store = started()
    put(store, 0, 2)
    put(store, 1)
    store.end(2, 6)
    assert store.assemble()[1] == [(2, 1)]
