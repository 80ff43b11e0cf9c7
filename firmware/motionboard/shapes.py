"""Motions between points: start + coefficient * shape(time) for every axis, in viper. Shapes are in 2**-28.

    move  f0 = 10 s^3 - 15 s^4 + 6 s^5          and its first and second derivative (s = time / duration):
          at rest at both ends, jerk bounded by 60 distance / duration^3
    sine  f0 = 1 - cos(phase)                   begins at rest at its start point, which is an end of its path

The host computes the coefficients in floating point (distance, velocity and acceleration scale of each axis). Where
the model looks ahead (torque_lead), the same shapes are evaluated a second time, that part of a cycle later.

A product of coefficient and shape, each high * 2**15 + low, is rounded to

    (C * F << 2) + (C * f + c * F + (c * f >> 15) + 2**12 >> 13),       capitals high, small letters low

with every sum below 2**31: the coefficients are below 2**30, those of a move's velocity below 2**29 (its shape
reaches 15/8) and of its acceleration below 2**27 (5.8). What the look ahead adds to a shape is small: d * 2**e with 15
bits of d, and e for the whole motion. With the coefficient as m * 2**p, 15 bits of m, it adds m * d >> (28 - e - p).
"""

import micropython
from micropython import const

# A motion's words: cycles; of a move: 2**30 / cycles and what that division leaves; bytes from an axis's shapes to the
# next one's (none where all axes have the same).
_CYCLES = const(0)
_STEP = const(1)
_REST = const(2)
_STRIDE = const(3)
WORDS = 4

# An axis's record: its coefficients and its shapes, high and low of each.
_START = const(0)
_DISTANCE = const(1)
_VELOCITY = const(3)
_ACCELERATION = const(5)
_F0 = const(7)
_F1 = const(9)
_F2 = const(11)
# What is ahead: d of each shape, how far the products are shifted (with SH), m of each coefficient; e of each shape of
# a move.
_D = const(13)
_SHIFT = const(16)
_M = const(19)
_E = const(22)
# Of a sine: its step in 2**-32 turn a cycle; sine and 1 - cosine of what it turns ahead, times 2**(e - 28).
_PHASE_STEP = const(25)
_AHEAD_SINE = const(26)
_AHEAD_TURN = const(27)
_RECORD = const(28)
RECORD = 28


@micropython.viper
def prepare(c: ptr32):
    """The axes' records, from the coefficients of all axes; nothing ahead."""
    i = 0
    n = c[0]
    sh = c[1]
    given = ptr32(int(c) + c[3])
    c = ptr32(int(c) + c[2])
    while i < n:
        c[_START] = given[i]
        k = 0
        while k < 3:
            t = (given[n + k * n + i] << sh) >> sh
            c[2 * k + _DISTANCE] = t >> 15
            c[2 * k + _DISTANCE + 1] = t & 0x7FFF
            shift = 28
            while t > 0x7FFF or t < -0x7FFF:
                t >>= 1
                shift -= 1
            c[k + _M] = t
            c[k + _SHIFT] = shift + sh
            c[k + _D] = 0
            k += 1
        c[_PHASE_STEP] = given[4 * n + i]
        c = ptr32(int(c) + 4 * _RECORD)
        i += 1


# |step| is at most an eighth of a turn, so e is at most 13 and no shift below 0.
@micropython.viper
def sine_ahead(c: ptr32, lead: int, sine: ptr32, cosine: ptr32, once: int):
    """What the sines turn in `lead` 2**-15 cycles: its phases into `sine`, or, once more, from its sine and cosine."""
    i = 0
    n = c[0]
    sh = c[1]
    c = ptr32(int(c) + c[2])
    while i < n:
        if once:
            t = (c[_PHASE_STEP] << sh) >> sh
            sine[i] = (t >> 15) * lead + (((t & 0x7FFF) * lead) >> 15)
        else:
            t = (sine[i] << sh) >> sh
            v = 0x10000000 - cosine[i]
            while t > 0x7FFF or t < -0x7FFF or v > 0x7FFF:
                t = (t + 1) >> 1
                v = (v + 1) >> 1
                c[_SHIFT] = c[_SHIFT] - 1
                c[_SHIFT + 1] = c[_SHIFT + 1] - 1
                c[_SHIFT + 2] = c[_SHIFT + 2] - 1
            c[_AHEAD_SINE] = t
            c[_AHEAD_TURN] = v
        c = ptr32(int(c) + 4 * _RECORD)
        i += 1


