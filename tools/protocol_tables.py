#!/usr/bin/env python3
"""Writes the tables and examples of docs/protocol.md and docs/faults.md from the registries and the golden vectors.

Usage: tools/protocol_tables.py

Between `<!-- table NAME -->` and `<!-- end -->` stands what this makes; everything else on the pages is written by
hand and left alone. host/tests/test_docs_protocol.py holds the pages to it.
"""

from __future__ import annotations

import json
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "host"), str(ROOT / "shared")]

from idmkit.board.faults import FAULT_TEXTS, REACTIONS  # noqa: E402
from idmwire import channels, cobs, crc, faults, messages, properties, scales  # noqa: E402
from idmwire.messages import AXES, REST, TO_BOARD  # noqa: E402

PAGES = (ROOT / "docs/protocol.md", ROOT / "docs/faults.md")
GOLDEN = ROOT / "shared/tests/golden/frames.json"
BLOCK = re.compile(r"<!-- table ([\w ]+) -->\n.*?<!-- end -->", re.DOTALL)
TYPES = {"B": "u8", "H": "u16", "I": "u32", "i": "i32"}
HEX_BYTES = 32


def table(head: tuple[str, ...], rows: Iterator[tuple[object, ...]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join(lines + [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows])


def field_rows(fields: Any) -> Iterator[tuple[object, ...]]:
    """Offset, type, field, meaning; n is the number of axes."""
    fixed, per_axis = 0, 0
    for name, kind, count, unit in fields:
        place = str(fixed) if not per_axis else f"{fixed} + {per_axis}n" if fixed else f"{per_axis}n"
        size = struct.calcsize("<" + kind)
        text = TYPES.get(kind) or ("bytes to the end" if count == REST else f"{size} bytes")
        yield place, text + (" x n" if count == AXES else ""), f"`{name}`", unit
        if count == AXES:
            per_axis += size
        elif count != REST:
            fixed += size


def message(name: str) -> str:
    """The layout of a message and of its answer, each with its golden frame."""
    parts = []
    for code, known, direction, bits, fields in messages.MESSAGES:
        if known not in (name, f"{name}_answer"):
            continue
        way = "to the board" if direction == TO_BOARD else "to the host"
        parts.append(f"`{known}`: 0x{code:02X}, {way}, CRC-{bits}")
        parts.append(table(("at", "type", "field", "meaning"), field_rows(fields)) if fields else "No payload.")
        parts.append(example(known))
    return "\n\n".join(parts)


def example(name: str) -> str:
    """The last golden frame of a message: its values, then its bytes on the wire."""
    vectors = json.loads(GOLDEN.read_text(encoding="utf-8"))
    row = [row for row in vectors["frames"] if row["name"] == name][-1]
    wire = bytes.fromhex(row["wire"])
    lines = [wire[at : at + HEX_BYTES].hex(" ") for at in range(0, len(wire), HEX_BYTES)]
    values = ", ".join(f"{key} = {shown(value)}" for key, value in row["fields"].items())
    return "\n".join(["```", f"# sequence {row['sequence']}{', ' + values if values else ''}", *lines, "```"])


def shown(value: Any) -> str:
    """A value of the golden file for people."""
    if isinstance(value, list):
        return "(" + ", ".join(str(part) for part in value) + ")"
    return f"0x{value}" if isinstance(value, str) else str(value)


def steps() -> str:
    """How one frame is made."""
    payload = bytes((properties.NUMBERS["torque_threshold"], 0))
    data = bytes((messages.CODES["read_property"], 4)) + payload
    check = crc.crc16(data)
    body = data + check.to_bytes(2, "little")
    encoded = cobs.encode(body)
    rows = (
        ("type, sequence, payload", data.hex(" ")),
        ("CRC-16 of these", f"0x{check:04X}, sent {body[-2:].hex(' ')}"),
        ("body", body.hex(" ")),
        ("COBS", encoded.hex(" ")),
        ("wire", (encoded + b"\0").hex(" ")),
    )
    return "\n".join(["```", *(f"{what:<26}{text}" for what, text in rows), "```"])


def overview() -> str:
    """Everything a host can send."""
    rows = (
        (f"0x{code:02X}", f"`{name}`", bits, "answer" if f"{name}_answer" in messages.CODES else "none")
        for code, name, direction, bits, _ in messages.MESSAGES
        if direction == TO_BOARD
    )
    return table(("code", "message", "CRC", "is answered by"), rows)


def refusals() -> str:
    """Why a board refuses."""
    return table(("number", "reason", "meaning"), ((n, f"`{name}`", text) for n, name, text in messages.REFUSALS))


def numbered(names: tuple[str, ...]) -> str:
    """Names that go over the wire as their index."""
    return table(("index", "name"), ((index, f"`{name}`") for index, name in enumerate(names)))


def property_table() -> str:
    """The properties."""
    rows = (
        (number, f"`{name}`", softmc, scope, quantity, lowest, highest, default, access, text)
        for number, name, softmc, scope, quantity, lowest, highest, default, access, text in properties.PROPERTIES
    )
    head = ("number", "property", "softMC", "of", "quantity", "lowest", "highest", "default", "writable", "meaning")
    return table(head, rows)


def channel_table() -> str:
    """The channels."""
    rows = ((index, f"`{name}`", quantity, text) for index, (name, quantity, text) in enumerate(channels.CHANNELS))
    return table(("number", "channel", "quantity", "meaning"), rows)


def scale_table() -> str:
    """What a count is worth."""
    rows = ((name, f"2^{exponent}", one, two) for name, (exponent, one, two) in scales.SCALES.items())
    return table(("quantity", "one count is", "of (revolute)", "of (prismatic)"), rows)


def fault_table() -> str:
    """Faults and their reactions."""
    rows = ((number, f"`{name}`", REACTIONS[reaction]) for number, name, reaction in faults.FAULTS)
    return table(("number", "fault", "the board"), rows)


def fault_section(name: str) -> str:
    """One fault in words."""
    text = FAULT_TEXTS[name]
    number = faults.FAULT_NUMBERS[name]
    held = f" The record holds the measured {text.quantity} and its limit." if text.quantity else ""
    reaction = REACTIONS[faults.REACTIONS[number]]
    return f"Fault {number}: {text.meaning}. The board: {reaction}.{held}\n\nNext: {text.next_step}"


TABLES = {
    "overview": overview, "refusals": refusals, "properties": property_table, "channels": channel_table,
    "scales": scale_table, "faults": fault_table, "steps": steps,
}  # fmt: skip


def content(name: str) -> str:
    """What stands in the block NAME of a page."""
    kind, _, rest = name.partition(" ")
    if kind == "message":
        return message(rest)
    if kind == "fault":
        return fault_section(rest)
    if kind == "names":
        return numbered(messages.STATES if rest == "states" else messages.IMAGES)
    return TABLES[name]()


def made_anew(page: str) -> str:
    """The text of a page with all its blocks made anew."""
    return BLOCK.sub(lambda found: f"<!-- table {found[1]} -->\n\n{content(found[1])}\n\n<!-- end -->", page)


def main() -> None:
    """Writes the pages."""
    for page in PAGES:
        page.write_text(made_anew(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
