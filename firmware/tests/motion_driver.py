# A motion without a board around it, with everything that its axes were commanded.

import gc
import math
from array import array

from support import CYCLE_S, make_axes, wrap

from motionboard.motion import MOVE, SINE_WAVE, Motion

TURN = 2 * math.pi
MASK = 2**30 - 1
# Counts in SI: rad, rad/s, rad/s^2.
POSITION, VELOCITY, ACCELERATION = TURN / 2**24, 2**-20, 2**-14


class Driver:
    # A motion with everything that its axes were commanded, cycle by cycle.

    def __init__(self, start=(0,), cycle_s=CYCLE_S, cycle=0, **changes):
        gc.collect()
        changes.setdefault("stop_acceleration", round(80 / ACCELERATION))
        self.n = len(start)
        self.cycle_s = cycle_s
        self.axes, self.settings = make_axes(self.n, cycle_s, **changes)
        self.motion = Motion(self.axes, self.settings)
        self.cycle = cycle
        for axis in range(self.n):
            self.axes.position_feedback[axis] = start[axis]
        self.motion.hold_here()
        # Per axis, every cycle.
        self.q, self.v, self.a = ([array("i") for _ in start] for _ in range(3))
        self.step()

    def step(self, cycles=1):
        for _ in range(cycles):
            self.cycle = (self.cycle + 1) & MASK
            self.axes.cycle[0] = self.cycle
            self.motion.step()
            for axis in range(self.n):
                self.q[axis].append(self.axes.position_command[axis])
                self.v[axis].append(self.axes.velocity_command[axis])
                self.a[axis].append(self.axes.acceleration_command[axis])

    def at(self, channel, k):
        return [values[k] for values in channel]

    def run(self, most=100000):
        while self.motion.moving:
            self.step()
            most -= 1
            assert most, "the motion does not end"
        self.step(2)

    def fill(self, values, place):
        for axis in range(self.n):
            place[axis] = round(values[axis])

    def take(self, kind, start_cycle, cycles):
        reason = self.motion.refusal(kind, cycles)
        if reason is None:
            self.motion.plan(kind, start_cycle, cycles)
        return reason

    def move(self, distance, cycles, start_cycle=None, start=None):
        motion = self.motion
        duration = cycles * self.cycle_s
        self.fill(start or list(self.axes.position_command), motion.start)
        self.fill(distance, motion.distance)
        self.fill([d * POSITION / duration / VELOCITY for d in distance], motion.velocity)
        self.fill([d * POSITION / duration**2 / ACCELERATION for d in distance], motion.acceleration)
        return self.take(MOVE, (self.cycle + 1) & MASK if start_cycle is None else start_cycle, cycles)

    def sine(self, amplitude, frequency, cycles):
        motion = self.motion
        steps = [round(f * self.cycle_s * 2**32) for f in frequency]
        speeds = [TURN * step / 2**32 / self.cycle_s for step in steps]
        self.fill(list(self.axes.position_command), motion.start)
        self.fill(amplitude, motion.distance)
        self.fill([d * POSITION * w / VELOCITY for d, w in zip(amplitude, speeds)], motion.velocity)
        self.fill([d * POSITION * w * w / ACCELERATION for d, w in zip(amplitude, speeds)], motion.acceleration)
        self.fill(steps, motion.phase_step)
        return self.take(SINE_WAVE, (self.cycle + 1) & MASK, cycles)

    def si(self, axis=0):
        # Positions relative to the first, so that a wrap does not show.
        first = self.q[axis][0]
        q = [wrap(value - first) * POSITION for value in self.q[axis]]
        return q, [value * VELOCITY for value in self.v[axis]], [value * ACCELERATION for value in self.a[axis]]


def largest(values):
    return max([abs(value) for value in values])
