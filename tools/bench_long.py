"""Long runs of the board that is a process, in one line of JSON.

`cycles`: the whole firmware armed, moving and capturing every cycle, its bus answered by the same bytes again and again
(firmware/tests/long_run.py), as fast as it goes for --seconds. Ticks and cycle numbers begin shortly before their turn.
Nothing may be missed, the heap may not grow, and no sample may be missing. `gc_pause_max_us` is the longest collection
of the whole heap; while armed the firmware never needs one.

`timed`: the firmware as a process with a pty, by this machine's clock, for --timed seconds: how late its cycles began
(a histogram: at most so many us), what was lost, and its clock beside the host's. How good that is depends on the
machine, and on what else it does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from idmkit.board.settings import parameter_image
from idmkit.link.capture import start_capture
from idmkit.link.client import Board
from idmkit.link.images import write_image
from idmkit.link.timing import ClockComparison, latest_in_bin, read_timing
from idmkit.rig.process import HEAP, find_micropython
from idmkit.rig.rig import Rig
from idmkit.robot import load_robot

ROOT = Path(__file__).resolve().parents[1]
TEN_HOURS = 36_000_000
"""Cycles at 1 kHz."""
NEVER = ("cycles_missed", "samples_missing", "overruns", "frames_dropped", "drive_misses", "bus_errors",
         "capture_overwritten", "repeats", "crc_errors")  # fmt: skip


def run_cycles(seconds: float, cycles: int, micropython: Path) -> dict[str, Any]:
    """As many cycles as go into the time, `cycles` at most; AssertionError where something was missed or grew."""
    done = subprocess.run(
        [micropython, "-X", f"heapsize={HEAP}", "firmware/tests/long_run.py", str(seconds), str(cycles)],
        cwd=ROOT, env={"MICROPYPATH": "firmware:shared:firmware/tests"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode or done.stderr:
        raise SystemExit(f"the long run ended with {done.returncode}: {done.stderr[-1000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    wrong = {name: found[name] for name in NEVER if found[name]}
    assert not wrong, f"in {found['cycles']} cycles: {wrong}"
    assert found["heap_growth_bytes"] <= 0, f"the heap grew by {found['heap_growth_bytes']} bytes"
    assert found["samples_taken"] == found["cycles"]
    return found


def run_timed(seconds: float) -> dict[str, Any]:
    """The board on its own clock, disarmed, with a capture of every cycle."""
    robot = load_robot("crank")
    comparison = ClockComparison()
    over = threading.Event()
    with Rig(robot, clock="timer") as rig, Board.open(rig.port, ["revolute"]) as board:

        def answer() -> None:
            while not over.is_set():
                rig.advance(100)

        bus = threading.Thread(target=answer, daemon=True)
        bus.start()
        write_image(board, parameter_image(robot))
        first = board.board_statistics()
        capture = start_capture(board, [("position_feedback", 0), ("torque_feedback", 0)])
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            comparison.look(board)
            time.sleep(min(1.0, seconds / 10))
        result = capture.finish()
        counts, timing = board.board_statistics(), read_timing(board)
        over.set()
        bus.join()
    gaps = sum(gap.samples for gap in result.gaps)
    counted = ("cycles", "overruns", "drive_misses", "frames_dropped", "capture_overwritten")
    return {
        **{name: counts[name] - first[name] for name in counted},
        "cycles_missed": timing.missed,
        "latest_us": timing.latest_us,
        "began_late_by_at_most_us": {latest_in_bin(b): n for b, n in enumerate(timing.lateness[:-1]) if n}
        | {"more": timing.lateness[-1]},
        "samples": len(result.data),
        "samples_lost": gaps,
        "clock": {name: round(value, 3) for name, value in vars(comparison.fit()).items()},
    }


def main() -> None:
    """Runs and prints."""
    parser = argparse.ArgumentParser(description="long runs of the board that is a process; one line of JSON")
    parser.add_argument("--seconds", type=float, default=3600.0, help="for as many cycles as that gives")
    parser.add_argument("--cycles", type=int, default=TEN_HOURS, help="but not more than these")
    parser.add_argument("--timed", type=float, default=600.0, help="seconds by this machine's clock")
    options = parser.parse_args()
    result: dict[str, Any] = {"benchmark": "long"}
    if options.seconds:
        result["cycles"] = run_cycles(options.seconds, options.cycles, find_micropython())
        result["ratio_cycles_to_ten_hours"] = round(result["cycles"]["cycles"] / TEN_HOURS, 4)
    if options.timed:
        result["timed"] = run_timed(options.timed)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
