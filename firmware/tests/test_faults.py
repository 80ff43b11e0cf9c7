# Faults: which one is latched, what stop it makes, when it may be cleared.

from bench import Bench, Weights, moving_bench

from idmwire.faults import FAULT_NUMBERS
from motionboard.motion import STOP

OFF, QUICK_STOP = 0x0000, 0x0002


def test_a_lost_heartbeat_stops_on_the_path_and_holds():
    bench = moving_bench(heartbeat_timeout=100)
    bench.cycle(99, beat=False)
    assert (bench.state, bench.fault) == ("moving", None)
    bench.cycle(1, beat=False)
    assert (bench.state, bench.fault) == ("stopped_by_fault", "heartbeat_lost")
    assert bench.controller.motion.kind == STOP
    fault = bench.ask("read_fault", index=0)
    assert (fault["fault"], fault["value"], fault["limit"]) == (FAULT_NUMBERS["heartbeat_lost"], 101, 100)
    # Still stopping: neither cleared nor moved.
    assert bench.refusal("clear_fault") == "fault_stands"
    assert bench.refusal("move", **bench.motion_fields([1], 100)) == "needs_armed"
    while bench.moving:
        bench.cycle(beat=False)
    stands = bench.command
    bench.cycle(500, beat=False)
    # Held where it stopped, drives on, latched until cleared.
    assert bench.command == stands
    assert bench.drives[0].state == 0x27
    assert bench.fault == "heartbeat_lost"
    assert bench.ask("clear_fault")["cleared"] == FAULT_NUMBERS["heartbeat_lost"]
    assert (bench.state, bench.fault) == ("holding", None)
    bench.cycle(99, beat=False)
    assert bench.fault is None
    bench.move([100], 50)


def test_a_heartbeat_while_disarmed_or_arming_is_not_missed():
    bench = Bench(heartbeat_timeout=10)
    bench.cycle(50, beat=False)
    assert bench.fault is None
    bench.drives[0].silent = False
    bench.ask("arm")
    bench.cycle(5, beat=False)
    assert bench.fault is None


def test_a_fault_while_disarming_does_not_keep_the_drives_on():
    bench = Bench(heartbeat_timeout=10, feedforward_ramp=100)
    bench.arm()
    bench.cycle(120)
    bench.ask("disarm")
    bench.cycle(300, beat=False)
    assert (bench.state, bench.fault) == ("disarmed", "heartbeat_lost")
    assert bench.drives[0].state == 0x40


def test_switching_off_is_no_collision():
    # A vertical axis: the model goes on, the torque is gone, the brake lets it sag.
    def weight(torques):
        torques[0] = 1000000

    bench = Bench(
        model=Weights(1, weight), dynamic_model=1, torque_error_enable=1, torque_error_max=1000, position_error_max=500)
    bench.drives[0].current = round(1000000 / 2**16 * 100)
    bench.arm()
    bench.cycle(50)
    assert bench.fault is None
    bench.ask("disarm")

    slow = [30]

    def command(control, target, offset, obey=bench.drives[0].command):
        # The power goes 30 cycles after it was told to; by then the brake has closed.
        if control == OFF and slow[0]:
            slow[0] -= 1
            bench.drives[0].current = 0
            bench.drives[0].counts -= 200
            return
        obey(control, target, offset)

    bench.drives[0].command = command
    bench.cycle_until("disarmed", 400)
    assert slow[0] == 0
    assert bench.fault is None
    assert bench.history() == []


def test_two_faults_in_one_cycle_the_harder_one_is_latched():
    bench = moving_bench(2, heartbeat_timeout=10)
    bench.drives[0].state = 0x08
    bench.cycle(1, beat=False)
    bench.controller.since_heartbeat = 10
    bench.cycle(1, beat=False)
    assert bench.fault == "drive_fault"
    assert bench.history() == ["heartbeat_lost", "drive_fault"]
    assert bench.drives[1].state in (0x27, 0x07)
    bench.cycle(2)
    assert bench.drives[1].state == 0x07


def test_a_harder_fault_takes_over_a_milder_one():
    bench = moving_bench(heartbeat_timeout=10)
    bench.cycle(12, beat=False)
    assert bench.fault == "heartbeat_lost"
    bench.drives[0].state = 0x08
    bench.cycle(3)
    assert bench.fault == "drive_fault"
    assert bench.history() == ["drive_fault", "heartbeat_lost"]
    bench.drives[0].silent = True
    bench.cycle(4)
    assert bench.fault == "drive_lost"
    # And never the other way round.
    bench.drives[0].silent = False
    bench.cycle(50, beat=False)
    assert bench.fault == "drive_lost"


def test_a_position_error_makes_the_drives_brake():
    bench = moving_bench(position_error_max=3000)
    stuck = bench.drives[0].counts
    bench.drives[0].step = lambda: None
    bench.drives[0].counts = stuck
    bench.cycle(20)
    assert (bench.state, bench.fault) == ("stopped_by_fault", "position_error")
    assert bench.drives[0].control == QUICK_STOP


def test_clear_says_no_while_a_guard_still_trips():
    torque = [0]

    def weight(torques):
        torques[0] = torque[0]

    bench = Bench(model=Weights(1, weight), torque_threshold=1000, dynamic_model=1)
    bench.arm()
    bench.move([2**22], 400)
    bench.cycle(150)
    assert bench.state == "moving"
    torque[0] = 1001
    bench.cycle(300)
    assert bench.fault == "torque_threshold"
    assert not bench.moving
    assert bench.refusal("clear_fault") == "fault_stands"
    torque[0] = 1000
    bench.cycle(1)
    assert bench.refusal("clear_fault") is None
    assert bench.state == "holding"


def test_clearing_without_a_fault_is_harmless():
    bench = moving_bench()
    assert bench.ask("clear_fault")["cleared"] == 0
    assert bench.state == "moving"


def test_a_fault_before_the_start_cycle_cancels_the_motion():
    bench = Bench(heartbeat_timeout=10)
    bench.arm()
    bench.move([2**20], 100, start_cycle=bench.controller.cycle_number + 50)
    bench.cycle(80, beat=False)
    assert bench.fault == "heartbeat_lost"
    assert bench.command == [0]
    bench.ask("clear_fault")
    bench.cycle(100)
    assert bench.command == [0]


def test_an_error_of_the_firmware_switches_off_and_is_latched():
    bench = moving_bench()
    assert bench.controller.fail()
    assert not bench.controller.fail()
    assert (bench.state, bench.fault) == ("stopped_by_fault", "program_error")
    bench.cycle(3)
    assert bench.drives[0].state == 0x40
    fresh = Bench(ready=False)
    fresh.controller.fail()
    assert fresh.fault == "program_error"


def test_a_collision_during_a_stop_is_not_hidden_by_what_made_the_stop():
    torque = [0]

    def weight(torques):
        torques[0] = torque[0]

    bench = Bench(
        model=Weights(1, weight), torque_threshold=1000, dynamic_model=1, position_error_max=3000,
        stop_acceleration=1 << 14)
    bench.arm()
    bench.move([2**22], 400)
    bench.cycle(150)
    torque[0] = 1001
    bench.cycle(5)
    assert bench.fault == "torque_threshold"
    assert bench.moving
    bench.drives[0].step = lambda: None
    bench.cycle(30)
    assert bench.fault == "position_error"
    assert bench.drives[0].control == QUICK_STOP
    assert bench.history() == ["position_error", "torque_threshold"]
