"""Motions between points: start + coefficient * shape(time) for every axis, in viper. Shapes are in 2**-28.

    move  f0 = 10 s^3 - 15 s^4 + 6 s^5          and its first and second derivative (s = time / duration):
          at rest at both ends, jerk bounded by 60 distance / duration^3
    sine  f0 = 1 - cos(phase)                   begins at rest at its start point, which is an end of its path

The host computes the coefficients in floating point (distance, velocity and acceleration scale of each axis). Where
the model looks ahead (torque_lead), the same shapes are evaluated a second time, that part of a cycle later.

A product of coefficient and shape, each high * 2**15 + low, is rounded to

    (C * F << 2) + (C * f + c * F + (c * f >> 15) + 2**12 >> 13),       capitals high, small letters low

with every sum below 2**31: the coefficients are below 2**30, those of a move's velocity below 2**29 (its shape
reaches 15/8) and of its acceleration below 2**27 (5.8).
"""

import micropython
from micropython import const

# A motion's words: cycles; of a move: 2**30 / cycles and what that division leaves.
_CYCLES = const(0)
_STEP = const(1)
_REST = const(2)
WORDS = 3

# An axis's record: where it starts, high and low of its coefficients, the sine's step in 2**-32 turn a cycle.
_START = const(0)
_DISTANCE = const(1)
_VELOCITY = const(3)
_ACCELERATION = const(5)
_PHASE_STEP = const(7)
_RECORD = const(8)
RECORD = 8


@micropython.viper
def prepare(a: ptr32):
    """The axes' records, from the coefficients of all axes: start, distance, velocity, acceleration, phase step."""
    i = 0
    c = ptr32(int(a) + a[2])
    n = a[0]
    sh = a[1]
    given = ptr32(int(a) + a[3])
    while i < n:
        c[_START] = given[i]
        c[_DISTANCE] = ((given[n + i] << sh) >> sh) >> 15
        c[_DISTANCE + 1] = given[n + i] & 0x7FFF
        c[_VELOCITY] = ((given[2 * n + i] << sh) >> sh) >> 15
        c[_VELOCITY + 1] = given[2 * n + i] & 0x7FFF
        c[_ACCELERATION] = ((given[3 * n + i] << sh) >> sh) >> 15
        c[_ACCELERATION + 1] = given[3 * n + i] & 0x7FFF
        c[_PHASE_STEP] = given[4 * n + i]
        c = ptr32(int(c) + 4 * _RECORD)
        i += 1


# s in 2**-30. w = s (1 - s) <= 2**28; products drop their lowest partial term: error <= 4 in 2**-28.
# Ranges: 10 s^3 <= 2**30.4 for s <= 1/2 (the other half by symmetry); 15 z <= 2**30.5; 30 w^2 <= 2**30.9.
@micropython.viper
def move(a: ptr32) -> int:
    """The setpoint of a move; 1 at its end."""
    c = ptr32(int(a) + a[2])
    i = 0
    n = a[0]
    sh = a[1]
    words = ptr32(int(a) + a[3])
    k = ptr32(int(a) + a[4])[0]
    out = ptr32(int(a) + a[5])
    lead = ptr32(int(a) + a[7])[0]
    s = k * words[_STEP] + k * words[_REST] // words[_CYCLES]
    times = 2 if lead else 1
    while times:
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
        w = half - s2
        wh = w >> 15
        speed = (30 * (wh * wh + ((2 * wh * (w & 0x7FFF)) >> 15))) >> 2
        d = 0x3FFFFFFF - 2 * half + 1
        dh = d >> 15
        turn = 15 * (wh * dh + ((wh * (d & 0x7FFF) + (w & 0x7FFF) * dh) >> 15))
        if s > 0x20000000:
            place = 0x10000000 - place
            turn = 0 - turn
        fh = place >> 15
        fl = place & 0x7FFF
        gh = speed >> 15
        gl = speed & 0x7FFF
        hh = turn >> 15
        hl = turn & 0x7FFF
        c = ptr32(int(a) + a[2])
        i = 0
        while i < n:
            t = c[_DISTANCE] * fl + c[_DISTANCE + 1] * fh + ((c[_DISTANCE + 1] * fl) >> 15) + 0x1000
            out[i] = c[_START] + ((c[_DISTANCE] * fh) << 2) + (((t << sh) >> sh) >> 13)
            t = c[_VELOCITY] * gl + c[_VELOCITY + 1] * gh + ((c[_VELOCITY + 1] * gl) >> 15) + 0x1000
            out[n + i] = ((c[_VELOCITY] * gh) << 2) + (((t << sh) >> sh) >> 13)
            t = c[_ACCELERATION] * hl + c[_ACCELERATION + 1] * hh + ((c[_ACCELERATION + 1] * hl) >> 15) + 0x1000
            out[2 * n + i] = ((c[_ACCELERATION] * hh) << 2) + (((t << sh) >> sh) >> 13)
            c = ptr32(int(c) + 4 * _RECORD)
            i += 1
        times -= 1
        out = ptr32(int(a) + a[6])
        further = (words[_STEP] >> 15) * lead + ((words[_STEP] & 0x7FFF) * lead >> 15)
        # Never a sum beyond 2**30, not even to cut it.
        s = s + further if further < 0x3FFFFFFF - s else 0x3FFFFFFF
    return 1 if k >= words[_CYCLES] else 0


