"""A CiA 402 master that nobody here wrote (canopen over python-can's SLCAN on a pty) works with the rig's drive."""

import os
import select
import threading
import tty

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
from canopen.profiles.p402 import BaseNode402

from idmkit.rig.cell import Cell
from idmkit.rig.slcan import Decoder, encode_all
from idmkit.robot import load_robot

NODE = 1


class PtyBridge(threading.Thread):
    """Serves a cell on a pty; every SYNC is answered as soon as it comes."""

    def __init__(self, cell: Cell) -> None:
        super().__init__(daemon=True)
        self.cell = cell
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)
        self._end_read, self._end_write = os.pipe()

    def run(self) -> None:
        decoder = Decoder()
        while True:
            ready = select.select([self._master, self._end_read], [], [])[0]
            if self._end_read in ready:
                break
            answers = []
            for frame in decoder.feed(os.read(self._master, 4096)):
                answers += self.cell.bus.receive([frame])
                if self.cell.bus.sync_waiting:
                    answers += self.cell.answer_sync()
            if answers:
                os.write(self._master, encode_all(answers))

    def close(self) -> None:
        os.write(self._end_write, b".")
        self.join()
        for descriptor in (self._master, self._slave, self._end_read, self._end_write):
            os.close(descriptor)


def dictionary() -> canopen.ObjectDictionary:
    """What a master knows about the drive: as an EDS file would say it."""
    objects = canopen.ObjectDictionary()

    def variable(name: str, index: int, kind: int, sub: int = 0) -> ODVariable:
        entry = ODVariable(name, index, sub)
        entry.data_type = kind
        return entry

    for name, index, kind in (
        ("Device type", 0x1000, UNSIGNED32),
        ("Error register", 0x1001, UNSIGNED8),
        ("Device name", 0x1008, VISIBLE_STRING),
        ("Heartbeat", 0x1017, UNSIGNED16),
        ("Error code", 0x603F, UNSIGNED16),
        ("Controlword", 0x6040, UNSIGNED16),
        ("Statusword", 0x6041, UNSIGNED16),
        ("Mode", 0x6060, INTEGER8),
        ("Mode display", 0x6061, INTEGER8),
        ("Position actual", 0x6064, INTEGER32),
        ("Rated torque", 0x6076, UNSIGNED32),
        ("Torque actual", 0x6077, INTEGER16),
        ("Current actual", 0x6078, INTEGER16),
        ("Target position", 0x607A, INTEGER32),
        ("Torque offset", 0x60B2, INTEGER16),
        ("Supported modes", 0x6502, UNSIGNED32),
    ):
        objects.add_object(variable(name, index, kind))
    for name, base in (("RPDO", 0x1400), ("TPDO", 0x1800)):
        record = ODRecord(f"{name} communication", base)
        for sub, kind in ((0, UNSIGNED8), (1, UNSIGNED32), (2, UNSIGNED8)):
            record.add_member(variable(f"{name} communication {sub}", base, kind, sub))
        objects.add_object(record)
        mapping = ODArray(f"{name} mapping", base + 0x200)
        for sub in range(9):
            kind = UNSIGNED32 if sub else UNSIGNED8
            mapping.add_member(variable(f"{name} mapping {sub}", base + 0x200, kind, sub))
        objects.add_object(mapping)
    return objects


@pytest.fixture
def master():
    cell = Cell(load_robot("crank"), seed=1)
    bridge = PtyBridge(cell)
    bridge.start()
    network = canopen.Network()
    network.NOTIFIER_CYCLE = 0.05  # how long disconnecting may take
    network.connect(interface="slcan", channel=bridge.port, sleep_after_open=0, bitrate=1_000_000)
    node = BaseNode402(NODE, dictionary())
    # A busy machine is no failure: canopen's own limits are meant for a bus.
    node.sdo.RESPONSE_TIMEOUT = 30
    node.TIMEOUT_SWITCH_STATE_FINAL = node.TIMEOUT_SWITCH_STATE_SINGLE = node.TIMEOUT_CHECK_TPDO = 30
    network.add_node(node)
    yield cell, network, node
    network.sync.stop()
    network.disconnect()
    bridge.close()


