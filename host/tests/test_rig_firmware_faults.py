"""What goes wrong with a real firmware process: faults and their stops, restarts, damaged settings, dying hosts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from firmware_bench import Session, session
from test_firmware_on_micropython import ROOT, WORDS

from idmkit.errors import LinkError, ProtocolMismatch, RigError
from idmkit.link import images
from idmkit.link.capture import CaptureResult, start_capture
from idmkit.link.client import Board
from idmkit.link.history import read_faults, read_trace
from idmkit.link.refusals import Refusal
from idmkit.link.transport import open_port

words_of_both = pytest.mark.parametrize("words", WORDS)
STOP = [(name, 0) for name in ("position_command", "velocity_command", "position_feedback", "torque_command")]


def refused(action: Callable[..., object], *arguments: object, **fields: object) -> str:
    with pytest.raises(Refusal) as caught:
        action(*arguments, **fields)
    return caught.value.reason


def clear(bench: Session, *, most: int = 200) -> str:
    """Clears the fault, as soon as its stop is over."""
    for _ in range(most):
        try:
            return bench.board.clear_fault()
        except Refusal as refusal:
            reason = refusal.reason
        assert reason == "fault_stands"
        bench.go(10)
    raise AssertionError("the fault cannot be cleared")


def captured(bench: Session, action: Callable[[], object], cycles: int) -> CaptureResult:
    capture = start_capture(bench.board, STOP)
    bench.go(2)
    action()
    bench.go(cycles)
    return capture.finish()


def check_controlled_stop(bench: Session, result: CaptureResult, fault: str) -> None:
    """From the fault's cycle on: no jump, deceleration within its bound, then held without moving, and latched."""
    record = read_faults(bench.board)[0]
    assert record.fault == fault
    at = record.cycle - result.first_cycle
    q, v = result.si("position_command"), result.si("velocity_command")
    assert abs(v[at]) > 0.3
    # The bound of a stop is acceleration_max on top of the acceleration that it takes over.
    deceleration = np.abs(np.diff(v[at - 1 :])) * 1000
    assert deceleration.max() <= bench.robot.axes[0].acceleration_max + abs(v[at] - v[at - 1]) * 1000 + 0.01
    # No jump: each step is the mean speed of its cycle, to a count at either end.
    assert np.abs(np.diff(q) - 0.0005 * (v[1:] + v[:-1])).max() < 2 * 2 * np.pi / 2**24
    assert v[-1] == 0.0
    assert np.ptp(q[-100:]) == 0.0
    status = bench.board.status()
    assert (status.state, status.fault) == ("stopped_by_fault", fault)
    trace = read_trace(bench.board)
    assert len(trace.cycles) == 64
    assert record.cycle in trace.cycles
    assert refused(bench.move, 0.0, 100) == "needs_armed"


@words_of_both
def test_a_lost_heartbeat_stops_holds_and_stays_latched(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path) as bench:
        bench.arm()

        def silent() -> None:
            bench.move(3.0, 2000)
            bench.board.heartbeat()
            bench.rig.advance(1300)

        result = captured(bench, silent, 300)
        check_controlled_stop(bench, result, "heartbeat_lost")
        assert clear(bench) == "heartbeat_lost"
        assert bench.settle("holding").fault == ""
        bench.move(0.5, 800)
        bench.go(900)
        assert bench.settle("holding").fault == ""


@words_of_both
def test_a_torque_threshold_stops_before_the_torque_is_sent(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path) as bench:
        bench.arm()
        bench.board.write("torque_threshold", 4.0)
        result = captured(bench, lambda: bench.move(-1.5, 450), 700)
        check_controlled_stop(bench, result, "torque_threshold")
        record = read_faults(bench.board)[0]
        assert record.limit == 4.0
        assert 4.0 < abs(record.value) < 6.0
        # AdditiveTorqueDelay cycles before the torque that tripped it reached the drive.
        at = record.cycle - result.first_cycle
        assert np.abs(result.si("torque_command")[: at + 1]).max() <= 4.0
        bench.board.write("torque_threshold", 30.0)
        assert clear(bench) == "torque_threshold"


