"""Runs on the board: what a control step costs, without the text of the bus and the link, in ticks, as JSON.

The real controller runs on an image and a model; its drives follow every target after the delays that the image
expects, and say so in frames that have already been taken apart. Needs model.mpy and image.bin on the board.
"""

import gc
import json
import time
from array import array

import micropython
import model

from drives import cia402, slcan
from idmwire import image
from motionboard import motion
from motionboard.controller import Controller

_FOLLOWS = 8  # cycles of targets that are remembered
_CALLS = 20


@micropython.viper
def nothing(a: ptr32) -> int:
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
    """The controller with its drives on, all channels of every axis captured."""

    def __init__(self, ticks):
        self.ticks = ticks
        cia402.Drives.connect = lambda drives, wait: True
        self.controller = controller = Controller(Board())
        controller.model = model
        with open("image.bin", "rb") as file:
            contents = image.unpack(file.read())
        controller.configure(contents)
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
        ticks = self.ticks
        step = controller.cycle
        begun = ticks()
        step()
        return time.ticks_diff(ticks(), begun)

    def steps(self, n):
        """Ticks of n steps."""
        found = array("i", bytes(4 * n))
        gc.collect()
        gc.disable()
        for k in range(n):
            found[k] = self.cycle()
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

    def mean(self, function, *arguments):
        """Mean ticks of a call, without those of a call that does nothing."""
        ticks = self.ticks
        empty = self.controller._parts[3]
        begun = ticks()
        for _ in range(_CALLS):
            function(*arguments)
        between = ticks()
        for _ in range(_CALLS):
            nothing(empty)
        return (time.ticks_diff(between, begun) - time.ticks_diff(ticks(), between)) / _CALLS


def summary(found, empty):
    """Median and worst of steps."""
    found = sorted(found)
    return {"median": found[len(found) // 2] - empty, "worst": found[-1] - empty}


def run(ticks, n):
    """Prints what was found: so many steps each of holding, of a move and of a sine, all channels captured."""
    bench = Bench(ticks)
    controller = bench.controller
    axes, dynamics, moving = controller.axes, controller.dynamics, controller.motion
    # What the clock and the calls of two empty functions take, the cycle and the sending.
    empty = 2 * bench.mean(lambda: None) + bench.mean(ticks)
    result = {}
    for name, kind in (("hold", 0), ("move", motion.MOVE), ("sine", motion.SINE_WAVE)):
        if kind:
            bench.begin(kind, n + 100)
        kinds = bench.steps(n)
        result[name] = summary(kinds, empty)
        if kind:
            result[name]["source"] = bench.mean(motion.step, moving.running)
            controller.stop()
            while moving.moving:
                bench.cycle()
    result["dynamics"] = bench.mean(
        dynamics.evaluate, axes.ahead, dynamics.parameters, axes.model_output, axes.sine, 0)
    assert not controller.faults.latched, controller.faults.latched
    print(json.dumps(result))
