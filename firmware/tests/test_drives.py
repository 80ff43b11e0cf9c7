# Drives: switched on only where that is safe, never by themselves, and what they do is believed.

from bench import Bench, moving_bench
from scripted import line

OFF, QUICK_STOP = 0x0000, 0x0002


def test_an_axis_is_switched_on_to_a_target_where_it_stands():
    for counts in (0, 12345, -7, 1310720 * 100, -1310720 * 127):
        bench = Bench()
        bench.drives[0].counts = counts
        bench.arm()
        assert abs(bench.drives[0].targets[-1] - counts) <= 1
        assert bench.drives[0].counts == counts or abs(bench.drives[0].counts - counts) <= 1


def test_an_axis_beyond_the_range_of_positions_is_not_switched_on():
    # 130 turns come back as -126: a drive would be sent 256 turns away.
    for counts in (1310720 * 130, -1310720 * 129):
        bench = Bench()
        bench.drives[0].counts = counts
        bench.ask("arm")
        bench.cycle(10)
        assert (bench.state, bench.fault) == ("stopped_by_fault", "position_limit")
        fault = bench.ask("read_fault", index=0)
        assert fault["value"] == bench.controller.axes.position_feedback[0]
        assert bench.drives[0].state == 0x40
        assert bench.drives[0].control == OFF
        bench.ask("clear_fault")
        assert bench.state == "disarmed"


def test_conversions_that_do_not_belong_together_are_not_switched_on():
    bench = Bench(counts_mantissa=2**29)
    bench.drives[0].counts = 5000
    bench.ask("arm")
    bench.cycle(10)
    assert bench.fault == "position_limit"
    assert bench.drives[0].state == 0x40


def test_a_drive_that_trips_makes_all_brake():
    bench = moving_bench(2)
    bench.drives[1].state = 0x08
    bench.cycle(3)
    assert (bench.state, bench.fault) == ("stopped_by_fault", "drive_fault")
    fault = bench.ask("read_fault", index=0)
    assert (fault["axis"], fault["value"] & 0x4F) == (1, 0x08)
    assert bench.drives[0].state == 0x07
    assert bench.drives[0].control == QUICK_STOP
    # The command follows the axis, so that nothing is left to catch up with.
    bench.cycle(5)
    assert bench.command == list(bench.controller.axes.position_feedback)
    assert bench.refusal("clear_fault") == "fault_stands"
    bench.cycle(30)
    assert bench.drives[0].state == 0x40
    bench.ask("clear_fault")
    assert bench.state == "disarmed"
    bench.cycle(5)
    assert bench.drives[1].state == 0x40, "the drive's fault was not reset"
    bench.arm()
    bench.move([100, 100], 50)
    bench.cycle(60)
    assert bench.fault is None


def test_a_drive_fault_that_stands_comes_back():
    bench = moving_bench()
    bench.drives[0].state = 0x0F
    bench.cycle(3)
    assert bench.fault == "drive_fault"
    bench.ask("clear_fault")
    assert bench.refusal("arm") is None
    bench.cycle(300)
    assert (bench.state, bench.fault) == ("stopped_by_fault", "drive_fault")


def test_a_drive_that_is_in_fault_before_arming_is_reset_by_clear_only():
    bench = Bench()
    bench.drives[0].state = 0x08
    bench.cycle(3)
    assert bench.fault is None
    bench.ask("arm")
    bench.cycle(2)
    assert bench.fault == "drive_fault"
    assert bench.drives[0].state == 0x08
    assert bench.refusal("arm") == "fault_stands"
    bench.ask("clear_fault")
    # Armed at once, before the reset has arrived: it waits for it.
    bench.ask("arm")
    bench.cycle_until("holding", 20)
    assert bench.fault is None


