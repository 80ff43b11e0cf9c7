"""Shapes of motions over time, in 2**-28, in viper: the quintic with its derivatives, the stop's, the sine's steps."""

import micropython


# s in 2**-30. w = s (1 - s) <= 2**28; products drop their lowest partial term: error <= 4 in 2**-28.
# Ranges: 10 s^3 <= 2**30.4 for s <= 1/2 (the other half by symmetry); 15 z <= 2**30.5; 30 w^2 <= 2**30.9.
@micropython.viper
def quintic(s: int, f0: ptr32, f1: ptr32, f2: ptr32, n: int):
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
def advance(phase: ptr32, step: ptr32, n: int):
    """The phases of the next cycle (they wrap)."""
    i = 0
    while i < n:
        phase[i] = phase[i] + step[i]
        i += 1


@micropython.viper
def complement(f0: ptr32, f2: ptr32, n: int):
    """f0 = 1 - cos."""
    i = 0
    while i < n:
        f0[i] = 0x10000000 - f2[i]
        i += 1


# lead in 2**-15 of a cycle, at most 2**15; |step| < 2**30.
@micropython.viper
def lead_phase(ahead: ptr32, phase: ptr32, step: ptr32, lead: int, n: int, sh: int):
    """The phases a fraction of a cycle later."""
    i = 0
    while i < n:
        d = (step[i] << sh) >> sh
        ahead[i] = phase[i] + (d >> 15) * lead + (((d & 0x7FFF) * lead) >> 15)
        i += 1


# h1 = s (1-s)^3 (1+3s) <= 0.28 in 2**-28: from slope 1 to rest.
@micropython.viper
def hermite(s: int) -> int:
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
