"""The controlled stop: from any speed and acceleration of all axes to rest, whatever moved them.

    v = v0 (1 - f0) + a0 T h1,      f0 = 10 s^3 - 15 s^4 + 6 s^5,  h1 = s (1-s)^3 (1+3s),  s = time / T

The acceleration is the change of speed, the position follows by the mean of neighbouring speeds. T is what the
hardest axis needs to stay below its stop_acceleration. The model reads the command itself.
"""

import micropython
from micropython import const

from motionboard.fixed import split

_LONGEST = const(8000)

# Words: cycles, 2**30 / cycles and what that division leaves.
_CYCLES = const(0)
_STEP = const(1)
_REST = const(2)
_WORDS = const(3)

# An axis's record: factors of acceleration a change of speed and of way a speed (fixed.split), then high and low of
# v0 and of a0 T.
_RATE = const(0)
_WAY = const(3)
_SPEED = const(6)
_GAIN = const(8)
_RECORD = const(10)


@micropython.viper
def _begin(a: ptr32):
    """How many cycles it takes, and what is bled off."""
    c = ptr32(int(a) + a[2])
    i = 0
    n = a[0]
    sh = a[1]
    velocity = ptr32(int(a) + a[3])
    most = ptr32(int(a) + a[4])
    longest = 0
    while i < n:
        # In 2**-6 rad/s^2 it stays below 2**30: the acceleration that would take all speed in a single cycle.
        x = ((velocity[i] << sh) >> sh) >> 8
        low = x & 0x7FFF
        t = (x >> 15) * c[_RATE + 2] + low * c[_RATE + 1] + ((low * c[_RATE + 2]) >> 15) + 0x4000
        x = x * c[_RATE] + (x >> 15) * c[_RATE + 1] + (t >> 15)
        cycles = (0 - x if x < 0 else x) // (most[i] >> 8)
        if cycles > longest:
            longest = cycles
        c = ptr32(int(c) + 4 * _RECORD)
        i += 1
    # The quintic's largest slope is 15/8 of its mean.
    longest = 8 + longest * 15 // 8 if longest < _LONGEST // 2 else _LONGEST
    words = ptr32(int(a) + a[6])
    words[_CYCLES] = longest
    words[_STEP] = 0x3FFFFFFF // longest
    words[_REST] = 0x3FFFFFFF - words[_STEP] * longest
    # The last change of each speed times the cycles of the stop, below 2**29: the acceleration to bleed off.
    before = ptr32(int(a) + a[5])
    c = ptr32(int(a) + a[2])
    top = 0x1FFFFFFF // longest
    i = 0
    while i < n:
        x = (velocity[i] << sh) >> sh
        c[_SPEED] = x >> 15
        c[_SPEED + 1] = x & 0x7FFF
        x -= (before[i] << sh) >> sh
        if x > top:
            x = top
        elif x < 0 - top:
            x = 0 - top
        x *= longest
        c[_GAIN] = x >> 15
        c[_GAIN + 1] = x & 0x7FFF
        c = ptr32(int(c) + 4 * _RECORD)
        i += 1


# The quintic as in shapes.move. h1 <= 0.28 in 2**-28: from slope 1 to rest.
@micropython.viper
def _shapes(a: ptr32):
    """1 - f0 and h1 in 2**-28 at the end of this cycle."""
    words = ptr32(int(a) + a[6])
    k = ptr32(int(a) + a[7])[0] + 1
    s = k * words[_STEP] + k * words[_REST] // words[_CYCLES]
    half = s if s <= 0x20000000 else 0x3FFFFFFF - s + 1
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
    shapes = ptr32(int(a) + a[8])
    shapes[0] = place if s > 0x20000000 else 0x10000000 - place
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
    shapes[1] = (x + 3 * y) >> 2


