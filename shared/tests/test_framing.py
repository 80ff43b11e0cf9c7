"""Frames and the splitter: whatever is done to one byte costs the frames it stands in, never a later one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idmwire import framing, messages
from idmwire.framing import MAX_FRAME, MAX_WIRE, FrameError, PlainCodec, Splitter, pack, unpack

CODES = [message[0] for message in messages.MESSAGES]
STATUS = messages.CODES["status"]
BLOCK = messages.CODES["capture_block"]
ROOM = {16: MAX_FRAME - 4, 32: MAX_FRAME - 6}


def read(wire: bytes) -> list[tuple[int, int, bytes]]:
    """The frames of a stream that are whole."""
    good = []
    for frame in Splitter().feed(wire):
        try:
            good.append(unpack(PlainCodec, frame))
        except FrameError:
            continue
    return good


def reason_of(frame: bytes) -> str:
    with pytest.raises(FrameError) as caught:
        unpack(PlainCodec, frame)
    return caught.value.reason


@given(st.sampled_from(CODES), st.integers(0, 255), st.binary(max_size=MAX_FRAME - 6))
def test_round_trip(kind: int, sequence: int, payload: bytes) -> None:
    wire = pack(PlainCodec, kind, sequence, payload)
    assert wire.endswith(b"\0")
    assert b"\0" not in wire[:-1]
    assert len(wire) <= MAX_WIRE + 1
    assert unpack(PlainCodec, wire[:-1]) == (kind, sequence, payload)


@pytest.mark.parametrize("size", [0, 1, 249, 250, 251, 252, 253, 254, 255, 256, 503, 504, 505, 506, 507, 508, 509, 510])
def test_sizes_round_the_blocks_of_254(size: int) -> None:
    for payload in (b"\x01" * size, bytes(size), bytes(range(256))[:size] * 2):
        if len(payload) <= ROOM[16]:
            assert read(pack(PlainCodec, BLOCK, 3, payload)) == [(BLOCK, 3, payload)]


@pytest.mark.parametrize("kind", ["capture_block", "stage"])
def test_longest_frame_fits_and_a_longer_one_is_refused(kind: str) -> None:
    code = messages.CODES[kind]
    room = ROOM[messages.crc_bits(code)]
    wire = pack(PlainCodec, code, 0, b"\x07" * room)
    assert read(wire) == [(code, 0, b"\x07" * room)]
    with pytest.raises(FrameError) as caught:
        pack(PlainCodec, code, 0, b"\x07" * (room + 1))
    assert caught.value.reason == "oversize"


def test_reasons() -> None:
    good = PlainCodec.decode(pack(PlainCodec, STATUS, 1, b"")[:-1])
    assert reason_of(b"\x05\x01") == "cobs"
    assert reason_of(PlainCodec.encode(good[:3])) == "short"
    assert reason_of(PlainCodec.encode(bytes((messages.CODES["arm"], 0, 1, 2, 3)))) == "short"
    assert reason_of(PlainCodec.encode(b"\x77" + good[1:])) == "type"
    assert reason_of(PlainCodec.encode(good[:-1] + bytes([good[-1] ^ 1]))) == "crc"


@pytest.mark.parametrize("kind", ["status", "arm"])
def test_every_flipped_bit_is_noticed(kind: str) -> None:
    body = PlainCodec.decode(pack(PlainCodec, messages.CODES[kind], 200, b"")[:-1])
    for bit in range(8 * len(body)):
        broken = bytearray(body)
        broken[bit // 8] ^= 1 << bit % 8
        assert reason_of(PlainCodec.encode(bytes(broken))) in ("crc", "type", "short")


STREAM = [
    pack(PlainCodec, STATUS, 0, b""),
    pack(PlainCodec, BLOCK, 1, b"\x00\x01\x02" * 30),
    pack(PlainCodec, messages.CODES["arm"], 2, b""),
    pack(PlainCodec, BLOCK, 3, b"\x05" * 300),
    pack(PlainCodec, STATUS, 4, b""),
]
FRAMES = read(b"".join(STREAM))


def frames_lost(wire: bytes) -> list[int]:
    """Which frames of STREAM did not come through; nothing else may come."""
    good = read(wire)
    assert all(frame in FRAMES for frame in good)
    assert good == [frame for frame in FRAMES if frame in good]
    return [number for number, frame in enumerate(FRAMES) if frame not in good]


def frame_at(place: int) -> int:
    """The frame of STREAM in which byte `place` stands."""
    for number, wire in enumerate(STREAM):
        if place < len(wire):
            return number
        place -= len(wire)
    raise AssertionError(place)


def test_a_dropped_byte_costs_its_frame_and_with_a_delimiter_the_next() -> None:
    wire = b"".join(STREAM)
    for place in range(len(wire)):
        here = frame_at(place)
        allowed = [here] if wire[place] else [here, here + 1]
        assert set(frames_lost(wire[:place] + wire[place + 1 :])) <= set(allowed)


@pytest.mark.parametrize("byte", [0x00, 0x01, 0x03, 0x55, 0xFF])
def test_an_inserted_byte_costs_the_frame_it_falls_into(byte: int) -> None:
    wire = b"".join(STREAM)
    for place in range(len(wire)):
        assert set(frames_lost(wire[:place] + bytes([byte]) + wire[place:])) <= {frame_at(place)}


def test_a_flipped_bit_costs_its_frame_and_in_a_delimiter_the_next() -> None:
    wire = b"".join(STREAM)
    for place in range(len(wire)):
        for bit in range(8):
            broken = bytearray(wire)
            broken[place] ^= 1 << bit
            allowed = [frame_at(place)] if wire[place] else [frame_at(place), frame_at(place) + 1]
            assert set(frames_lost(bytes(broken))) <= set(allowed)


@given(st.binary(max_size=80))
def test_noise_in_front_of_a_delimiter_costs_nothing(noise: bytes) -> None:
    wire = noise + b"\0" + b"".join(STREAM)
    # The noise may itself hold frames by chance only: a checksum of 16 bits lets one of 65536 pass.
    assert read(wire)[-len(FRAMES) :] == FRAMES


@given(st.lists(st.integers(1, 40), max_size=60))
def test_the_cutting_of_the_stream_does_not_matter(sizes: list[int]) -> None:
    wire = b"".join(STREAM)
    splitter = Splitter()
    frames = []
    at = 0
    for size in [*sizes, len(wire)]:
        frames += splitter.feed(wire[at : at + size])
        at += size
    assert frames == Splitter().feed(wire)


def test_empty_frames_are_ignored() -> None:
    assert Splitter().feed(b"\0\0\0" + STREAM[0] + b"\0") == [STREAM[0][:-1]]


@pytest.mark.parametrize("extra", [1, 2, 1000, 100_000])
def test_a_run_too_long_is_dropped_counted_and_survived(extra: int) -> None:
    splitter = Splitter()
    assert splitter.feed(b"\x01" * MAX_WIRE) == []
    assert splitter.overflows == 0
    for _ in range(0, extra, 1000):
        assert splitter.feed(b"\x01" * min(extra, 1000)) == []
    assert splitter.overflows == 1
    assert len(splitter._held) <= MAX_WIRE
    assert splitter.feed(b"\x01\0" + STREAM[0]) == [STREAM[0][:-1]]
    assert splitter.overflows == 1


def test_a_run_just_short_enough_is_passed_on() -> None:
    assert Splitter().feed(b"\x01" * MAX_WIRE + b"\0") == [b"\x01" * MAX_WIRE]


def test_the_limits_hold_the_longest_encoding() -> None:
    assert len(PlainCodec.encode(b"\x01" * framing.MAX_FRAME)) <= MAX_WIRE
