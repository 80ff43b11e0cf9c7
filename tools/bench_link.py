"""A minute of four channels at 1 kHz from the virtual board, once over a clean line and once over a bad one.

One line of JSON. On the bad line every 50th frame is corrupted, in both directions. Whatever happens to a block is
counted; the counts are checked against what was done to the line, and every sample against a second capture over the
clean one. `payload_share` is sample bytes in the bytes of the block frames; `ratio_payload_share_to_limit` divides it
by the 95 % that must hold, `ratio_speed_to_real_time` is the robot's time in the wall clock's.

The peers are arithmetic from their documents on the same samples, no captures of them: how many bytes they would have
put on the wire. `ratio_share_to_...` above 1 means that ours are fewer.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Any

import numpy as np

from idmkit.board.settings import parameter_image
from idmkit.link.capture import CaptureResult, start_capture
from idmkit.link.client import Board
from idmkit.link.codec import HostCodec
from idmkit.link.connection import Connection
from idmkit.link.images import write_image
from idmkit.link.motion import sine
from idmkit.link.transport import Port, open_port
from idmkit.rig.rig import Rig
from idmkit.robot import Robot, load_robot
from idmwire import messages

SAMPLES = 60_000
PERIOD = 50
CHUNK = 200
SHARE_LIMIT = 0.95
COLUMNS = (("position_command", 0), ("position_feedback", 0), ("torque_command", 0), ("torque_feedback", 0))


class Spoiler:
    """A port that changes a byte in every `period`-th frame, both ways; it knows what it spoiled."""

    def __init__(self, port: Port, period: int) -> None:
        self.spoiled_blocks = 0
        self.spoiled_answers = 0
        self.spoiled_commands = 0
        self.spoiling = False
        self._port = port
        self._period = period
        self._frame = bytearray()
        self._frames = 0
        self._commands = 0

    @property
    def in_waiting(self) -> int:
        """Bytes that can be read at once."""
        return self._port.in_waiting

    def read(self, size: int = 1, /) -> bytes:
        """What came, whole frames only, every period-th one spoiled."""
        self._frame += self._port.read(size)
        whole, end, rest = bytes(self._frame).rpartition(b"\0")
        self._frame = bytearray(rest)
        return b"".join(self._pass_on(frame) + b"\0" for frame in whole.split(b"\0")) if end else b""

    def _pass_on(self, frame: bytes) -> bytes:
        if not frame or not self.spoiling:
            return frame
        self._frames += 1
        if self._frames % self._period:
            return frame
        if HostCodec.decode(frame)[0] == messages.CODES["capture_block"]:
            self.spoiled_blocks += 1
        else:
            self.spoiled_answers += 1
        return self._spoil(frame)

    def write(self, data: bytes, /) -> int | None:
        """Sends a frame, every period-th one spoiled."""
        self._commands += self.spoiling
        if self.spoiling and self._commands % self._period == 0:
            self.spoiled_commands += 1
            frame = data.strip(b"\0")
            data = self._spoil(frame) + b"\0"
        return self._port.write(data)

    @staticmethod
    def _spoil(frame: bytes) -> bytes:
        middle = len(frame) // 2
        return frame[:middle] + bytes([frame[middle] ^ 0x55 or 0xAA]) + frame[middle + 1 :]

    def close(self) -> None:
        """Gives the port back."""
        self._port.close()


def capture_sine(board: Board, rig: Rig, robot: Robot, samples: int) -> CaptureResult:
    """Runs the robot's identification sine from cycle 1000 on and captures it from its first cycle."""
    write_image(board, parameter_image(robot))

    def step() -> None:
        board.heartbeat()
        rig.advance(10)

    board.arm(between=step)
    run = robot.axes[0].identification
    capture = start_capture(board, COLUMNS, samples=samples, start_cycle=1000)
    sine(board, [run.target], [run.frequency_hz], samples, start_cycle=1000)
    last = 1000 + samples
    while (cycle := board.heartbeat().cycle) < last:
        rig.advance(min(CHUNK, last - cycle))
    result = capture.finish()
    board.disarm(between=step)
    return result


