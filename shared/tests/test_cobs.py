"""COBS: the plain twin against the `cobs` package."""

from __future__ import annotations

import pytest
from cobs import cobs as package
from hypothesis import given
from hypothesis import strategies as st

from idmwire import cobs

BORDERS = (0, 1, 2, 253, 254, 255, 256, 507, 508, 509, 510, 560)
# Long runs without a zero are what the borders of a block are about; uniform bytes seldom have them.
DATA = st.lists(st.binary(max_size=40) | st.integers(250, 260).map(lambda n: b"\x55" * n), max_size=4).map(b"".join)


@pytest.mark.parametrize("size", BORDERS)
@pytest.mark.parametrize("byte", [0, 1, 255])
def test_borders_agree_with_the_package(size: int, byte: int) -> None:
    data = bytes([byte]) * size
    encoded = cobs.encode(data)
    assert encoded == package.encode(data)
    assert cobs.decode(encoded) == data


@pytest.mark.parametrize("size", BORDERS)
def test_overhead_is_one_byte_for_each_begun_254(size: int) -> None:
    assert len(cobs.encode(b"\x01" * size)) == size + max(1, -(-size // 254))


@given(DATA)
def test_encoding_agrees_with_the_package_and_returns(data: bytes) -> None:
    encoded = cobs.encode(data)
    assert encoded == package.encode(data)
    assert b"\0" not in encoded
    assert cobs.decode(encoded) == data


@given(DATA)
def test_decoding_of_anything_agrees_with_the_package(data: bytes) -> None:
    try:
        expected = package.decode(data)
    except package.DecodeError:
        with pytest.raises(cobs.CobsError):
            cobs.decode(data)
    else:
        assert cobs.decode(data) == expected