@words_of_both
def test_a_wall_is_a_collision(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path) as bench:
        bench.arm()
        bench.board.write("torque_error_enable", 1)
        bench.move(1.0, 800)
        bench.go(1000)
        assert bench.settle("holding").fault == ""
        bench.rig.place_wall(0, 0.5)
        first = bench.board.status().cycle - bench.rig.cycle
        bench.move(0.0, 800)
        bench.go(700)
        contact = bench.rig.contact_cycle(0)
        assert contact is not None
        status = bench.settle("stopped_by_fault")
        assert status.fault == "collision"
        record = read_faults(bench.board)[0]
        guards = bench.robot.axes[0].guards
        assert record.limit == pytest.approx(guards.torque_error_max, abs=1e-4)
        assert abs(record.value) > record.limit
        # Not before the contact and its minimum duration, and within a tenth of a second.
        delay = record.cycle - (contact + first)
        assert guards.torque_error_duration_cycles <= delay < 100
        bench.rig.place_wall(0, None)
        assert clear(bench) == "collision"
        bench.arm()
        bench.move(0.2, 500)
        bench.go(600)
        assert bench.settle("holding").fault == ""


@words_of_both
def test_a_drive_that_trips_and_one_that_falls_silent(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path) as bench:
        bench.arm()
        bench.move(1.0, 1000)
        bench.go(300)
        bench.rig.inject_fault(0, 0x2310)
        bench.go(10)
        assert bench.board.status().fault == "drive_fault"
        assert clear(bench) == "drive_fault"
        # The drive's own fault is reset with it.
        bench.arm()
        bench.rig.silence(0)
        bench.go(10)
        assert bench.board.status().fault == "drive_lost"
        assert bench.board.request("read_fault", index=0)["value"] == 3
        bench.go(100)
        assert refused(bench.board.clear_fault) == "no_drives"
        bench.rig.silence(0, False)
        bench.go(10)
        assert clear(bench) == "drive_lost"
        bench.arm()
        bench.disarm()


@words_of_both
def test_a_host_that_stops_reading_holds_time_and_loses_nothing(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path) as bench:
        bench.arm()
        # Three samples in a block: the board's 64 blocks are full long before the 600 cycles have passed.
        capture = start_capture(bench.board, [*STOP] * 10, samples=1200)
        reader = bench.board.connection
        reading = threading.Event()
        take = reader._take

        def slow(frame: bytes) -> None:
            # The host's reader thread stands still: neither blocks nor answers are taken from the port.
            reading.wait()
            take(frame)

        reader._take = slow
        try:
            granting = threading.Thread(target=bench.rig.advance, args=(600,), daemon=True)
            granting.start()
            time.sleep(0.3)
        finally:
            reading.set()
        granting.join()
        bench.go(610)
        result = capture.finish()
        assert result.data.shape == (1200, 40)
        assert result.gaps == ()
        assert bench.board.status().fault == ""
        counts = bench.statistics()
        assert counts["capture_holds"] > 0
        assert counts["capture_overwritten"] == counts["drive_misses"] == 0


@words_of_both
def test_frames_of_awkward_lengths_and_bytes(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path) as bench:
        # While it booted, the board may have missed a greeting.
        retries = bench.board.statistics.retries
        for length in (*range(60, 68), *range(126, 131), 192, 253, 254, 255, 256, 480):
            data = bytes(1 + k % 255 for k in range(length))
            assert bench.board.request("stage", offset=0, data=data)["staged"] == length
            assert images.read_image(bench.board, "staged") == data
        for data in (
            bytes(range(256)),
            b"\x03" * 300,
            b"\r\n" * 150,
            b"\x0a" * 64,
            b"\x00" * 300,
            b"\x11\x13\x1a\x04" * 60,
        ):
            bench.board.request("stage", offset=0, data=data)
            assert images.read_image(bench.board, "staged") == data
        counts = bench.statistics()
        assert counts["crc_errors"] == counts["cobs_errors"] == counts["overflows"] == 0
        assert bench.board.statistics.retries == retries


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
        start_capture(bench.board, STOP)
        bench.go(200)
        # The program ends without a word, in the middle of a capture, armed.
        bench.board.close()
        with Board(type(bench.board.connection)(open_port(bench.rig.port), bench.rig.port), ["revolute"]) as again:
            assert again.status().state == "holding"
            assert again.hello == bench.board.hello
            # Nobody takes the blocks of the old capture, and time goes on.
            bench.board = again
            bench.go(3000)
            capture = start_capture(again, STOP, samples=300)
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
        capture = start_capture(bench.board, STOP)
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
from motionboard import guards

errors = guards.Guards.errors

def broken(self):
    errors(self)
    if self.axes.position_command[0] > 1000000:
        raise ValueError("no such torque")

guards.Guards.errors = broken
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
