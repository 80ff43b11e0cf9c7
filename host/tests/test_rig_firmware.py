"""The real firmware on real MicroPython in the virtual rig, asked by the real client, on both word sizes."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from firmware_bench import CorruptingPort, session
from runtimes import WORDS
from test_rig import two_axes

from idmkit.link import motion
from idmkit.link.capture import CaptureResult, start_capture

MINUTE = [("position_command", 0), ("position_feedback", 0), ("torque_model", 0), ("torque_feedback", 0)]


@pytest.mark.parametrize("words", WORDS)
def test_it_arms_moves_holds_and_disarms(words: int, tmp_path: Path) -> None:
    columns = [(name, 0) for name in ("position_command", "velocity_command", "acceleration_command", "position_error")]
    with session(words, tmp_path) as bench:
        assert bench.arm().state == "holding"
        capture = start_capture(bench.board, columns, samples=1200)
        begin = bench.move(1.0, 1000)
        bench.go(1210)
        status = bench.settle("holding")
        result = capture.finish()
        assert status.fault == ""
        assert bench.disarm().state == "disarmed"
        q, v, a, error = (result.si(name) for name, _ in columns)
        at = begin - result.first_cycle
        assert q[at] == q[0] == 0.0
        # To the count: 1 rad is no whole number of 2^-24 turns.
        assert q[-1] == pytest.approx(1.0, abs=2 * np.pi / 2**24)
        assert q[at + 1000] == q[-1]
        assert v[-1] == a[-1] == 0.0
        assert v.max() == pytest.approx(1.875, rel=1e-5)
        assert a.max() == pytest.approx(10 / np.sqrt(3), rel=1e-4)
        # The loops of the rig's drive follow a smooth motion within a few counts of their encoder (4.8e-6 rad).
        assert np.abs(error[at:]).max() < 1e-3
        counts = bench.statistics()
        for name in ("drive_misses", "bus_errors", "torque_saturations", "model_saturations", "frames_dropped"):
            assert counts[name] == 0, name


@pytest.mark.parametrize("words", WORDS)
def test_two_runs_are_the_same_bit_by_bit(words: int, tmp_path: Path) -> None:
    columns = [(name, 0) for name in ("position_feedback", "torque_feedback", "torque_command", "torque_error")]
    runs = []
    for run in range(2):
        with session(words, tmp_path / str(run)) as bench:
            bench.arm()
            start = bench.board.status().cycle + 10
            capture = start_capture(bench.board, columns, samples=1500, start_cycle=start)
            motion.sine(bench.board, [0.8], [1.5], 1200, start_cycle=start + 20)
            bench.go(1600, chunk=400 - 150 * run)
            runs.append(capture.finish())
    assert runs[0].data.shape == (1500, 4)
    assert np.ptp(runs[0].column("torque_feedback")) > 0
    assert np.array_equal(runs[0].data, runs[1].data)


def minute(
    words: int, folder: Path, every: int
) -> tuple[CaptureResult, CorruptingPort, dict[str, int], dict[str, int]]:
    """Sixty seconds at 1 kHz of four channels while the axis swings, every `every`-th frame corrupted."""
    ports: list[CorruptingPort] = []

    def corrupting(port):
        ports.append(CorruptingPort(port, every))
        return ports[0]

    with session(words, folder, port=corrupting) as bench:
        bench.arm()
        start = bench.board.status().cycle + 10
        capture = start_capture(bench.board, MINUTE, samples=60_000, start_cycle=start)
        motion.sine(bench.board, [1.2], [0.7], 60_000, start_cycle=start)
        bench.go(60_050, chunk=450)
        result = capture.finish()
        assert bench.board.status().fault == ""
        link = vars(bench.board.statistics).copy()
        return result, ports[0], bench.statistics(), link


def check_minute(result: CaptureResult, port: CorruptingPort, board: dict[str, int], link: dict[str, int]) -> None:
    counts = result.counts
    assert result.data.shape == (60_000, 4)
    assert result.gaps == ()
    # 30 samples of four channels in 480 bytes.
    assert counts.blocks == 2000
    assert counts.samples == 60_000
    assert (counts.lost, counts.stale) == (0, 0)
    # Held to what the port saw: every whole block was either new or a repeat; every request for one was counted.
    assert counts.blocks + counts.repeated == sum(port.blocks.values())
    asked = {block for _, block in port.asked}
    assert counts.requested == len(port.asked)
    assert port.first_spoilt <= asked
    assert counts.missing == len(asked)
    assert link["crc_errors"] + link["cobs_errors"] + link["format_errors"] == port.corrupted
    assert link["retries"] >= port.corrupted - sum(port.spoilt.values()) - link["late"]
    assert board["capture_overwritten"] == board["frames_dropped"] == board["crc_errors"] == board["cobs_errors"] == 0
    assert counts.payload_share > 0.95 or port.corrupted


@pytest.mark.parametrize("words", WORDS)
def test_a_minute_arrives_complete_also_over_a_bad_line(words: int, tmp_path: Path) -> None:
    bad = minute(words, tmp_path / "bad", 50)
    check_minute(*bad)
    assert bad[1].corrupted == bad[1].frames // 50 > 40
    assert bad[0].counts.missing >= len(bad[1].first_spoilt) > 30
    if words == 64:
        good = minute(words, tmp_path / "good", 10**9)
        check_minute(*good)
        assert good[1].corrupted == 0
        assert np.array_equal(good[0].data, bad[0].data)


@pytest.mark.words32
def test_both_word_sizes_give_the_same_bits(tmp_path: Path) -> None:
    columns = [(name, 0) for name in ("position_command", "torque_model", "torque_command", "torque_error")]
    runs = []
    for words in (32, 64):
        with session(words, tmp_path / str(words)) as bench:
            bench.arm()
            start = bench.board.status().cycle + 10
            capture = start_capture(bench.board, columns, samples=2500, start_cycle=start)
            motion.move(bench.board, [1.5], 700, start_cycle=start + 20)
            bench.go(600)
            bench.board.request("stop")
            bench.go(500)
            motion.sine(bench.board, [-0.5], [2.0], 1000, start_cycle=start + 1200)
            bench.go(1500)
            runs.append(capture.finish().data)
    assert np.array_equal(runs[0], runs[1])


@pytest.mark.parametrize("words", WORDS)
def test_several_axes_move_together_and_stop_together(words: int, tmp_path: Path) -> None:
    columns = [(name, axis) for axis in (0, 1) for name in ("position_command", "position_error", "velocity_command")]
    with session(words, tmp_path, robot=two_axes(), with_model=False) as bench:
        bench.arm()
        capture = start_capture(bench.board, columns, samples=1200)
        motion.move(bench.board, [0.5, -0.2], 500)
        bench.go(520)
        motion.sine(bench.board, [0.9, -0.1], [1.0, 2.5], 3000)
        bench.go(400)
        bench.rig.drive(1).fault(0x3210)
        bench.go(300)
        result = capture.finish()
        assert result.si("position_command", 0)[510] == pytest.approx(0.5, abs=1e-6)
        assert result.si("position_command", 1)[510] == pytest.approx(-0.2, abs=1e-7)
        for axis, described in enumerate(bench.robot.axes):
            # Without a model the loops alone bear gravity and friction.
            error = np.abs(result.si("position_error", axis)[:900])
            assert error.max() < described.guards.position_error_max / 10
            assert result.si("velocity_command", axis)[-1] == 0.0
        status = bench.board.status()
        assert (status.state, status.fault, status.fault_axis) == ("stopped_by_fault", "drive_fault", 1)
        assert bench.board.clear_fault() == "drive_fault"
        bench.arm()
        bench.disarm()


@pytest.mark.parametrize("words", WORDS)
def test_on_a_clock_of_its_own(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path, clock="timer") as bench:
        # Nobody promises that this machine keeps up: what is late is counted, and nothing else goes wrong.
        granting = threading.Thread(target=bench.rig.advance, args=(600,), daemon=True)
        granting.start()
        capture = start_capture(bench.board, [("position_feedback", 0), ("torque_feedback", 0)], samples=400)
        granting.join()
        result = capture.finish()
        lost = sum(gap.samples for gap in result.gaps)
        assert len(result.data) == 400
        assert result.counts.samples == 400 - lost
        counts = bench.statistics()
        assert bool(lost) == bool(counts["capture_overwritten"])
        assert counts["cycles"] >= 600
        assert counts["capture_holds"] == 0
        assert np.ptp(result.column("torque_feedback")) > 0
        assert bench.board.status().fault == ""
