"""Every fault of the registry, provoked on a real firmware: its stop as the drives see it, its trace, its clear.

A fault that is added needs a cause here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from firmware_bench import Session, clear, model_image, refused, session
from runtimes import ROOT, WORDS
from test_rig import two_axes

from idmkit.board.settings import parameter_image
from idmkit.fixedpoint import compile_robot
from idmkit.link import images, long_motion
from idmkit.link.history import read_faults, read_trace
from idmkit.rig.drive import FAULT, OPERATION_ENABLED, QUICK_STOP_ACTIVE, SWITCH_ON_DISABLED
from idmkit.robot import load_robot
from idmwire import faults

SLOW_CYCLE_S = 0.02
PATIENCE = 1500
"""Cycles in which a cause must have become a fault."""
ELSEWHERE = {"watchdog_reset": "test_watchdog.py"}
"""What this board cannot have, and who provokes it on one that can."""

# The firmware, with two ways to make it ill while it runs.
ILL = """
import os, sys, time
sys.path[:0] = [{firmware!r}, {shared!r}]
from motionboard import controller

cycle = controller.Controller.cycle

def there(name):
    try:
        os.stat(os.getenv("IDM_STORE") + "/" + name)
        return True
    except OSError:
        return False

def ill(self):
    cycle(self)
    if there("slow"):
        time.sleep_ms({slow_ms})
    # On its own clock it is the only one that is late: it waits for the drives, however busy this machine is.
    while os.getenv("IDM_CLOCK") == "timer" and self.state and not self.drives.granted:
        self.drives.poll()
    if there("broken"):
        raise ValueError("no such torque")