# The shapes change by no more than 15/8, 5.8 and 60 times the part of the move; the last by no more than 11.6 either:
# e is at most 13, 15 and 17, with coefficients of 30, 29 and 27 bits, p at most 15, 14 and 12.
@micropython.viper
def move_ahead(c: ptr32, part: int):
    """Where the part of a move that lies ahead is so large, in 2**-28."""
    n = c[0]
    sh = c[1]
    first = ptr32(int(c) + c[2])
    k = 0
    while k < 3:
        most = 2 * part
        e = 0
        if k == 1:
            most = 6 * part
        elif k == 2:
            most = 15 * (part if part < 0x4000000 else 0x4000000)
            e = 2
        while most > 0x7FFF:
            most >>= 1
            e += 1
        first[k + _E] = e
        i = 0
        while i < n:
            c = ptr32(int(first) + 4 * _RECORD * i)
            c[k + _SHIFT] = c[k + _SHIFT] - e if c[k + _SHIFT] > e + sh else sh
            i += 1
        k += 1


# s in 2**-30. w = s (1 - s) <= 2**28; products drop their lowest partial term: error <= 4 in 2**-28.
# Ranges: 10 s^3 <= 2**30.4 for s <= 1/2 (the other half by symmetry); 15 z <= 2**30.5; 30 w^2 <= 2**30.9.
@micropython.viper
def move(a: ptr32) -> int:
    """The shapes of a move in this cycle; 1 in its last one."""
    s = ptr32(int(a) + a[4])[0]
    words = ptr32(int(a) + a[3])
    last = 1 if s >= words[_CYCLES] else 0
    s = s * words[_STEP] + s * words[_REST] // words[_CYCLES]
    lead = ptr32(int(a) + a[5])[0]
    sh = a[1]
    c = ptr32(int(a) + a[2])
    times = 2 if lead else 1
    while times:
        h = s if s <= 0x20000000 else 0x3FFFFFFF - s + 1
        hh = h >> 15
        hl = h & 0x7FFF
        s2 = hh * hh + ((2 * hh * hl) >> 15)
        t = s2 >> 15
        s3 = t * hh + ((t * hl + (s2 & 0x7FFF) * hh) >> 15)
        t = s3 >> 15
        s4 = t * hh + ((t * hl + (s3 & 0x7FFF) * hh) >> 15)
        t = s4 >> 15
        place = (10 * s3 - 15 * s4 + 6 * (t * hh + ((t * hl + (s4 & 0x7FFF) * hh) >> 15))) >> 2
        w = h - s2
        wh = w >> 15
        w &= 0x7FFF
        speed = (30 * (wh * wh + ((2 * wh * w) >> 15))) >> 2
        t = 0x3FFFFFFF - 2 * h + 1
        hh = t >> 15
        turn = 15 * (wh * hh + ((wh * (t & 0x7FFF) + w * hh) >> 15))
        if s > 0x20000000:
            place = 0x10000000 - place
            turn = 0 - turn
        if times == 1 and lead:
            c[_D] = (place >> c[_E]) - (c[_D] >> c[_E])
            c[_D + 1] = (speed >> c[_E + 1]) - (c[_D + 1] >> c[_E + 1])
            c[_D + 2] = (turn >> c[_E + 2]) - (((c[_D + 2] << sh) >> sh) >> c[_E + 2])
        else:
            c[_F0] = place >> 15
            c[_F0 + 1] = place & 0x7FFF
            c[_F1] = speed >> 15
            c[_F1 + 1] = speed & 0x7FFF
            c[_F2] = turn >> 15
            c[_F2 + 1] = turn & 0x7FFF
            if lead:
                c[_D] = place
                c[_D + 1] = speed
                c[_D + 2] = turn
        times -= 1
        t = (words[_STEP] >> 15) * lead + ((words[_STEP] & 0x7FFF) * lead >> 15)
        # Never a sum beyond 2**30, not even to cut it.
        s = s + t if t < 0x3FFFFFFF - s else 0x3FFFFFFF
    return last


