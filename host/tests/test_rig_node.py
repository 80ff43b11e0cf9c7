"""The drive as a CANopen slave: object dictionary, NMT, PDOs, heartbeat."""

import struct

import pytest

from idmkit.robot import load_robot
from tests.rig_master import SYNC, master_of, state


@pytest.fixture
def master():
    return master_of(load_robot("crank"))


def test_the_device_says_what_it_is(master):
    assert master.read(0x1000) == 0x00020192
    assert master.read(0x1018, 0, "B") == 4
    assert master.read(0x6502) == 1 << 7
    assert master.read(0x6076) == 1270
    assert master.read(0x6075) == 2800
    assert master.read(0x60C2, 1, "B") == 1
    assert master.read(0x60C2, 2, "b") == -3


def test_a_text_is_read_in_segments(master):
    first = master.sdo(bytes.fromhex("4008100000000000"))
    assert first[0] == 0x41
    length = int.from_bytes(first[4:], "little")
    text, toggle = b"", 0
    while True:
        part = master.sdo(bytes([0x60 | toggle]) + bytes(7))
        assert part[0] & 0x10 == toggle
        text += part[1 : 8 - (part[0] >> 1 & 7)]
        toggle ^= 0x10
        if part[0] & 1:
            break
    assert text == b"idmkit virtual servo drive"
    assert len(text) == length


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ("4000200000000000", 0x06020000),  # no such object
        ("4018100900000000", 0x06090011),  # no such subindex
        ("2b41600000000000", 0x06010002),  # read only
        ("2f08100000000000", 0x06010002),  # a text is read only
        ("2b60600008000000", 0x06070010),  # two bytes for one
        ("2f60600003000000", 0x06090030),  # profile velocity is no mode of this drive
        ("2fc2600001000000", 0x06010002),  # the number of subindices
        ("2fc26001ff000000", 0),
        ("2fc2600100000000", 0x06090030),  # a period of nothing
        ("e000000000000000", 0x05040001),  # unknown command
        ("6000000000000000", 0x05040001),  # a segment of nothing
        ("2200100000000000", 0x06010002),  # size not stated
    ],
)
def test_wrong_accesses_are_refused_with_the_right_code(master, request_, code):
    request = bytes.fromhex(request_)
    answer = master.sdo(request)
    if code:
        assert answer[0] == 0x80
        assert int.from_bytes(answer[4:], "little") == code
        assert answer[1:4] == request[1:4]
    else:
        assert answer[0] == 0x60


def test_a_toggle_that_does_not_alternate_is_refused(master):
    master.sdo(bytes.fromhex("4008100000000000"))
    answer = master.sdo(bytes([0x70]) + bytes(7))
    assert int.from_bytes(answer[4:], "little") == 0x05030000


def test_requests_of_the_wrong_length_and_aborts_get_no_answer(master):
    receive = master.cell.bus.receive
    assert receive([(0x601, b"\x40\x00\x10")]) == []
    assert receive([(0x601, bytes.fromhex("8000100000000205"))]) == []


# NMT, PDOs, heartbeat


def test_pdos_wait_for_nmt_start_and_stop_with_it(master):
    master.cycle()
    assert master.status == 0
    master.nmt(1)
    master.cycle()
    assert state(master.status) == 0x40
    master.status = 0
    master.nmt(2)
    master.cycle()
    assert master.status == 0
    assert master.cell.bus.receive([(0x601, bytes.fromhex("4000100000000000"))]) == []


def test_a_reset_ends_in_a_boot_up_message_and_defaults(master):
    assert master.write(0x6065, 0, "I", 1000) == 0
    assert master.nmt(0x81) == [(0x701, b"\0")]
    assert master.read(0x6065) == 0xFFFFFFFF


def test_what_comes_after_a_sync_belongs_to_the_next(master):
    master.enable()
    hold = master.counts
    early = struct.pack("<Hih", 15, hold, 0)
    late = struct.pack("<Hih", 0, hold, 0)
    bus = master.cell.bus
    bus.receive([(0x201, early), SYNC, (0x201, late)])
    master.cell.answer_sync()
    assert master.cell.drives[0].state == 0x27
    bus.receive([SYNC])
    master.cell.answer_sync()
    assert master.cell.drives[0].state == 0x40


def test_a_second_sync_before_the_answer_is_counted_as_lost(master):
    master.cell.bus.receive([SYNC, SYNC, SYNC])
    assert master.cell.bus.lost_syncs == 2


def test_a_short_pdo_is_refused_with_an_emergency(master):
    master.nmt(1)
    answers = master.cell.bus.receive([(0x201, b"\x06\x00\x00")])
    assert answers == [(0x081, struct.pack("<HB5x", 0x8210, 0))]


def test_mapping_changes_only_as_cia_301_has_it(master):
    slot = 0x6077 << 16 | 16
    assert master.write(0x1A00, 1, "I", slot) == 0x08000022
    assert master.write(0x1800, 1, "I", 0x80000181) == 0
    assert master.write(0x1A00, 1, "I", slot) == 0x08000022
    assert master.write(0x1A00, 0, "B", 0) == 0
    assert master.write(0x1A00, 1, "I", slot) == 0
    assert master.write(0x1A00, 2, "I", 0x6064 << 16 | 32) == 0
    assert master.write(0x1A00, 3, "I", 0x60F4 << 16 | 32) == 0
    assert master.write(0x1A00, 0, "B", 3) == 0x06040042  # ten bytes
    assert master.write(0x1A00, 0, "B", 2) == 0
    assert master.write(0x1800, 1, "I", 0x181) == 0
    master.nmt(1)
    master.cell.bus.receive([SYNC])
    answers = dict(master.cell.answer_sync())
    assert len(answers[0x181]) == 6
    assert struct.unpack("<hi", answers[0x181])[1] == master.read(0x6064, 0, "i")


@pytest.mark.parametrize(("slot", "code"), [(0x6502 << 16 | 32, 0x06040041), (0x6064 << 16 | 16, 0x06040041)])
def test_what_cannot_be_mapped_is_refused(master, slot, code):
    master.write(0x1800, 1, "I", 0x80000181)
    master.write(0x1A00, 0, "B", 0)
    master.write(0x1A00, 1, "I", slot)
    assert master.write(0x1A00, 0, "B", 1) == code


def test_transmission_types(master):
    master.nmt(1)

    def sent(cycles):
        count = 0
        for _ in range(cycles):
            master.cell.bus.receive([SYNC])
            count += [identifier for identifier, _ in master.cell.answer_sync()].count(0x181)
        return count

    assert sent(12) == 12
    master.write(0x1800, 2, "B", 4)
    assert sent(12) == 3
    master.write(0x1400, 2, "B", 255)
    master.cell.bus.receive([(0x201, struct.pack("<Hih", 6, 0, 0))])
    assert master.cell.drives[0].state == 0x21


def test_heartbeats_count_granted_time(master):
    master.write(0x1017, 0, "H", 50)
    for _ in range(200):
        master.cycle()
    beats = [data for identifier, data in master.others if identifier == 0x701]
    assert beats == [b"\x7f"] * 4
    master.nmt(1)
    master.others.clear()
    for _ in range(50):
        master.cycle()
    assert master.others == [(0x701, b"\x05")]
