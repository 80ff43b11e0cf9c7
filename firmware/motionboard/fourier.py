"""Finite Fourier series from coefficients: every axis at rest where a period begins and ends.

With phi = 2 pi k / period, l = 1..H, for every axis

    position      start + sum A_l sin(l phi) + B_l (1 - cos(l phi))

and its derivatives. A_l and B_l are whole numbers of 2**-fraction counts, so sum l A_l = 0 and sum l^2 B_l = 0, which
make velocity and acceleration vanish at phi = 0, hold exactly. The phase is exact over the whole run: what 2**32 /
period leaves over is carried along.

motion_data holds mantissa and shift of V and of A, then for every axis its fraction and A_1, B_1, ... A_H, B_H:

    V = sum l (A_l cos + B_l sin) * mantissa / 2**(27 + shift + fraction) = 8 cycles * velocity in 2**-9 counts
    A = sum l^2 (B_l cos - A_l sin) * mantissa / 2**(30 + shift + fraction), alike
"""

import micropython

from motionboard.segments import ARRAYS, CYCLES, advance, chain

MOST_HARMONICS = 8
# Cycles: in a segment the last harmonic then turns by half a radian at most, which quintics follow.
_CYCLES_A_HARMONIC = 100
_LONGEST_PERIOD = 1 << 24
_OWN = ("fourier_scalars", "fourier_trig", "fourier_parts", "fourier_places", "motion_start", "motion_data", "sine")
_REFUSALS = (None, "out_of_range", "not_at_rest")


# scalars: harmonics, cycles, period; phase of the newest sines, its step a segment, what the step leaves over, carried.
@micropython.viper
def _step(bound: object) -> int:
    a = ptr32(bound)
    k = ptr32(int(a) + a[8])[0]
    scalars = ptr32(int(a) + a[9])
    j = k & 7
    if j < a[0]:
        _knot(bound, k)
        chain(bound, k)
    if j == 7:
        _harmonics(bound, k)
    advance(bound, k)
    if k == scalars[1]:
        return 1
    return 0


# sin(x + b): x one of the table's 256 angles, |b| <= pi/256 in 2**-30. To 2**-28, error below 2**-26.2.
@micropython.viper
def _harmonics(p: ptr32, k: int):
    """Sines and cosines of all harmonics for the knots of the next segment."""
    a = ptr32(int(p))
    sh = a[1]
    scalars = ptr32(int(a) + a[9])
    sine = ptr32(int(a) + a[15])
    x = scalars[6] + scalars[5]
    step = scalars[3] + scalars[4]
    if x >= scalars[2]:
        x -= scalars[2]
        step += 1
    scalars[6] = x
    scalars[3] = step
    p = ptr32(int(a) + a[10] + (128 - ((k & 8) << 4)))
    phase = 0x800000
    left = scalars[0]
    while left > 0:
        phase += step
        x = (phase & 0xFFFFFF) - 0x800000
        k = (phase >> 24) & 0xFF
        b = x + (((x >> 12) * 299262) >> 7) + (((x & 0xFFF) * 299262) >> 19) - ((5 * x) >> 23)
        bh = b >> 9
        bl = b & 0x1FF
        half = (bh * bh) >> 14
        third = ((half * bh >> 20) * 21845 + 0x8000) >> 16
        s = (sine[k] << sh) >> sh
        c = (sine[k + 64] << sh) >> sh
        s15 = s >> 15
        c15 = c >> 15
        x = s + ((c15 * bh) >> 6) + ((c15 * bl) >> 15) + (((c & 0x7FFF) * bh) >> 21)
        x = (x - ((s15 * half) >> 14) - ((c15 * third) >> 15) + 2) >> 2
        p[0] = x >> 14
        p[1] = x & 0x3FFF
        x = c - ((s15 * bh) >> 6) - ((s15 * bl) >> 15) - (((s & 0x7FFF) * bh) >> 21)
        x = (x - ((c15 * half) >> 14) + ((s15 * third) >> 15) + 2) >> 2
        p[2] = x >> 14
        p[3] = x & 0x3FFF
        p = ptr32(int(p) + 16)
        left -= 1


