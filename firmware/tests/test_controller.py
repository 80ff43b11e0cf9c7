# The states of the board: arming, motions, disarming, whatever comes in between.

from bench import Bench, moving_bench

from motionboard.motion import HOLD

OFF = 0x0000


def test_arming_moving_and_disarming():
    bench = Bench(2)
    assert bench.state == "disarmed"
    bench.cycle(3)
    assert bench.refusal("move", **bench.motion_fields([1, 1], 100)) == "needs_armed"
    bench.ask("arm")
    assert bench.refusal("arm") == "needs_disarmed"
    assert bench.state == "arming"
    bench.cycle_until("holding")
    assert [drive.state for drive in bench.drives] == [0x27] * 2
    start = bench.move([1000, -2000], 50)["start_cycle"]
    assert start == bench.controller.cycle_number + 1
    assert bench.refusal("move", **bench.motion_fields([1, 1], 100)) == "busy"
    bench.cycle(2)
    assert bench.state == "moving"
    bench.cycle(60)
    assert bench.state == "holding"
    assert bench.command == [1000, -2000]
    bench.ask("disarm")
    assert bench.state == "disarming"
    bench.cycle_until("disarmed")
    assert [drive.state for drive in bench.drives] == [0x40] * 2
    assert bench.fault is None


def test_without_settings_nothing_moves_and_nothing_breaks():
    bench = Bench(ready=False)
    bench.host.axes = 0
    assert bench.refusal("arm") == "no_parameters"
    for name in ("disarm", "stop", "clear_fault", "status", "heartbeat", "statistics"):
        assert bench.refusal(name) is None, name
    assert bench.refusal("capture_stop") == "no_parameters"
    assert bench.refusal("capture", start_cycle=0, samples=1, every=1, channels=b"\x00\x00") == "no_parameters"
    assert bench.refusal("capture_again", block=0) == "out_of_range"
    assert bench.refusal("read_trace", sample=0) == "out_of_range"
    assert bench.refusal("read_property", property=1, axis=0) == "no_parameters"
    assert bench.refusal("write_property", property=1, axis=0, value=0) == "no_parameters"
    assert bench.refusal("store", crc=0) == "no_parameters"
    assert bench.refusal("apply", crc=0) == "bad_image"
    assert bench.ask("read_fault", index=0)["count"] == 0
    bench.host.send("capture_received", block=5)
    assert bench.ask("hello", major=1, minor=0)["axes"] == 0


def test_disarming_while_moving_stops_first():
    bench = moving_bench(after=202)
    full = bench.controller.axes.velocity_command[0]
    assert full > 0
    bench.ask("disarm")
    before = bench.command[0]
    while bench.drives[0].control != OFF:
        bench.cycle()
        # It goes on at no more than its speed, and rests before the drive is let go: one count of the drive is 13 here.
        assert -13 <= bench.command[0] - before <= full * 0.00255 + 2
        before = bench.command[0]
    assert bench.controller.motion.kind == HOLD
    bench.cycle_until("disarmed")


def test_disarming_in_every_state():
    for prepare in ("arming", "holding", "waiting", "stopping", "controlled", "quick", "disable", "disarming"):
        bench = Bench()
        bench.ask("arm")
        if prepare != "arming":
            bench.cycle_until("holding")
        if prepare == "waiting":
            bench.move([2**20], 100, start_cycle=bench.controller.cycle_number + 500)
        if prepare in ("stopping", "controlled", "quick", "disable"):
            bench.move([2**22], 300)
            bench.cycle(100)
        if prepare == "stopping":
            bench.ask("stop")
        if prepare == "controlled":
            bench.cycle(1100, beat=False)
            assert bench.fault == "heartbeat_lost"
        if prepare == "quick":
            bench.drives[0].state = 0x08
            bench.cycle(3)
            assert bench.fault == "drive_fault"
        if prepare == "disable":
            bench.drives[0].silent = True
            bench.cycle(5)
            assert bench.fault == "drive_lost"
            bench.drives[0].silent = False
        if prepare == "disarming":
            bench.ask("disarm")
            bench.cycle(5)
        bench.ask("disarm")
        bench.cycle_until("disarmed", 1200)
        assert bench.drives[0].state in (0x40, 0x08), prepare
        assert bench.controller.motion.kind == HOLD
        bench.cycle(600)
        assert bench.command == [0] or prepare != "waiting"


def test_a_stop_of_a_motion_that_waits_cancels_it():
    bench = Bench()
    bench.arm()
    bench.move([2**20], 100, start_cycle=bench.controller.cycle_number + 50)
    bench.cycle(10)
    assert bench.state == "moving"
    bench.ask("stop")
    bench.cycle(100)
    assert bench.state == "holding"
    assert bench.command == [0]
    bench.move([2**20], 100)


def test_start_cycles_around_the_wrap_of_cycles():
    for first in (2**30 - 60, 2**30 - 12, 2**29 - 20):
        bench = Bench()
        bench.controller.cycle_number = first
        bench.arm()
        bench.ask("capture", start_cycle=0, samples=0, every=1, channels=b"\x00\x00")
        now = bench.controller.cycle_number
        gone = bench.motion_fields([1000], 20, start_cycle=(now - 3) % 2**30)
        assert bench.refusal("move", **gone) == "too_late"
        start = (now + 40) % 2**30
        assert bench.move([1000], 20, start_cycle=start)["start_cycle"] == start
        bench.cycle(40)
        assert bench.controller.cycle_number == start
        assert bench.command == [0]
        bench.cycle(20)
        assert bench.command == [1000]
        stopped = bench.ask("capture_stop")
        assert stopped["samples"] == 60


def test_cycle_numbers_beyond_their_range_are_refused():
    bench = Bench()
    bench.arm()
    assert bench.refusal("move", **bench.motion_fields([1], 20, start_cycle=2**30)) == "out_of_range"
    assert bench.refusal("capture", start_cycle=2**30, samples=1, every=1, channels=b"\x00\x00") == "out_of_range"
