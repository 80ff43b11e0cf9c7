"""Fixed-point arithmetic in viper: products of whole words, and the sine.

A viper function must not hand numbers beyond 2**30 to another one (they would become heap objects on a 32-bit
board), and a call costs as much as ten multiplications. So what a cycle needs is worked out in its own functions, by
the formulas that stand here; this module prepares their factors.

SH sign-extends a ptr32 load: on 64-bit MicroPython it arrives zero-extended and `(v << 32) >> 32` mends it; on
32-bit words the shift is zero. Sums and products are right modulo 2**32 all the same, so only what is shifted right
or compared needs it.

**Conversion of a position.** A factor is a whole number and a fraction of 30 bits, in two halves of 15:

    factor = whole + (high * 2**15 + low) / 2**30
    x * factor = x * whole + h * high + (h * low + 2**14 >> 15) + (l * high + 2**14 >> 15)

with h = x >> 15 and l = x & 0x7FFF: for any x of 32 bits to within 2 (the two roundings, and l * low, which is left
out) and the factor's own 2**-31; zero remains zero. Each product is below 2**31: h has 17 bits with its sign.
"""

import sys

import micropython

SH = 32 if sys.maxsize > 0x7FFFFFFF else 0


@micropython.viper
def split(a: ptr32):
    """Factors mantissa / 2**shift of all axes as (whole, high, low); |mantissa| < 2**30, shift 1..45.

    Binds mantissa, shift, the records that begin with the three words, and the words of a record.
    """
    i = 0
    n = a[0]
    sh = a[1]
    mantissa = ptr32(int(a) + a[2])
    shift = ptr32(int(a) + a[3])
    record = ptr32(int(a) + a[4])
    step = 4 * a[5]
    while i < n:
        m = (mantissa[i] << sh) >> sh
        s = shift[i]
        if s > 30:
            whole = 0
            fraction = ((m >> (s - 31)) + 1) >> 1
            if fraction < 0:
                whole = 0 - 1
                fraction = fraction + 0x3FFFFFFF + 1
        else:
            whole = m >> s
            fraction = (m - (whole << s)) << (30 - s)
        record[0] = whole
        record[1] = fraction >> 15
        record[2] = fraction & 0x7FFF
        record = ptr32(int(record) + step)
        i += 1


# sin(a + b) by angle addition: a is one of 256 table angles, |b| <= pi/256, so b**4/24 < 2**-30.
# Error below 2**-26.
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
