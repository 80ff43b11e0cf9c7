"""What a host that goes away costs a board that streams to it: instructions of a turn on QEMU's Cortex-M3, and drops.

One line of JSON. A board of six axes moves and streams a block every third cycle over its UART. The host first reads
and acknowledges, then stops reading (and still asks, so that answers are dropped, too), then reads again. The worst
cycle, and the worst turn (a service of the link and a cycle), may cost at most 1.1 times what they cost with the host
present; every block and answer must have come or be counted as dropped. `heartbeat_lost` is the turn that finds it so.
The instructions are QEMU's count; the drives are scripted (firmware/tests/stream_away.py).
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
import tty
from pathlib import Path
from typing import Any

from emulated import Mps2, RawRepl

from idmkit.link.client import Board
from idmkit.link.codec import HostCodec
from idmkit.rig.model_cost import ICOUNT, INSTRUCTIONS_A_TICK
from idmwire import framing, messages

ROOT = Path(__file__).resolve().parents[1]
FILES = [ROOT / "firmware" / "tests" / name for name in ("bench.py", "scripted.py", "support.py", "stream_away.py")]
AXES = 6
TURNS = 3000
READY, PRESENT, GONE, STUCK, BACK, DONE = range(1, 7)
QUESTIONS = 200
LIMIT = 1.1
ACKNOWLEDGE_EVERY = 4
ASK_EVERY = 10
STEP_S = 0.002
QUIET_S = 0.5
PARTS = ("cycle", "link", "turn")


class Host:
    """Reads and acknowledges blocks on a port that carries nothing else, as long as it is asked to."""

    def __init__(self, port: str) -> None:
        self._port = os.open(port, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._port)
        self._splitter = framing.Splitter()
        self.blocks: set[int] = set()
        self.answers = 0
        self.asked = 0
        self.acknowledged = 0

    def read(self, wait_s: float) -> bool:
        """What comes within `wait_s`; False where nothing did."""
        if not select.select([self._port], [], [], wait_s)[0]:
            return False
        for frame in self._splitter.feed(os.read(self._port, 65536)):
            kind, _, payload = framing.unpack(HostCodec, frame)
            if kind == messages.CODES["capture_block"]:
                self.blocks.add(int.from_bytes(payload[:4], "little"))
            else:
                self.answers += 1
        return True

    def say(self, name: str, payload: bytes = b"") -> None:
        """Sends a message; an answer to it is awaited some time."""
        os.write(self._port, framing.pack(HostCodec, messages.CODES[name], self.asked % 256, payload))

    def ask(self) -> None:
        """Asks for the status, and does not wait for it."""
        self.say("status")
        self.asked += 1

    def acknowledge(self) -> None:
        """Says which blocks have come."""
        self.acknowledged = len(self.blocks)
        self.say("capture_received", (max(self.blocks) + 1).to_bytes(4, "little"))

    def close(self) -> None:
        """Gives the port back."""
        os.close(self._port)


def word(board: Mps2, offset: int) -> int:
    """A word of the board's second memory."""
    return int.from_bytes(board.read(board.FREE + offset, 4), "little")


def follow(board: Mps2, host: Host) -> None:
    """The host's part, phase by phase."""
    while word(board, 0) < GONE:
        host.read(STEP_S)
        if len(host.blocks) >= host.acknowledged + ACKNOWLEDGE_EVERY:
            host.acknowledge()
        if len(host.blocks) >= ASK_EVERY * host.asked:
            host.ask()
    while word(board, 0) < STUCK:
        time.sleep(STEP_S)
    for _ in range(QUESTIONS):
        host.ask()
    while word(board, 0) < BACK:
        time.sleep(STEP_S)
    while host.read(QUIET_S) or word(board, 0) < DONE:
        pass


def measure(axes: int, turns: int) -> dict[str, Any]:
    """One run; the board's results, in ticks, and what the host has."""
    with tempfile.TemporaryDirectory() as folder, Mps2(Path(folder), FILES, ICOUNT) as board:
        with Board.open(board.port) as link:
            link.request("enter_repl")
        board.write(board.FREE, bytes(8))
        repl = RawRepl(board.port)
        repl.run("import stream_away")
        repl.start(f"stream_away.run({axes}, {turns})")
        host = Host(board.port)
        board.write(board.FREE, READY.to_bytes(4, "little"))
        follow(board, host)
        host.close()
        found: dict[str, Any] = json.loads(board.read(board.FREE + 8, word(board, 4)))
    return found | {"blocks_here": len(host.blocks), "answers_here": host.answers, "asked": host.asked}


def check(found: dict[str, Any]) -> dict[str, Any]:
    """The figures of a run; AssertionError where one does not hold."""
    result: dict[str, Any] = {}
    for phase in ("present", "gone", "heartbeat_lost"):
        result[f"worst_instructions_{phase}"] = {
            part: round(ticks * INSTRUCTIONS_A_TICK) for part, ticks in zip(PARTS, found[phase], strict=True)
        }
    for k, part in enumerate(PARTS):
        result[f"ratio_{part}_gone_to_present"] = round(found["gone"][k] / found["present"][k], 4)
    assert found["fault"] == "heartbeat_lost"
    assert found["blocks_overwritten"] > 0
    assert found["blocks_here"] + found["blocks_overwritten"] == found["blocks"], found
    # The last of the questions may have been answered when the line was free again.
    assert found["frames_dropped"] >= QUESTIONS - 1
    assert found["answers_here"] + found["frames_dropped"] == found["asked"], found
    counted = ("blocks", "blocks_here", "blocks_overwritten", "asked", "answers_here", "frames_dropped")
    return result | {name: found[name] for name in counted}


def main() -> None:
    """Measures and prints."""
    subprocess.run([ROOT / "tools" / "build_micropython", "mps2"], check=True)
    result = check(measure(AXES, TURNS))
    for part in ("cycle", "turn"):
        ratio = result[f"ratio_{part}_gone_to_present"]
        assert ratio <= LIMIT, f"a {part} costs {ratio} times as much without a host"
    print(json.dumps({"benchmark": "host_gone", "axes": AXES, "turns": TURNS} | result))


if __name__ == "__main__":
    main()
