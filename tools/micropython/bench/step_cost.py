"""Runs on the board: what a control step costs, without the text of the bus and the link, in ticks, as JSON.

The real controller runs on an image and a model; its drives follow every target after the delays that the image
expects, and say so in frames that have already been taken apart. Needs model.mpy, image.bin and model_cost.py on the
board.
"""

import gc
import json
import time
from array import array

import micropython
import model
from model_cost import model_cost

from drives import cia402, slcan, units
from idmwire import image
from motionboard import motion
from motionboard.capture import sample
from motionboard.controller import Controller
from motionboard.faults import keep
from motionboard.guards import judge

_FOLLOWS = 8  # cycles of targets that are remembered
_CALLS = 20
_PERIOD = 1000
# Of a series of this period: mantissa and shift of V and of A.
_SCALES = (863554413, -2, 694511667, -1)


@micropython.viper
def nothing(_a: ptr32) -> int:
    return 0


class Port:
    """A bus without a byte."""

    def readinto(self, buffer):
        return 0

    def write(self, buffer, n):
        pass


class Board:
    """Buses without drives."""

    NAME = "bench"
    RING_BLOCKS = 4
    granted = True
    can = (Port(), Port())

    def sleep(self, milliseconds):
        pass


class Bench:
    """The controller with its drives on and four channels of every axis captured."""

    def __init__(self, ticks):
        self.ticks = ticks
        cia402.Drives.connect = lambda _drives, _wait: True
        self.controller = controller = Controller(Board())
        controller.model = model
        with open("image.bin", "rb") as file:
            contents = image.unpack(file.read())
        controller.configure(contents)
        self.step = controller.cycle
        self.n = n = contents.n_axes
        self.drives = drives = controller.drives
        drives.connected = True
        # A tuple of what a cycle calls and passes: the sending of the text makes room for nothing.
        parts = list(controller._parts)
        parts[parts.index(drives.send)] = lambda: None
        controller._parts = tuple(parts)
        self.targets = [array("i", [0] * n) for _ in range(_FOLLOWS)]
        self.at = 0
        self.delay = max(1, min(controller.settings.position_error_delay))
        for axis in range(n):
            controller.axes.statusword[axis] = 0x21
        assert controller.arm() is None
        while controller.state != 2:
            self.cycle()
            for axis in range(n):
                controller.axes.statusword[axis] = 0x27
        for _ in range(controller.settings.feedforward_ramp[0] + 20):
            self.cycle()
        for index in range(4 * n):
            controller.capture.pick(index, index // n, index % n)
        controller.capture.start(controller.cycle_number + 1, 0, 1, 4 * n)

    def feed(self):
        """What the drives have answered."""
        drives = self.drives
        drives._buses[0].state[slcan.ANSWERED] = (1 << self.n) - 1
        here = self.targets[self.at % _FOLLOWS]
        there = self.targets[(self.at - self.delay + 1) % _FOLLOWS]
        for axis in range(self.n):
            here[axis] = drives.target[axis]
            drives.counts[axis] = there[axis]
        self.at += 1

    def cycle(self):
        """Ticks of one step."""
        self.feed()
        controller = self.controller
        controller.since_heartbeat = 0
        controller.capture.arrived = controller.capture.filled
        ticks = self.ticks
        step = self.step
        begun = ticks()
        step()
        return time.ticks_diff(ticks(), begun)

    def steps(self, n):
        """Ticks of n steps."""
        found = array("i", bytes(4 * n))
        gc.collect()
        gc.disable()
        free = gc.mem_free()
        for k in range(n):
            found[k] = self.cycle()
        assert gc.mem_free() == free, "a step has allocated"
        gc.enable()
        return found

    def begin(self, kind, cycles):
        """A motion of all axes, from where they are; how large it is does not matter for the time."""
        moving = self.controller.motion
        for axis in range(self.n):
            moving.start[axis] = self.controller.axes.position_command[axis]
            moving.distance[axis] = 1 << 16
            moving.velocity[axis] = moving.acceleration[axis] = 1 << 14
            moving.phase_step[axis] = 1 << 22
        reason = moving.refusal(kind, cycles)
        assert reason is None, reason
        moving.plan(kind, self.controller.cycle_number + 5, cycles)

    def begin_series(self):
        """A series of six harmonics on all axes, of one period; how large it is does not matter for the time."""
        moving = self.controller.motion
        for index, word in enumerate(_SCALES):
            moving.data[index] = word
        for axis in range(self.n):
            moving.start[axis] = self.controller.axes.position_command[axis]
            # Harmonics 2 and 4, and the others 0: as many products.
            for index, word in enumerate((4, 0, 0, 1 << 16, -(1 << 14), 0, 0, -(1 << 15), 1 << 12, 0, 0, 0, 0)):
                moving.data[len(_SCALES) + 13 * axis + index] = word
        moving.sources[motion.FOURIER].shape(6, _PERIOD)
        reason = moving.refusal(motion.FOURIER, _PERIOD)
        assert reason is None, reason
        moving.plan(motion.FOURIER, self.controller.cycle_number + 5, _PERIOD)

    def mean(self, function, *arguments):
        """Mean ticks of a call, without those of a call that does nothing."""
        ticks = self.ticks
        empty = (self.drives.reads,)
        gc.collect()
        begun = ticks()
        for _ in range(_CALLS):
            function(*arguments)
        between = ticks()
        for _ in range(_CALLS):
            nothing(*empty)
        return (time.ticks_diff(between, begun) - time.ticks_diff(ticks(), between)) / _CALLS


def nothing_timed(ticks):
    """Ticks of an empty method, timed as a step is, with an empty function in it."""

    class Empty:
        def __init__(self):
            self.send = lambda: None

        @micropython.viper
        def step(self):
            self.send()

    step = Empty().step
    taken = []
    for _ in range(_CALLS):
        begun = ticks()
        step()
        taken.append(time.ticks_diff(ticks(), begun))
    return min(taken)


def summary(found, empty):
    """Median and worst of steps."""
    found = sorted(found)
    return {"median": found[len(found) // 2] - empty, "worst": found[-1] - empty}


KINDS = {"hold": 0, "move": motion.MOVE, "sine": motion.SINE_WAVE}


def steps_of(bench, name, n):
    """Prints the cost of so many steps of holding, of a move, of a sine or of a series, and of its source.

    A move ends within its steps, a sine begins its stop. A series does more in six cycles of eight than in the others.
    """
    moving = bench.controller.motion
    if name == "series":
        bench.begin_series()
    elif KINDS[name]:
        bench.begin(KINDS[name], n - n // 10)
    # What is no part of a step: the clock's own time, and the calls of the step and of the sending, both empty.
    result = summary(bench.steps(n), nothing_timed(bench.ticks))
    if name in ("move", "sine"):
        while moving.moving:
            bench.cycle()
        bench.begin(KINDS[name], 1000)
        bench.steps(10)
        result["source"] = bench.mean(motion.step, moving.running)
        bench.controller.stop()
    while moving.moving:
        bench.cycle()
    assert not bench.controller.faults.latched, bench.controller.faults.latched
    print(json.dumps(result))


def parts_of(bench):
    """Prints the cost of the model and of the parts of a step."""
    controller = bench.controller
    drives = controller.drives
    print(json.dumps({
        "dynamics": model_cost(bench.ticks, model, list(controller.axes.ahead), [0] * model.N_PARAMETERS)[0],
        "parts": {
            "read": bench.mean(units.read, drives.reads),
            "judge": bench.mean(judge, controller.guards.bound),
            "write": bench.mean(units.write, drives.writes),
            "trace": bench.mean(keep, controller.trace.bound),
            "capture": bench.mean(sample, controller.capture.bound, controller.capture.ring),
        },
    }))