def test_canopens_402_master_enables_the_drive_and_reads_its_position(master):
    cell, network, node = master
    node.nmt.state = "PRE-OPERATIONAL"
    node.setup_402_state_machine()
    node.sdo["Mode"].raw = 8
    node.rpdo[1]["Target position"].raw = node.sdo["Position actual"].raw
    node.nmt.state = "OPERATIONAL"
    network.sync.start(0.005)
    node.rpdo[1].start(0.01)
    node.state = "READY TO SWITCH ON"
    node.state = "SWITCHED ON"
    node.state = "OPERATION ENABLED"
    assert node.state == "OPERATION ENABLED"
    position = node.sdo["Position actual"].raw
    counts = cell.plant.position[0] * load_robot("crank").axes[0].drive.counts_per_unit
    # Read at different moments of an axis that holds its position to a count or two.
    assert abs(position - counts) <= 3
    assert abs(node.tpdo[1]["Position actual"].raw - counts) <= 3
    node.rpdo[1].stop()


def test_canopen_reads_a_text_in_segments_and_gets_abort_codes(master):
    _cell, _network, node = master
    assert node.sdo["Device name"].raw == "idmkit virtual servo drive"
    assert node.sdo["Rated torque"].raw == 1270
    with pytest.raises(canopen.SdoAbortedError) as refused:
        node.sdo.upload(0x2000, 0)
    assert refused.value.code == 0x06020000
    with pytest.raises(canopen.SdoAbortedError) as refused:
        node.sdo.download(0x6041, 0, b"\0\0")
    assert refused.value.code == 0x06010002
    with pytest.raises(canopen.SdoAbortedError) as refused:
        node.sdo.download(0x607A, 0, b"\0\0")
    assert refused.value.code == 0x06070010


def test_canopen_changes_the_mapping_and_the_drive_sends_it(master):
    _cell, network, node = master
    node.nmt.state = "PRE-OPERATIONAL"
    node.tpdo.read()
    node.tpdo[1].clear()
    for name in ("Statusword", "Torque actual", "Position actual"):
        node.tpdo[1].add_variable(name)
    node.tpdo[1].save()
    node.nmt.state = "OPERATIONAL"
    arrived = threading.Event()
    node.tpdo[1].add_callback(lambda _message: arrived.set())
    network.sync.transmit()
    assert arrived.wait(30)
    assert [variable.name for variable in node.tpdo[1]] == ["Statusword", "Torque actual", "Position actual"]
    assert node.tpdo[1]["Statusword"].raw == node.sdo["Statusword"].raw


def test_an_emergency_reaches_the_master(master):
    cell, network, node = master
    node.nmt.state = "OPERATIONAL"
    codes, arrived = [], threading.Event()
    node.emcy.add_callback(lambda emergency: (codes.append(emergency.code), arrived.set()))
    cell.drives[0].fault(0x3210)
    network.sync.transmit()
    assert arrived.wait(30)
    assert codes == [0x3210]
    assert node.sdo["Error code"].raw == 0x3210


def test_a_mapping_that_cannot_be_is_refused(master):
    _cell, _network, node = master
    node.nmt.state = "PRE-OPERATIONAL"
    mapping = node.sdo["RPDO mapping"]
    with pytest.raises(canopen.SdoAbortedError) as refused:
        mapping[0].raw = 0
    assert refused.value.code == 0x08000022  # the PDO is in use
    node.sdo["RPDO communication"][1].raw = 0x80000201
    mapping[0].raw = 0
    mapping[1].raw = 0x60640020  # the actual position is no command
    with pytest.raises(canopen.SdoAbortedError) as refused:
        mapping[0].raw = 1
    assert refused.value.code == 0x06040041
    mapping[1].raw = 0x607A0020
    mapping[0].raw = 1


def test_heartbeats_go_both_ways(master):
    cell, network, node = master
    heard, news = [], threading.Condition()

    def hear(state):
        with news:
            heard.append(state)
            news.notify_all()

    def wait_for(state):
        with news:
            assert news.wait_for(lambda: state in heard, 30), heard
            heard.clear()

    node.nmt.add_heartbeat_callback(hear)
    node.nmt.state = "RESET"
    wait_for(0)
    # The master's node is 127; the drive's time is the bus's, a millisecond a SYNC.
    node.sdo.download(0x1016, 1, (127 << 16 | 200).to_bytes(4, "little"))
    node.sdo["Heartbeat"].raw = 20
    node.nmt.state = "OPERATIONAL"
    emergencies, arrived = [], threading.Event()
    node.emcy.add_callback(lambda emergency: (emergencies.append(emergency.code), arrived.set()))
    for _ in range(5):
        network.send_message(0x77F, b"\x05")
        for _ in range(50):
            network.sync.transmit()
    wait_for(5)
    assert emergencies == []
    for _ in range(250):
        network.sync.transmit()
    assert arrived.wait(30)
    assert emergencies == [0x8130]
    network.sync.transmit()
    assert node.sdo["Error register"].raw == 0x10
    assert cell.drives[0].nmt_state == 127
