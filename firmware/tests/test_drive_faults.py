# What drives say beside their PDOs, and what cannot be true of an axis: each a fault with its own name.

import struct

from bench import Bench, moving_bench
from scripted import line


def emergency(node, code, register):
    return line(0x080 + node, struct.pack("<HB5x", code, register))


def test_an_emergency_is_kept_with_its_code_and_shown_with_the_fault():
    bench = moving_bench(2)
    bench.bus.say(emergency(2, 0x2310, 0x03))
    bench.cycle()
    assert bench.fault is None, "an emergency is a message: the statusword says whether the drive has tripped"
    bench.drives[1].state = 0x0F
    bench.cycle(2)
    assert bench.fault == "drive_fault"
    fault = bench.ask("read_fault", index=0)
    assert fault["axis"] == 1
    assert fault["value"] & 0x4F == 0x0F
    assert fault["limit"] == 0x032310
    answer = bench.ask("read_drive", axis=1)
    assert (answer["error_code"], answer["error_register"], answer["emergencies"]) == (0x2310, 3, 1)
    bench.bus.say(emergency(2, 0, 0))
    bench.cycle()
    answer = bench.ask("read_drive", axis=1)
    assert (answer["error_code"], answer["error_register"], answer["emergencies"]) == (0, 0, 2)


def test_a_heartbeat_that_stops_is_a_fault():
    bench = moving_bench(2)
    bench.drives[1].beats = False
    bench.cycle(120)
    assert bench.fault is None
    bench.cycle(400)
    assert (bench.state, bench.fault) == ("stopped_by_fault", "drive_heartbeat_lost")
    fault = bench.ask("read_fault", index=0)
    assert (fault["axis"], fault["value"], fault["limit"]) == (1, 4, 3)
    assert [drive.control for drive in bench.drives] == [0, 0]
    # Set up anew before it can be cleared.
    bench.drives[1].beats = True
    bench.drives[1].mode = 0
    bench.ask("clear_fault")
    assert bench.drives[1].mode == 8
    bench.cycle(2)
    bench.arm()


def test_a_drive_that_restarts_is_a_fault_at_once():
    bench = moving_bench(2)
    bench.bus.say(line(0x701, b"\0"))
    bench.cycle()
    assert (bench.state, bench.fault) == ("stopped_by_fault", "drive_heartbeat_lost")
    assert bench.ask("read_fault", index=0)["axis"] == 0
    assert bench.ask("read_drive", axis=0)["nmt_state"] == 0


def test_a_drive_that_restarted_while_disarmed_is_set_up_anew_when_arming():
    bench = Bench()
    bench.bus.say(line(0x701, b"\0"))
    bench.drives[0].mode = 0
    bench.cycle(2)
    assert bench.fault is None
    bench.arm()
    assert bench.drives[0].mode == 8


def test_a_bus_that_falls_silent_is_told_from_a_drive_that_does():
    bench = moving_bench(3)
    for drive in bench.drives:
        drive.silent = True
    bench.cycle(3)
    assert (bench.state, bench.fault) == ("stopped_by_fault", "bus_silent")
    assert bench.ask("read_fault", index=0)["value"] == 3


def test_one_bus_of_two_falls_silent():
    bench = moving_bench(4, buses=2)
    for drive in bench.buses[1].drives:
        drive.silent = True
    bench.cycle(3)
    assert bench.fault == "bus_silent"
    assert bench.ask("read_fault", index=0)["axis"] == 1
    bench.cycle(2)
    assert [drive.control for drive in bench.buses[0].drives] == [0, 0]
    # The other bus still lives: its drives answer to their SYNC.
    assert bench.ask("read_drive", axis=0)["nmt_state"] == 5


def test_an_encoder_that_jumps():
    # Larger than the position error may be, in one cycle: no axis can do that.
    limit = 2**24 // 50
    bench = moving_bench(2, position_error_max=limit)
    bench.drives[1].counts += 1310720 // 25
    bench.drives[1].targets = [bench.drives[1].counts] * 4
    bench.cycle(2)
    assert (bench.state, bench.fault) == ("stopped_by_fault", "encoder_jump")
    fault = bench.ask("read_fault", index=0)
    assert (fault["axis"], fault["limit"]) == (1, limit)
    assert abs(fault["value"]) > limit
    bench.cycle(3)
    assert [drive.control for drive in bench.drives] == [0, 0]


def test_a_jump_that_is_an_answer_missed_is_none():
    # A fast axis: in the cycle after a missing answer its position changes by two cycles' way.
    bench = moving_bench(position_error_max=2**22 // 100)
    for _ in range(20):
        bench.drives[0].silent = True
        bench.cycle()
        bench.drives[0].silent = False
        bench.cycle(2)
        assert bench.fault is None


def test_a_drive_that_never_enables_is_named_with_its_state():
    bench = Bench(3)
    bench.drives[2].climbs = False
    bench.bus.say(emergency(3, 0x5443, 0x21))
    bench.ask("arm")
    bench.cycle(1005)
    assert bench.fault == "enable_timeout"
    fault = bench.ask("read_fault", index=0)
    assert (fault["axis"], fault["value"] & 0x6F, fault["limit"]) == (2, 0x40, 0x215443)


def test_an_axis_that_crashes_or_rebounds_at_full_speed_has_no_jumping_encoder():
    for rebound in (0, 1):
        bench = moving_bench(position_error_max=1000)
        drive = bench.drives[0]
        before = drive.counts
        bench.cycle()
        way = drive.counts - before
        assert way * 2**24 // 1310720 > 10 * 1000
        drive.step = lambda: None
        drive.counts -= rebound * way
        bench.cycle(5)
        assert bench.fault == "position_error"
