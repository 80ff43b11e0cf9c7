"""What must hold for any bytes that reach a parser; run alone, for those of the corpus.

An input is a stream, which both ends read, or changes of a parameter image (fuzz_streams.stream_of). The board's end is
the firmware's own link, whose viper functions are plain Python to CPython.
"""

from __future__ import annotations

import builtins
import importlib
import sys
import types
from contextlib import suppress
from pathlib import Path
from typing import Any

from fuzz_streams import CORPUS, KINDS, SENTINELS, Expected, stream_of

from idmkit.errors import LinkError
from idmkit.link.codec import HostCodec
from idmkit.link.hello import greet
from idmkit.link.statistics import LinkStatistics
from idmwire import framing, image, messages, properties, slot
from idmwire.framing import FrameError, PlainCodec, Splitter

FIRMWARE = Path(__file__).resolve().parents[1] / "firmware"
POINTERS = ("ptr8", "ptr16", "ptr32")


def firmware_link() -> Any:
    """The firmware's module `motionboard.link`, imported here."""
    stand_in = types.ModuleType("micropython")
    for name in ("viper", "native", "const"):
        setattr(stand_in, name, lambda what: what)
    sys.modules["micropython"] = stand_in
    for name in POINTERS:
        setattr(builtins, name, bytearray)
    sys.path.append(str(FIRMWARE))
    try:
        return importlib.import_module("motionboard.link")
    finally:
        sys.path.remove(str(FIRMWARE))


LINK = firmware_link()


class Port:
    """A line that gives a stream to the firmware's link, and takes what it says."""

    def __init__(self, stream: bytes) -> None:
        self.stream = stream
        self.said = bytearray()

    def readinto(self, buffer: bytearray) -> int:
        """The next bytes."""
        piece = self.stream[: len(buffer)]
        self.stream = self.stream[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)

    def write(self, buffer: bytearray, at: int, n: int) -> int:
        """All that is offered."""
        self.said += buffer[at : at + n]
        return n


def check(data: bytes) -> None:
    """One input; AssertionError or whatever is raised is a finding."""
    stream = stream_of(data)
    if stream is None:
        check_image(data[1:])
    else:
        check_board(stream)
        check_host(stream)


def check_board(stream: bytes) -> None:
    """The firmware's link hands over and counts what the short reading of the stream does; its answers are frames."""
    expected = Expected()
    expected.read(stream)
    port = Port(stream)
    link = LINK.Link(port)
    handled: list[bytes] = []

    def handle() -> None:
        handled.append(bytes(link.request[: link.length + framing.HEADER_BYTES]))
        if handled[-1][0] != SENTINELS[messages.TO_BOARD]:
            link.begin()
            link.finish()

    known = set(KINDS[messages.TO_BOARD])
    link.handlers = [handle if kind in known else None for kind in range(256)]
    while port.stream:
        link.serve()
    while link.busy:
        link.serve()
    assert handled == expected.handled
    assert {name: getattr(link, name) for name in expected.counts} == expected.counts
    for frame in Splitter().feed(bytes(port.said)):
        kind, _, payload = framing.unpack(HostCodec, frame)
        assert kind & messages.ANSWER
        assert kind != messages.REFUSED or payload[1] in messages.REFUSAL_NAMES


def check_host(stream: bytes) -> None:
    """Both codecs say the same of every frame, however the stream is cut; a payload is read or refused."""
    frames = Splitter().feed(stream)
    splitter = Splitter()
    assert frames == [frame for k in range(len(stream)) for frame in splitter.feed(stream[k : k + 1])]
    for frame in frames:
        found = unpacked(HostCodec, frame)
        assert found == unpacked(PlainCodec, frame)
        if isinstance(found, tuple):
            check_payload(*found)


def unpacked(codec: type[PlainCodec], frame: bytes) -> tuple[int, int, bytes] | str:
    """The parts of a frame, or why it is none."""
    try:
        return framing.unpack(codec, frame)
    except FrameError as error:
        return error.reason


class Answering:
    """A connection whose board answers everything with `payload`."""

    name = "a stream"

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.statistics = LinkStatistics()

    def exchange(self, _kind: int, _payload: bytes) -> bytes:
        """The payload."""
        return self.payload


def check_payload(kind: int, sequence: int, payload: bytes) -> None:
    """What is understood packs to the same bytes again; a greeting is understood or refused with a reason."""
    name = messages.message_name(kind)
    axes = sequence % 9
    try:
        fields = messages.unpack_payload(name, axes, payload)
    except ValueError:
        pass
    else:
        assert messages.pack_payload(name, axes, fields) == payload
    with suppress(LinkError):
        greet(Answering(payload)).mismatch("a stream")  # type: ignore[arg-type]


def check_image(changes: bytes) -> None:
    """An image with changed bytes (offset u16 and byte each) packs to itself, or is refused by its own error."""
    axes = changes[0] % 8 if changes else 1
    parameters = changes[1] % 5 if len(changes) > 1 else 0
    values = properties.defaults(axes)
    mantissas, engineering = tuple(range(parameters)), tuple(float(k) for k in range(parameters))
    data = bytearray(image.ParameterImage("robot", 1000, axes, values, 7, mantissas, engineering).pack())
    for at in range(2, len(changes) - 2, 3):
        data[(changes[at] | changes[at + 1] << 8) % len(data)] = changes[at + 2]
    checked = bytes(data[:-4]) + HostCodec.crc32(bytes(data[:-4])).to_bytes(4, "little")
    for block in (bytes(data), checked, checked[: len(changes)]):
        try:
            assert image.unpack(block).pack()[48:-4] == block[48:-4]
        except (image.ImageError, UnicodeDecodeError):
            continue
    sealed = slot.seal(checked, axes)
    assert slot.unseal(sealed) == (axes, checked)
    damaged = bytearray(sealed)
    for at in range(2, len(changes) - 2, 3):
        damaged[(changes[at] | changes[at + 1] << 8) % len(damaged)] = changes[at + 2]
    assert slot.unseal(bytes(damaged)) is None or damaged == sealed


def main() -> None:
    """Replays the corpus."""
    inputs = sorted(CORPUS.iterdir())
    for path in inputs:
        try:
            check(path.read_bytes())
        except Exception as error:
            raise SystemExit(f"{path.name}: {error!r}") from error
    print(len(inputs))


if __name__ == "__main__":
    main()
