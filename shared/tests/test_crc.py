"""The checksums: check values of the catalogues, and the standard library as twins."""

from __future__ import annotations

import zlib
from binascii import crc_hqx

from hypothesis import given
from hypothesis import strategies as st

from idmwire import crc


def test_check_values() -> None:
    assert crc.crc16(b"123456789") == 0x29B1
    assert crc.crc32(b"123456789") == 0xCBF43926
    assert crc.crc16(b"") == 0xFFFF
    assert crc.crc32(b"") == 0


@given(st.binary(max_size=600))
def test_twins_agree(data: bytes) -> None:
    assert crc.crc16(data) == crc_hqx(data, 0xFFFF)
    assert crc.crc32(data) == zlib.crc32(data)


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_a_sum_can_go_on_where_another_ended(a: bytes, b: bytes) -> None:
    assert crc.crc16(b, crc.crc16(a)) == crc.crc16(a + b)
    assert crc.crc32(b, crc.crc32(a)) == crc.crc32(a + b)
