"""The firmware in a real MicroPython sets up, enables and moves a CiA 402 drive that canopen serves over SLCAN."""

from __future__ import annotations

import os
import select
import struct
import threading
import tty
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import canopen
import pytest
from canopen.objectdictionary import ODArray, ODRecord, ODVariable
from canopen.objectdictionary.datatypes import (
    INTEGER8,
    INTEGER16,
    INTEGER32,
    UNSIGNED8,
    UNSIGNED16,
    UNSIGNED32,
    VISIBLE_STRING,
)
from runtimes import ROOT, micropython

from idmkit.board.drives import read_drive
from idmkit.board.settings import parameter_image
from idmkit.errors import LinkError
from idmkit.link import images, motion
from idmkit.link.client import Board
from idmkit.link.history import read_faults
from idmkit.link.refusals import Refusal
from idmkit.rig.process import FirmwareProcess, unix_process
from idmkit.robot import load_robot

NODE = 1
START, STOP, PRE_OPERATIONAL, RESET_COMMUNICATION = 1, 2, 128, 130
CYCLES_A_HEARTBEAT = 50
NAME = "a drive of another maker"


def dictionary() -> canopen.ObjectDictionary:
    """The objects of a servo drive, with four PDOs each way, the further ones enabled as makers deliver them."""
    objects = canopen.ObjectDictionary()

    def variable(name: str, index: int, kind: int, value: int | str = 0, sub: int = 0) -> ODVariable:
        entry = ODVariable(name, index, sub)
        entry.data_type = kind
        entry.default = value
        return entry

    for name, index, kind, value in (
        ("Device type", 0x1000, UNSIGNED32, 0x00020192),
        ("Error register", 0x1001, UNSIGNED8, 0),
        ("Device name", 0x1008, VISIBLE_STRING, NAME),
        ("Heartbeat", 0x1017, UNSIGNED16, 0),
        ("Error code", 0x603F, UNSIGNED16, 0),
        ("Controlword", 0x6040, UNSIGNED16, 0),
        ("Statusword", 0x6041, UNSIGNED16, 0x0240),
        ("Mode", 0x6060, INTEGER8, 0),
        ("Mode display", 0x6061, INTEGER8, 0),
        ("Position actual", 0x6064, INTEGER32, 0),
        ("Rated current", 0x6075, UNSIGNED32, 2800),
        ("Rated torque", 0x6076, UNSIGNED32, 1270),
        ("Current actual", 0x6078, INTEGER16, 0),
        ("Target position", 0x607A, INTEGER32, 0),
        ("Torque offset", 0x60B2, INTEGER16, 0),
    ):
        objects.add_object(variable(name, index, kind, value))

    def record(kind: type, name: str, index: int, *members: tuple[int, int, int]) -> None:
        made = kind(name, index)
        for sub, type_, value in members:
            made.add_member(variable(f"{name} {sub}", index, type_, value, sub))
        objects.add_object(made)

    record(ODArray, "Consumer heartbeat", 0x1016, (0, UNSIGNED8, 1), (1, UNSIGNED32, 0))
    record(ODRecord, "Interpolation", 0x60C2, (0, UNSIGNED8, 2), (1, UNSIGNED8, 1), (2, INTEGER8, -3))
    for base, identifier in ((0x1400, 0x200), (0x1800, 0x180)):
        for number in range(4):
            name = f"{'RPDO' if base == 0x1400 else 'TPDO'} {number + 1}"
            # As delivered: event-driven, and each with an identifier of the predefined set.
            record(ODRecord, name, base + number, (0, UNSIGNED8, 2),
                   (1, UNSIGNED32, identifier + 0x100 * number + NODE), (2, UNSIGNED8, 255))  # fmt: skip
            record(ODArray, f"{name} mapping", base + 0x200 + number,
                   (0, UNSIGNED8, 0), *((sub, UNSIGNED32, 0) for sub in range(1, 9)))  # fmt: skip
    return objects