def measure(samples: int, period: int) -> tuple[CaptureResult, dict[str, Any]]:
    """One run on a fresh rig; `period` 0 is a clean line. Raises AssertionError where a count is wrong."""
    robot = load_robot("crank")
    with Rig(robot) as rig:
        port = Spoiler(open_port(rig.port), period)
        with Board(Connection(port, rig.port), ("revolute",)) as board:
            port.spoiling = period > 0
            began = time.perf_counter()
            result = capture_sine(board, rig, robot, samples)
            seconds = time.perf_counter() - began
            port.spoiling = False
            board_counts = board.board_statistics()
            counts = board.statistics
    blocks = result.counts
    assert blocks.lost == 0
    assert result.gaps == ()
    assert blocks.samples == samples
    # Every spoiled frame was noticed, on the side it was going to.
    assert counts.crc_errors + counts.cobs_errors + counts.format_errors == port.spoiled_blocks + port.spoiled_answers
    assert board_counts["crc_errors"] + board_counts["cobs_errors"] == port.spoiled_commands
    # The board sends each block once and once more for each request; what was not spoiled came in.
    assert blocks.blocks + blocks.requested == blocks.blocks + blocks.repeated + port.spoiled_blocks
    assert blocks.missing <= blocks.requested
    figures = asdict(blocks) | {
        "payload_share": round(blocks.payload_share, 4),
        "spoiled_blocks": port.spoiled_blocks,
        "spoiled_answers": port.spoiled_answers,
        "spoiled_commands": port.spoiled_commands,
        "commands_retried": counts.retries,
        "commands_repeated_by_board": board_counts["repeats"],
        "capture_holds": board_counts["capture_holds"],
        "round_trip_mean_ms": round(1e3 * counts.round_trip_mean_s, 3),
        "samples_per_second": round(samples / seconds),
    }
    return result, figures


def variable_length(value: int) -> int:
    """Bytes of Klipper's variable-length quantity, of seven bits each, for value >= 0."""
    return next(n for n in range(1, 6) if value < 3 << (7 * n - 2))


def peers(samples: bytes, sample_bytes: int, block_bytes: int) -> dict[str, float]:
    """The payload shares that other framings would have on these sample bytes.

    klipper  sensor_bulk_data: blocks of up to 51 bytes, message id, oid, sequence u16 and length as variable-length
             quantities, in frames of five bytes around them
    vesc     our blocks with their numbers in VESC's frames: start, length u16, CRC-16, stop (UART, long form)
    slip     our blocks with CRC-16 in SLIP: every 0xC0 and 0xDB takes two bytes
    base64   our blocks as lines of base64
    polling  ODrive endpoints of four bytes, read one by one: 24 bytes for question and answer
    """
    total = len(samples)
    blocks = -(-total // block_bytes)
    head = 2 + 8
    bulk = 51 // sample_bytes * sample_bytes
    messages_needed = -(-total // bulk)
    klipper = total + sum(5 + 1 + 1 + variable_length(i & 0xFFFF) + 1 for i in range(messages_needed))
    vesc = total + blocks * (head + 6)
    slip = total + samples.count(0xC0) + samples.count(0xDB) + blocks * (head + 2 + 1)
    base64 = sum(4 * -(-(size + head) // 3) + 1 for size in [block_bytes] * blocks)
    wire = {"klipper": klipper, "vesc": vesc, "slip": slip, "base64": base64, "polling": total // 4 * 24}
    return {name: round(total / size, 4) for name, size in wire.items()}


def main() -> None:
    """Both lines, one after the other."""
    clean, figures = measure(SAMPLES, 0)
    spoiled, spoiled_figures = measure(SAMPLES, PERIOD)
    assert np.array_equal(clean.data, spoiled.data), "the bad line changed a sample"
    assert clean.counts.payload_share >= SHARE_LIMIT, f"payload share {clean.counts.payload_share:.4f}"
    share = clean.counts.payload_share
    data = clean.data.astype("<i4").tobytes()
    others = peers(data, 4 * len(COLUMNS), 4 * len(COLUMNS) * -(-SAMPLES // clean.counts.blocks))
    speed = figures["samples_per_second"] * load_robot("crank").cycle_time_s
    print(
        json.dumps(
            {
                "benchmark": "link",
                "samples": SAMPLES,
                "channels": len(COLUMNS),
                "clean": figures,
                f"every_{PERIOD}th_frame_corrupted": spoiled_figures,
                "ratio_payload_share_to_limit": round(share / SHARE_LIMIT, 4),
                "ratio_speed_to_real_time": round(speed, 2),
                "arithmetic_peers": others,
            }
            | {f"ratio_share_to_{name}": round(share / other, 3) for name, other in others.items()}
        )
    )


if __name__ == "__main__":
    main()
