"""docs/protocol.md and docs/faults.md say what the registries say, and the whole of it."""

from __future__ import annotations

import re
from pathlib import Path

import protocol_tables
import pytest

from idmkit.link import capture, connection
from idmwire import cobs, crc, framing, image, messages
from idmwire.messages import MESSAGES, TO_BOARD

PROTOCOL = protocol_tables.PAGES[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("page", protocol_tables.PAGES, ids=lambda page: page.name)
def test_tables_and_bytes_are_those_of_the_registries(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == protocol_tables.made_anew(text), "run tools/protocol_tables.py"


def test_every_message_is_on_the_page() -> None:
    blocks = set(re.findall(r"<!-- table message (\w+) -->", PROTOCOL))
    asked = {name for _, name, direction, _, _ in MESSAGES if direction == TO_BOARD}
    assert blocks == asked | {"capture_block", "refused"}
    for _, name, _, _, _ in MESSAGES:
        assert f"\n`{name}`: 0x{messages.CODES[name]:02X}, " in PROTOCOL


def test_every_other_table_is_on_the_page() -> None:
    for name in (*protocol_tables.TABLES, "names states", "names images"):
        assert f"<!-- table {name} -->" in PROTOCOL


def test_the_numbers_in_the_text_are_those_of_the_code() -> None:
    assert f"within {connection.TIMEOUT_S:g} s" in PROTOCOL
    assert connection.RETRIES == 3
    assert "up to three times" in PROTOCOL
    assert f"{connection.BACKOFF:g} times longer" in PROTOCOL
    assert f"at most {framing.MAX_FRAME} bytes (`MAX_FRAME`), so a frame at most {framing.MAX_WIRE} on" in PROTOCOL
    assert f"0x{crc.crc16(b'123456789'):X}" in PROTOCOL
    assert f"0x{crc.crc32(b'123456789'):X}" in PROTOCOL
    assert f"magic 0x{image.MAGIC:X}" in PROTOCOL
    assert f"layout version, {image.LAYOUT}" in PROTOCOL
    assert f"| {image.HEADER_BYTES} | v x i32 |" in PROTOCOL
    # A host that acknowledges every few blocks must do so before a ring of the smallest sensible size is full.
    assert capture.ACKNOWLEDGE_EVERY == 4


def test_the_small_examples_of_cobs() -> None:
    assert "nothing is `01`, one zero is `01 01`, `11 22 00 33` is\n  `03 11 22 02 33`" in PROTOCOL
    assert cobs.encode(b"") == bytes.fromhex("01")
    assert cobs.encode(b"\0") == bytes.fromhex("01 01")
    assert cobs.encode(bytes.fromhex("11 22 00 33")) == bytes.fromhex("03 11 22 02 33")


def test_every_frame_on_the_page_can_be_read() -> None:
    """A stranger's first test: all example frames are whole and of the message they stand under."""
    found = re.findall(r"^`(\w+)`: 0x\w\w, .*?^```\n#.*?\n((?:[0-9a-f ]+\n)+)```", PROTOCOL, re.MULTILINE | re.DOTALL)
    assert len(found) == len(MESSAGES)
    for name, text in found:
        wire = bytes.fromhex(text)
        kind, _, payload = framing.unpack(framing.PlainCodec, wire.removesuffix(b"\0"))
        assert kind == messages.CODES[name]
        messages.unpack_payload(name, 2, payload)
