"""The firmware as a process: boards and hosts that die, other schemas, errors of its own, and the heap locked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from firmware_bench import clear, refused, session
from runtimes import ROOT, WORDS

from idmkit.errors import LinkError, ProtocolMismatch, RigError
from idmkit.link import images
from idmkit.link.capture import start_capture
from idmkit.link.client import Board
from idmkit.link.history import read_faults, read_trace
from idmkit.link.transport import open_port

words_of_both = pytest.mark.parametrize("words", WORDS)
COLUMNS = [(name, 0) for name in ("position_command", "velocity_command", "position_feedback", "torque_command")]


def test_a_board_that_dies_is_said_by_rig_and_link(tmp_path: Path) -> None:
    with session(64, tmp_path) as bench:
        bench.arm()
        process = bench.rig._process._process
        assert process is not None
        process.kill()
        with pytest.raises(RigError, match="the firmware's CAN stream ended; its process ended with exit code -9"):
            bench.rig.advance(10)
        bench.board.connection.timeout_s = 0.01
        with pytest.raises(LinkError, match="stopped answering"):
            bench.board.status()


def test_a_board_that_is_asked_for_its_prompt_leaves(tmp_path: Path) -> None:
    with session(64, tmp_path) as bench:
        bench.go(5)
        bench.arm()
        assert refused(bench.board.request, "enter_repl") == "needs_disarmed"
        bench.disarm()
        bench.board.request("enter_repl")
        with pytest.raises(RigError, match="exit code 0"):
            bench.rig.advance(10)


def test_a_board_of_another_schema_is_read_and_nothing_else(tmp_path: Path) -> None:
    firmware = tmp_path / "firmware"
    for folder in ("firmware/motionboard", "firmware/drives", "firmware/boards", "shared/idmwire"):
        target = firmware / Path(folder).name
        target.mkdir(parents=True)
        for source in (ROOT / folder).glob("*.py"):
            (target / source.name).write_text(source.read_text())
    (firmware / "main.py").write_text((ROOT / "firmware" / "main.py").read_text())
    faults = firmware / "idmwire" / "faults.py"
    faults.write_text(faults.read_text().replace('"collision"', '"crash"').replace('"collision', '"crash'))
    guards = firmware / "motionboard" / "guards.py"
    guards.write_text(guards.read_text().replace('"collision"', '"crash"'))
    with session(64, tmp_path / "store", write=False, firmware=firmware / "main.py") as bench:
        assert bench.board.mismatch is not None
        assert bench.board.status().state == "disarmed"
        assert bench.board.board_statistics()["frames_received"] > 0
        assert images.read_image(bench.board, "stored") == b""
        for action in (
            lambda: bench.board.request("arm"),
            lambda: bench.board.write("torque_threshold", 1.0),
            lambda: bench.board.request("stage", offset=0, data=b"x"),
            lambda: start_capture(bench.board, [("position_command", 0)]),
        ):
            with pytest.raises((ProtocolMismatch, ValueError)):
                action()


@words_of_both
def test_a_host_that_comes_back_finds_the_board_as_it_left_it(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path) as bench:
        bench.arm()
        start_capture(bench.board, COLUMNS)
        bench.go(200)
        # The program ends without a word, in the middle of a capture, armed.
        bench.board.close()
        with Board(type(bench.board.connection)(open_port(bench.rig.port), bench.rig.port), ["revolute"]) as again:
            assert again.status().state == "holding"
            assert again.hello == bench.board.hello
            # Nobody takes the blocks of the old capture, and time goes on.
            bench.board = again
            bench.go(3000)
            capture = start_capture(again, COLUMNS, samples=300)
            bench.go(320)
            assert capture.finish().data.shape == (300, 4)
            bench.disarm()


LOCKED = """
import sys
sys.path[:0] = [{firmware!r}, {shared!r}]
import micropython
from motionboard import controller

cycle = controller.Controller.cycle
fail = controller.Controller.fail
locked = [False]

def checked(self):
    cycle(self)
    armed = self.state != controller.DISARMED
    if armed and not locked[0]:
        micropython.heap_lock()
    elif locked[0] and not armed:
        micropython.heap_unlock()
    locked[0] = armed

def failed(self):
    micropython.heap_unlock()
    sys.exit(3)

controller.Controller.cycle = checked
controller.Controller.fail = failed
import main
"""


@words_of_both
def test_nothing_allocates_on_the_real_ports_either(words: int, tmp_path: Path) -> None:
    script = tmp_path / "locked.py"
    script.write_text(LOCKED.format(firmware=str(ROOT / "firmware"), shared=str(ROOT / "shared")))
    with session(words, tmp_path / "store", firmware=script) as bench:
        bench.arm()
        capture = start_capture(bench.board, COLUMNS)
        bench.move(1.0, 600)
        bench.go(700, chunk=50)
        bench.board.write("torque_threshold", 0.5)
        bench.go(300)
        bench.board.write("torque_threshold", 30.0)
        bench.go(10)
        assert clear(bench) == "torque_threshold"
        bench.move(0.0, 600)
        bench.go(300)
        bench.board.request("stop")
        bench.go(500)
        bench.board.greet_again()
        assert capture.finish().data.shape[1] == 4
        bench.statistics()
        read_faults(bench.board)
        read_trace(bench.board)
        bench.disarm()
        assert bench.board.status().fault == ""


ORPHAN = """
import sys, time
from pathlib import Path
from idmkit.rig import Rig
from idmkit.robot import load_robot
rig = Rig(load_robot("crank"), folder=Path(sys.argv[1]))
rig.start()
print(rig._process._process.pid, flush=True)
time.sleep(60)
"""


def gone(pid: int, wait_s: float = 10.0) -> bool:
    until = time.monotonic() + wait_s
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        # Whoever inherits an orphan may not have buried it yet.
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("settings", [False, True])
def test_no_board_outlives_its_rig(settings: bool, tmp_path: Path) -> None:
    if settings:
        with session(64, tmp_path):
            pass
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'host'}:{ROOT / 'shared'}"}
    host = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert host.stdout is not None
    pid = int(host.stdout.readline())
    try:
        os.kill(pid, 0)
        host.send_signal(signal.SIGKILL)
        host.wait()
        assert gone(pid)
    finally:
        host.stdout.close()
        if not gone(pid, 0.0):
            os.kill(pid, signal.SIGKILL)


BROKEN = """
import sys
sys.path[:0] = [{firmware!r}, {shared!r}]
from motionboard import shapes

move = shapes.move
moved = [0]

def broken(bound):
    moved[0] += 1
    if moved[0] > 200:
        raise ValueError("no such torque")
    return move(bound)

shapes.move = broken
import main
"""


@words_of_both
def test_an_error_of_the_firmware_switches_off_and_can_be_asked_for(words: int, tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text(BROKEN.format(firmware=str(ROOT / "firmware"), shared=str(ROOT / "shared")))
    with session(words, tmp_path / "store", firmware=script) as bench:
        bench.arm()
        bench.move(1.0, 500)
        bench.go(400)
        status = bench.board.status()
        assert (status.state, status.fault) == ("stopped_by_fault", "program_error")
        # The link lives, the axis is on its brake, and the reason is said once.
        assert read_faults(bench.board)[0].fault == "program_error"
        stands = bench.board.status().position_feedback
        bench.go(50)
        assert bench.board.status().position_feedback == stands
        said = (bench.rig.folder / "firmware.stderr").read_text()
        assert said.count("ValueError: no such torque") == 1
