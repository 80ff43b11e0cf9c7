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
"""

from array import array

import micropython

from idmwire.sine import SINE
from motionboard.fixed import SH, scale, sincos

HOLD = 0
MOVE = 1
SINE_WAVE = 2
STOP = 3

_LONGEST_MOVE = 32767
_LONGEST_STOP = 8000

_CYCLES_MASK = 0x3FFFFFFF


# s in 2**-30. w = s (1 - s) <= 2**28; products drop their lowest partial term: error <= 4 in 2**-28.
# Ranges: 10 s^3 <= 2**30.4 for s <= 1/2 (the other half by symmetry); 15 z <= 2**30.5; 30 w^2 <= 2**30.9.
@micropython.viper
def _quintic(s: int, f0: ptr32, f1: ptr32, f2: ptr32, n: int):
    half = s
    if s > 0x20000000:
        half = 0x3FFFFFFF - s + 1
    hh = half >> 15
    hl = half & 0x7FFF
    s2 = hh * hh + ((2 * hh * hl) >> 15)
    s2h = s2 >> 15
    s3 = s2h * hh + ((s2h * hl + (s2 & 0x7FFF) * hh) >> 15)
    s3h = s3 >> 15
    s4 = s3h * hh + ((s3h * hl + (s3 & 0x7FFF) * hh) >> 15)
    s4h = s4 >> 15
    s5 = s4h * hh + ((s4h * hl + (s4 & 0x7FFF) * hh) >> 15)
    place = (10 * s3 - 15 * s4 + 6 * s5) >> 2
    w = half - s2
    wh = w >> 15
    wl = w & 0x7FFF
    speed = (30 * (wh * wh + ((2 * wh * wl) >> 15))) >> 2
    d = 0x3FFFFFFF - 2 * half + 1
    dh = d >> 15
    z = wh * dh + ((wh * (d & 0x7FFF) + wl * dh) >> 15)
    turn = 15 * z
    if s > 0x20000000:
        place = 0x10000000 - place
        turn = 0 - turn
    i = 0
    while i < n:
        f0[i] = place
        f1[i] = speed
        f2[i] = turn
        i += 1


@micropython.viper
def _advance(phase: ptr32, step: ptr32, f0: ptr32, f2: ptr32, n: int):
    """f0 = 1 - cos for the phases just evaluated; then the phases of the next cycle (they wrap)."""
    i = 0
    while i < n:
        f0[i] = 0x10000000 - f2[i]
        phase[i] = phase[i] + step[i]
        i += 1


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


# How far one axis of a planned motion leaves its limits: 0 inside. int32 overflow of start + reach is
# caught by comparing against the room that is left, never by adding first.
@micropython.viper
def _fits(start: ptr32, reach: ptr32, low: ptr32, high: ptr32, n: int, sh: int) -> int:
    i = 0
    while i < n:
        q = (start[i] << sh) >> sh
        r = (reach[i] << sh) >> sh
        lo = (low[i] << sh) >> sh
        hi = (high[i] << sh) >> sh
        if r != 0:
            if q < lo or q > hi:
                return i + 1
            # Half the room, so that the difference of two int32 stays one.
            if r > 0 and (r >> 1) > (hi >> 1) - (q >> 1):
                return i + 1
            if r < 0 and ((0 - r) >> 1) > (q >> 1) - (lo >> 1):
                return i + 1
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


# h1 = s (1-s)^3 (1+3s) <= 0.28 in 2**-28: from slope 1 to rest.
@micropython.viper
def _hermite(s: int) -> int:
    u = 0x3FFFFFFF - s + 1
    uh = u >> 15
    ul = u & 0x7FFF
    u2 = uh * uh + ((2 * uh * ul) >> 15)
    u2h = u2 >> 15
    u3 = u2h * uh + ((u2h * ul + (u2 & 0x7FFF) * uh) >> 15)
    th = s >> 15
    tl = s & 0x7FFF
    u3h = u3 >> 15
    x = u3h * th + ((u3h * tl + (u3 & 0x7FFF) * th) >> 15)
    xh = x >> 15
    y = xh * th + ((xh * tl + (x & 0x7FFF) * th) >> 15)
    return (x + 3 * y) >> 2


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
        self.reach = array("i", [0] * n)
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
        self._jump = array("i", [0] * n)
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
        _copy_words(self.reach, self.distance, n)
        if kind == SINE_WAVE:
            _add(self.reach, self.distance, n)
        if _fits(self.start, self.reach, self.settings.position_min, self.settings.position_max, n, SH):
            return "out_of_range"
        return None

    def plan(self, kind, start_cycle, cycles):
        """Takes the motion whose coefficients have been written; it begins at start_cycle."""
        self.pending = kind
        self.start_cycle = start_cycle
        self.cycles = cycles

    def stop(self):
        """Begins a controlled stop of whatever moves; True where there is something to stop."""
        self.pending = HOLD
        if self.kind == HOLD or self.kind == STOP:
            return self.kind == STOP
        axes = self.axes
        _copy_words(self.velocity, axes.velocity_command, axes.n)
        # Acceleration that one cycle's whole velocity would be; below int32 for 128 rad/s at 1 ms.
        scale(self.acceleration, self.velocity, self.settings.rate_mantissa, self.settings.rate_shift, axes.n, SH)
        longest = 8
        for i in range(axes.n):
            rate = self.acceleration[i] >> 8
            limit = self.settings.stop_acceleration[i] >> 8
            # The quintic's largest slope is 15/8 of its mean.
            needed = 8 + (-rate if rate < 0 else rate) // limit * 15 // 8
            if needed > longest:
                longest = needed
        self.kind = STOP
        self.k = 0
        self._set_duration(longest if longest < _LONGEST_STOP else _LONGEST_STOP)
        # The acceleration to bleed off: the last velocity step times the duration, kept below 2**29.
        most = 0x1FFFFFFF // self.cycles
        for i in range(axes.n):
            jump = self.velocity[i] - self._before[i]
            self._jump[i] = (most if jump > most else -most if jump < -most else jump) * self.cycles
        return True

    def hold_here(self):
        """Makes the measured position the command (arming, disarmed); no motion."""
        axes = self.axes
        self.kind = HOLD
        self.pending = HOLD
        _copy_words(axes.position_command, axes.position_feedback, axes.n)
        self._rest_all()

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

    def _path_step(self):
        axes = self.axes
        n = axes.n
        if self.kind == MOVE:
            _quintic(self._s(), self._f0, self._f1, self._f2, n)
        else:
            sincos(self._f1, self._f2, self._phase, SINE, n, SH)
            _advance(self._phase, self.phase_step, self._f0, self._f2, n)
        scale(axes.position_command, self._f0, self.distance, self._shift, n, SH)
        _add(axes.position_command, self.start, n)
        scale(axes.velocity_command, self._f1, self.velocity, self._shift, n, SH)
        scale(axes.acceleration_command, self._f2, self.acceleration, self._shift, n, SH)
        if self.k < self.cycles:
            self.k += 1
        elif self.kind == MOVE:
            self.kind = HOLD
            self._rest_all()
        else:
            self.stop()

    def _stop_step(self):
        axes = self.axes
        n = axes.n
        self.k += 1
        _quintic(self._s(), self._f0, self._f1, self._f2, n)
        settings = self.settings
        h = _hermite(self._s()) >> 14
        for i in range(n):
            # Small integers throughout: speeds below 2**30, shapes cut to 2**-14.
            v0 = self.velocity[i]
            remaining = 0x10000000 - self._f0[i]
            v = (v0 >> 14) * (remaining >> 14) + (((v0 & 0x3FFF) * (remaining >> 14)) >> 14)
            gain = self._jump[i]
            v += (gain >> 14) * h + (((gain & 0x3FFF) * h) >> 14)
            axes.velocity_command[i] = v
            self._f1[i] = v - self._before[i]
            self._f2[i] = (v + self._before[i]) >> 1
        scale(axes.acceleration_command, self._f1, settings.rate_mantissa, settings.rate_shift, n, SH)
        scale(self._f0, self._f2, settings.step_mantissa, settings.step_shift, n, SH)
        _add(axes.position_command, self._f0, n)
        if self.k >= self.cycles:
            self.kind = HOLD
            self._rest_all()

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
