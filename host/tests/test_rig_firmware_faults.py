"""What goes wrong with a real firmware on the rig: faults and their stops, restarts, damaged settings, slow hosts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from firmware_bench import Session, clear, refused, session
from runtimes import WORDS

from idmkit.link import images
from idmkit.link.capture import CaptureResult, start_capture
from idmkit.link.history import read_faults, read_trace

words_of_both = pytest.mark.parametrize("words", WORDS)
STOP = [(name, 0) for name in ("position_command", "velocity_command", "position_feedback", "torque_command")]


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
        bench.rig.drive(0).fault(0x2310)
        bench.go(10)
        assert bench.board.status().fault == "drive_fault"
        assert clear(bench) == "drive_fault"
        # The drive's own fault is reset with it.
        bench.arm()
        bench.rig.drive(0).mute()
        bench.go(10)
        assert bench.board.status().fault == "drive_lost"
        assert bench.board.request("read_fault", index=0)["value"] == 3
        bench.go(100)
        assert refused(bench.board.clear_fault) == "no_drives"
        bench.rig.drive(0).mute(False)
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
