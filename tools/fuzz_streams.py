"""Streams of damaged frames, and what a peer that reads them must do.

A stream is made of trials. A trial is one damaged frame, and behind it two sentinels: whole frames with a number of
their own. Whatever the damage, the second sentinel must be heard, and the first one wherever the damaged frame still
ends with its delimiter. `Expected` reads a stream the short way (split at the zeros, checksums of the C library), and a
peer has to agree with it frame by frame and count by count.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from idmkit.link.codec import HostCodec
from idmwire import framing, messages

LENGTHS = (60, 62, 63, 64, 65, 66, 126, 127, 128, 129, 251, 252, 253, 254, 255, 256, 257, 508, 509, 510)
"""Around the packets of USB and the blocks of COBS: of a body, as of the run between two zeros."""
AWKWARD = (0x00, 0x01, 0x03, 0x04, 0x0A, 0x0D, 0x11, 0x13, 0x1A, 0x7F, 0x80, 0xFE, 0xFF)
KINDS = {
    direction: [message[0] for message in messages.MESSAGES if message[2] == direction and message[1] != "enter_repl"]
    for direction in (messages.TO_BOARD, messages.TO_HOST)
}
SENTINELS = {
    messages.TO_BOARD: messages.CODES["capture_received"],
    messages.TO_HOST: messages.CODES["capture_block"],
}
"""Messages that carry a number and want no answer."""
MOST_DAMAGES = 4

CORPUS = Path(__file__).resolve().parents[1] / "shared" / "tests" / "corpus"
"""Inputs that together reach all that a coverage-guided search has reached (tools/fuzz_coverage.py)."""
BETWEEN_BODIES = b"\xfe\xfe"


class Trials:
    """An endless supply of trials for peers that read what goes in `direction`; the same for the same seed.

    `without` names a message that is none of them.
    """

    def __init__(self, seed: int, direction: str = messages.TO_BOARD, *, without: str = "") -> None:
        self.direction = direction
        self.count = 0
        self._kinds = [kind for kind in KINDS[direction] if messages.message_name(kind) != without]
        self._random = random.Random(seed)

    def stream(self, trials: int) -> tuple[bytes, set[int]]:
        """So many trials, and the numbers of the sentinels that must be heard."""
        parts = []
        heard = set()
        for _ in range(trials):
            damaged = self._damaged()
            first = 2 * self.count
            self.count += 1
            parts += [damaged, self._sentinel(first), self._sentinel(first + 1)]
            heard |= {first, first + 1} if damaged.endswith(b"\0") or not damaged else {first + 1}
        return b"".join(parts), heard

    def _sentinel(self, number: int) -> bytes:
        return framing.pack(HostCodec, SENTINELS[self.direction], 0, number.to_bytes(4, "little"))

    def _damaged(self) -> bytes:
        """One frame, damaged on the wire, or under whole COBS (which gets it to the checksum), or in no way."""
        body = self._body()
        wire = bytearray(framing.pack(HostCodec, body[0], body[1], body[2:]))
        where = self._random.random()
        if where < 1 / 8:
            return bytes(wire)
        if where < 1 / 2:
            checked = bytearray(HostCodec.decode(bytes(wire[:-1])))
            self._damage(checked)
            return HostCodec.encode(bytes(checked)) + b"\0"
        for _ in range(1 + self._random.randrange(MOST_DAMAGES)):
            self._damage(wire)
        return bytes(wire)

    def _body(self) -> bytes:
        rnd = self._random
        kind = rnd.choice(self._kinds)
        shape = rnd.random()
        if shape < 0.5:
            size = messages.payload_size(messages.message_name(kind), rnd.randrange(1, 7))
        elif shape < 0.75:
            size = max(0, rnd.choice(LENGTHS) - 2 - messages.crc_bits(kind) // 8)
        else:
            size = rnd.randrange(24)
        content = rnd.random()
        if content < 0.5:
            payload = rnd.randbytes(size)
        elif content < 0.7:
            payload = bytes(1 + (k + size) % 255 for k in range(size))
        else:
            payload = bytes(rnd.choices(AWKWARD, k=size))
        return bytes((kind, rnd.randrange(256))) + payload

    def _damage(self, wire: bytearray) -> None:
        rnd = self._random
        at = rnd.randrange(len(wire)) if wire else 0
        n = 1 if rnd.random() < 0.7 else 1 + rnd.randrange(70)
        action = rnd.randrange(6)
        if action == 0 and wire:
            wire[at] ^= 1 << rnd.randrange(8)
        elif action == 1 and wire:
            wire[at] = rnd.choice(AWKWARD) if rnd.random() < 0.5 else rnd.randrange(256)
        elif action == 2:
            del wire[at : at + n]
        elif action == 3:
            wire[at:at] = bytes(rnd.choices(AWKWARD, k=n))
        elif action == 4:
            wire[at:at] = rnd.randbytes(n)
        else:
            wire[at:at] = wire[at : at + n] * rnd.choice((1, 1, 2, 12))


def random_bodies(seed: int, count: int, bits: int, direction: str = messages.TO_BOARD) -> bytes:
    """Valid COBS frames of random bodies, their type one with this checksum; no answers go to the board."""
    rnd = random.Random(seed)
    kinds = [kind for kind in KINDS[direction] if messages.crc_bits(kind) == bits]
    least = framing.HEADER_BYTES + bits // 8
    frames = []
    for _ in range(count):
        size = rnd.choice(LENGTHS) if rnd.random() < 0.1 else rnd.randrange(least, 40)
        frames.append(HostCodec.encode(bytes((rnd.choice(kinds),)) + rnd.randbytes(size - 1)))
    return b"\0".join(frames) + b"\0"


@dataclass
class Expected:
    """What the board counts in a stream, and the bodies (without checksum) that it hands to its handlers."""

    frames_received: int = 0
    crc_errors: int = 0
    cobs_errors: int = 0
    overflows: int = 0
    repeats: int = 0
    handled: list[bytes] = field(default_factory=list)
    _last: bytes = b""

    @property
    def counts(self) -> dict[str, int]:
        """The counts, by the names that the board's statistics have."""
        return {name: value for name, value in vars(self).items() if isinstance(value, int)}

    def read(self, stream: bytes) -> None:
        """Goes on with a stream that ends with a zero."""
        for piece in stream.split(b"\0"):
            if len(piece) > framing.MAX_WIRE:
                self.overflows += 1
            elif piece:
                self._take(piece)

    def _take(self, piece: bytes) -> None:
        try:
            body = HostCodec.decode(piece)
        except ValueError:
            body = b""
        if len(body) < framing.HEADER_BYTES + 2:
            self.cobs_errors += 1
            return
        size = len(body) - (messages.crc_bits(body[0]) or 16) // 8
        data, check = body[:size], body[size:]
        crc = HostCodec.crc32(data) if len(check) == 4 else HostCodec.crc16(data)
        if size < framing.HEADER_BYTES or crc.to_bytes(len(check), "little") != check:
            self.crc_errors += 1
            return
        self.frames_received += 1
        if data[0] & messages.ANSWER:
            return
        head = data[: framing.HEADER_BYTES]
        if data[0] == SENTINELS[messages.TO_BOARD]:
            self.handled.append(data)
        elif head == self._last and data[0] != messages.CODES["hello"]:
            self.repeats += 1
        else:
            self._last = head
            if data[0] in KINDS[messages.TO_BOARD]:
                self.handled.append(data)


def stream_of(data: bytes) -> bytes | None:
    """The stream in an input of the corpus; None where it holds changes of a parameter image.

    The first byte says what the rest is: bytes from the wire, or bodies that get their checksum and COBS here, so that
    what lies behind the checksum is reached.
    """
    kind, rest = (data[0] % 3, data[1:]) if data else (0, b"")
    if kind == 2:
        return None
    return rest + b"\0" if kind == 0 else b"".join(map(framed, rest.split(BETWEEN_BODIES)))


def framed(body: bytes) -> bytes:
    """A frame with this type, sequence and payload, and the right checksum."""
    bits = messages.crc_bits(body[0]) if body else 0
    body = body[: framing.MAX_FRAME - 4]
    check = HostCodec.crc32(body).to_bytes(4, "little") if bits == 32 else HostCodec.crc16(body).to_bytes(2, "little")
    return HostCodec.encode(body + check) + b"\0"
