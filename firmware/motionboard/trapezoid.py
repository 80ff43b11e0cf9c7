"""Moves of every axis at speeds and accelerations of its own, in pieces of constant jerk: a multi-speed trapezoid.

All pieces last whole segments: a move has ramps of r, constant acceleration of c and constant speed of m segments, in
the order r c r m r c r with the jerk's signs + 0 - 0 - 0 +. In units of jerk / 6 everything is a whole number:

    way += speed + acceleration / 2 + u      speed += acceleration + 3 u      acceleration += 6 u      (u: +1, 0 or -1)

and a move ends after 6 r (r + c) (2 r + c + m) of them, exactly. u is a power of two, so that this number is between
2**28 and 2**30, and mantissa / 2**(30 + shift) is what one of them is worth in counts.

motion_data holds 96 words an axis: moves in its table, moves in all (the table is gone through again and again), then
for every move of the table u, r, c, m, target, mantissa, shift.
"""

import micropython

from motionboard.segments import ARRAYS, CYCLES, advance, chain

_OWN = ("trapezoid_scalars", "trapezoid_axes", "motion_start", "motion_data", "position_min", "position_max")


@micropython.viper
def _step(bound: object) -> int:
    a = ptr32(bound)
    k = ptr32(int(a) + a[8])[0]
    if k & 7 < a[0]:
        _knot(bound, k)
        chain(bound, k)
    advance(bound, k)
    if k != ptr32(int(a) + a[9])[0]:
        return 0
    # Where the time is over before a move is, the axes have to stop; at rest, rounding leaves a few counts.
    n = a[0]
    command = ptr32(int(a) + a[5])
    k = n
    while k < 3 * n:
        x = (command[k] << a[1]) >> a[1]
        if x > 100 or x < -100:
            return 2
        k += 1
    return 1


# An axis: way, speed, acceleration, u of the piece; segments left in it, next piece, moves left, move of the table,
# where that began.
@micropython.viper
def _knot(p: ptr32, k: int):
    """The knot of axis k mod 8 two segments ahead."""
    a = ptr32(int(p))
    sh = a[1]
    k = k & 7
    knot = ptr32(int(a) + a[3] + 32 * k + 16)
    data = ptr32(int(a) + a[12] + 384 * k)
    p = ptr32(int(a) + a[10] + 64 * k)
    move = ptr32(int(data) + 8 + 28 * p[7])
    while p[4] == 0 and p[6] > 0:
        k = p[5]
        if k == 7:
            p[8] = move[4]
            p[0] = 0
            p[1] = 0
            p[2] = 0
            p[6] = p[6] - 1
            p[7] = p[7] + 1
            if p[7] == data[0]:
                p[7] = 0
            move = ptr32(int(data) + 8 + 28 * p[7])
            k = 0
        p[5] = k + 1
        if p[6] > 0:
            p[3] = 0
            if k == 3:
                p[4] = move[3]
            elif k & 1:
                p[4] = move[2]
            else:
                p[4] = move[1]
                p[3] = move[0]
                if k == 2 or k == 4:
                    p[3] = 0 - move[0]
        else:
            p[3] = 0
    high = move[5] >> 15
    low = move[5] & 0x7FFF
    shift = move[6]
    k = 0
    while k < 3:
        x = (p[k] << sh) >> sh
        y = x >> 15
        x = y * high + ((y * low + (x & 0x7FFF) * high) >> 15)
        if k == 0:
            knot[0] = p[8] + (x >> shift)
            knot[1] = ((x & ((1 << shift) - 1)) << 9) >> shift
        elif shift > 9:
            knot[k + 1] = x >> (shift - 9)
        else:
            knot[k + 1] = x << (9 - shift)
        k += 1
    if p[4]:
        u = p[3]
        p[0] = p[0] + p[1] + (((p[2] << sh) >> sh) >> 1) + u
        p[1] = p[1] + p[2] + 3 * u
        p[2] = p[2] + 6 * u
        p[4] = p[4] - 1


