"""Motions between points: start + coefficient * shape(time) for every axis, in viper. Shapes are in 2**-28.

    move  f0 = 10 s^3 - 15 s^4 + 6 s^5          and its first and second derivative (s = time / duration):
          at rest at both ends, jerk bounded by 60 distance / duration^3
    sine  f0 = 1 - cos(phase)                   begins at rest at its start point, which is an end of its path
          (its record holds the path's middle, start + distance, and the shapes are sine and cosine)

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

# A motion's words: cycles; of a move: 2**30 / cycles and what that division leaves.
_CYCLES = const(0)
_STEP = const(1)
_REST = const(2)
# Of a move: its shapes in this cycle, high and low of each, and d of each.
_F0 = const(3)
_F1 = const(5)
_F2 = const(7)
_D = const(9)
WORDS = 12

# An axis's record: its coefficients, high and low of each.
_START = const(0)
_DISTANCE = const(1)
_VELOCITY = const(3)
_ACCELERATION = const(5)
# What is ahead: how far the products are shifted (with SH), m of each coefficient; e of each shape of a move.
_SHIFT = const(7)
_M = const(10)
_E = const(13)
# Of a sine: its step in 2**-32 turn a cycle; sine and 1 - cosine of what it turns ahead, times 2**(e - 28).
_PHASE_STEP = const(16)
_AHEAD_SINE = const(17)
_AHEAD_TURN = const(18)
_RECORD = const(19)
RECORD = 19


@micropython.viper
def prepare(c: ptr32, sine: int):
    """The axes' records, of a sine or of a move, from the coefficients of all axes; nothing ahead."""
    i = 0
    n = c[0]
    sh = c[1]
    given = ptr32(int(c) + c[3])
    c = ptr32(int(c) + c[2])
    while i < n:
        c[_START] = given[i] + given[n + i] if sine else given[i]
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
            k += 1
        c[_PHASE_STEP] = given[4 * n + i]
        c[_AHEAD_SINE] = c[_AHEAD_TURN] = 0
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
def move(c: ptr32) -> int:
    """The shapes of a move in this cycle; 1 in its last one."""
    words = ptr32(int(c) + c[3])
    k = ptr32(int(c) + c[4])
    lead = ptr32(int(c) + c[5])[0]
    c = ptr32(int(c) + c[2])
    now = k[0] * words[_STEP] + k[0] * words[_REST] // words[_CYCLES]
    s = now
    d = d1 = d2 = 0
    times = 1
    if lead:
        times = 2
        t = (words[_STEP] >> 15) * lead + ((words[_STEP] & 0x7FFF) * lead >> 15)
        # Never a sum beyond 2**30, not even to cut it.
        s = s + t if t < 0x3FFFFFFF - s else 0x3FFFFFFF
    # What is ahead first.
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
        times -= 1
        if times:
            d = place >> c[_E]
            d1 = speed >> c[_E + 1]
            d2 = turn >> c[_E + 2]
            s = now
        elif lead:
            d -= place >> c[_E]
            d1 -= speed >> c[_E + 1]
            d2 -= turn >> c[_E + 2]
    words[_F0] = place >> 15
    words[_F0 + 1] = place & 0x7FFF
    words[_F1] = speed >> 15
    words[_F1 + 1] = speed & 0x7FFF
    words[_F2] = turn >> 15
    words[_F2 + 1] = turn & 0x7FFF
    words[_D] = d
    words[_D + 1] = d1
    words[_D + 2] = d2
    return 1 if k[0] >= words[_CYCLES] else 0


# A motion does itself what motion._settle does for others: it saves a way through all axes.
@micropython.viper
def place(c: ptr32):
    """The setpoints of a move, from its shapes."""
    t = 0
    j = 4 * c[0]
    sh, sh13 = c[1], c[1] + 13
    words, k = ptr32(int(c) + c[3]), ptr32(int(c) + c[4])
    k[0] = k[0] + 1
    position, ahead = ptr32(int(c) + c[6]), ptr32(int(c) + c[7])
    velocity, ahead1 = ptr32(int(position) + j), ptr32(int(ahead) + j)
    acceleration, ahead2 = ptr32(int(velocity) + j), ptr32(int(ahead1) + j)
    direction, ahead3 = ptr32(int(acceleration) + j), ptr32(int(ahead2) + j)
    before, last = ptr32(int(c) + c[8]), ptr32(int(c) + c[9])
    h, low = words[_F0], words[_F0 + 1]
    h1, low1 = words[_F1], words[_F1 + 1]
    h2, low2 = (words[_F2] << sh) >> sh, words[_F2 + 1]
    d, d1 = words[_D], words[_D + 1]
    d2 = words[_D + 2]
    c = ptr32(int(c) + c[2] + _RECORD * j)
    while j:
        j -= 4
        c = ptr32(int(c) - 4 * _RECORD)
        t = c[_DISTANCE] * low + c[_DISTANCE + 1] * h + ((c[_DISTANCE + 1] * low) >> 15) + 0x1000
        t = c[_START] + ((c[_DISTANCE] * h) << 2) + ((t << sh) >> sh13)
        ptr32(int(position) + j)[0] = t
        ptr32(int(ahead) + j)[0] = t + (((c[_M] * d) << sh) >> c[_SHIFT])
        t = c[_ACCELERATION] * low2 + c[_ACCELERATION + 1] * h2 + ((c[_ACCELERATION + 1] * low2) >> 15) + 0x1000
        t = ((c[_ACCELERATION] * h2) << 2) + ((t << sh) >> sh13)
        ptr32(int(acceleration) + j)[0] = t
        ptr32(int(ahead2) + j)[0] = t + (((c[_M + 2] * d2) << sh) >> c[_SHIFT + 2])
        t = c[_VELOCITY] * low1 + c[_VELOCITY + 1] * h1 + ((c[_VELOCITY + 1] * low1) >> 15) + 0x1000
        t = ((((c[_VELOCITY] * h1) << 2) + ((t << sh) >> sh13)) << sh) >> sh
        ptr32(int(velocity) + j)[0] = t
        ptr32(int(before) + j)[0] = ptr32(int(last) + j)[0]
        ptr32(int(last) + j)[0] = t
        if t:
            ptr32(int(direction) + j)[0] = (t >> 31) | 1
        t += ((c[_M + 1] * d1) << sh) >> c[_SHIFT + 1]
        ptr32(int(ahead1) + j)[0] = t
        if t:
            ptr32(int(ahead3) + j)[0] = (t >> 31) | 1


