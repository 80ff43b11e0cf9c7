"""A small motion board for the link's tests, written from the registry and docs/protocol.md alone.

It has no drives and no model: axes go where they are told at once. Time is granted (`grant`), and a full capture
ring holds it until blocks are acknowledged, as on the virtual board.
"""

from __future__ import annotations

import struct
from binascii import crc32
from collections.abc import Callable
from typing import Any

from idmwire import PROTOCOL_MAJOR, PROTOCOL_MINOR, framing, image, messages, model_file, properties, scales
from idmwire.faults import FAULT_NUMBERS
from idmwire.schema import SCHEMA_HASH

BLOCK_BYTES = 480
Fields = dict[str, Any]


class Refuse(Exception):
    """Raised by a message's method: the board answers `refused` with this reason."""


def channel_value(channel: int, axis: int, cycle: int) -> int:
    """What the board captures: any int32, a different one for every channel, axis and cycle."""
    return (cycle * 2654435761 + channel * 40503 + axis * 97) % 2**32 - 2**31


class FakeBoard:
    """Bytes in (`feed`), bytes out (`take`); attributes are there for tests to look at and to change."""

    def __init__(self, axes: int = 1, ring_blocks: int = 8, holds_time: bool = True) -> None:
        self.axes = axes
        self.ring_blocks = ring_blocks
        self.holds_time = holds_time
        self.schema_hash = SCHEMA_HASH
        self.exponents = scales.exponents()
        self.major = PROTOCOL_MAJOR
        self.program_hash = 0x1234
        self.cycle = 0
        self.granted = 0
        self.state = "disarmed"
        self.fault = 0
        self.fault_stands = False
        self.arming_ends_in = "holding"
        self.values = properties.defaults(axes)
        self.position = [0] * axes
        self.images = dict.fromkeys(messages.IMAGES, b"")
        self.counts = dict.fromkeys((field[0] for field in messages._BY_NAME["statistics_answer"][4]), 0)
        self.model = b""
        self.executed: list[str] = []
        """Every command that was carried out, repeats left out."""
        self.capture: dict[str, Any] | None = None
        self.ring: dict[int, tuple[int, bytes]] = {}
        self.acknowledged = 0
        self.overwritten = 0
        self._splitter = framing.Splitter()
        self._out: list[bytes] = []
        self._cached: tuple[int, int, bytes] | None = None
        self._block_sequence = 0

    # Bytes

    def feed(self, data: bytes) -> None:
        for frame in self._splitter.feed(data):
            try:
                kind, sequence, payload = framing.unpack(framing.PlainCodec, frame)
            except framing.FrameError as error:
                self.counts["crc_errors" if error.reason == "crc" else "cobs_errors"] += 1
                continue
            self.counts["frames_received"] += 1
            self._serve(kind, sequence, payload)
        self._run()

    def take(self) -> list[bytes]:
        """The frames to send, each with its closing zero."""
        frames, self._out = self._out, []
        return frames

    def grant(self, cycles: int) -> None:
        self.granted += cycles
        self._run()

    def _send(self, name: str, sequence: int, fields: Fields) -> bytes:
        payload = messages.pack_payload(name, self.axes, fields)
        wire = framing.pack(framing.PlainCodec, messages.CODES[name], sequence, payload)
        self._out.append(wire)
        self.counts["frames_sent"] += 1
        return wire

    def _serve(self, kind: int, sequence: int, payload: bytes) -> None:
        if self._cached is not None and self._cached[:2] == (kind, sequence) and kind != messages.CODES["hello"]:
            self.counts["repeats"] += 1
            self._out.append(self._cached[2])
            return
        name = messages.message_name(kind)
        method: Callable[[Fields], Fields | None] | None = getattr(self, f"_{name}", None)
        again: int | None = None
        try:
            if method is None:
                raise Refuse("unknown_message")
            try:
                fields = messages.unpack_payload(name, self.axes, payload)
            except ValueError as error:
                raise Refuse("bad_length") from error
            answer = method(fields)
            if answer is None:
                return
            self.executed.append(name)
            wire = self._send(f"{name}_answer", sequence, answer)
            again = answer["block"] if name == "capture_again" else None
        except Refuse as refusal:
            reason = messages.REFUSAL_NUMBERS[str(refusal)]
            wire = self._send("refused", sequence, {"message": kind, "reason": reason})
        self._cached = (kind, sequence, wire)
        if again is not None:
            self._send_block(again)

    # Questions

    def _hello(self, fields: Fields) -> Fields:
        return {
            "major": self.major, "minor": PROTOCOL_MINOR, "schema_hash": self.schema_hash,
            "firmware_version": bytes((0, 1, 0)), "board": b"fake", "word_bits": 64, "mpy_version": 0x2A06,
            "axes": self.axes, "cycle_time_us": 1000, "exponents": struct.pack("5b", *self.exponents),
            "program_hash": self.program_hash, "parameters": 0, "generation": self._generation("applied"),
            "robot": b"fake", "image_bytes": 2048, "ring_blocks": self.ring_blocks, "block_bytes": BLOCK_BYTES,
            "receive_bytes": framing.MAX_FRAME,
        }  # fmt: skip

    def _state_fields(self) -> Fields:
        flags = 2 * (self.images["applied"] != self.images["stored"]) + 8 * (self.capture is not None) + 16
        state = messages.STATES.index(self.state)
        return {"cycle": self.cycle, "state": state, "fault": self.fault, "fault_axis": 0, "flags": flags}

    def _status(self, fields: Fields) -> Fields:
        position = tuple(self.position)
        more = {"position_command": position, "position_feedback": position, "torque_feedback": (0,) * self.axes}
        return self._state_fields() | more

    def _heartbeat(self, fields: Fields) -> Fields:
        return self._state_fields()

    def _statistics(self, fields: Fields) -> Fields:
        return self.counts | {"cycles": self.cycle, "capture_overwritten": self.overwritten}

    def _read_timing(self, fields: Fields) -> Fields:
        lateness = struct.pack("<16I", *range(15), 2**32 - 1)
        ticks = {"cycle": self.cycle, "ticks_us": 1000 * self.cycle}
        return ticks | {"missed": 3, "latest_us": 20_000, "lateness": lateness}

    # Properties and images

    def _slot(self, fields: Fields) -> tuple[Any, int]:
        name = properties.NAMES.get(fields["property"])
        if name is None or fields["axis"] >= self.axes:
            raise Refuse("out_of_range")
        return properties.BY_NAME[name], properties.slots(self.axes)[name] + fields["axis"]

    def _read_property(self, fields: Fields) -> Fields:
        return fields | {"value": self.values[self._slot(fields)[1]]}

    def _write_property(self, fields: Fields) -> Fields:
        prop, slot = self._slot(fields)
        if not prop[5] <= fields["value"] <= prop[6]:
            raise Refuse("out_of_range")
        if prop[8] == "disarmed" and self.state != "disarmed":
            raise Refuse("needs_disarmed")
        self.values[slot] = fields["value"]
        return fields

    def _generation(self, which: str) -> int:
        return image.unpack(self.images[which]).generation if self.images[which] else 0

    def _stage(self, fields: Fields) -> Fields:
        held = b"" if fields["offset"] == 0 else self.images["staged"]
        if fields["offset"] != len(held):
            raise Refuse("out_of_range")
        self.images["staged"] = held + fields["data"]
        return {"staged": len(self.images["staged"])}

    def _read_image(self, fields: Fields) -> Fields:
        data = self.images[messages.IMAGES[fields["image"]]]
        piece = data[fields["offset"] : fields["offset"] + fields["length"]]
        return {"size": len(data), "offset": fields["offset"], "data": piece}

    def _apply(self, fields: Fields) -> Fields:
        if self.state != "disarmed":
            raise Refuse("needs_disarmed")
        return self._pass_on("staged", "applied", fields["crc"])

    def _store(self, fields: Fields) -> Fields:
        return self._pass_on("applied", "stored", fields["crc"])

    def _pass_on(self, source: str, target: str, crc: int) -> Fields:
        data = self.images[source]
        try:
            image.check(data)
        except image.ImageError as error:
            raise Refuse("bad_image") from error
        if crc != image.image_crc(data):
            raise Refuse("bad_image")
        self.images[target] = data
        return {"generation": self._generation(target), "crc": crc}

    def _stage_model(self, fields: Fields) -> Fields:
        if self.state != "disarmed":
            raise Refuse("needs_disarmed")
        self.model = b"" if fields["offset"] == 0 else self.model
        if fields["offset"] != len(self.model):
            raise Refuse("out_of_range")
        self.model += fields["data"]
        return {"staged": len(self.model)}

    def _use_model(self, fields: Fields) -> Fields:
        """Believes what the file says: it has no processor to test it on."""
        if fields["size"] > len(self.model):
            raise Refuse("truncated")
        contents = model_file.contents_of(self.model[-model_file.TRAILER_BYTES :], len(self.model))
        if contents is None or fields["crc"] != crc32(self.model[:-4]):
            raise Refuse("corrupted")
        self.program_hash = contents.program_hash
        return {"program_hash": self.program_hash}

    # States and motion

    def _arm(self, fields: Fields) -> Fields:
        if self.fault:
            raise Refuse("needs_armed")
        self.state = "arming"
        return {}

    def _disarm(self, fields: Fields) -> Fields:
        self.state = "disarming"
        return {}

    def _start(self, fields: Fields, target: list[int]) -> Fields:
        if self.state != "holding":
            raise Refuse("needs_armed")
        if list(fields["start"]) != self.position:
            raise Refuse("stale_start")
        self.state = "moving"
        self.position = target
        return {"start_cycle": fields["start_cycle"] or self.cycle + 1}

    def _move(self, fields: Fields) -> Fields:
        return self._start(fields, [a + b for a, b in zip(fields["start"], fields["distance"], strict=True)])

    def _sine(self, fields: Fields) -> Fields:
        return self._start(fields, list(fields["start"]))

    def _stop(self, fields: Fields) -> Fields:
        self.state = "stopping" if self.state == "moving" else self.state
        return {"cycle": self.cycle}

    def _clear_fault(self, fields: Fields) -> Fields:
        if self.fault_stands:
            raise Refuse("fault_stands")
        cleared, self.fault = self.fault, 0
        self.state = "disarmed"
        return {"cleared": cleared}

    def break_down(self, fault: str) -> None:
        """Latches a fault."""
        self.fault = FAULT_NUMBERS[fault]
        self.state = "stopped_by_fault"

    def _read_fault(self, fields: Fields) -> Fields:
        count = int(self.fault != 0)
        numbers = {"cycle": self.cycle, "value": 3 << 16, "limit": 2 << 16}
        return {"count": count, "fault": self.fault, "axis": 0} | numbers

    def _read_trace(self, fields: Fields) -> Fields:
        if not self.fault or fields["sample"] >= 5:
            raise Refuse("out_of_range")
        names = ("position_command", "position_feedback", "torque_command", "torque_feedback")
        row = dict.fromkeys(names, (fields["sample"],) * self.axes)
        return {"samples": 5, "cycle": self.cycle - 5 + fields["sample"]} | row

    # Capture

    def _capture(self, fields: Fields) -> Fields:
        if self.capture is not None:
            raise Refuse("busy")
        pairs = list(zip(fields["channels"][::2], fields["channels"][1::2], strict=True))
        start = fields["start_cycle"] or self.cycle + 1
        if start <= self.cycle:
            raise Refuse("too_late")
        self.capture = {"next": start, "every": fields["every"], "left": fields["samples"] or 2**31, "pairs": pairs}
        self.ring, self.acknowledged, self.overwritten = {}, 0, 0
        self._made, self._taken, self._block, self._first_cycle = 0, 0, b"", 0
        return {"start_cycle": start, "samples_per_block": BLOCK_BYTES // (4 * len(pairs))}

    def _capture_stop(self, fields: Fields) -> Fields:
        self._close_capture()
        return {"blocks": self._made, "samples": self._taken}

    def _capture_received(self, fields: Fields) -> None:
        self.acknowledged = max(self.acknowledged, fields["block"])

    def _capture_again(self, fields: Fields) -> Fields:
        if fields["block"] >= self._made:
            raise Refuse("out_of_range")
        if fields["block"] not in self.ring:
            raise Refuse("gone")
        return {"block": fields["block"]}

    def _run(self) -> None:
        while self.granted:
            full = self._made - self.acknowledged >= self.ring_blocks if self.capture else False
            if full and self.holds_time:
                self.counts["capture_holds"] += 1
                return
            self.granted -= 1
            self.cycle += 1
            self.state = {"arming": self.arming_ends_in, "disarming": "disarmed", "stopping": "holding",
                          "moving": "holding"}.get(self.state, self.state)  # fmt: skip
            self._sample()

    def _sample(self) -> None:
        capture = self.capture
        if capture is None or self.cycle != capture["next"]:
            return
        if not self._block:
            self._first_cycle = self.cycle
        for channel, axis in capture["pairs"]:
            self._block += struct.pack("<i", channel_value(channel, axis, self.cycle))
        self._taken += 1
        capture["next"] += capture["every"]
        capture["left"] -= 1
        if len(self._block) + 4 * len(capture["pairs"]) > BLOCK_BYTES:
            self._finish_block()
        if capture["left"] == 0:
            self._close_capture()

    def _finish_block(self) -> None:
        self.ring[self._made] = (self._first_cycle, self._block)
        oldest = self._made - self.ring_blocks
        if oldest in self.ring:
            self.overwritten += oldest >= self.acknowledged
            del self.ring[oldest]
        self._made += 1
        self._block = b""
        self._send_block(self._made - 1)

    def _close_capture(self) -> None:
        if self.capture is not None and self._block:
            self._finish_block()
        self.capture = None

    def _send_block(self, number: int) -> None:
        first_cycle, samples = self.ring[number]
        fields = {"block": number, "first_cycle": first_cycle, "samples": samples}
        self._send("capture_block", self._block_sequence % 256, fields)
        self._block_sequence += 1
