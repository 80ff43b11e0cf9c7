# Cycles for as long as it is told, as fast as they go: micropython firmware/tests/long_run.py SECONDS CYCLES
#
# The whole firmware on its own clock, armed, moving, capturing every cycle, with the bus answered by the same bytes
# again and again. Its microseconds are made here: they begin shortly before their turn, as do the cycle numbers, and
# every cycle can begin on time. Ends after so many seconds, or so many cycles where that is sooner. The last line of
# the output is what was found, as JSON; what must not be raises.

import gc
import json
import sys
import time

import bench
from bench import Bench
from scripted import CanPort

from motionboard import clock, codec

TURN = 2**30
MASK = TURN - 1
# Each look at the clock lets so much time pass: less than what makes a cycle late, a quarter of 1000 us.
LOOK_US = 249
FIRST_TICKS = TURN - 5 * 10**6
FIRST_CYCLE = TURN - 5000
BEAT = 100
CHECK = 5000
COUNTS = ("overruns", "frames_dropped", "drive_misses", "bus_errors", "capture_overwritten", "repeats", "crc_errors")
PAIRS = b"\x00\x00\x06\x00"


class Ticks:
    # Microseconds that pass when somebody looks.

    def __init__(self, now):
        self.now = now
        self.turns = 0

    def ticks_us(self):
        self.now += LOOK_US
        if self.now >= TURN:
            self.now -= TURN
            self.turns += 1
        return self.now

    def ticks_add(self, ticks, delta):
        return (ticks + delta) & MASK

    def ticks_diff(self, a, b):
        return ((a - b + TURN // 2) & MASK) - TURN // 2


class CannedPort(CanPort):
    # With `canned`, every SYNC gets these answers, which cost no time to make.

    canned = b""
    waiting = False

    def readinto(self, buffer):
        if not self.canned:
            return super().readinto(buffer)
        if not self.waiting:
            return 0
        self.waiting = False
        codec.copy(buffer, 0, self.canned, 0, len(self.canned))
        return len(self.canned)

    def write(self, buffer, n):
        if self.canned:
            self.waiting = True
        else:
            super().write(buffer, n)


class Run:
    def __init__(self):
        bench.CanPort = CannedPort
        bench.Board.granted = False
        self.ticks = clock.time = Ticks(FIRST_TICKS)
        self.bench = Bench(heartbeat_timeout=1000)
        self.controller = self.bench.controller
        self.controller.cycle_number = FIRST_CYCLE
        self.bench.arm()
        answers = [drive.answer() + drive.heartbeat() for drive in self.bench.drives]
        self.bench.board.can[0].canned = b"".join(answers)
        self.bench.sine([2**20], 1.0, MASK)
        self.start = self.bench.ask("capture", start_cycle=0, samples=0, every=1, channels=PAIRS)["start_cycle"]
        self.blocks = 0
        self.pause = 0

    def cycles(self, n):
        controller, wait, idle = self.controller, self.controller.clock.wait, self.idle
        for _ in range(n):
            wait(idle, controller)
            controller.cycle()

    def idle(self, milliseconds):
        self.bench.link.serve()
        self.controller.drives.poll()

    def beat(self):
        # The host's part: a heartbeat, and the blocks that have come.
        host = self.bench.host
        assert host.ask("heartbeat")["fault"] == 0
        for block in host.blocks:
            assert block["block"] == self.blocks & MASK
            assert block["first_cycle"] == (self.start + 60 * self.blocks) & MASK
            assert len(block["samples"]) == 480
            self.blocks += 1
        host.blocks.clear()
        host.send("capture_received", block=self.blocks)

    def go(self, n):
        for _ in range(n // BEAT):
            self.cycles(BEAT)
            self.beat()

    def held(self):
        # Bytes of the heap in use, after a collection that is timed.
        begun = time.ticks_us()
        gc.collect()
        self.pause = max(self.pause, time.ticks_diff(time.ticks_us(), begun))
        return gc.mem_alloc()


def run(seconds, most):
    run = Run()
    controller = run.controller
    first = controller.cycle_number
    run.go(CHECK)
    before = run.bench.ask("statistics")
    done = CHECK
    begun = time.time()
    # The most that was held: until half of the time, and since.
    held = [0, 0]
    while done < most and time.time() - begun < seconds:
        run.go(CHECK)
        done += CHECK
        half = 1 if 2 * done > most or 2 * (time.time() - begun) > seconds else 0
        held[half] = max(held[half], run.held())
    took = time.time() - begun
    after = run.bench.ask("statistics")
    taken = run.bench.ask("capture_stop")["samples"]
    run.cycles(BEAT)
    run.bench.host.listen()
    samples = 60 * run.blocks + sum([len(block["samples"]) // 8 for block in run.bench.host.blocks])
    assert (controller.cycle_number - first - BEAT) & MASK == done & MASK
    assert run.bench.fault is None
    result = {name: after[name] - before[name] for name in COUNTS}
    result.update({
        "cycles": done,
        "cycles_missed": controller.clock.missed,
        "seconds": took,
        "turns_of_ticks": run.ticks.turns,
        "turns_of_cycle_numbers": (first + done) // TURN,
        "heap_growth_bytes": held[1] - held[0],
        "gc_pause_max_us": run.pause,
        "samples_taken": taken,
        "samples_missing": taken - samples,
    })
    return result


if __name__ == "__main__":
    print(json.dumps(run(float(sys.argv[1]), int(sys.argv[2]))))