class Servo:
    """The state machine of CiA 402 behind a canopen.LocalNode; stands where its target was two SYNCs before."""

    def __init__(self, network: canopen.Network) -> None:
        self.network = network
        self.node: Any = network.create_node(NODE, dictionary())
        # Heartbeats count SYNCs here: the board's time is not the wall's.
        self.node._write_callbacks = [self._written]
        self.state = 0x40
        self.control = 0
        self.targets = [0, 0]
        self.syncs = 0
        self.commands: list[int] = []
        self.masters_beats = 0
        self.refuse: tuple[int, int, int] | None = None
        self.climbs = True
        self.mode_sticks = False
        network.subscribe(0, self._nmt)
        network.subscribe(0x080, self._sync)
        network.subscribe(0x77F, self._beat)

    def get(self, index: int, sub: int = 0) -> int:
        return int.from_bytes(self.node.get_data(index, sub), "little")

    def trip(self, code: int) -> None:
        self.node.sdo["Error code"].raw = code
        self.node.emcy.send(code, 0x03)
        self.state = 0x0F

    def _written(self, index: int, subindex: int, od: ODVariable, data: bytes) -> None:
        if self.refuse is not None and (index, subindex) == self.refuse[:2]:
            raise canopen.SdoAbortedError(self.refuse[2])
        if index == 0x6060 and not self.mode_sticks:
            self.node.set_data(0x6061, 0, data)

    def _beat(self, _identifier: int, data: bytes, _timestamp: float) -> None:
        self.masters_beats += data == b"\x05"

    def _nmt(self, _identifier: int, data: bytes, _timestamp: float) -> None:
        command, node = data
        if node not in (0, NODE):
            return
        self.commands.append(command)
        if command == RESET_COMMUNICATION:
            self.network.send_message(0x700 + NODE, b"\0")
        elif command == START:
            self.node.rpdo.read()
            self.node.tpdo.read()

    def _sync(self, _identifier: int, _data: bytes, _timestamp: float) -> None:
        self.syncs += 1
        if self.commands[-1:] == [START]:
            self._answer()
        if self.get(0x1017) and self.syncs % CYCLES_A_HEARTBEAT == 0:
            self.network.send_message(0x700 + NODE, b"\x05")
        # What the rig ends its answers with: the board's cycle may begin.
        self.network.send_message(0x100, bytes(6))

    def _answer(self) -> None:
        answer = self.node.tpdo[1]
        answer["Statusword"].raw = self.state | 0x0210
        answer["Position actual"].raw = self.targets[0]
        answer["Current actual"].raw = -7
        answer.transmit()
        command = self.node.rpdo[1]
        if self.state == 0x0F:
            self.state = 0x08
        if command.is_received:
            self._obey(command["Controlword"].raw)
            target = command["Target position"].raw if self.state == 0x27 else self.targets[0]
            self.targets = [self.targets[1], target]

    def _obey(self, control: int) -> None:
        rising, self.control = control & ~self.control, control
        if self.state in (0x08, 0x0F):
            if self.state == 0x08 and rising & 0x80:
                self.state = 0x40
                self.node.emcy.reset()
        elif not control & 2:
            self.state = 0x40
        elif not control & 4:
            self.state = 0x07 if self.state == 0x27 else 0x40
        elif self.climbs and control & 0x0F == 0x06:
            self.state = 0x21
        elif self.climbs and self.state in (0x21, 0x23, 0x27):
            self.state = {0x21: 0x23, 0x23: 0x27 if control & 8 else 0x23, 0x27: 0x27}[self.state]


class Bridge(threading.Thread):
    """Carries bytes between the firmware's CAN stream and a pty that python-can opens."""

    def __init__(self, stream: Any) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)
        self._end_read, self._end_write = os.pipe()

    def run(self) -> None:
        while True:
            ready = select.select([self._stream, self._master, self._end_read], [], [])[0]
            if self._end_read in ready:
                return
            if self._stream in ready:
                os.write(self._master, self._stream.recv(4096))
            if self._master in ready:
                self._stream.sendall(os.read(self._master, 4096))

    def close(self) -> None:
        os.write(self._end_write, b".")
        self.join()
        self._stream.close()
        for descriptor in (self._master, self._slave, self._end_read, self._end_write):
            os.close(descriptor)


@pytest.fixture
def peers(tmp_path: Path) -> Iterator[tuple[Board, Servo]]:
    """A board without settings, and the drive on its bus."""
    process: FirmwareProcess = unix_process(
        Path(micropython(64)), ROOT / "firmware" / "main.py", [ROOT / "firmware", ROOT / "shared"], tmp_path, "sync"
    )
    bridge = Bridge(process.start(1)[0])
    bridge.start()
    network = canopen.Network()
    network.NOTIFIER_CYCLE = 0.05  # how long disconnecting may take
    network.connect(interface="slcan", channel=bridge.port, sleep_after_open=0, bitrate=1_000_000)
    servo = Servo(network)
    board = Board.open(process.port, ["revolute"])
    yield board, servo
    board.close()
    network.disconnect()
    bridge.close()
    process.close()


