"""Writes the golden vectors anew: python shared/tests/make_golden.py

They are made with the `cobs` package and the standard library's checksums, so that they are no echo of idmwire's own
codec. What changes in golden/ when a registry changes is what changes on the wire: read the diff before committing it.
"""

from __future__ import annotations

import json
import math
import re
import struct
import zlib
from binascii import crc_hqx
from fractions import Fraction
from pathlib import Path
from typing import Any

from cobs import cobs

from idmwire import image, messages, properties, schema

GOLDEN = Path(__file__).parent / "golden"
AXES = 2


def block(size: int, zeros: tuple[int, ...] = ()) -> bytes:
    """`size` bytes that count 1 to 255 again and again, with zeros in the places `zeros`."""
    data = bytearray(1 + k % 255 for k in range(size))
    for place in zeros:
        data[place] = 0
    return bytes(data)


def cobs_vectors() -> dict[str, Any]:
    """Valid ones round the borders of a block of 254 bytes, and bytes that are no encoding."""
    data = [b"", b"\0", b"\0\0", b"\1", b"\1\0", b"\0\1", b"\xff", b"\x11\x22\x00\x33", bytes(300), b"123456789"]
    for size in (253, 254, 255, 256, 507, 508, 509, 510):
        data += [block(size), block(size, (size - 1,)), block(size, (0,)), block(size, (size // 2,))]
    data.append(block(560, (253, 254, 255, 508)))
    invalid = ["00", "0100", "02", "0511223300", "ff0102", "0311000211"]
    valid = [{"data": d.hex(), "encoded": cobs.encode(d).hex()} for d in data]
    return {"valid": valid, "invalid": invalid}


def crc_vectors() -> list[dict[str, str]]:
    data = [b"", b"\0", b"\xff", b"123456789", bytes(range(256)), block(560)]
    return [{"data": d.hex(), "crc16": f"{crc_hqx(d, 0xFFFF):04x}", "crc32": f"{zlib.crc32(d):08x}"} for d in data]


def sample_value(kind: str, index: int) -> int | bytes:
    """A value for a field: large, of both signs where the type has them, different from field to field."""
    if kind == "s":
        return bytes(range(index, index + 16))
    if kind.endswith("s"):
        return b"idmkit-board-001"[: int(kind[:-1])]
    low, high = {"B": (0, 255), "H": (0, 65535), "I": (0, 2**32 - 1), "i": (-(2**31), 2**31 - 1)}[kind]
    return low + (index + 1) * 0x9E3779B97F4A7C15 % (high - low + 1)


def sample_fields(fields: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for index, (name, kind, count, _) in enumerate(fields):
        if count == messages.AXES:
            values[name] = [sample_value(kind, index + 7 * axis) for axis in range(AXES)]
        else:
            values[name] = sample_value(kind, index)
    return values


QUARTER, TURN = 2**22, 2**24
THRESHOLD = properties.NUMBERS["torque_threshold"]
STATUS = {"cycle": 4821, "state": messages.STATES.index("holding"), "fault": 0, "fault_axis": 0, "flags": 4 + 16}
NM = 2**16
EXAMPLES: dict[str, dict[str, Any]] = {
    "hello": {"major": 1, "minor": 0},
    "hello_answer": {
        "major": 1, "minor": 0, "schema_hash": 0xD0C0FFEE, "firmware_version": bytes((0, 1, 0)), "board": b"unix",
        "word_bits": 64, "mpy_version": 0x0B06, "axes": 2, "cycle_time_us": 1000,
        "exponents": struct.pack("5b", -24, -20, -14, -16, -15), "program_hash": 0x12345678, "parameters": 14,
        "generation": 3, "robot": b"two cranks", "image_bytes": 4096, "ring_blocks": 64, "block_bytes": 480,
        "receive_bytes": 560,
    },
    "status_answer": {
        **STATUS, "position_command": [QUARTER, -TURN], "position_feedback": [QUARTER - 3, 2 - TURN],
        "torque_feedback": [5 * NM, -NM // 2],
    },
    "heartbeat_answer": STATUS,
    "read_property": {"property": THRESHOLD, "axis": 0},
    "read_property_answer": {"property": THRESHOLD, "axis": 0, "value": 30 * NM},
    "write_property": {"property": THRESHOLD, "axis": 1, "value": 12 * NM},
    "write_property_answer": {"property": THRESHOLD, "axis": 1, "value": 12 * NM},
    "stage": {"offset": 0, "data": b"IDMP"},
    "stage_answer": {"staged": 4},
    "read_image": {"image": messages.IMAGES.index("staged"), "offset": 0, "length": 256},
    "read_image_answer": {"size": 4, "offset": 0, "data": b"IDMP"},
    "apply": {"crc": 0xCBF43926},
    "apply_answer": {"generation": 3, "crc": 0xCBF43926},
    "store": {"crc": 0xCBF43926},
    "store_answer": {"generation": 3, "crc": 0xCBF43926},
    # A quarter of a turn in a second is pi/2 rad/s.
    "move": {
        "start_cycle": 5000, "cycles": 1000, "start": [0, TURN], "distance": [QUARTER, -QUARTER],
        "velocity": [1647099, -1647099], "acceleration": [25736, -25736],
    },
    "move_answer": {"start_cycle": 5000},
    # An eighth of a turn at 0.5 Hz: pi/4 rad, pi^2/4 rad/s, pi^3/4 rad/s^2; the second axis rests.
    "sine": {
        "start_cycle": 0, "cycles": 16000, "start": [0, TURN], "amplitude": [QUARTER // 2, 0],
        "velocity": [2587258, 0], "acceleration": [127002, 0], "phase_step": [2147484, 0],
    },
    "sine_answer": {"start_cycle": 4822},
    "stop_answer": {"cycle": 4821},
    "clear_fault_answer": {"cleared": 2},
    "capture": {"start_cycle": 0, "samples": 60000, "every": 1, "channels": bytes((0, 0, 6, 0, 5, 0, 7, 0))},
    "capture_answer": {"start_cycle": 4822, "samples_per_block": 30},
    "capture_stop_answer": {"blocks": 2000, "samples": 60000},
    "capture_again": {"block": 17},
    "capture_again_answer": {"block": 17},
    "capture_received": {"block": 20},
    "capture_block": {"block": 7, "first_cycle": 5032, "samples": struct.pack("<4i", 1, -1, TURN, -TURN)},
    "read_fault": {"index": 0},
    "read_fault_answer": {"count": 1, "fault": 2, "axis": 0, "cycle": 4000, "value": 7 * NM, "limit": 6 * NM},
    "read_drive": {"axis": 1},
    "read_drive_answer": {
        "axis": 1, "bus": 0, "node": 2, "nmt_state": 127, "statusword": 0x0250, "error_code": 0x2310,
        "error_register": 3, "emergencies": 1, "setup": messages.SETUP_STEPS.index("write"), "setup_index": 0x1600,
        "setup_sub": 2, "setup_value": 0x06040041,
    },
    "read_object": {"axis": 1, "index": 0x6076, "sub": 0},
    "read_object_answer": {
        "axis": 1, "index": 0x6076, "sub": 0, "failed": 0, "abort": 0, "data": (1270).to_bytes(4, "little"),
    },
    "stage_model": {"offset": 0, "data": b"M\x06\x17\x1f"},
    "stage_model_answer": {"staged": 4},
    "use_model": {"size": 2524, "crc": 0xCBF43926},
    "use_model_answer": {"program_hash": 0x12345678},
    "refused": {"message": messages.CODES["move"], "reason": messages.REFUSAL_NUMBERS["stale_start"]},
}  # fmt: skip
"""Values that mean something, for people who read docs/protocol.md."""


def frame(name: str, sequence: int, values: dict[str, Any]) -> dict[str, Any]:
    code, _, _, bits, fields = next(message for message in messages.MESSAGES if message[1] == name)
    body = struct.pack("<BB", code, sequence)
    for field, kind, count, _ in fields:
        if count == messages.AXES:
            body += struct.pack(f"<{AXES}{kind}", *values[field])
        else:
            body += values[field] if count == messages.REST else struct.pack("<" + kind, values[field])
    body += struct.pack("<I", zlib.crc32(body)) if bits == 32 else struct.pack("<H", crc_hqx(body, 0xFFFF))
    shown = {key: value.hex() if isinstance(value, bytes) else value for key, value in values.items()}
    return {"name": name, "sequence": sequence, "fields": shown, "wire": (cobs.encode(body) + b"\0").hex()}


def frames() -> dict[str, Any]:
    """Every message with values at the ends of their types, then the examples."""
    rows = []
    for number, (_, name, _, _, fields) in enumerate(messages.MESSAGES):
        rows.append(frame(name, 255 - number, sample_fields(fields)))
    rows += [frame(name, number, values) for number, (name, values) in enumerate(EXAMPLES.items())]
    return {"axes": AXES, "frames": rows}


def images() -> list[dict[str, Any]]:
    rows = []
    for axes, mantissas in ((1, ()), (2, (2**30 - 1, -(2**30), 0, 12345))):
        values = properties.defaults(axes)
        values[0], values[-1] = 3, 45
        engineering = tuple(0.1 * k - 1.5 for k in range(len(mantissas)))
        tables = (1, 0, -(2**22), 19, 3, 7, -7, 2**30 - 1)[: 8 * (axes - 1)]
        packed = image.ParameterImage(
            "crank" * axes, 1000, axes, values, 0x12345678, mantissas, engineering, 41 + axes, tables)
        body = struct.pack(
            "<IHHIIII16s5bBHI", 0x504D4449, 2, len(packed.pack()), schema.SCHEMA_HASH, 0x12345678, 41 + axes, 1000,
            b"crank" * axes, -24, -20, -14, -16, -15, axes, len(mantissas), len(tables))  # fmt: skip
        body += struct.pack(f"<{len(values)}i", *values)
        body += struct.pack(f"<{len(mantissas)}i{len(mantissas)}d{len(tables)}i", *mantissas, *engineering, *tables)
        rows.append({
            "robot": "crank" * axes, "axes": axes, "cycle_time_us": 1000, "program_hash": 0x12345678,
            "generation": 41 + axes, "values": values, "mantissas": mantissas, "engineering": engineering,
            "tables": tables, "image": (body + struct.pack("<I", zlib.crc32(body))).hex(),
        })  # fmt: skip
    return rows


def conversions() -> list[dict[str, Any]]:
    """Products with mantissa / 2^shift as the board rounds them: halves up for its magnitude, then the sign."""
    numbers = (0, 1, -1, 2, 3, 1000, -1000, 12345678, -87654321, 2**24, 2**30 - 1, -(2**30), 2**31 - 1, -(2**31))
    rows = []
    for mantissa in (2**29, 2**28, 671088640, 872737355, 2**30 - 1):
        for shift in (15, 16, 20, 29, 30, 31, 38, 45):
            for sign in (1, -1):
                exact = [Fraction(number * mantissa, 2**shift) for number in numbers]
                rounded = [sign * math.floor(value + Fraction(1, 2)) for value in exact]
                pairs = [pair for pair in zip(numbers, rounded, strict=True) if -(2**31) <= pair[1] < 2**31]
                values, results = zip(*pairs, strict=True)
                rows.append({"mantissa": sign * mantissa, "shift": shift, "values": values, "results": results})
    return rows


def main() -> None:
    for name, content in (
        ("cobs", cobs_vectors()), ("crc", crc_vectors()), ("frames", frames()), ("images", images()),
        ("conversions", conversions()),
    ):  # fmt: skip
        text = json.dumps(content, indent=1)
        # A list of numbers is one line.
        text = re.sub(r"\[[\d\s,.-]+\]", lambda match: re.sub(r"\s+", " ", match[0]), text)
        (GOLDEN / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    (GOLDEN / "schema.txt").write_text(schema.canonical(), encoding="utf-8")


if __name__ == "__main__":
    main()
