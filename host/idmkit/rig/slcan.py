"""CAN frames as SLCAN text: ``t`` + 3 hex digits of identifier + length digit + data in hex + carriage return.

Only data frames with 11-bit identifiers matter to CANopen. Commands to the adapter (``S8``, ``O``, ``C``) are passed
over: this bus is open at its own bitrate. Whatever else is no frame is counted as garbage.
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_LINE = 64
"""Longer than any frame; a line that does not end is dropped at this length."""
ADAPTER_COMMANDS = b"SOCVN"

Frame = tuple[int, bytes]
"""Identifier (11 bits) and up to eight data bytes."""


def encode(identifier: int, data: bytes) -> bytes:
    """One frame as text."""
    return b"t%03X%d%s\r" % (identifier, len(data), data.hex().upper().encode())


def encode_all(frames: Iterable[Frame]) -> bytes:
    """Frames one behind the other, for a single write."""
    return b"".join([b"t%03X%d%s\r" % (i, len(data), data.hex().upper().encode()) for i, data in frames])


def parse(line: bytes) -> Frame | None:
    """The frame in one line without its carriage return; None if it is none."""
    if line[:1] != b"t" or len(line) < 5:
        return None
    try:
        identifier = int(line[1:4], 16)
        length = line[4] - 48
        data = bytes.fromhex(line[5:].decode("ascii"))
    except ValueError:
        return None
    if identifier > 0x7FF or not 0 <= length <= 8 or len(data) != length or len(line) != 5 + 2 * length:
        return None
    return identifier, data


class Decoder:
    """Cuts a byte stream into frames, whatever the pieces; `garbage` counts the lines that were dropped."""

    def __init__(self) -> None:
        self._rest = b""
        self.garbage = 0

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete with `data`."""
        lines = (self._rest + data).split(b"\r")
        rest = lines.pop()
        if len(rest) > MAX_LINE:
            self.garbage += 1
            rest = rest[-MAX_LINE:]
        self._rest = rest
        frames = []
        for line in lines:
            frame = parse(line)
            if frame is not None:
                frames.append(frame)
            elif line and line[0] not in ADAPTER_COMMANDS:
                self.garbage += 1
        return frames