# A = a0 2**14 + a1, B = b0 2**14 + b1, sines alike (2**-28). sum l (|A| + |B|) < 2**28, sum l^2 (|A| + |B|) < 2**30:
# every product and every sum stays below 2**31.
@micropython.viper
def _knot(p: ptr32, k: int):
    """The knot of axis k mod 8 two segments ahead."""
    a = ptr32(int(p))
    sh = a[1]
    axis = k & 7
    t = ptr32(int(a) + a[10] + ((k & 8) << 4))
    scalars = ptr32(int(a) + a[9])
    places = ptr32(int(a) + a[12] + 32 * axis)
    knot = ptr32(int(a) + a[3] + 32 * axis + 16)
    start = ptr32(int(a) + a[13])[axis]
    left = scalars[0]
    p = ptr32(int(a) + a[11] + 128 * axis)
    place = 0
    speed = 0
    turn = 0
    k = 1
    while k <= left:
        x = p[0] * t[1] + p[1] * t[0] - p[2] * t[3] - p[3] * t[2]
        x = p[0] * t[0] - p[2] * t[2] + (((x << sh) >> sh) >> 14)
        place += x
        turn -= k * k * x
        x = p[0] * t[3] + p[1] * t[2] + p[2] * t[1] + p[3] * t[0]
        speed += k * (p[0] * t[2] + p[2] * t[0] + (((x << sh) >> sh) >> 14))
        p = ptr32(int(p) + 16)
        t = ptr32(int(t) + 16)
        k += 1
    place = ((place + places[0]) << sh) >> sh
    k = places[1]
    knot[0] = start + (place >> k)
    knot[1] = ((place & ((1 << k) - 1)) << 9) >> k
    speed = (speed << sh) >> sh
    k = places[4]
    x = speed >> 15
    x = ((x * places[2]) << 3) + ((x * places[3] + (speed & 0x7FFF) * places[2]) >> 12)
    knot[2] = (x + ((1 << k) >> 1)) >> k
    turn = (turn << sh) >> sh
    k = places[7]
    x = turn >> 15
    x = x * places[5] + ((x * places[6] + (turn & 0x7FFF) * places[5]) >> 15)
    knot[3] = (x + ((1 << k) >> 1)) >> k


# places: sum of B, fraction; high and low part of the mantissa and shift of V, the same of A.
@micropython.viper
def _split(p: ptr32, axis: int) -> int:
    """Takes an axis' coefficients apart; 1 where a sum leaves its range, 2 where the axis is not at rest."""
    a = ptr32(int(p))
    sh = a[1]
    harmonics = ptr32(int(a) + a[9])[0]
    places = ptr32(int(a) + a[12] + 32 * axis)
    parts = ptr32(int(a) + a[11] + 128 * axis)
    p = ptr32(int(a) + a[14] + 16 + 4 * (1 + 2 * harmonics) * axis)
    places[1] = p[0]
    p = ptr32(int(p) + 4)
    speed = 0
    turn = 0
    base = 0
    rest_a = 0
    rest_b = 0
    k = 1
    while k <= harmonics:
        x = (p[0] << sh) >> sh
        y = (p[1] << sh) >> sh
        if x < 0 - 0x8000000 or x > 0x8000000 or y < 0 - 0x8000000 or y > 0x8000000:
            return 1
        parts[0] = x >> 14
        parts[1] = x & 0x3FFF
        parts[2] = y >> 14
        parts[3] = y & 0x3FFF
        base += y
        rest_a += k * x
        rest_b += k * k * y
        if x < 0:
            x = 0 - x
        if y < 0:
            y = 0 - y
        x += y
        if x > (0xFF00000 - speed) // k or x > (0x3FF00000 - turn) // (k * k):
            return 1
        speed += k * x
        turn += k * k * x
        p = ptr32(int(p) + 8)
        parts = ptr32(int(parts) + 16)
        k += 1
    places[0] = base
    places[2] = speed
    places[5] = turn
    if rest_a != 0 or rest_b != 0:
        return 2
    return 0


