"""The golden vectors: idmwire makes the same bytes, and reads the same meaning out of them.

After a change of the registry that is meant, `python shared/tests/make_golden.py` writes them anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from idmwire import cobs, crc, framing, image, messages, schema

GOLDEN = Path(__file__).parent / "golden"
HINT = "is the change meant? then: python shared/tests/make_golden.py"


def load(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def test_cobs() -> None:
    vectors = load("cobs")
    for row in vectors["valid"]:
        data, encoded = bytes.fromhex(row["data"]), bytes.fromhex(row["encoded"])
        assert cobs.encode(data) == encoded
        assert cobs.decode(encoded) == data
    for row in vectors["invalid"]:
        with pytest.raises(cobs.CobsError):
            cobs.decode(bytes.fromhex(row))


def test_crc() -> None:
    for row in load("crc"):
        data = bytes.fromhex(row["data"])
        assert f"{crc.crc16(data):04x}" == row["crc16"]
        assert f"{crc.crc32(data):08x}" == row["crc32"]


def meaning(name: str, axes: int, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a file as pack_payload takes them: text in hex is bytes, lists are tuples."""
    kinds = {field[0]: field[1] for field in next(m for m in messages.MESSAGES if m[1] == name)[4]}
    values: dict[str, Any] = {}
    for key, value in fields.items():
        values[key] = bytes.fromhex(value) if kinds[key].endswith("s") else value
        values[key] = tuple(value) if isinstance(value, list) else values[key]
    return values


def padded(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """Text of a fixed size comes back with zeros behind it."""
    sizes = {field[0]: field[1][:-1] for field in next(m for m in messages.MESSAGES if m[1] == name)[4]}
    return {
        key: value.ljust(int(sizes[key] or 0), b"\0") if isinstance(value, bytes) else value
        for key, value in values.items()
    }


def test_frames() -> None:
    vectors = load("frames")
    axes = vectors["axes"]
    assert {row["name"] for row in vectors["frames"]} == {message[1] for message in messages.MESSAGES}, HINT
    for row in vectors["frames"]:
        values = meaning(row["name"], axes, row["fields"])
        payload = messages.pack_payload(row["name"], axes, values)
        code = messages.CODES[row["name"]]
        wire = framing.pack(framing.PlainCodec, code, row["sequence"], payload)
        assert wire.hex() == row["wire"], HINT
        assert framing.unpack(framing.PlainCodec, wire[:-1]) == (code, row["sequence"], payload)
        assert messages.unpack_payload(row["name"], axes, payload) == padded(row["name"], values)


def test_images() -> None:
    for row in load("images"):
        packed = image.ParameterImage(
            row["robot"], row["cycle_time_us"], row["axes"], row["values"], row["program_hash"],
            tuple(row["mantissas"]), tuple(row["engineering"]), row["generation"],
                tuple(row["tables"]))  # fmt: skip
        assert packed.pack().hex() == row["image"], HINT
        assert vars(image.unpack(bytes.fromhex(row["image"]))) == vars(packed)


def test_the_schema() -> None:
    """The text whose CRC-32 is the schema hash: its diff is the change of the protocol."""
    assert (GOLDEN / "schema.txt").read_text(encoding="utf-8") == schema.canonical(), HINT