# Sine and cosine as in fixed.sincos, with sin b and 1 - cos b for b and b^2/2; 2**28 - f0 is the cosine.
@micropython.viper
def sine(c: ptr32) -> int:
    """The setpoints of the axes' sines in this cycle; 2 in the last one."""
    t = 0
    j = 4 * c[0]
    sh, sh13 = c[1], c[1] + 13
    now, table = ptr32(int(c) + c[4]), ptr32(int(c) + c[10])
    k = now[0]
    now[0] = k + 1
    position, ahead = ptr32(int(c) + c[6]), ptr32(int(c) + c[7])
    velocity, ahead1 = ptr32(int(position) + j), ptr32(int(ahead) + j)
    acceleration, ahead2 = ptr32(int(velocity) + j), ptr32(int(ahead1) + j)
    direction, ahead3 = ptr32(int(acceleration) + j), ptr32(int(ahead2) + j)
    before, last = ptr32(int(c) + c[8]), ptr32(int(c) + c[9])
    ended = 2 if k >= ptr32(int(c) + c[3])[_CYCLES] else 0
    c = ptr32(int(c) + c[2] + _RECORD * j)
    while j:
        j -= 4
        c = ptr32(int(c) - 4 * _RECORD)
        t = ((k * c[_PHASE_STEP] + 0x800000) << sh) >> sh
        entry = ptr32(int(table) + (((t >> 24) & 0xFF) << 2))
        t = (t & 0xFFFFFF) - 0x800000
        b = t + (((t >> 12) * 299262) >> 7) + (((t & 0xFFF) * 299262) >> 19)
        t = b >> 9
        half = (t * t) >> 15
        b -= ((half * t >> 19) * 21845) >> 16
        t, b = b >> 9, b & 0x1FF
        s = (entry[0] << sh) >> sh
        e = (entry[64] << sh) >> sh
        s15, e15 = s >> 15, e >> 15
        s += ((e15 * t) >> 6) + ((e15 * b) >> 15) + (((e & 0x7FFF) * t) >> 21)
        e -= ((s15 * t) >> 6) + ((s15 * b) >> 15) + (((entry[0] & 0x7FFF) * t) >> 21)
        s = (s - ((s15 * half) >> 13) + 2) >> 2
        e = (e - ((e15 * half) >> 13) + 2) >> 2
        t, b = s >> 13, e >> 13
        d = ((t * c[_AHEAD_SINE] + b * c[_AHEAD_TURN] + 0x4000) << sh) >> (sh + 15)
        d1 = ((b * c[_AHEAD_SINE] - t * c[_AHEAD_TURN] + 0x4000) << sh) >> (sh + 15)
        s15 = s >> 15
        s &= 0x7FFF
        e15 = e >> 15
        e &= 0x7FFF
        t = c[_DISTANCE] * e + c[_DISTANCE + 1] * e15 + ((c[_DISTANCE + 1] * e) >> 15) + 0x1000
        t = c[_START] - ((c[_DISTANCE] * e15) << 2) - ((t << sh) >> sh13)
        ptr32(int(position) + j)[0] = t
        ptr32(int(ahead) + j)[0] = t + (((c[_M] * d) << sh) >> c[_SHIFT])
        t = c[_ACCELERATION] * e + c[_ACCELERATION + 1] * e15 + ((c[_ACCELERATION + 1] * e) >> 15) + 0x1000
        t = ((c[_ACCELERATION] * e15) << 2) + ((t << sh) >> sh13)
        ptr32(int(acceleration) + j)[0] = t
        ptr32(int(ahead2) + j)[0] = t - (((c[_M + 2] * d) << sh) >> c[_SHIFT + 2])
        t = c[_VELOCITY] * s + c[_VELOCITY + 1] * s15 + ((c[_VELOCITY + 1] * s) >> 15) + 0x1000
        t = ((((c[_VELOCITY] * s15) << 2) + ((t << sh) >> sh13)) << sh) >> sh
        ptr32(int(velocity) + j)[0] = t
        ptr32(int(before) + j)[0] = ptr32(int(last) + j)[0]
        ptr32(int(last) + j)[0] = t
        if t:
            ptr32(int(direction) + j)[0] = (t >> 31) | 1
        t += ((c[_M + 1] * d1) << sh) >> c[_SHIFT + 1]
        ptr32(int(ahead1) + j)[0] = t
        if t:
            ptr32(int(ahead3) + j)[0] = (t >> 31) | 1
    return ended