def test_the_board_sets_up_enables_and_moves_it(peers: tuple[Board, Servo]) -> None:
    board, servo = peers
    images.write_image(board, parameter_image(load_robot("crank")))
    # Mapping, heartbeats, mode and interpolation time are what the board asked for; further PDOs are off.
    for base, identifier, entries in (
        (0x1400, 0x201, (0x60400010, 0x607A0020, 0x60B20010)),
        (0x1800, 0x181, (0x60410010, 0x60640020, 0x60780010)),
    ):
        assert (servo.get(base, 1), servo.get(base, 2)) == (identifier, 1)
        assert servo.get(base + 0x200) == 3
        assert tuple(servo.get(base + 0x200, sub) for sub in (1, 2, 3)) == entries
        assert all(servo.get(base + number, 1) >> 31 for number in (1, 2, 3))
    assert (servo.get(0x1016, 1), servo.get(0x1017)) == (127 << 16 | 300, 100)
    assert (servo.get(0x60C2, 1), servo.get(0x60C2, 2)) == (1, 0xFD)
    assert (servo.get(0x6060), servo.get(0x6061)) == (8, 8)
    data = read_drive(board, 0)
    assert (data.name, data.rated_current, data.rated_torque, data.peak_current) == (NAME, 2.8, 1.27, None)
    with board.heartbeats():
        board.arm()
        assert servo.commands == [RESET_COMMUNICATION, START]
        assert servo.state == 0x27
        status = board.status()
        motion.move(board, [0.2], 400, start_cycle=status.cycle + 50)
        board.wait_for_state("moving")
        board.wait_for_state("holding")
        counts = load_robot("crank").axes[0].drive.counts_per_unit
        assert abs(servo.targets[0] - 0.2 * counts) <= 1.5
        assert board.status().torque_feedback[0] < 0
        board.disarm()
    assert servo.state == 0x40
    assert servo.masters_beats >= 3


def cleared(board: Board) -> str:
    """Clears the fault as soon as its stop is over."""
    while True:
        with suppress(Refusal):
            return board.clear_fault()


def test_a_fault_with_its_emergency_and_the_way_back(peers: tuple[Board, Servo]) -> None:
    board, servo = peers
    images.write_image(board, parameter_image(load_robot("crank")))
    with board.heartbeats():
        board.arm()
        servo.trip(0x4310)
        status = board.wait_for_state("stopped_by_fault")
        assert status.fault == "drive_fault"
        sentence = board.describe_fault(status)
        assert "error 0x4310 (motor too hot), error register 0x03 (generic, current)" in sentence
        record = read_faults(board)[0]
        assert int(record.limit) == 0x034310
        # The board resets the fault, and the drive takes its emergency back.
        assert cleared(board) == "drive_fault"
        board.arm()
        assert servo.state == 0x27
        assert board.request("read_drive", axis=0)["error_code"] == 0
        board.disarm()


def test_an_emergency_that_comes_after_the_fault(peers: tuple[Board, Servo]) -> None:
    board, servo = peers
    images.write_image(board, parameter_image(load_robot("crank")))
    with board.heartbeats():
        board.arm()
        servo.state = 0x0F
        status = board.wait_for_state("stopped_by_fault")
        assert int(read_faults(board)[0].limit) == 0
        servo.node.emcy.send(0x7305, 0x21)
        while not board.request("read_drive", axis=0)["emergencies"]:
            pass
        assert "error 0x7305 (incremental encoder fault), error register 0x21" in board.describe_fault(status)


def test_a_drive_that_never_enables(peers: tuple[Board, Servo]) -> None:
    board, servo = peers
    images.write_image(board, parameter_image(load_robot("crank")))
    servo.climbs = False
    with board.heartbeats(), pytest.raises(LinkError, match=r"enable_timeout on axis 0.*SWITCH ON DISABLED"):
        board.arm()


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        ((0x1600, 2, 0x06040041), "0x1600:2: it answered with abort code 0x06040041: the object cannot be mapped"),
        ((0x60C2, 1, 0x06090030), "0x60C2:1: it answered with abort code 0x06090030: the value is out of range"),
        ((0x1016, 1, 0x08000022), "0x1016:1: it answered with abort code 0x08000022: not in the drive's present"),
    ],
)
def test_what_it_refuses_is_named(peers: tuple[Board, Servo], refusal: tuple[int, int, int], words: str) -> None:
    board, servo = peers
    servo.refuse = refusal
    with pytest.raises(Refusal, match="no_drives"):
        images.write_image(board, parameter_image(load_robot("crank")))
    board.greet_again()
    assert words in read_drive(board, 0).trouble


def test_a_mode_that_is_not_taken_is_named(peers: tuple[Board, Servo]) -> None:
    board, servo = peers
    servo.mode_sticks = True
    with pytest.raises(Refusal, match="no_drives"):
        images.write_image(board, parameter_image(load_robot("crank")))
    board.greet_again()
    assert read_drive(board, 0).trouble.endswith("object 0x6061 says mode 0, not 8")
    assert struct.pack("<b", 8) == servo.node.get_data(0x6060, 0)
