# Commands, faults and drives that do what they like, in random order: what must hold in every cycle, holds.

from bench import Bench, Weights
from scripted import Refused
from support import Numbers

from idmwire.faults import CONTROLLED_STOP, QUICK_STOP
from motionboard import states
from motionboard.motion import HOLD

OFF, ENABLE, RESET = 0x0000, 0x000F, 0x0080
# Targets at up to 20 rad/s: 4200 counts a cycle, and what the drives are behind (4 cycles).
STEP, BEHIND = 6000, 30000
WEIGHT = 20 << 16
RAMP = 50


class Storm:
    def __init__(self, seed):
        self.numbers = Numbers(seed)
        self.beats = True
        self.before = None

        def weight(torques):
            for axis in range(2):
                torques[axis] = WEIGHT

        self.bench = Bench(
            2, model=Weights(2, weight), feedforward_ramp=RAMP, heartbeat_timeout=40, additive_torque_delay=0,
            dynamic_model=1)

    def try_to(self, name, **fields):
        try:
            self.bench.ask(name, **fields)
        except Refused:
            return False
        return True

    def one(self):
        return self.numbers.any_of(self.bench.drives)

    def act(self):
        bench, numbers = self.bench, self.numbers
        action = numbers.below(22)
        if action < 3:
            self.try_to("arm")
        elif action == 3:
            self.try_to("disarm")
        elif action < 8:
            distance = [numbers.between(-(2**22), 2**22) for _ in range(2)]
            start = numbers.any_of((0, 0, (bench.controller.cycle_number + numbers.below(60)) % 2**30))
            self.try_to("move", **bench.motion_fields(distance, numbers.between(300, 900), start_cycle=start))
        elif action == 8:
            self.try_to("stop")
        elif action < 12:
            self.try_to("clear_fault")
        elif action == 12:
            self.beats = not self.beats
        elif action == 13:
            self.one().state = numbers.any_of((0x08, 0x0F, 0x40, 0x21, 0x23))
        elif action == 14:
            self.one().silent = True
        elif action < 17:
            self.mend()
        elif action == 17:
            self.try_to("capture", start_cycle=0, samples=0, every=1, channels=b"\x00\x00\x06\x01")
        elif action == 18:
            self.try_to("capture_stop")
        elif action == 19:
            self.try_to("hello", major=1, minor=0)
        elif action == 20:
            self.try_to("write_property", property=3, axis=0, value=numbers.any_of((WEIGHT - 1, 2**30 - 1)))
        else:
            bench.bus.say(numbers.data(numbers.below(30)) + b"\r")

    def mend(self):
        self.beats = True
        for drive in self.bench.drives:
            drive.silent = False
            if drive.state == 0x0F:
                drive.state = 0x08

    def cycle(self):
        bench = self.bench
        if bench.controller.capture.full:
            bench.controller.capture.arrived = bench.controller.capture.filled
        bench.cycle(beat=self.beats)
        bench.bus.serve()
        self.check()

    def check(self):
        controller, drives = self.bench.controller, self.bench.drives
        sent = dict(self.bench.bus._latched)
        state, faults = controller.state, controller.faults
        for drive in drives:
            if drive.node not in sent:
                continue
            control, target, offset = sent[drive.node]
            if state == states.DISARMED:
                assert control in (OFF, RESET), control
            if state in (states.HOLDING, states.MOVING, states.STOPPING):
                assert faults.latched == 0
            if drive.state == 0x27 and control == ENABLE:
                assert abs(target - drive.counts) < BEHIND, (target, drive.counts)
                if self.before and drive.node in self.before and self.before[drive.node][0] == ENABLE:
                    _, old_target, old_offset = self.before[drive.node]
                    assert abs(target - old_target) < STEP
                    # 60B2 in per mille of 10 Nm: 20 Nm are 2000.
                    assert abs(offset - old_offset) <= 2000 // RAMP + 1
        if faults.latched and faults.reaction >= QUICK_STOP:
            assert controller.drives.wanted != 1 or state == states.DISARMING
        if faults.latched and faults.reaction == CONTROLLED_STOP:
            assert controller.motion.pending == HOLD
        self.before = sent

    def calm(self):
        # Whatever it was, a person gets the robot going again.
        bench = self.bench
        self.try_to("write_property", property=3, axis=0, value=2**30 - 1)
        for _ in range(40):
            self.mend()
            for _ in range(60):
                self.cycle()
            if bench.fault:
                self.try_to("clear_fault")
            elif bench.state == "disarmed":
                self.try_to("arm")
            elif bench.state == "holding":
                break
        assert (bench.state, bench.fault) == ("holding", None)
        target = [position + 1000 for position in bench.command]
        bench.move([1000, 1000], 300)
        for _ in range(310):
            self.cycle()
        assert bench.command == target
        bench.ask("disarm")
        for _ in range(200):
            self.cycle()
        assert bench.state == "disarmed"
        assert [drive.state for drive in bench.drives] == [0x40, 0x40]


def test_whatever_comes_in_whatever_order():
    for seed in range(1, 13):
        storm = Storm(seed)
        for _ in range(50):
            storm.act()
            for _ in range(storm.numbers.any_of((1, 1, 2, 5, 20, 60))):
                storm.cycle()
        storm.calm()