# Sine and cosine as in fixed.sincos.
@micropython.viper
def sine(a: ptr32) -> int:
    """The setpoint of a sine of each axis; 2 in its last cycle."""
    c = ptr32(int(a) + a[2])
    i = 0
    n = a[0]
    sh = a[1]
    k = ptr32(int(a) + a[4])[0]
    out = ptr32(int(a) + a[5])
    lead = ptr32(int(a) + a[7])[0]
    table = ptr32(int(a) + a[8])
    later = 0
    while True:
        c = ptr32(int(a) + a[2])
        i = 0
        while i < n:
            p = k * c[_PHASE_STEP]
            if later:
                d = (c[_PHASE_STEP] << sh) >> sh
                p += (d >> 15) * later + (((d & 0x7FFF) * later) >> 15)
            p = ((p + 0x800000) << sh) >> sh
            entry = ptr32(int(table) + (((p >> 24) & 0xFF) << 2))
            r = (p & 0xFFFFFF) - 0x800000
            b = r + (((r >> 12) * 299262) >> 7) + (((r & 0xFFF) * 299262) >> 19)
            bh = b >> 9
            b &= 0x1FF
            half = (bh * bh) >> 15
            third = ((half * bh >> 19) * 21845) >> 16
            s = (entry[0] << sh) >> sh
            e = (entry[64] << sh) >> sh
            sh15 = s >> 15
            ch15 = e >> 15
            fl = e - ((sh15 * bh) >> 6) - ((sh15 * b) >> 15) - (((s & 0x7FFF) * bh) >> 21)
            gl = s + ((ch15 * bh) >> 6) + ((ch15 * b) >> 15) + (((e & 0x7FFF) * bh) >> 21)
            fl = (fl - ((ch15 * half) >> 13) + ((sh15 * third) >> 15) + 2) >> 2
            gl = (gl - ((sh15 * half) >> 13) - ((ch15 * third) >> 15) + 2) >> 2
            fh = fl >> 15
            fl &= 0x7FFF
            t = c[_ACCELERATION] * fl + c[_ACCELERATION + 1] * fh + ((c[_ACCELERATION + 1] * fl) >> 15) + 0x1000
            out[2 * n + i] = ((c[_ACCELERATION] * fh) << 2) + (((t << sh) >> sh) >> 13)
            # 1 - cos
            fl = 0x10000000 - (fh << 15) - fl
            fh = fl >> 15
            fl &= 0x7FFF
            t = c[_DISTANCE] * fl + c[_DISTANCE + 1] * fh + ((c[_DISTANCE + 1] * fl) >> 15) + 0x1000
            out[i] = c[_START] + ((c[_DISTANCE] * fh) << 2) + (((t << sh) >> sh) >> 13)
            fh = gl >> 15
            fl = gl & 0x7FFF
            t = c[_VELOCITY] * fl + c[_VELOCITY + 1] * fh + ((c[_VELOCITY + 1] * fl) >> 15) + 0x1000
            out[n + i] = ((c[_VELOCITY] * fh) << 2) + (((t << sh) >> sh) >> 13)
            c = ptr32(int(c) + 4 * _RECORD)
            i += 1
        if later == lead:
            return 2 if k >= ptr32(int(a) + a[3])[_CYCLES] else 0
        later = lead
        out = ptr32(int(a) + a[6])