# Sine and cosine as in fixed.sincos, with sin b and 1 - cos b for b and b^2/2.
@micropython.viper
def sine(c: ptr32) -> int:
    """The shapes of the axes' sines in this cycle; 2 in the last one."""
    t = 0
    n = c[0]
    sh = c[1]
    k = ptr32(int(c) + c[4])[0]
    lead = ptr32(int(c) + c[5])[0]
    table = ptr32(int(c) + c[6])
    last = 2 if k >= ptr32(int(c) + c[3])[_CYCLES] else 0
    c = ptr32(int(c) + c[2])
    while n:
        n -= 1
        t = ((k * c[_PHASE_STEP] + 0x800000) << sh) >> sh
        entry = ptr32(int(table) + (((t >> 24) & 0xFF) << 2))
        t = (t & 0xFFFFFF) - 0x800000
        b = t + (((t >> 12) * 299262) >> 7) + (((t & 0xFFF) * 299262) >> 19)
        t = b >> 9
        half = (t * t) >> 15
        b -= ((half * t >> 19) * 21845) >> 16
        t = b >> 9
        b &= 0x1FF
        s = (entry[0] << sh) >> sh
        e = (entry[64] << sh) >> sh
        s15 = s >> 15
        e15 = e >> 15
        s += ((e15 * t) >> 6) + ((e15 * b) >> 15) + (((e & 0x7FFF) * t) >> 21)
        e -= ((s15 * t) >> 6) + ((s15 * b) >> 15) + (((entry[0] & 0x7FFF) * t) >> 21)
        s = (s - ((s15 * half) >> 13) + 2) >> 2
        e = (e - ((e15 * half) >> 13) + 2) >> 2
        c[_F2] = e >> 15
        c[_F2 + 1] = e & 0x7FFF
        c[_F1] = s >> 15
        c[_F1 + 1] = s & 0x7FFF
        t = 0x10000000 - e
        c[_F0] = t >> 15
        c[_F0 + 1] = t & 0x7FFF
        if lead:
            s >>= 13
            e >>= 13
            c[_D + 1] = (((e * c[_AHEAD_SINE] - s * c[_AHEAD_TURN] + 0x4000) << sh) >> sh) >> 15
            t = (((s * c[_AHEAD_SINE] + e * c[_AHEAD_TURN] + 0x4000) << sh) >> sh) >> 15
            c[_D] = t
            c[_D + 2] = 0 - t
        c = ptr32(int(c) + 4 * _RECORD)
    return last


@micropython.viper
def place(c: ptr32):
    """The setpoints of all axes from their shapes, and what else a motion leaves behind, as motion.settle does."""
    j = 4 * c[0]
    sh = c[1]
    sh13 = sh + 13
    stride = ptr32(int(c) + c[3])[_STRIDE]
    k = ptr32(int(c) + c[4])
    k[0] = k[0] + 1
    position = ptr32(int(c) + c[5])
    velocity = ptr32(int(position) + j)
    acceleration = ptr32(int(velocity) + j)
    direction = ptr32(int(acceleration) + j)
    ahead = ptr32(int(c) + c[6])
    ahead1 = ptr32(int(ahead) + j)
    ahead2 = ptr32(int(ahead1) + j)
    ahead3 = ptr32(int(ahead2) + j)
    before = ptr32(int(c) + c[7])
    last = ptr32(int(c) + c[8])
    c = ptr32(int(c) + c[2])
    f = ptr32(int(c) + (stride >> 2) * j)
    c = ptr32(int(c) + _RECORD * j)
    while j:
        j -= 4
        c = ptr32(int(c) - 4 * _RECORD)
        f = ptr32(int(f) - stride)
        t = c[_DISTANCE] * f[_F0 + 1] + c[_DISTANCE + 1] * f[_F0] + ((c[_DISTANCE + 1] * f[_F0 + 1]) >> 15) + 0x1000
        t = c[_START] + ((c[_DISTANCE] * f[_F0]) << 2) + ((t << sh) >> sh13)
        ptr32(int(position) + j)[0] = t
        ptr32(int(ahead) + j)[0] = t + (((c[_M] * f[_D]) << sh) >> c[_SHIFT])
        t = c[_ACCELERATION] * f[_F2 + 1] + c[_ACCELERATION + 1] * f[_F2] + (
            (c[_ACCELERATION + 1] * f[_F2 + 1]) >> 15) + 0x1000
        t = ((c[_ACCELERATION] * f[_F2]) << 2) + ((t << sh) >> sh13)
        ptr32(int(acceleration) + j)[0] = t
        ptr32(int(ahead2) + j)[0] = t + (((c[_M + 2] * f[_D + 2]) << sh) >> c[_SHIFT + 2])
        t = c[_VELOCITY] * f[_F1 + 1] + c[_VELOCITY + 1] * f[_F1] + ((c[_VELOCITY + 1] * f[_F1 + 1]) >> 15) + 0x1000
        t = ((((c[_VELOCITY] * f[_F1]) << 2) + ((t << sh) >> sh13)) << sh) >> sh
        ptr32(int(velocity) + j)[0] = t
        ptr32(int(before) + j)[0] = ptr32(int(last) + j)[0]
        ptr32(int(last) + j)[0] = t
        if t:
            ptr32(int(direction) + j)[0] = (t >> 31) | 1
        t += ((c[_M + 1] * f[_D + 1]) << sh) >> c[_SHIFT + 1]
        ptr32(int(ahead1) + j)[0] = t
        if t:
            ptr32(int(ahead3) + j)[0] = (t >> 31) | 1