@micropython.viper
def _scale(p: ptr32, axis: int) -> int:
    """Takes the scales of V and A apart; 1 where what they make of the largest sums is too large for a knot."""
    a = ptr32(int(p))
    sh = a[1]
    data = ptr32(int(a) + a[14])
    p = ptr32(int(a) + a[12] + 32 * axis)
    fraction = (p[1] << sh) >> sh
    if fraction < 0 or fraction > 15:
        return 1
    axis = 0
    while axis < 2:
        m = (data[2 * axis] << sh) >> sh
        shift = ((data[2 * axis + 1] << sh) >> sh) + fraction
        if m < 0 or m > 0x3FFFFFFF or shift < 0 or shift > 30:
            return 1
        high = m >> 15
        low = m & 0x7FFF
        x = p[2] >> 15
        y = p[2] & 0x7FFF
        if axis == 0:
            x = ((x * high) << 3) + ((x * low + y * high) >> 12)
            if x >> shift > 0x3F000000:
                return 1
        else:
            x = x * high + ((x * low + y * high) >> 15)
            if x >> shift > 0xFFFFFFF:
                return 1
        p[2] = high
        p[3] = low
        p[4] = shift
        p = ptr32(int(p) + 12)
        axis += 1
    return 0


# 8 * 2**32 = step * period + rest, bit by bit: no number above 2**30 outside viper.
@micropython.viper
def _start(p: ptr32, cycles: int):
    scalars = ptr32(int(p) + p[9])
    period = scalars[2]
    step = 0
    rest = 8
    k = 0
    while k < 32:
        rest = rest << 1
        step = step << 1
        if rest >= period:
            rest -= period
            step += 1
        k += 1
    scalars[1] = cycles
    # The first sines are those of knot 0.
    scalars[3] = 0 - step - 1
    scalars[4] = step
    scalars[5] = rest
    scalars[6] = period - rest


class Fourier:
    """The motion source; its coefficients are what stands in motion_data."""

    def __init__(self, motion, segments):
        axes = motion.axes
        n = axes.n
        self._n = n
        self._usable = segments.usable
        self._scalars = axes.array("fourier_scalars", 8)
        axes.array("fourier_trig", 2 * 4 * MOST_HARMONICS)
        axes.array("fourier_parts", 4 * MOST_HARMONICS * n)
        axes.array("fourier_places", 8 * n)
        self.bound = axes.bind(*ARRAYS + _OWN)
        self.step = _step

    def shape(self, harmonics, period):
        """How many harmonics, and cycles of a period, the next series has."""
        self._scalars[0] = harmonics
        self._scalars[2] = period

    def refusal(self, cycles):
        """Why the series cannot be taken, or None. Whole periods only, so that it ends at rest."""
        harmonics, period = self._scalars[0], self._scalars[2]
        if not (self._usable and 1 <= harmonics <= MOST_HARMONICS
                and _CYCLES_A_HARMONIC * harmonics <= period <= _LONGEST_PERIOD):
            return "out_of_range"
        if cycles % period:
            return "not_at_rest"
        for axis in range(self._n):
            code = _split(self.bound, axis) or _scale(self.bound, axis)
            if code:
                return _REFUSALS[code]
        return None

    def plan(self, cycles):
        """Knots 0 and 1, the first chains, and the sines for knot 2."""
        _start(self.bound, cycles)
        for k in range(-2 * CYCLES - 1, 0):
            if k >= -2 * CYCLES and k & 7 < self._n:
                _knot(self.bound, k)
                chain(self.bound, k)
            if k & 7 == CYCLES - 1:
                _harmonics(self.bound, k)
