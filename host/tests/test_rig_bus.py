"""The rig's bus: its time, what is lost and late on it, heartbeats both ways, mappings that are refused."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from idmkit import canbus
from idmkit.rig.cell import Cell
from idmkit.robot import Robot, load_robot
from tests.rig_master import SYNC, Master, master_of

MASTER = 127
BEAT = (0x700 + MASTER, b"\x05")


def robot_with(axes: int, *, bitrate: int = 1_000_000, buses: int = 1) -> Robot:
    """`axes` times the crank, on `buses` buses in turn."""
    crank = load_robot("crank")
    drive = crank.axes[0].drive
    made = tuple(
        replace(crank.axes[0], name=f"a{k}", drive_or_none=replace(drive, node_id=k + 1, bus=k % buses))
        for k in range(axes)
    )
    lines = tuple(replace(crank.buses[0], name=f"can{k}", bitrate=bitrate) for k in range(buses))
    return replace(crank, axes=made, buses=lines, rig={"axes": crank.rig["axes"] * axes})


def cycle(cell: Cell, *more: tuple[int, bytes]) -> list[tuple[int, bytes]]:
    """Commands for all drives, SYNC, and what comes back before the next cycle, the time stamp left out."""
    commands = [(0x200 + drive.node_id, struct.pack("<Hih", 0, 0, 0)) for drive in cell.drives]
    answers = cell.bus.receive([*commands, *more, SYNC])
    return answers + cell.answer_sync()[:-1]


def running(robot: Robot) -> Cell:
    cell = Cell(robot, seed=1)
    cell.bus.receive([(0, b"\x01\x00")])
    return cell


def nodes(frames: list[tuple[int, bytes]]) -> list[int]:
    return [identifier & 0x7F for identifier, _ in frames if identifier & 0x780 == 0x180]


def test_bits_of_frames_are_those_of_the_standard() -> None:
    # 1 start, 12 arbitration, 6 control, 15 + 1 checksum, 2 acknowledge, 7 end, 3 pause; a stuff bit for every four
    # behind the first of what is stuffed (start to checksum, without its delimiter).
    for n in range(9):
        stuffed = 1 + 12 + 6 + 8 * n + 15
        assert canbus.frame_bits(n) == stuffed + (stuffed - 1) // 4 + 1 + 2 + 7 + 3
    assert (canbus.frame_bits(0), canbus.frame_bits(8)) == (55, 135)
    # Six axes: thirteen frames.
    assert canbus.cycle_bits(6) == 12 * 135 + 55
    assert canbus.load(6, 1_000_000, 0.004) == pytest.approx(0.419, abs=5e-4)
    assert "12 frames of 135 bits and a SYNC of 55 make 1675 bits" in canbus.explain(6, 1_000_000, 0.004)


def test_all_answers_are_in_time_on_a_bus_that_has_room() -> None:
    cell = running(robot_with(3))
    for _ in range(50):
        assert nodes(cycle(cell)) == [1, 2, 3]
    assert cell.bus.late_frames == cell.bus.lost_frames == 0


def test_a_bus_without_room_brings_answers_late_and_loses_some() -> None:
    # Three axes at 500 kbit/s need 865 bits of the 500 in a cycle of 1 ms.
    cell = running(robot_with(3, bitrate=500_000))
    cycle(cell)
    got = [nodes(cycle(cell)) for _ in range(50)]
    assert sum(len(answers) == 3 for answers in got) < 25
    assert cell.bus.late_frames > 0
    # No more than the wire carries: 500 bits a cycle, of which a set of commands takes 460 and an answer 135.
    assert sum(map(len, got)) <= 50 * 500 / 135
    assert cell.bus.lost_frames > 0


def test_lost_and_late_frames_by_the_cycle() -> None:
    cell = running(robot_with(2))
    cycle(cell)
    cell.bus.lose(2, 3)
    assert [nodes(cycle(cell)) for _ in range(4)] == [[1], [1], [1], [1, 2]]
    cell.bus.delay(1, by=2, cycles=2)
    assert [sorted(nodes(cycle(cell))) for _ in range(5)] == [[2], [2], [1, 1, 2], [1, 1, 2], [1, 2]]
    assert (cell.bus.lost_frames, cell.bus.late_frames) == (3, 2)


def test_a_silent_bus_carries_nothing_and_its_axes_come_to_rest() -> None:
    master = master_of(load_robot("crank"))
    master.enable()
    start = master.counts
    for k in range(50):
        master.cycle(target=start + 2000 * k)
    bus = master.cell.bus
    bus.silence(True)
    assert bus.receive([(0x601, bytes.fromhex("4000100000000000")), SYNC]) == []
    assert [identifier for identifier, _ in master.cell.answer_sync()] == [0x100]
    for _ in range(300):
        bus.receive([SYNC])
        master.cell.answer_sync()
    assert master.cell.drives[0].state == 0x40
    bus.silence(False)
    master.cycle()
    assert master.status & 0x6F == 0x40


def test_two_buses_have_a_time_of_their_own() -> None:
    cell = Cell(robot_with(4, buses=2, bitrate=800_000), seed=1)
    for bus in cell.buses:
        bus.receive([(0, b"\x01\x00")])
    for _ in range(20):
        for bus in cell.buses:
            # Two axes need 595 bits of the 800 in a cycle; all four on one bus would need 1135.
            bus.receive([(0x200, bytes(8)), (0x200, bytes(8)), SYNC])
        assert cell.sync_waiting
        first, second = cell.answer_syncs()
        assert (nodes(first[:-1]), nodes(second[:-1])) == ([1, 3], [2, 4])
    cell.buses[0].receive([SYNC])
    assert not cell.sync_waiting


# Heartbeats


def watching(limit_ms: int = 10) -> Master:
    master = master_of(load_robot("crank"))
    assert master.write(0x1016, 1, "I", MASTER << 16 | limit_ms) == 0
    return master


def test_a_master_that_falls_silent_is_told_and_its_axis_stops() -> None:
    master = watching()
    master.enable()
    bus = master.cell.bus
    for _ in range(50):
        bus.receive([BEAT])
        master.cycle()
    assert master.others == []
    for _ in range(9):
        master.cycle()
    assert master.cell.drives[0].state == 0x27
    for _ in range(3):
        master.cycle()
    assert (0x081, struct.pack("<HB5x", 0x8130, 0x10)) in master.others
    assert master.cell.drives[0].nmt_state == 127
    assert master.cell.drives[0].state == 0x40
    # It comes back: the error is taken back, and the node waits to be started.
    assert bus.receive([BEAT]) == [(0x081, bytes(8))]
    assert master.cell.drives[0].nmt_state == 127


def test_a_master_that_never_sent_a_heartbeat_is_not_missed() -> None:
    master = watching()
    master.enable()
    for _ in range(100):
        master.cycle()
    assert master.others == []


def test_communication_is_reset_without_the_rest() -> None:
    master = watching()
    assert master.write(0x6065, 0, "I", 1000) == 0
    assert master.write(0x1017, 0, "H", 100) == 0
    master.enable()
    assert (0x701, b"\0") in master.nmt(0x82)
    assert master.cell.drives[0].state == 0x07
    assert master.read(0x1017, 0, "H") == master.read(0x1016, 1) == 0
    assert master.read(0x6065) == 1000
    assert master.read(0x6061, 0, "b") == 8


# Mappings


def remap(master: Master, number: int, entries: list[int]) -> int:
    """0, or the abort code of the step that was refused."""
    identifier = master.read(number, 1)
    steps = [(number, 1, "I", identifier | 1 << 31), (number + 0x200, 0, "B", 0)]
    steps += [(number + 0x200, place + 1, "I", entry) for place, entry in enumerate(entries)]
    steps += [(number + 0x200, 0, "B", len(entries)), (number, 1, "I", identifier)]
    for step in steps:
        abort = master.write(*step)
        if abort:
            return abort
    return 0


@pytest.mark.parametrize(
    ("number", "entries", "abort"),
    [
        (0x1400, [0x60400010, 0x607A0020, 0x60B20010], 0),
        (0x1800, [0x60410010, 0x60770010, 0x606C0020], 0),
        (0x1400, [0x60400010, 0x60640020], 0x06040041),  # actual position cannot be received
        (0x1400, [0x60600008], 0x06040041),  # the mode is not mappable here
        (0x1800, [0x60410020], 0x06040041),  # not so long
        (0x1800, [0x60410010, 0x60640020, 0x606C0020], 0x06040042),  # ten bytes
        (0x1800, [0x20000010], 0x06020000),
        (0x1800, [0x60410110], 0x06090011),
    ],
)
def test_mappings_are_taken_or_refused_with_the_right_code(number: int, entries: list[int], abort: int) -> None:
    assert remap(master_of(load_robot("crank")), number, entries) == abort


def test_a_pdo_in_use_is_not_changed() -> None:
    master = master_of(load_robot("crank"))
    assert master.write(0x1800, 1, "I", 0x1A1) == 0x08000022  # another identifier
    assert master.write(0x1A00, 1, "I", 0x60640020) == 0x08000022
    assert master.write(0x1A00, 0, "B", 0) == 0x08000022
    assert master.write(0x1800, 2, "B", 245) == 0x06090030  # reserved
    assert master.write(0x1800, 2, "B", 252) == 0x06090030  # by remote frame, which CAN masters avoid
    assert master.write(0x1800, 1, "I", 1 << 31 | 0x1A1) == 0
    assert master.write(0x1800, 1, "I", 0x1A1) == 0
    master.nmt(1)
    answers = master.cell.bus.receive([SYNC]) + master.cell.answer_sync()
    assert 0x1A1 in [identifier for identifier, _ in answers]


# Faults on demand


def test_an_encoder_that_jumps_and_a_current_that_saturates() -> None:
    master = master_of(load_robot("crank"))
    master.enable()
    before = master.counts
    master.cell.drives[0].servo.shift_encoder(5000)
    master.cycle()
    assert abs(master.counts - before - 5000) < 50
    master = master_of(load_robot("crank"))
    master.enable()
    drive = master.cell.drives[0]
    drive.servo.limit_torque(0.1)
    limited = 0
    target = master.counts
    for _ in range(100):
        target += 3000
        master.cycle(target=target)
        limited += bool(master.status & 0x0800)
    assert limited > 20
    assert abs(master.current) <= 0.1 * 1000 * 3.81 / 1.27 + 1


def test_safe_torque_off() -> None:
    master = master_of(load_robot("crank"))
    master.enable()
    master.cell.drives[0].set_safe_torque_off(True)
    master.cycle()
    assert master.status & 0x6F == 0x40
    for control in (6, 7, 15, 15):
        master.cycle(control=control)
    assert master.status & 0x6F == 0x40
    master.cell.drives[0].set_safe_torque_off(False)
    for control in (6, 7, 15, 15):
        master.cycle(control=control)
    assert master.status & 0x6F == 0x27


def test_what_is_to_happen_happens_in_its_cycle() -> None:
    cell = running(robot_with(1))
    cell.schedule(5, lambda: cell.drives[0].fault(0x4310))
    tripped = [0x081 in [identifier for identifier, _ in cycle(cell)] for _ in range(8)]
    # The fifth cycle is over when `cycle` is 5; what follows is the sixth.
    assert tripped == [False] * 5 + [True] + [False] * 2
