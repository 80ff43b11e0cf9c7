"""Motions made of segments of eight cycles, between knots that a source computes: position, velocity, acceleration.

Between two knots each axis follows the quintic with these six values, so a source does its work for one axis a cycle:
in cycle k that of axis k mod 8, for the knot two segments ahead. The quintic is stepped by forward differences, which
are additions only: five for the position, four for the velocity, three for the acceleration.

    D = q1 - q0, V = 8 cycles * velocity, A = (8 cycles)^2 * acceleration, u = k / 8
    q = q0 + V0 u + A0/2 u^2 + c3 u^3 + c4 u^4 + c5 u^5
    2 c3 = 20 D - 12 V0 - 8 V1 - 3 A0 + A1
    2 c4 = -30 D + 16 V0 + 14 V1 + 3 A0 - 2 A1
    2 c5 = 12 D - 6 V0 - 6 V1 - A0 + A1

Of a sine of frequency w the quintic misses at most (8 w T)^6 / 46080 of the position and (8 w T)^4 / 720 of the
acceleration; a cubic it meets. What the model reads ahead comes from the same differences (Newton, to the second).
"""

import micropython

CYCLES = 8

ARRAYS = ("segment_chains", "segment_knots", "segment_scales", "channels", "ahead", "torque_lead", "motion_k")
_VELOCITY_BITS = 3
_ACCELERATION_BITS = 2


# A knot: position in counts, its fraction, V and A in 2**-9 counts; |V| < 2**30, |A| < 2**28. Sums of them may wrap,
# what they make does not. A chain: position in counts and 2**-12, its differences in 2**-12; velocity in 2**-3 counts
# and its differences; acceleration in 2**-2 counts and its differences.
@micropython.viper
def chain(p: ptr32, k: int):
    """The chain of the next segment for axis k mod 8, from the knots at its ends."""
    a = ptr32(int(p))
    sh = a[1]
    axis = k & 7
    knot = ptr32(int(a) + a[3] + 32 * axis)
    first = int(a) + a[4] + 24 * axis
    scales = ptr32(first)
    if not (k & 8):
        axis += a[0]
    p = ptr32(int(a) + a[2] + 64 * axis)
    c1 = knot[2]
    c2 = (knot[3] << sh) >> sh
    v1 = knot[6]
    a1 = knot[7]
    d = ((knot[4] - knot[0]) << 9) + knot[5] - knot[1]
    p[0] = knot[0]
    p[1] = knot[1] << 3
    knot[0] = knot[4]
    knot[1] = knot[5]
    knot[2] = v1
    knot[3] = a1
    c3 = ((20 * d - 12 * c1 - 8 * v1 - 3 * c2 + a1) << sh) >> sh
    c4 = ((16 * c1 + 14 * v1 + 3 * c2 - 30 * d - 2 * a1) << sh) >> sh
    c5 = ((12 * d - 6 * c1 - 6 * v1 - c2 + a1) << sh) >> sh
    p[2] = c1 + ((((((((c5 >> 3) + c4) >> 3) + c3) >> 3) + c2) >> 3) >> 1)
    p[3] = ((c2 << 2) + ((3 * c3 + ((7 * c4 + ((15 * c5) >> 3)) >> 3)) >> 1)) >> 5
    p[4] = (3 * c3 + ((18 * c4 + ((75 * c5) >> 3)) >> 3)) >> 6
    p[5] = (12 * c4 + 15 * c5) >> 9
    p[6] = (15 * c5) >> 10
    p[7] = 2 * c1
    p[8] = 2 * c2 + ((3 * c3 + ((4 * c4 + ((5 * c5) >> 3)) >> 3)) >> 3)
    p[9] = 6 * c3 + ((24 * c4 + ((70 * c5) >> 3)) >> 3)
    p[10] = 24 * c4 + ((180 * c5) >> 3)
    p[11] = 120 * c5
    p[12] = 2 * c2
    p[13] = 6 * c3 + ((12 * c4 + ((20 * c5) >> 3)) >> 3)
    p[14] = 24 * c4 + 15 * c5
    p[15] = 120 * c5
    # Each is now in 2**-10 counts of position a segment, or an eighth, a sixty-fourth ... of it.
    k = 5
    while k > 0:
        v1 = scales[0]
        a1 = scales[1]
        shift = scales[2]
        while k > 0:
            c1 = (p[7] << sh) >> sh
            c2 = c1 >> 15
            p[7] = ((((c1 & 0x7FFF) * v1 + c2 * a1) >> 15) + c2 * v1 + ((1 << shift) >> 1)) >> shift
            p = ptr32(int(p) + 4)
            shift += 3
            k -= 1
        if int(scales) == first:
            scales = ptr32(int(scales) + 12)
            k = 4


