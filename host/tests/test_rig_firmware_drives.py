"""Drives and buses that fail a board in motion, on the rig: a defined stop, a fault with the cause, a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from firmware_bench import Session, clear, session
from runtimes import WORDS

from idmkit.board.settings import parameter_image
from idmkit.errors import LinkError, RobotFileError
from idmkit.link import images, motion
from idmkit.link.capture import CaptureResult, start_capture
from idmkit.link.client import Board
from idmkit.link.history import FaultRecord, read_faults
from idmkit.rig import Rig
from idmkit.robot import Robot, load_robot

words_of_both = pytest.mark.parametrize("words", WORDS)
CHANNELS = ("position_command", "velocity_command", "position_feedback", "torque_command")


def cranks(axes: int, *, buses: int = 1, bitrate: int = 1_000_000) -> Robot:
    """`axes` times the crank, its drives on `buses` buses in turn."""
    crank = load_robot("crank")
    made = tuple(
        replace(crank.axes[0], name=f"a{k}",
                drive_or_none=replace(crank.axes[0].drive, node_id=k + 1, bus=k % buses))
        for k in range(axes)
    )  # fmt: skip
    lines = tuple(replace(crank.buses[0], name=f"can{k}", bitrate=bitrate) for k in range(buses))
    return replace(crank, axes=made, buses=lines, rig={"axes": crank.rig["axes"] * axes})


@contextmanager
def moving(words: int, folder: Path, robot: Robot) -> Iterator[Session]:
    """All axes on their way from 0 to 2 rad, half way there, at speed."""
    with session(words, folder, robot=robot, with_model=False) as bench:
        bench.arm()
        n = len(robot.axes)
        motion.move(bench.board, [2.0] * n, 800, start_cycle=bench.board.status().cycle + 5)
        bench.go(400)
        yield bench


def watched(bench: Session, cycles: int) -> CaptureResult:
    """What the axes do in the next cycles."""
    capture = start_capture(bench.board, [(name, axis) for axis in range(bench.board.axes) for name in CHANNELS])
    bench.go(cycles)
    return capture.finish()


def stopped(bench: Session, fault: str, axis: int) -> FaultRecord:
    """The latched fault, checked: which one, where, and that the sentence says so."""
    status = bench.board.status()
    assert (status.state, status.fault, status.fault_axis) == ("stopped_by_fault", fault, axis)
    assert f"Fault {fault} on axis {axis}" in bench.board.describe_fault(status)
    return next(record for record in read_faults(bench.board) if record.fault == fault)


def at_rest(result: CaptureResult, axes: int) -> bool:
    """Whether no axis moves any more: the last tenth of a second, to a few encoder counts."""
    feedback = [result.si("position_feedback", axis)[-100:] for axis in range(axes)]
    return all(np.ptp(values) < 1e-3 for values in feedback)


def recovered(bench: Session) -> None:
    """The fault is cleared, and the axes move again."""
    clear(bench)
    bench.arm()
    n = bench.board.axes
    motion.move(bench.board, [0.5] * n, 1500, start_cycle=bench.board.status().cycle + 5)
    bench.go(1600)
    assert bench.settle("holding").fault == ""


@words_of_both
def test_a_drive_that_never_enables(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path, robot=cranks(2), with_model=False) as bench:
        bench.rig.drive(1).open_safe_torque_off()
        bench.go(3)
        with pytest.raises(LinkError, match=r"enable_timeout on axis 1: .*The drive is in SWITCH ON DISABLED\."):
            bench.arm()
        stopped(bench, "enable_timeout", 1)
        bench.go(5)
        assert not bench.rig.powered
        bench.rig.drive(1).open_safe_torque_off(False)
        recovered(bench)


@words_of_both
def test_a_drive_that_trips_in_motion_with_its_emergency(words: int, tmp_path: Path) -> None:
    with moving(words, tmp_path, cranks(2)) as bench:
        bench.rig.drive(1).fault(0x2310)
        result = watched(bench, 500)
        record = stopped(bench, "drive_fault", 1)
        assert (int(record.value) & 0x4F, int(record.limit)) == (0x08, 0x032310)
        sentence = bench.board.describe_fault(bench.board.status())
        assert "The drive is in FAULT; its emergency message says error 0x2310 (continuous over-current), " in sentence
        assert at_rest(result, 2)
        # The other axis came down its drive's own ramp, not by its brake: no further than that ramp takes.
        v = bench.robot.axes[0].acceleration_max
        q = result.si("position_feedback", 0)
        speed = (q[1] - q[0]) / bench.robot.cycle_time_s
        assert abs(q[-1] - q[0]) == pytest.approx(speed**2 / 2 / v, abs=0.06)
        recovered(bench)


@words_of_both
def test_a_bus_that_falls_silent_in_motion(words: int, tmp_path: Path) -> None:
    with moving(words, tmp_path, cranks(2)) as bench:
        bench.rig.bus().silence()
        result = watched(bench, 600)
        record = stopped(bench, "bus_silent", 0)
        assert (record.value, record.limit) == (3, 3)
        # The board hears nothing; the drives stop by themselves, as they miss the board.
        assert not bench.rig.powered
        assert np.all(result.si("torque_command", 0)[-100:] == 0)
        bench.rig.bus().silence(False)
        bench.go(5)
        recovered(bench)


def test_one_bus_of_two_falls_silent_in_motion(tmp_path: Path) -> None:
    with moving(64, tmp_path, cranks(4, buses=2)) as bench:
        bench.rig.bus(1).silence()
        result = watched(bench, 600)
        stopped(bench, "bus_silent", 1)
        assert not bench.rig.powered
        assert at_rest(result, 4)
        bench.rig.bus(1).silence(False)
        bench.go(5)
        recovered(bench)


def test_a_mute_drive_among_others_is_named(tmp_path: Path) -> None:
    with moving(64, tmp_path, cranks(3)) as bench:
        bench.rig.drive(2).mute()
        watched(bench, 600)
        stopped(bench, "drive_lost", 2)
        assert not bench.rig.powered


@words_of_both
def test_an_encoder_that_jumps_in_motion(words: int, tmp_path: Path) -> None:
    with moving(words, tmp_path, cranks(2)) as bench:
        counts = bench.robot.axes[1].drive.counts_per_unit
        bench.rig.drive(1).jump_encoder(round(0.8 * counts))
        result = watched(bench, 600)
        record = stopped(bench, "encoder_jump", 1)
        assert record.value == pytest.approx(0.8, abs=0.05)
        assert record.limit == pytest.approx(bench.robot.axes[1].guards.position_error_max, abs=1e-6)
        assert at_rest(result, 2)
        assert not bench.rig.powered
        recovered(bench)


@words_of_both
def test_frames_that_are_late(words: int, tmp_path: Path) -> None:
    with moving(words, tmp_path, cranks(2)) as bench:
        # By a cycle, twice: two answers are missed where it begins, which is only counted.
        bench.rig.drive(1).delay_frames(1, 10)
        bench.go(50)
        misses = bench.statistics()["drive_misses"]
        assert misses == 1
        assert bench.board.status().fault == ""
        bench.rig.drive(1).lose_frames(2)
        bench.go(50)
        assert bench.statistics()["drive_misses"] == misses + 2
        assert bench.board.status().fault == ""
        bench.rig.drive(1).delay_frames(3, 3)
        result = watched(bench, 600)
        record = stopped(bench, "drive_lost", 1)
        assert (record.value, record.limit) == (3, 3)
        assert at_rest(result, 2)
        recovered(bench)


def test_a_drive_that_restarts_in_motion(tmp_path: Path) -> None:
    with moving(64, tmp_path, cranks(2)) as bench:
        bench.rig.drive(0).restart()
        result = watched(bench, 600)
        stopped(bench, "drive_heartbeat_lost", 0)
        assert at_rest(result, 2)
        assert bench.board.request("read_drive", axis=0)["nmt_state"] == 0
        recovered(bench)


def test_a_heartbeat_that_stops_while_pdos_go_on(tmp_path: Path) -> None:
    with moving(64, tmp_path, cranks(2)) as bench:
        bench.rig.drive(1).stop_heartbeat()
        result = watched(bench, 900)
        record = stopped(bench, "drive_heartbeat_lost", 1)
        assert (record.value, record.limit) == (4, 3)
        assert at_rest(result, 2)
        recovered(bench)


@words_of_both
def test_a_current_that_saturates_is_a_position_error(words: int, tmp_path: Path) -> None:
    with moving(words, tmp_path, cranks(2)) as bench:
        bench.rig.drive(0).limit_torque(0.02)
        watched(bench, 600)
        stopped(bench, "position_error", 0)
        bench.rig.drive(0).limit_torque(1.0)
        recovered(bench)


def test_an_overloaded_bus_is_refused_and_would_be_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "fast.toml"
    text = load_robot("crank").file.read_text()
    file.write_text(text.replace("bitrate = 1_000_000", "bitrate = 250_000"))
    with pytest.raises(RobotFileError) as refused:
        load_robot(file)
    assert (
        "2 frames of 135 bits and a SYNC of 55 make 325 bits; at 250000 bit/s they take 1.3 ms of a 1 ms cycle, 130 %, "
        "above 80 %"
    ) in str(refused.value)
    # Who passes by the check finds the frames late, as on the wire.
    with session(64, tmp_path, robot=cranks(6), with_model=False) as bench:
        bench.go(20)
        assert bench.statistics()["drive_misses"] > 10
        with pytest.raises(LinkError, match="drive_lost"):
            bench.arm()


def test_six_axes_on_two_buses_move_as_on_one(tmp_path: Path) -> None:
    found = []
    for buses in (1, 2):
        robot = replace(cranks(6, buses=buses), cycle_time_s=0.002)
        with session(64, tmp_path / str(buses), robot=robot, with_model=False) as bench:
            bench.arm()
            motion.move(bench.board, [1.0] * 6, 400, start_cycle=bench.board.status().cycle + 5)
            result = watched(bench, 600)
            assert bench.board.status().fault == ""
            assert bench.statistics()["drive_misses"] == 0
            found.append(result.data)
            for axis in range(6):
                assert bench.board.request("read_drive", axis=axis)["bus"] == axis % buses
    # Six axes at 2 ms fill 84 % of one bus: within the cycle here, but more than a robot file may ask for.
    assert np.array_equal(found[0], found[1])


def test_what_goes_wrong_goes_wrong_in_the_same_cycle_every_time(tmp_path: Path) -> None:
    found = []
    for run in ("first", "second"):
        with session(64, tmp_path / run, robot=cranks(2), with_model=False) as bench:
            bench.arm()
            start = bench.rig.cycle
            motion.move(bench.board, [2.0] * 2, 800, start_cycle=bench.board.status().cycle + 5)
            bench.rig.drive(0).delay_frames(1, 3, at=start + 100)
            bench.rig.drive(1).fault(0x8611, at=start + 300)
            result = watched(bench, 500)
            record = stopped(bench, "drive_fault", 1)
            found.append((record.cycle - result.first_cycle, result.data.tobytes()))
    assert found[0] == found[1]


@pytest.mark.emulated
def test_an_emulated_board_with_drives_on_two_uarts(tmp_path: Path) -> None:
    robot = cranks(3, buses=2)
    joints = [axis.joint for axis in robot.axes]
    with Rig(robot, folder=tmp_path, emulator="mps2") as rig, Board.open(rig.port, joints) as board:
        images.write_image(board, parameter_image(robot))
        bench = Session(rig, robot, board)
        bench.arm()
        motion.move(board, [0.5] * 3, 200, start_cycle=board.status().cycle + 5)
        bench.go(300)
        assert bench.settle("holding").fault == ""
        for axis in range(3):
            assert board.request("read_drive", axis=axis)["bus"] == axis % 2
        rig.bus(0).silence()
        bench.go(10)
        assert board.status().fault == "bus_silent"
