"""Fixed-point arithmetic over arrays: the wide multiply and the sine, in viper.

A viper function must not hand numbers beyond 2**30 to another one (they would become heap
objects on a 32-bit board), so these work on arrays: one call serves all axes.

SH sign-extends a ptr32 load: on 64-bit MicroPython it arrives zero-extended and
`(v << 32) >> 32` mends it; on 32-bit words the shift is zero.
"""

import sys

import micropython

SH = 32 if sys.maxsize > 0x7FFFFFFF else 0


# Range: |mantissa| < 2**30, shift 1..45, result in int32 (else it wraps, the same on every word
# size). Every partial product is below 2**31: ah 17 bits signed, mh 15, al and ml 15.
# Budget: about 45 machine instructions an axis.
@micropython.viper
def scale(dst: ptr32, src: ptr32, mantissa: ptr32, shift: ptr32, n: int, sh: int):
    """dst = src * mantissa / 2**shift, rounded, for n elements."""
    i = 0
    while i < n:
        a = (src[i] << sh) >> sh
        m = (mantissa[i] << sh) >> sh
        s = shift[i]
        negative = 0
        if m < 0:
            m = 0 - m
            negative = 1
        ah = a >> 15
        al = a & 0x7FFF
        mh = m >> 15
        ml = m & 0x7FFF
        low = al * ml
        middle = ah * ml
        u = (middle & 0x7FFF) + al * mh + (low >> 15)
        high = ah * mh + (middle >> 15) + (u >> 15)
        rest = ((u & 0x7FFF) << 15) | (low & 0x7FFF)
        # The product is high * 2**30 + rest.
        if s > 30:
            value = ((high >> (s - 31)) + 1) >> 1
        elif s == 30:
            value = high + (rest >> 29)
        else:
            value = (high << (30 - s)) + ((rest + (1 << (s - 1))) >> s)
        if negative:
            value = 0 - value
        dst[i] = value
        i += 1


# sin(a + b) by angle addition: a is one of 256 table angles, |b| <= pi/256, so b**4/24 < 2**-30.
# Error below 2**-26. Budget: about 75 machine instructions an axis.
@micropython.viper
def sincos(sin_out: ptr32, cos_out: ptr32, phase: ptr32, sine: ptr32, n: int, sh: int):
    """Sine and cosine in 2**-28 of phases in 2**-32 turn, for n elements."""
    i = 0
    while i < n:
        p = (phase[i] << sh) >> sh
        k = ((p + 0x800000) >> 24) & 0xFF
        r = ((p + 0x800000) & 0xFFFFFF) - 0x800000
        # b = r * pi/2 in 2**-30 rad; 299262 / 2**19 is pi/2 - 1.
        b = r + (((r >> 12) * 299262) >> 7) + (((r & 0xFFF) * 299262) >> 19)
        bh = b >> 9
        bl = b & 0x1FF
        half = (bh * bh) >> 13
        third = (((half >> 2) * bh >> 19) * 21845) >> 16
        s = (sine[k] << sh) >> sh
        c = (sine[k + 64] << sh) >> sh
        sh15 = s >> 15
        ch15 = c >> 15
        sb = ((sh15 * bh) >> 6) + ((sh15 * bl) >> 15) + (((s & 0x7FFF) * bh) >> 21)
        cb = ((ch15 * bh) >> 6) + ((ch15 * bl) >> 15) + (((c & 0x7FFF) * bh) >> 21)
        s_half = (sh15 * (half >> 2)) >> 13
        c_half = (ch15 * (half >> 2)) >> 13
        sin_out[i] = (s + cb - s_half - ((ch15 * third) >> 15) + 2) >> 2
        cos_out[i] = (c - sb - c_half + ((sh15 * third) >> 15) + 2) >> 2
        i += 1