@micropython.viper
def advance(p: ptr32, k: int):
    """The setpoint of cycle k of all axes, and what is ahead of it; their chains go on to the next cycle."""
    a = ptr32(int(p))
    n = a[0]
    p = ptr32(int(a) + a[2])
    if k & 8:
        p = ptr32(int(p) + 64 * n)
    # The two arguments are what viper keeps in registers.
    k = a[1]
    out = ptr32(int(a) + a[5])
    ahead = ptr32(int(a) + a[6])
    lead = ptr32(int(a) + a[7])[0]
    half = lead * (0x8000 - lead) >> 16
    left = n
    n *= 4
    while left:
        x = (p[1] >> 11) + p[0]
        v = ((p[7] << k) >> k) + 4
        t = ((p[12] << k) >> k) + 2
        out[0] = x
        ptr32(int(out) + n)[0] = v >> 3
        ptr32(int(out) + 2 * n)[0] = t >> 2
        if lead:
            d = (p[3] << k) >> k
            ahead[0] = (((((p[2] << k) >> k) >> 14) * lead) >> 13) - (((d >> 10) * half) >> 17) + x
            d = (p[9] << k) >> k
            ptr32(int(ahead) + n)[0] = ((((((p[8] << k) >> k) >> 7) * lead) >> 8) - ((d * half) >> 15) + v) >> 3
            d = (p[14] << k) >> k
            ptr32(int(ahead) + 2 * n)[0] = ((((((p[13] << k) >> k) >> 5) * lead) >> 10) - ((d * half) >> 15) + t) >> 2
            ahead = ptr32(int(ahead) + 4)
        x = p[1] + p[2]
        p[0] = (((x << k) >> k) >> 12) + p[0]
        p[1] = x & 0xFFF
        p[2] = p[2] + p[3]
        p[3] = p[3] + p[4]
        p[4] = p[4] + p[5]
        p[5] = p[5] + p[6]
        p[7] = p[7] + p[8]
        p[8] = p[8] + p[9]
        p[9] = p[9] + p[10]
        p[10] = p[10] + p[11]
        p[12] = p[12] + p[13]
        p[13] = p[13] + p[14]
        p[14] = p[14] + p[15]
        p = ptr32(int(p) + 64)
        out = ptr32(int(out) + 4)
        left -= 1


def _split(factor_top, factor_bottom):
    """(high, low, shift) of top / bottom < 1/2: value * factor = (value * (high 2**15 + low)) >> (30 + shift)."""
    shift = 1
    while shift < 18 and (factor_top << (shift + 1)) < factor_bottom:
        shift += 1
    mantissa = (factor_top << (30 + shift)) // factor_bottom
    return mantissa >> 15, mantissa & 0x7FFF, shift


class Segments:
    """What all sources made of segments share; made while disarmed."""

    def __init__(self, axes, settings):
        n = axes.n
        axes.array("segment_chains", 32 * n)
        self.knots = axes.array("segment_knots", 8 * n)
        scales = axes.array("segment_scales", 6 * n)
        # False where the cycle is so short that a scale would not fit.
        self.usable = True
        for i in range(n):
            # Counts of velocity are step counts a cycle: 1 / step in 2**-10 / 8 counts a segment, with its bits.
            step, rate = settings.step_mantissa[i], settings.rate_mantissa[i]
            if step <= 0 or rate <= 0:
                self.usable = False
                continue
            top, bottom = 1 << (settings.step_shift[i] + _VELOCITY_BITS), step << 13
            # A change of velocity in a cycle is `rate` counts of acceleration.
            ttop = (rate << settings.step_shift[i]) << _ACCELERATION_BITS
            tbottom = (step << settings.rate_shift[i]) << 16
            if 2 * top >= bottom or 2 * ttop >= tbottom:
                self.usable = False
                continue
            for j, value in enumerate(_split(top, bottom) + _split(ttop, tbottom)):
                scales[6 * i + j] = value