# Products of coefficient and shape as in shapes.move. Conversions as in fixed, of numbers below 2**30, which leave
# room for one rounding: (h * low + l * high + (l * low >> 15) + 2**14) >> 15.
@micropython.viper
def _follow(a: ptr32) -> int:
    """The setpoint of this cycle; 1 at rest."""
    j = 4 * a[0]
    sh = a[1]
    sh13 = sh + 13
    velocity = ptr32(int(a) + a[3])
    shapes = ptr32(int(a) + a[8])
    fh = shapes[0] >> 15
    fl = shapes[0] & 0x7FFF
    gh = shapes[1] >> 15
    gl = shapes[1] & 0x7FFF
    position = ptr32(int(a) + a[9])
    acceleration = ptr32(int(a) + a[10])
    ahead = ptr32(int(a) + a[11])
    ahead1 = ptr32(int(ahead) + j)
    ahead2 = ptr32(int(ahead1) + j)
    k = ptr32(int(a) + a[7])
    ended = 1 if k[0] + 1 >= ptr32(int(a) + a[6])[_CYCLES] else 0
    a = ptr32(int(a) + a[2] + _RECORD * j)
    while j:
        j -= 4
        a = ptr32(int(a) - 4 * _RECORD)
        t = a[_SPEED] * fl + a[_SPEED + 1] * fh + ((a[_SPEED + 1] * fl) >> 15) + 0x1000
        v = ((a[_SPEED] * fh) << 2) + ((t << sh) >> sh13)
        t = a[_GAIN] * gl + a[_GAIN + 1] * gh + ((a[_GAIN + 1] * gl) >> 15) + 0x1000
        v += ((a[_GAIN] * gh) << 2) + ((t << sh) >> sh13)
        before = (ptr32(int(velocity) + j)[0] << sh) >> sh
        ptr32(int(velocity) + j)[0] = v
        ptr32(int(ahead1) + j)[0] = v
        x = ((v - before) << sh) >> sh
        low = x & 0x7FFF
        t = (x >> 15) * a[_RATE + 2] + low * a[_RATE + 1] + ((low * a[_RATE + 2]) >> 15) + 0x4000
        t = x * a[_RATE] + (x >> 15) * a[_RATE + 1] + (t >> 15)
        ptr32(int(acceleration) + j)[0] = t
        ptr32(int(ahead2) + j)[0] = t
        x = before + (x >> 1)
        low = x & 0x7FFF
        t = (x >> 15) * a[_WAY + 2] + low * a[_WAY + 1] + ((low * a[_WAY + 2]) >> 15) + 0x4000
        x = x * a[_WAY] + (x >> 15) * a[_WAY + 1] + (t >> 15)
        # Near the end of the positions' range it ends there: over the wrap the drives would see a jump of 256 turns.
        q = (ptr32(int(position) + j)[0] << sh) >> sh
        to = ((q + x) << sh) >> sh
        if (x > 0 and to < q) or (x < 0 and to > q):
            to = q
        ptr32(int(position) + j)[0] = to
        ptr32(int(ahead) + j)[0] = to
    return ended


class Stop:
    """The motion source that takes over from any other."""

    def __init__(self, axes, settings):
        n = axes.n
        axes.array("stop_records", _RECORD * n)
        self._words = axes.array("stop_words", _WORDS)
        axes.array("stop_shapes", 2)
        self._k = axes.name("stop_k", "motion_k", 0, 1)
        self.bound = axes.bind(
            "stop_records", "velocity_command", "stop_acceleration", "velocity_before", "stop_words", "motion_k",
            "stop_shapes", "position_command", "acceleration_command", "ahead")
        axes.name("stop_way", "stop_records", _WAY, n)
        settings.derive(split, axes.bind("rate_mantissa", "rate_shift", "stop_records", _RECORD))
        settings.derive(split, axes.bind("step_mantissa", "step_shift", "stop_way", _RECORD))

    def begin(self):
        """From the speeds and accelerations that there are."""
        _begin(self.bound)

    @property
    def cycles(self):
        """How many cycles it takes."""
        return self._words[_CYCLES]

    def step(self, bound):
        """The setpoint of this cycle; 1 at rest."""
        if not self._k[0]:
            _begin(bound)
        _shapes(bound)
        return _follow(bound)
