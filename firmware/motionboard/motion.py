"""Motion sources: hold, point to point, sine, controlled stop.

Every motion is start + coefficient * shape(time), with shapes in 2**-28:

    move  f0 = 10 s^3 - 15 s^4 + 6 s^5          and its first and second derivative (s = time / duration):
          at rest at both ends, jerk bounded by 60 distance / duration^3
    sine  f0 = 1 - cos(phase)                   begins at rest at its start point, which is an end of its path
    stop  v = v0 (1 - f0) + a0 T h1, h1 = s (1-s)^3 (1+3s)     from any speed and acceleration to rest;
          the position follows by the mean of neighbouring speeds

The host computes the coefficients in floating point (distance, velocity and acceleration
scale of each axis), so the board multiplies and adds. A motion says where it starts and is
refused when the axis is not there.

The model reads the same motion a fraction of a cycle later (torque_lead): drives need their
torque earlier than whole cycles of delay can say. A move and a sine are evaluated there; at
rest and in a stop the model reads the command itself.
"""

from array import array

import micropython

from idmwire.sine import SINE
from motionboard.fixed import SH, scale, sincos
from motionboard.shapes import advance, complement, hermite, lead_phase, quintic

HOLD = 0
MOVE = 1
SINE_WAVE = 2
STOP = 3

_LONGEST_MOVE = 32767
_LONGEST_STOP = 8000

# Coefficients must leave the channels below 2**30: a move's peak speed is 15/8 of its mean, its acceleration 5.8 times.
_MOST = 0x3FFFFFFF
_MOVE_SPEED_MOST = 0x1FFFFFFF
_MOVE_ACCELERATION_MOST = 0x7FFFFFF

_CYCLES_MASK = 0x3FFFFFFF


@micropython.viper
def _add(dst: ptr32, base: ptr32, n: int):
    i = 0
    while i < n:
        dst[i] = dst[i] + base[i]
        i += 1


@micropython.viper
def _copy_words(dst: ptr32, src: ptr32, n: int):
    i = 0
    while i < n:
        dst[i] = src[i]
        i += 1


@micropython.viper
def _zero(dst: ptr32, n: int):
    i = 0
    while i < n:
        dst[i] = 0
        i += 1


@micropython.viper
def _latch_direction(direction: ptr32, velocity: ptr32, n: int, sh: int):
    """The sign of the commanded velocity; at standstill the last one stays."""
    i = 0
    while i < n:
        v = (velocity[i] << sh) >> sh
        if v > 0:
            direction[i] = 1
        elif v < 0:
            direction[i] = 0 - 1
        i += 1


# The first axis, + 1, that would leave its limits by so many steps of `distance`. A sum that wraps turns back.
@micropython.viper
def _leaves(start: ptr32, distance: ptr32, steps: int, low: ptr32, high: ptr32, n: int, sh: int) -> int:
    i = 0
    while i < n:
        q = (start[i] << sh) >> sh
        r = (distance[i] << sh) >> sh
        lo = (low[i] << sh) >> sh
        hi = (high[i] << sh) >> sh
        if r != 0:
            if q < lo or q > hi:
                return i + 1
            k = 0
            while k < steps:
                to = ((q + r) << sh) >> sh
                if r > 0 and (to < q or to > hi):
                    return i + 1
                if r < 0 and (to > q or to < lo):
                    return i + 1
                q = to
                k += 1
        i += 1
    return 0


@micropython.viper
def _exceed(values: ptr32, most: int, n: int, sh: int) -> int:
    i = 0
    while i < n:
        v = (values[i] << sh) >> sh
        if v > most or v < 0 - most:
            return 1
        i += 1
    return 0


@micropython.viper
def _same(a: ptr32, b: ptr32, n: int) -> int:
    i = 0
    while i < n:
        if a[i] != b[i]:
            return 0
        i += 1
    return 1


@micropython.viper
def _shift_right(dst: ptr32, src: ptr32, bits: int, n: int, sh: int):
    i = 0
    while i < n:
        dst[i] = ((src[i] << sh) >> sh) >> bits
        i += 1


# The last step of each speed times the cycles of the stop, below 2**29: the acceleration to bleed off.
@micropython.viper
def _momentum(dst: ptr32, velocity: ptr32, before: ptr32, cycles: int, n: int, sh: int):
    most = 0x1FFFFFFF // cycles
    i = 0
    while i < n:
        step = ((velocity[i] << sh) >> sh) - ((before[i] << sh) >> sh)
        if step > most:
            step = most
        elif step < 0 - most:
            step = 0 - most
        dst[i] = step * cycles
        i += 1


