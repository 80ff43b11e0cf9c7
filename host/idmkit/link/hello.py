"""The greeting: what a board says about itself, and whether both ends mean the same by what they send."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

from idmkit.errors import LinkError, ProtocolMismatch
from idmkit.link.connection import Connection
from idmwire import PROTOCOL_MAJOR, PROTOCOL_MINOR, messages, scales
from idmwire.schema import SCHEMA_HASH

PATIENCE_S = 3.0
"""A board that opening the port has reset needs its boot window first."""


@dataclass(frozen=True)
class Hello:
    """The answer to hello, in the host's types. Sizes in bytes; hashes 0 and names "" where there is nothing."""

    protocol: tuple[int, int]
    schema_hash: int
    firmware_version: tuple[int, int, int]
    board: str
    word_bits: int
    mpy_version: int
    axes: int
    cycle_time_s: float
    exponents: tuple[int, ...]
    program_hash: int
    parameters: int
    generation: int
    robot: str
    image_bytes: int
    ring_blocks: int
    block_bytes: int
    receive_bytes: int

    def mismatch(self, where: str) -> ProtocolMismatch | None:
        """The first field in which the board and this package differ so that they cannot work together."""
        ours = (
            ("the protocol's major version", PROTOCOL_MAJOR, self.protocol[0]),
            ("the schema hash", f"0x{SCHEMA_HASH:08x}", f"0x{self.schema_hash:08x}"),
            ("the scale table", scales.exponents(), self.exponents),
        )
        for field, mine, theirs in ours:
            if mine != theirs:
                version = ".".join(str(part) for part in self.firmware_version)
                return ProtocolMismatch(
                    f"The board on {where} (firmware {version}) and this package differ in {field}: the board has "
                    f"{theirs}, the package {mine}. Reading still works, nothing else; update the board's firmware or "
                    f"this package."
                )
        return None


def greet(connection: Connection, patience_s: float = PATIENCE_S) -> Hello:
    """Says hello; raises LinkError with a guess at what is on the port when no board answers in `patience_s`."""
    greeting = messages.pack_payload("hello", 0, {"major": PROTOCOL_MAJOR, "minor": PROTOCOL_MINOR})
    deadline = time.monotonic() + patience_s
    while True:
        unanswered = connection.statistics.unanswered
        try:
            payload = connection.exchange(messages.CODES["hello"], greeting)
            return _read(payload, connection.name)
        except LinkError as error:
            if connection.statistics.unanswered == unanswered:
                raise
            if time.monotonic() > deadline:
                raise LinkError(_who_is_it(connection)) from error


def _read(payload: bytes, where: str) -> Hello:
    size = messages.payload_size("hello_answer", 0)
    if len(payload) < size:
        raise LinkError(
            f"The board on {where} answered hello with {len(payload)} bytes instead of {size}: its firmware is older "
            f"than any this package knows. Update the firmware."
        )
    # A later minor version may add fields at the end.
    answer = messages.unpack_payload("hello_answer", 0, payload[:size])

    def number(field: str) -> int:
        value = answer[field]
        assert isinstance(value, int)
        return value

    def text(field: str) -> bytes:
        value = answer[field]
        assert isinstance(value, bytes)
        return value

    version = text("firmware_version")
    return Hello(
        protocol=(number("major"), number("minor")),
        schema_hash=number("schema_hash"),
        firmware_version=(version[0], version[1], version[2]),
        board=_name(text("board")),
        word_bits=number("word_bits"),
        mpy_version=number("mpy_version"),
        axes=number("axes"),
        cycle_time_s=number("cycle_time_us") * 1e-6,
        exponents=struct.unpack("<5b", text("exponents")),
        program_hash=number("program_hash"),
        parameters=number("parameters"),
        generation=number("generation"),
        robot=_name(text("robot")),
        image_bytes=number("image_bytes"),
        ring_blocks=number("ring_blocks"),
        block_bytes=number("block_bytes"),
        receive_bytes=number("receive_bytes"),
    )


def _name(padded: bytes) -> str:
    return padded.rstrip(b"\0").decode(errors="replace")


def _who_is_it(connection: Connection) -> str:
    start = f"No motion board answers on {connection.name}: "
    counts = connection.statistics
    if counts.echoes:
        return start + "it gives back what it is sent. Is RX bridged to TX, or is this a terminal? Choose another port."
    if b">>>" in connection.heard:
        return start + "a MicroPython prompt does. Start the firmware (reset the board, or `import main`)."
    if connection.heard:
        sample = bytes(connection.heard[:16]).hex(" ")
        return (
            f"{start}{counts.bytes_received} bytes came that are no frame ({sample} ...). Is it another device, or "
            f"another baud rate? Choose another port, or flash the firmware."
        )
    return (
        f"{start}silence after {counts.frames_sent} greetings. Is it powered, flashed and running? Choose another "
        f"port, or reset it."
    )