def test_a_drive_that_switches_itself_off_is_not_switched_on_again():
    # Safe torque off, a lost supply, a quick stop of its own: no fault bit, but no power either.
    for state in (0x40, 0x21, 0x23, 0x07):
        bench = moving_bench()
        bench.drives[0].state = state
        bench.drives[0].stands_in_quick_stop = 10
        stands = bench.drives[0].counts
        bench.cycle(3)
        assert (bench.state, bench.fault) == ("stopped_by_fault", "drive_fault"), hex(state)
        bench.cycle(200)
        assert bench.drives[0].state == 0x40
        assert bench.drives[0].counts == stands


def test_a_silent_drive_switches_all_off():
    bench = moving_bench(3)
    bench.drives[1].silent = True
    bench.cycle(2)
    assert bench.fault is None
    assert bench.ask("statistics")["drive_misses"] == 2
    bench.cycle(1)
    assert (bench.state, bench.fault) == ("stopped_by_fault", "drive_lost")
    fault = bench.ask("read_fault", index=0)
    assert (fault["axis"], fault["value"]) == (1, 3)
    bench.cycle(3)
    assert [bench.drives[i].control for i in (0, 2)] == [OFF, OFF]
    assert bench.refusal("clear_fault") == "no_drives"
    assert bench.fault == "drive_lost"
    # It comes back from a power cycle: set up anew before it can be cleared.
    bench.drives[1].__init__(2)
    bench.cycle(2)
    bench.ask("clear_fault")
    assert bench.drives[1].operational
    assert bench.drives[1].mode == 8
    bench.cycle(2)
    bench.arm()


def test_one_drive_answering_twice_does_not_hide_a_silent_one():
    bench = moving_bench(2)
    bench.drives[1].silent = True
    for _ in range(4):
        bench.bus.say(bench.drives[0].answer())
        bench.cycle()
    assert bench.fault == "drive_lost"


def test_a_single_miss_is_only_counted():
    bench = moving_bench()
    for _ in range(20):
        bench.drives[0].silent = True
        bench.cycle(2)
        bench.drives[0].silent = False
        bench.cycle(1)
    assert bench.fault is None
    assert bench.ask("statistics")["drive_misses"] == 40


def test_a_drive_that_does_not_come_up_is_given_up():
    bench = Bench(2)
    bench.drives[1].climbs = False
    bench.ask("arm")
    bench.cycle(1005)
    assert (bench.state, bench.fault) == ("stopped_by_fault", "enable_timeout")
    bench.cycle(3)
    assert bench.drives[0].state == 0x40
    bench.ask("clear_fault")
    assert bench.state == "disarmed"


def test_a_drive_that_is_lost_while_arming_or_disarming():
    bench = Bench()
    bench.ask("arm")
    bench.cycle(2)
    bench.drives[0].silent = True
    bench.cycle(5)
    assert bench.fault == "drive_lost"
    bench = Bench()
    bench.arm()
    bench.ask("disarm")
    bench.drives[0].silent = True
    bench.cycle(5)
    assert bench.fault == "drive_lost"
    bench.ask("disarm")
    bench.cycle_until("disarmed", 200)
    assert bench.refusal("arm") == "fault_stands"


def test_drives_that_were_off_at_first_are_set_up_when_arming():
    bench = Bench(ready=False)
    bench.drives[0].silent = True
    image = bench.image()
    assert bench.apply(image) == "no_drives"
    assert bench.refusal("arm") == "no_drives"
    assert not bench.ask("status")["flags"] & 16
    bench.drives[0].silent = False
    assert bench.refusal("arm") is None
    bench.cycle_until("holding")


def test_noise_and_strangers_on_the_bus_do_not_disturb():
    bench = moving_bench()
    noise = [b"\xff\x00garbage\r", b"t\r", b"t1819\r", b"x" * 100 + b"\r"]
    strangers = [line(0x181, b"\x00" * 7), line(0x7FF, b"12345678")]
    for data in noise + strangers:
        bench.bus.say(data)
        bench.cycle()
    assert bench.fault is None
    # What was no frame; a frame of nobody, or of another length, is none of the board's business.
    assert bench.ask("statistics")["bus_errors"] == 4