@micropython.viper
def _weights(going: ptr32, turning: ptr32, turn: int, n: int):
    """going = 1 - going, and `turning` the same for all axes."""
    i = 0
    while i < n:
        going[i] = 0x10000000 - going[i]
        turning[i] = turn
        i += 1


@micropython.viper
def _differences(step: ptr32, mean: ptr32, now: ptr32, before: ptr32, n: int, sh: int):
    i = 0
    while i < n:
        b = (before[i] << sh) >> sh
        d = ((now[i] << sh) >> sh) - b
        step[i] = d
        mean[i] = b + (d >> 1)
        i += 1


# A stop near the end of the positions' range ends there: over the wrap the drives would see a jump of 256 turns.
@micropython.viper
def _add_short_of_the_wrap(position: ptr32, step: ptr32, n: int, sh: int):
    i = 0
    while i < n:
        q = (position[i] << sh) >> sh
        d = (step[i] << sh) >> sh
        to = ((q + d) << sh) >> sh
        if (d > 0 and to < q) or (d < 0 and to > q):
            to = q
        position[i] = to
        i += 1


class Motion:
    """The commanded position, velocity and acceleration of all axes, cycle by cycle."""

    def __init__(self, axes, settings):
        n = axes.n
        self.axes = axes
        self.settings = settings
        self.kind = HOLD
        self.k = 0
        self.cycles = 0
        self.pending = HOLD
        self.start_cycle = 0
        self.start = array("i", [0] * n)
        self.distance = array("i", [0] * n)
        self.velocity = array("i", [0] * n)
        self.acceleration = array("i", [0] * n)
        self.phase_step = array("i", [0] * n)
        self._phase = array("i", [0] * n)
        self._f0 = array("i", [0] * n)
        self._f1 = array("i", [0] * n)
        self._f2 = array("i", [0] * n)
        self._shift = array("i", [28] * n)
        self._before = array("i", [0] * n)
        self._gain = array("i", [0] * n)
        self._phase_ahead = array("i", [0] * n)
        self._ds = 0
        self._rest = 0

    @property
    def moving(self):
        """True while a motion runs or waits for its start cycle."""
        return self.kind != HOLD or self.pending != HOLD

    def refusal(self, kind, cycles):
        """Why the motion in start, distance, ... cannot be taken: a name of idmwire's refusals, or None."""
        n = self.axes.n
        if cycles < 2 or (kind == MOVE and cycles > _LONGEST_MOVE):
            return "out_of_range"
        if not _same(self.start, self.axes.position_command, n):
            return "stale_start"
        settings = self.settings
        if (_exceed(self.distance, _MOST, n, SH)
                or _exceed(self.velocity, _MOVE_SPEED_MOST if kind == MOVE else _MOST, n, SH)
                or _exceed(self.acceleration, _MOVE_ACCELERATION_MOST if kind == MOVE else _MOST, n, SH)
                or _leaves(self.start, self.distance, 1 if kind == MOVE else 2,
                           settings.position_min, settings.position_max, n, SH)):
            return "out_of_range"
        return None

    def plan(self, kind, start_cycle, cycles):
        """Takes the motion whose coefficients have been written; it begins at start_cycle."""
        self.pending = kind
        self.start_cycle = start_cycle
        self.cycles = cycles

    def stop(self):
        """Begins a controlled stop of whatever moves."""
        self.pending = HOLD
        if self.kind == HOLD or self.kind == STOP:
            return
        axes = self.axes
        n = axes.n
        settings = self.settings
        _copy_words(self.velocity, axes.velocity_command, n)
        # In 2**-6 rad/s^2 it stays below 2**30: the acceleration that would take all speed in a single cycle.
        _shift_right(self._f0, self.velocity, 8, n, SH)
        scale(self._f0, self._f0, settings.rate_mantissa, settings.rate_shift, n, SH)
        longest = 0
        for i in range(n):
            rate = self._f0[i]
            cycles = (-rate if rate < 0 else rate) // (settings.stop_acceleration[i] >> 8)
            if cycles > longest:
                longest = cycles
        # The quintic's largest slope is 15/8 of its mean.
        longest = 8 + longest * 15 // 8 if longest < _LONGEST_STOP // 2 else _LONGEST_STOP
        self.kind = STOP
        self.k = 0
        self._set_duration(longest)
        _momentum(self._gain, self.velocity, self._before, longest, n, SH)

    def hold_here(self):
        """Makes the measured position the command (arming, disarmed); no motion."""
        axes = self.axes
        self.kind = HOLD
        self.pending = HOLD
        _copy_words(axes.position_command, axes.position_feedback, axes.n)
        self._rest_all()
        self._not_ahead()

    def step(self, cycle):
        """The setpoint of this cycle."""
        axes = self.axes
        n = axes.n
        if self.pending != HOLD and ((cycle - self.start_cycle) & _CYCLES_MASK) < 0x20000000:
            self.kind = self.pending
            self.pending = HOLD
            self.k = 0
            self._set_duration(self.cycles)
            _zero(self._phase, n)
        if self.kind == HOLD:
            return
        _copy_words(self._before, axes.velocity_command, n)
        if self.kind == STOP:
            self._stop_step()
        else:
            self._path_step()
        _latch_direction(axes.direction, axes.velocity_command, n, SH)
        _latch_direction(axes.direction_ahead, axes.velocity_ahead, n, SH)

    def _path_step(self):
        axes = self.axes
        n = axes.n
        lead = self.settings.torque_lead[0]
        if self.kind == MOVE:
            s = self._s()
            quintic(s, self._f0, self._f1, self._f2, n)
        else:
            s = 0
            sincos(self._f1, self._f2, self._phase, SINE, n, SH)
            lead_phase(self._phase_ahead, self._phase, self.phase_step, lead, n, SH)
            complement(self._f0, self._f2, n)
            advance(self._phase, self.phase_step, n)
        self._place(axes.position_command, axes.velocity_command, axes.acceleration_command)
        if lead == 0:
            self._not_ahead()
        else:
            if self.kind == MOVE:
                further = (self._ds >> 15) * lead + ((self._ds & 0x7FFF) * lead >> 15)
                # Never a sum beyond 2**30, not even to cut it.
                s = s + further if further < 0x3FFFFFFF - s else 0x3FFFFFFF
                quintic(s, self._f0, self._f1, self._f2, n)
            else:
                sincos(self._f1, self._f2, self._phase_ahead, SINE, n, SH)
                complement(self._f0, self._f2, n)
            self._place(axes.position_ahead, axes.velocity_ahead, axes.acceleration_ahead)
        if self.k < self.cycles:
            self.k += 1
        elif self.kind == MOVE:
            self.kind = HOLD
            self._rest_all()
            self._not_ahead()
        else:
            self.stop()

    def _stop_step(self):
        axes = self.axes
        n = axes.n
        settings = self.settings
        self.k += 1
        s = self._s()
        quintic(s, self._f0, self._f1, self._f2, n)
        _weights(self._f0, self._f1, hermite(s), n)
        scale(axes.velocity_command, self._f0, self.velocity, self._shift, n, SH)
        scale(self._f1, self._f1, self._gain, self._shift, n, SH)
        _add(axes.velocity_command, self._f1, n)
        _differences(self._f1, self._f2, axes.velocity_command, self._before, n, SH)
        scale(axes.acceleration_command, self._f1, settings.rate_mantissa, settings.rate_shift, n, SH)
        scale(self._f0, self._f2, settings.step_mantissa, settings.step_shift, n, SH)
        _add_short_of_the_wrap(axes.position_command, self._f0, n, SH)
        if self.k >= self.cycles:
            self.kind = HOLD
            self._rest_all()
        self._not_ahead()

    def _place(self, position, velocity, acceleration):
        """start + coefficient * shape for the shapes that stand in f0, f1, f2."""
        n = self.axes.n
        scale(position, self._f0, self.distance, self._shift, n, SH)
        _add(position, self.start, n)
        scale(velocity, self._f1, self.velocity, self._shift, n, SH)
        scale(acceleration, self._f2, self.acceleration, self._shift, n, SH)

    def _not_ahead(self):
        axes = self.axes
        n = axes.n
        _copy_words(axes.position_ahead, axes.position_command, n)
        _copy_words(axes.velocity_ahead, axes.velocity_command, n)
        _copy_words(axes.acceleration_ahead, axes.acceleration_command, n)

    def _set_duration(self, cycles):
        self.cycles = cycles
        self._ds = 0x3FFFFFFF // cycles
        self._rest = 0x3FFFFFFF - self._ds * cycles

    def _s(self):
        """k / cycles in 2**-30; below one unit of error, exact at both ends but for one unit."""
        return self.k * self._ds + self.k * self._rest // self.cycles

    def _rest_all(self):
        axes = self.axes
        _zero(axes.velocity_command, axes.n)
        _zero(axes.acceleration_command, axes.n)