# Every factor is checked before it is multiplied: nothing leaves int32.
@micropython.viper
def _fits(p: ptr32, axis: int, i: int) -> int:
    """0 where move i of an axis is too long for the numbers, leaves the limits, or does not end at its target."""
    a = ptr32(int(p))
    sh = a[1]
    low = (ptr32(int(a) + a[13])[axis] << sh) >> sh
    high = (ptr32(int(a) + a[14])[axis] << sh) >> sh
    before = ptr32(int(a) + a[11])[axis]
    p = ptr32(int(a) + a[12] + 384 * axis + 8 + 28 * i)
    if i:
        before = ptr32(int(p) - 28)[4]
    u = (p[0] << sh) >> sh
    r = (p[1] << sh) >> sh
    c = (p[2] << sh) >> sh
    m = (p[3] << sh) >> sh
    target = (p[4] << sh) >> sh
    x = (p[5] << sh) >> sh
    shift = (p[6] << sh) >> sh
    if x < 0 or x > 0x3FFFFFFF or shift < 0 or shift > 20 or target < low or target > high:
        return 0
    high = x >> 15
    low = x & 0x7FFF
    i = 1
    if u < 0:
        u = 0 - u
        i = 0 - 1
    if u < 1 or u > 0xFFFFFFF or r < 1 or r > 0x3FFF or c < 0 or c > 0x3FFF or m < 0 or m > 0xFFFFF:
        return 0
    speed = r * (r + c)
    if speed > 0x7FFFFFF // u:
        return 0
    speed = 6 * u * speed
    if speed > 0x3FFFFFFF // (2 * r + c + m):
        return 0
    way = i * speed * (2 * r + c + m)
    x = way >> 15
    x = (x * high + ((x * low + (way & 0x7FFF) * high) >> 15)) >> shift
    x = ((target - before - x) << sh) >> sh
    if x < 0 - 2 or x > 2:
        return 0
    # V below 2**29, A below 2**27, in 2**-9 counts.
    x = (speed >> 15) * high + (((speed & 0x7FFF) * high) >> 15)
    if x >> shift > 0xFFFFF:
        return 0
    x = 6 * u * r
    x = (x >> 15) * high + (((x & 0x7FFF) * high) >> 15)
    if x >> shift > 0x3FFFF:
        return 0
    return 1


@micropython.viper
def _table(p: ptr32, axis: int) -> int:
    """How many moves are in an axis' table; -1 where it cannot be gone through so often."""
    a = ptr32(int(p))
    sh = a[1]
    start = ptr32(int(a) + a[11])[axis]
    p = ptr32(int(a) + a[12] + 384 * axis)
    count = (p[0] << sh) >> sh
    moves = (p[1] << sh) >> sh
    if count < 0 or count > 13 or moves < 0 or moves > 0xFFFF or (moves > 0 and count == 0):
        return 0 - 1
    # To begin again it must have come back.
    if moves > count and p[2 + 7 * count - 3] != start:
        return 0 - 1
    return count


@micropython.viper
def _begin(p: ptr32, cycles: int):
    """Every axis before its first move."""
    a = ptr32(int(p))
    start = ptr32(int(a) + a[11])
    data = ptr32(int(a) + a[12])
    p = ptr32(int(a) + a[9])
    p[0] = cycles
    p = ptr32(int(a) + a[10])
    axis = 0
    while axis < a[0]:
        k = 0
        while k < 16:
            p[k] = 0
            k += 1
        p[6] = data[96 * axis + 1]
        p[8] = start[axis]
        p = ptr32(int(p) + 64)
        axis += 1


class Trapezoid:
    """The motion source; its moves are what stands in motion_data."""

    def __init__(self, motion, segments):
        axes = motion.axes
        n = axes.n
        self._n = n
        self._usable = segments.usable
        axes.array("trapezoid_scalars", 1)
        axes.array("trapezoid_axes", 16 * n)
        self.bound = axes.bind(*ARRAYS + _OWN)
        self.step = _step

    def refusal(self, cycles):
        """Why the moves cannot be taken, or None."""
        if not self._usable:
            return "out_of_range"
        for axis in range(self._n):
            count = _table(self.bound, axis)
            if count < 0:
                return "out_of_range"
            for i in range(count):
                if not _fits(self.bound, axis, i):
                    return "out_of_range"
        return None

    def plan(self, cycles):
        """Every axis before its first move; knots 0 and 1 and the first chains."""
        _begin(self.bound, cycles)
        for k in range(-2 * CYCLES, 0):
            if k & 7 < self._n:
                _knot(self.bound, k)
                chain(self.bound, k)
