"""The host's codec against idmwire's: twins are tested alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idmkit.link.codec import HostCodec
from idmwire.framing import FrameError, PlainCodec, pack, unpack
from idmwire.messages import MESSAGES

DATA = st.lists(st.binary(max_size=40) | st.integers(250, 260).map(lambda n: b"\x55" * n), max_size=4).map(b"".join)


@given(DATA)
def test_twins_encode_and_sum_alike(data: bytes) -> None:
    assert HostCodec.encode(data) == PlainCodec.encode(data)
    assert HostCodec.crc16(data) == PlainCodec.crc16(data)
    assert HostCodec.crc32(data) == PlainCodec.crc32(data)


@given(DATA)
def test_twins_decode_alike(data: bytes) -> None:
    try:
        expected = PlainCodec.decode(data)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            HostCodec.decode(data)
    else:
        assert HostCodec.decode(data) == expected


@given(st.sampled_from([message[0] for message in MESSAGES]), st.integers(0, 255), st.binary(max_size=500))
def test_frames_pass_between_the_twins(kind: int, sequence: int, payload: bytes) -> None:
    wire = pack(HostCodec, kind, sequence, payload)
    assert wire == pack(PlainCodec, kind, sequence, payload)
    assert unpack(HostCodec, wire[:-1]) == (kind, sequence, payload)
    with pytest.raises(FrameError) as caught:
        unpack(HostCodec, b"\x05" + wire[:2])
    assert caught.value.reason == "cobs"
