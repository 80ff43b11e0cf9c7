"""The sealed block of the board's store: there and back, and whatever is changed in it is noticed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from idmwire.slot import HEADER_BYTES, newer, seal, sealed_bytes, unseal

COUNTS = st.integers(0, 2**32 - 1)


@given(st.binary(max_size=5000), COUNTS)
def test_there_and_back(data: bytes, generation: int) -> None:
    block = seal(data, generation)
    assert sealed_bytes(block[:HEADER_BYTES]) == len(block) == HEADER_BYTES + len(data)
    assert unseal(block) == (generation, data)


@given(st.binary(max_size=300), COUNTS, st.data())
def test_a_changed_or_cut_block_is_none(data: bytes, generation: int, draws: st.DataObject) -> None:
    block = seal(data, generation)
    at = draws.draw(st.integers(0, len(block) - 1))
    changed = bytearray(block)
    changed[at] ^= draws.draw(st.integers(1, 255))
    assert unseal(bytes(changed)) is None
    assert unseal(block[:at]) is None
    assert unseal(block + b"\0") is None


def test_blank_flash_is_no_block() -> None:
    for blank in (b"", b"\xff" * 256, b"\0" * 256):
        assert sealed_bytes(blank) == 0
        assert unseal(blank) is None


@given(COUNTS, st.integers(1, 2**31 - 1))
def test_the_newer_generation_also_where_the_count_wraps(generation: int, steps: int) -> None:
    later = unseal(seal(b"", generation + steps))
    assert later is not None
    assert newer(later[0], generation)
    assert not newer(generation, later[0])
    assert not newer(generation, generation)
