"""Damaged frames by the million into the parsers of both ends of the link; one line of JSON.

`board`: the firmware's link and commands in MicroPython (firmware/tests/fuzz_board.py) have to agree, body by body and
count by count, with a short reading of the same stream (tools/fuzz_streams.py). `emulated`: the whole firmware on a
Cortex-M3 in QEMU reads its stream from the UART and has to count the same. `host`: the client's connection. All of them
must hear the frame behind a damaged one, or the one after that where the delimiter was hit.

`random_bodies`: random bytes under whole COBS. A checksum of 16 bits takes one in 65,536 for a frame; `limit` is what
chance exceeds in one run of a thousand. One of 32 bits must take none.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz_streams import SENTINELS, Expected, Trials, random_bodies
from scipy.stats import binom

from idmkit.link.client import Board
from idmkit.link.connection import Connection
from idmkit.rig.process import HEAP, find_micropython
from idmkit.rig.rig import Rig
from idmkit.robot import load_robot
from idmwire import messages

ROOT = Path(__file__).resolve().parents[1]
BATCH = 50_000
EMULATED_BATCH = 50
"""So many trials fit into the buffers of a terminal: a write that waits for room there may wait long."""
TIMEOUT_S = 600.0
CONFIDENCE = 0.999


def run_board(stream: bytes, seed: int, micropython: Path) -> tuple[dict[str, int], list[bytes]]:
    """The counts of the firmware's link after `stream`, and what its handlers got; SystemExit where it crashed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "stream").write_bytes(stream)
        done = subprocess.run(
            [micropython, "-X", f"heapsize={HEAP}", "firmware/tests/fuzz_board.py", folder / "stream", folder / "log",
             str(seed)],
            cwd=ROOT, env={"MICROPYPATH": "firmware:shared:firmware/tests"}, capture_output=True, text=True,
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        if done.returncode or done.stderr:
            raise SystemExit(
                f"the board ended with {done.returncode} in the batch of seed {seed}: {done.stderr[-999:]}"
            )
        log = (folder / "log").read_bytes()
    bodies = []
    at = 0
    while at < len(log):
        size = int.from_bytes(log[at : at + 2], "little")
        bodies.append(log[at + 2 : at + 2 + size])
        at += 2 + size
    return json.loads(done.stdout.splitlines()[-1]), bodies


def check_board(stream: bytes, heard: set[int], seed: int, micropython: Path) -> dict[str, int]:
    """Holds the board to the short reading of `stream`; its counts."""
    expected = Expected()
    expected.read(stream)
    counts, bodies = run_board(stream, seed, micropython)
    assert counts == expected.counts, f"seed {seed}: the board counts {counts}, the stream has {expected.counts}"
    assert bodies == expected.handled, f"seed {seed}: the board's handlers got other bodies than the stream has"
    missing = heard - sentinels(bodies)
    assert not missing, f"seed {seed}: not heard behind a damaged frame: {sorted(missing)[:5]}"
    return counts


def sentinels(bodies: list[bytes]) -> set[int]:
    """Numbers of the sentinels among the bodies that a board's handlers got."""
    kind = SENTINELS[messages.TO_BOARD]
    return {int.from_bytes(body[2:6], "little") for body in bodies if body[0] == kind and len(body) == 6}


class StreamPort:
    """A port that gives a stream, in reads of any size, and then stays silent."""

    def __init__(self) -> None:
        self.stream = b""
        self._at = 0

    @property
    def in_waiting(self) -> int:
        """Bytes in the next read: few and many in turn."""
        return min(len(self.stream) - self._at, 1 + self._at * 2654435761 % 5000)

    @property
    def ended(self) -> bool:
        """True where all has been read."""
        return self._at >= len(self.stream)

    def read(self, size: int = 1, /) -> bytes:
        """The next bytes."""
        if self.ended:
            time.sleep(0.001)
        data = self.stream[self._at : self._at + size]
        self._at += len(data)
        return data

    def write(self, data: bytes, /) -> int:
        """Takes what nobody reads."""
        return len(data)

    def close(self) -> None:
        """Nothing to give back."""


def read_by_host(stream: bytes) -> tuple[Connection, set[int]]:
    """A stream through the client's reader thread and registry; the closed connection and the sentinels heard."""
    heard = set()

    def note(payload: bytes, _: int) -> None:
        if len(payload) == 4:
            heard.add(int.from_bytes(payload, "little"))

    def unpack(name: str) -> Callable[[bytes, int], None]:
        def take(payload: bytes, _: int) -> None:
            try:
                messages.unpack_payload(name, 3, payload)
            except ValueError:
                return

        return take

    port = StreamPort()
    connection = Connection(port, "a stream")
    connection.handlers |= {
        code: unpack(name) for code, name, direction, _, _ in messages.MESSAGES if direction == messages.TO_HOST
    }
    connection.handlers[SENTINELS[messages.TO_HOST]] = note
    port.stream = stream
    while connection._reader.is_alive() and not port.ended:
        time.sleep(0.001)
    assert connection._reader.is_alive(), "the host's reader ended"
    connection.close()
    return connection, heard


def check_host(stream: bytes, heard: set[int]) -> dict[str, int]:
    """Holds the client to the short reading of `stream`; its counts."""
    expected = Expected()
    expected.read(stream)
    connection, got = read_by_host(stream)
    missing = heard - got
    assert not missing, f"not heard behind a damaged frame: {sorted(missing)[:5]}"
    counts = connection.statistics
    assert counts.overflows == expected.overflows
    assert counts.cobs_errors + counts.crc_errors + counts.format_errors + counts.frames_received == (
        expected.cobs_errors + expected.crc_errors + expected.frames_received
    )
    return {"frames_received": counts.frames_received, "overflows": counts.overflows}


def in_batches(
    frames: int, seed: int, direction: str, check: Callable[[bytes, set[int], int], dict[str, int]]
) -> dict[str, Any]:
    """Sums of what `check` counts in so many trials."""
    trials = Trials(seed, direction)
    total: dict[str, int] = {}
    began = time.monotonic()
    left = frames
    while left:
        n = min(BATCH, left)
        left -= n
        for name, value in check(*trials.stream(n), seed + left).items():
            total[name] = total.get(name, 0) + value
    return {"damaged_frames": frames, "crashes": 0, **total, "took_s": round(time.monotonic() - began, 1)}


def check_random(count: int, seed: int, micropython: Path) -> dict[str, Any]:
    """How many of `count` random bodies each end takes for a frame, by checksum."""
    result: dict[str, Any] = {}
    for bits in (16, 32):
        limit = int(binom.ppf(CONFIDENCE, count, 2.0**-bits))
        for end, direction in (("board", messages.TO_BOARD), ("host", messages.TO_HOST)):
            if end == "host" and bits == 32:
                continue  # no message to a host is guarded by CRC-32
            stream = random_bodies(seed + bits, count, bits, direction)
            if end == "board":
                accepted = run_board(stream, seed, micropython)[0]["frames_received"]
            else:
                accepted = read_by_host(stream)[0].statistics.frames_received
            assert accepted <= limit, f"the {end} took {accepted} of {count} random bodies, by chance {limit}"
            result[f"{end}_crc{bits}"] = {"bodies": count, "accepted": accepted, "limit": limit}
    return result


def check_emulated(frames: int, seed: int) -> dict[str, Any]:
    """The whole firmware on QEMU, fed over its UART; it has to be as good as new afterwards."""
    # The answer to one of these could be taken for the answer to ours.
    trials, expected = Trials(seed, without="statistics"), Expected()
    began = time.monotonic()
    with Rig(load_robot("crank"), emulator="mps2") as rig, Board.open(rig.port, ("revolute",)) as board:
        connection = board.connection
        # Nothing is asked twice, however busy this machine is: a repeat would be counted.
        connection.timeout_s = TIMEOUT_S
        asked = [messages.CODES["statistics"], connection._sequence]
        first = board.board_statistics()
        for start in range(0, frames, EMULATED_BATCH):
            stream, _ = trials.stream(min(EMULATED_BATCH, frames - start))
            expected._last = bytes(asked)
            expected.read(stream + b"\0")
            with connection._writing:
                for at in range(0, len(stream), 256):
                    connection._port.write(stream[at : at + 256])
                connection._port.write(b"\0")
            asked[1] = connection._sequence
            counts = board.board_statistics()
            expected.frames_received += 1
            got = {name: counts[name] - first[name] for name in expected.counts}
            assert got == expected.counts, f"seed {seed}: the board counts {got}, the stream has {expected.counts}"
    return {"damaged_frames": frames, "crashes": 0, **expected.counts, "took_s": round(time.monotonic() - began, 1)}


def main() -> None:
    """Runs the campaigns."""
    parser = argparse.ArgumentParser(description="damaged frames into both ends of the link; one line of JSON")
    parser.add_argument("--frames", type=int, default=1_000_000, help="into the board's parser, and into the host's")
    parser.add_argument("--emulated", type=int, default=20_000, help="into the board in QEMU, over its UART")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    micropython = find_micropython()
    if options.emulated:
        subprocess.run([ROOT / "tools" / "build_micropython", "mps2"], check=True)
    frames, seed = options.frames, options.seed

    def board(stream: bytes, heard: set[int], of_batch: int) -> dict[str, int]:
        return check_board(stream, heard, of_batch, micropython)

    def host(stream: bytes, heard: set[int], _: int) -> dict[str, int]:
        return check_host(stream, heard)

    result = {
        "fuzz": "link",
        "seed": seed,
        "board": in_batches(frames, seed, messages.TO_BOARD, board),
        "host": in_batches(frames, seed, messages.TO_HOST, host),
        "random_bodies": check_random(frames, seed, micropython),
    }
    if options.emulated:
        result["emulated"] = check_emulated(options.emulated, seed)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
