# Setting up a drive: what is asked of it and in which order, and what comes of a drive that does not come along.

import struct

from bench import Bench
from scripted import line

from drives.setup import interpolation_time
from idmwire.messages import SETUP_STEPS


def sent(drive):
    return [(data[1] | data[2] << 8, data[3], int.from_bytes(data[4:8], "little"), data[0]) for data in drive.sdos]


def test_the_mapping_is_changed_as_cia_301_has_it():
    bench = Bench(1)
    writes = [write[:3] for write in sent(bench.drives[0])]
    for number, identifier, entries in (
        (0x1400, 0x201, (0x60400010, 0x607A0020, 0x60B20010)), (0x1800, 0x181, (0x60410010, 0x60640020, 0x60780010))):
        first = writes.index((number, 1, 0x80000000 | identifier))
        assert writes[first : first + 7] == [
            (number, 1, 0x80000000 | identifier), (number + 0x200, 0, 0),
            (number + 0x200, 1, entries[0]), (number + 0x200, 2, entries[1]), (number + 0x200, 3, entries[2]),
            (number + 0x200, 0, 3), (number, 2, 1)]
        assert writes[first + 7] == (number, 1, identifier)


def test_heartbeats_are_set_up_both_ways():
    bench = Bench(1)
    writes = [write[:3] for write in sent(bench.drives[0])]
    assert (0x1016, 1, 127 << 16 | 300) in writes
    assert (0x1017, 0, 100) in writes


def test_sizes_are_those_of_the_objects():
    # Command specifiers 2F, 2B, 27, 23: one to four bytes.
    bench = Bench(1)
    sizes = {(index, sub): 4 - (head - 0x23) // 4 for index, sub, _, head in sent(bench.drives[0])}
    assert sizes[0x6060, 0] == sizes[0x60C2, 1] == sizes[0x60C2, 2] == sizes[0x1400, 2] == sizes[0x1600, 0] == 1
    assert sizes[0x1017, 0] == 2
    assert sizes[0x1016, 1] == sizes[0x1400, 1] == sizes[0x1600, 1] == 4


def test_interpolation_times_are_those_of_the_cycle():
    for cycle_s, value, exponent in (
        (0.001, 1, -3), (0.004, 4, -3), (0.00025, 25, -5), (0.00075, 75, -5), (0.0005, 5, -4), (0.0001, 1, -4),
        (0.000125, 125, -6), (0.02, 20, -3), (0.001234, 123, -5)):
        bench = Bench(cycle_s=cycle_s)
        writes = {write[:2]: write[2] for write in sent(bench.drives[0])}
        assert writes[0x60C2, 1] == value
        assert writes[0x60C2, 2] == exponent & 0xFF
        assert writes[0x6060, 0] == 8
    assert interpolation_time(300_000_000) is None


def failure(prepare, n=2):
    # What the board says of the drive of axis 1, once its set-up has failed.
    bench = Bench(n, ready=False)
    prepare(bench.drives[1])
    assert bench.apply(bench.image()) == "no_drives"
    assert bench.refusal("arm") == "no_drives"
    assert bench.ask("read_drive", axis=0)["setup"] == 0
    answer = bench.ask("read_drive", axis=1)
    assert (answer["axis"], answer["bus"], answer["node"]) == (1, 0, 2)
    return SETUP_STEPS[answer["setup"]], answer["setup_index"], answer["setup_sub"], answer["setup_value"]


def test_what_fails_is_named():
    def silent(drive):
        drive.silent = True

    def refuses(drive):
        drive.refuses = (0x1600, 2, 0x06040041)

    def unreadable(drive):
        drive.refuses = (0x1000, 0, 0x08000022)

    def an_io_module(drive):
        drive.device_type = 0x000F0191

    def another_mode(drive):
        read = drive._read
        drive._read = lambda multiplexer, index: (
            b"\x4f" + multiplexer + b"\x01\0\0\0" if index == 0x6061 else read(multiplexer, index))

    def mute(drive):
        drive.sdo = lambda _: b""

    def another_object(drive):
        drive.sdo = lambda _: line(0x582, b"\x60\x00\x20\x01\0\0\0\0")

    assert failure(silent) == ("boot_up", 0, 0, 0)
    assert failure(refuses) == ("write", 0x1600, 2, 0x06040041)
    assert failure(unreadable) == ("read", 0x1000, 0, 0x08000022)
    assert failure(an_io_module) == ("device_type", 0x1000, 0, 0x000F0191)
    assert failure(another_mode) == ("mode", 0x6061, 0, 1)
    assert failure(mute) == ("read", 0x1000, 0, 0)
    assert failure(another_object) == ("read", 0x1000, 0, 0)


def test_an_axis_on_a_bus_that_the_board_does_not_have():
    bench = Bench(2, ready=False)
    assert bench.apply(bench.image(bus=(0, 1))) == "no_drives"
    assert SETUP_STEPS[bench.ask("read_drive", axis=1)["setup"]] == "no_bus"


def test_pdos_that_are_not_used_are_disabled_and_may_be_missing():
    bench = Bench(1, ready=False)
    drive = bench.drives[0]
    read = drive._read
    drive._read = lambda multiplexer, index: (
        b"\x43" + multiplexer + struct.pack("<I", 0x281) if index == 0x1801 else read(multiplexer, index))
    assert bench.apply(bench.image()) is None
    assert (0x1801, 1, 0x80000281) in [write[:3] for write in sent(drive)]
    assert 0x1802 not in [write[0] for write in sent(drive)]


def test_objects_are_read_expedited_in_segments_or_not_at_all():
    bench = Bench(2)
    answer = bench.ask("read_object", axis=1, index=0x1000, sub=0)
    assert answer["data"] == struct.pack("<I", 0x00020192)
    assert (answer["axis"], answer["index"], answer["sub"], answer["failed"]) == (1, 0x1000, 0, 0)
    assert bench.ask("read_object", axis=0, index=0x1008, sub=0)["data"] == b"a drive with a name"
    assert bench.ask("read_object", axis=0, index=0x6061, sub=0)["data"] == b"\x08"
    answer = bench.ask("read_object", axis=0, index=0x2036, sub=0)
    assert (answer["failed"], answer["abort"], answer["data"]) == (1, 0x06020000, b"")
    bench.drives[1].silent = True
    answer = bench.ask("read_object", axis=1, index=0x1000, sub=0)
    assert (answer["failed"], answer["abort"]) == (1, 0)


def test_questions_to_drives_that_cannot_be_answered():
    assert Bench(ready=False).refusal("read_drive", axis=0) == "no_parameters"
    bench = Bench()
    assert bench.refusal("read_drive", axis=1) == "out_of_range"
    assert bench.refusal("read_object", axis=1, index=0, sub=0) == "out_of_range"
    bench.arm()
    assert bench.refusal("read_object", axis=0, index=0x1000, sub=0) == "needs_disarmed"