controller.Controller.cycle = ill
import main
"""


@dataclass
class Cause:
    """How a fault comes about.

    `begin` makes its cause on a board that holds (or is disarmed, if not `armed`), `mend` takes it away where it does
    not go by itself. While a cause that `lasts` is not mended, the fault cannot be cleared; none can while its stop is
    under way. `beats` is False where the host says nothing any more. `stop_cycles` see its stop to its end.
    """

    begin: Callable[[Session], None]
    mend: Callable[[Session], object] = Session.statistics
    lasts: bool = False
    beats: bool = True
    armed: bool = True
    stop_cycles: int = 600
    options: dict[str, Any] = field(default_factory=dict)


def file_in_folder(name: str, there: bool) -> Callable[[Session], None]:
    def change(bench: Session) -> None:
        path = bench.rig.folder / name
        path.touch() if there else path.unlink()

    return change


def low_threshold(bench: Session) -> None:
    bench.move(1.0, 600)
    bench.go(300)
    bench.board.write("torque_threshold", 0.5)


def wall(watched: bool) -> Callable[[Session], None]:
    """A wall in the way, met by the torque error if it is watched, else by the position error."""

    def begin(bench: Session) -> None:
        bench.board.write("torque_error_enable", watched)
        bench.board.write("position_error_max", 1.0 if watched else 0.02)
        bench.rig.place_wall(0, 0.4)
        bench.move(1.0, 800)

    return begin


def no_wall(bench: Session) -> None:
    bench.rig.place_wall(0, None)


def on_the_way(bench: Session) -> None:
    bench.move(2.0, 2000)
    bench.go(300)


def stop_too_late(bench: Session) -> None:
    """A stop at full speed, shortly before the end of the path and of what is allowed."""
    bench.board.write("position_max", 0.6)
    bench.board.write("stop_acceleration", 8.0)
    bench.arm()
    bench.move(0.59, 400)
    bench.go(200)
    bench.board.request("stop")


def more_room(bench: Session) -> None:
    bench.disarm()
    bench.board.write("position_max", 3.0)


def slow_board(bench: Session) -> None:
    def go(cycles: int = 100, *, chunk: int = 0) -> None:
        bench.board.heartbeat()
        time.sleep(SLOW_CYCLE_S)

    bench.go = go
    for _ in range(70):
        bench.go()
    # Arming itself does not mind, and a machine that is busy may be late by itself once it is over.
    bench.board.request("arm")
    file_in_folder("slow", True)(bench)


def trip(bench: Session) -> None:
    on_the_way(bench)
    bench.rig.drive(0).fault(0x2310)


def cut_off(bench: Session) -> None:
    bench.rig.drive(1).mute()


def connect(bench: Session) -> None:
    bench.rig.drive(1).mute(False)
    bench.go(10)


def cut_the_bus(bench: Session) -> None:
    bench.rig.bus().silence()


def mend_the_bus(bench: Session) -> None:
    bench.rig.bus().silence(False)
    bench.go(10)


def no_power(bench: Session) -> None:
    bench.rig.drive(0).open_safe_torque_off()
    bench.board.request("arm")


def power(bench: Session) -> None:
    bench.rig.drive(0).open_safe_torque_off(False)


def heart_attack(bench: Session) -> None:
    bench.rig.drive(1).stop_heartbeat()


def jump(bench: Session) -> None:
    """A quarter of a turn in a cycle."""
    bench.rig.drive(0).jump_encoder(1310720 // 4)


def dry_stream(bench: Session) -> None:
    """A stream whose next point does not come."""
    start = bench.board.status().position_command
    long_motion.stream_points(bench.board, 0, [[start[0] + 2000 * k * k] for k in range(12)])
    long_motion.stream(bench.board, start)


def restart_without_model(bench: Session) -> None:
    (bench.rig.folder / "model.py").unlink()
    bench.rig.restart()
    bench.board.greet_again()


def without_need_of_a_model(bench: Session) -> None:
    images.write_image(bench.board, parameter_image(bench.robot))


def restart_with_damaged_settings(bench: Session) -> None:
    for path in bench.rig.folder.glob("parameters.*/slot.bin"):
        path.write_bytes(bytes(len(path.read_bytes())))
    bench.rig.restart()
    bench.board.greet_again()


def write_settings(bench: Session) -> None:
    images.write_image(bench.board, model_image(bench.robot, compile_robot(bench.robot)))


SLOW = replace(load_robot("crank"), cycle_time_s=SLOW_CYCLE_S)
TWO_AXES = {"robot": two_axes(), "with_model": False}

CAUSES = {
    "torque_threshold": Cause(low_threshold, lambda bench: bench.board.write("torque_threshold", 30.0), lasts=True),
    "collision": Cause(wall(watched=True), no_wall),
    "heartbeat_lost": Cause(on_the_way, beats=False),
    "position_limit": Cause(stop_too_late, more_room, lasts=True, armed=False),
    "position_error": Cause(wall(watched=False), no_wall),
    "cycle_overrun": Cause(
        slow_board, file_in_folder("slow", False), armed=False, stop_cycles=50,
        options={"clock": "timer", "robot": SLOW, "with_model": False},
    ),
    "drive_fault": Cause(trip),
    "drive_lost": Cause(cut_off, connect, lasts=True, options=TWO_AXES),
    "enable_timeout": Cause(no_power, power, armed=False),
    "model_missing": Cause(restart_without_model, without_need_of_a_model, lasts=True, armed=False, stop_cycles=0),
    "parameters_defaulted": Cause(
        restart_with_damaged_settings, write_settings, lasts=True, armed=False, stop_cycles=0
    ),
    "program_error": Cause(file_in_folder("broken", True), file_in_folder("broken", False), lasts=True),
    "stream_underrun": Cause(dry_stream),
    "drive_heartbeat_lost": Cause(heart_attack, options=TWO_AXES),
    "bus_silent": Cause(cut_the_bus, mend_the_bus, lasts=True, options=TWO_AXES),
    "encoder_jump": Cause(jump),
}  # fmt: skip


class Drives:
    """What a drive goes through, cycle by cycle, from the cause until the stop is over."""

    def __init__(self, bench: Session, fault: str, beats: bool) -> None:
        self.states: list[int] = []
        self.positions: list[float] = []
        left = PATIENCE
        while bench.board.status().fault != fault:
            self._step(bench, beats, [], [])
            left -= 1
            assert left, f"{fault} did not come; {bench.board.status()}"
        if faults.REACTIONS[faults.FAULT_NUMBERS[fault]] in (faults.CONTROLLED_STOP, faults.QUICK_STOP):
            assert refused(bench.board.clear_fault) == "fault_stands", "the stop is under way"
        for _ in range(CAUSES[fault].stop_cycles):
            self._step(bench, True, self.states, self.positions)

    @staticmethod
    def _step(bench: Session, beats: bool, states: list[int], positions: list[float]) -> None:
        if bench.granting:
            bench.go()
        else:
            if beats:
                bench.board.heartbeat()
            bench.rig.advance(1)
        states.append(bench.rig._cell.drives[0].state)
        positions.append(bench.rig._cell.plant.position[0])


@contextmanager
def granting(bench: Session, clock: str) -> Iterator[None]:
    """On a board with a clock of its own the rig answers every SYNC."""
    bench.granting = clock == "timer"
    if not bench.granting:
        yield
        return
    over = threading.Event()

    def grant() -> None:
        while not over.is_set():
            bench.rig.advance(1)

    thread = threading.Thread(target=grant, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def comes_to_rest(positions: list[float]) -> bool:
    """Within some counts of the encoder (4.8e-6 rad) in the last cycles."""
    return np.ptp(positions[-40:]) < 1e-4


def check_stop(fault: str, drives: Drives) -> None:
    """The table's stop, as the drive saw it."""
    reaction = faults.REACTIONS[faults.FAULT_NUMBERS[fault]]
    states = drives.states
    if reaction == faults.NOTE:
        # Without settings no cycle passes.
        assert states == []
    elif reaction == faults.CONTROLLED_STOP:
        assert set(states) == {OPERATION_ENABLED}
        assert comes_to_rest(drives.positions)
    elif reaction == faults.QUICK_STOP:
        # A drive that has tripped is off by itself; it is the others that stop quickly.
        if fault != "drive_fault":
            assert QUICK_STOP_ACTIVE in states
        assert OPERATION_ENABLED not in states[5:]
        assert states[-1] in (SWITCH_ON_DISABLED, FAULT)
        assert comes_to_rest(drives.positions)
    else:
        assert reaction == faults.DISABLE
        if fault == "bus_silent":
            # No command arrives: the drive stops by itself when it misses the board.
            assert states[-1] == SWITCH_ON_DISABLED
            return
        assert QUICK_STOP_ACTIVE not in states
        assert set(states[5:]) == {SWITCH_ON_DISABLED}


def check_trace(bench: Session, fault: str) -> None:
    """The cycles around the fault, which stand still until it is cleared."""
    record = read_faults(bench.board)[0]
    assert record.fault == fault
    trace = read_trace(bench.board)
    assert len(trace.cycles) == 64
    assert record.cycle in trace.cycles[32:]
    bench.go(20)
    again = read_trace(bench.board)
    assert all(np.array_equal(vars(trace)[name], vars(again)[name]) for name in vars(trace))


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("fault", [name for _, name, _ in faults.FAULTS if name not in ELSEWHERE])
def test_it_is_provoked_stops_as_the_table_says_and_stays_until_its_cause_is_gone(
    fault: str, words: int, tmp_path: Path
) -> None:
    assert fault in CAUSES, f"the fault {fault} is in the registry, and nothing here provokes it"
    cause = CAUSES[fault]
    script = tmp_path / "ill.py"
    script.write_text(ILL.format(
        firmware=str(ROOT / "firmware"), shared=str(ROOT / "shared"), slow_ms=round(1250 * SLOW_CYCLE_S)))  # fmt: skip
    clock = cause.options.get("clock", "sync")
    with session(words, tmp_path / "store", firmware=script, **cause.options) as bench, granting(bench, clock):
        if cause.armed:
            bench.arm()
            bench.go(100)
        cause.begin(bench)
        drives = Drives(bench, fault, cause.beats)
        assert bench.board.status().fault == fault
        check_stop(fault, drives)
        if faults.REACTIONS[faults.FAULT_NUMBERS[fault]] != faults.NOTE:
            check_trace(bench, fault)
        assert refused(bench.board.request, "arm") in ("fault_stands", "no_parameters")
        if cause.lasts:
            assert refused(bench.board.clear_fault) in ("fault_stands", "no_drives")
            assert bench.board.status().fault == fault
        cause.mend(bench)
        assert clear(bench) == fault
        if clock == "sync":
            if bench.board.status().state == "disarmed":
                bench.arm()
            assert bench.disarm().fault == ""


@pytest.mark.parametrize("fault", ELSEWHERE)
def test_what_is_provoked_elsewhere_is(fault: str) -> None:
    assert f'"disarmed", "{fault}"' in (Path(__file__).parent / ELSEWHERE[fault]).read_text()
