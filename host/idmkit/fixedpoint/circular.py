"""Sine and cosine of a 24-bit angle by table and angle addition, in int32.

The nearest of 256 table angles leaves a rest d of at most 1/512 turn, r = 2 pi d in radians:

    sin(a + r) = S cos r + C sin r  with  cos r ~ 1 - h,  h = r^2/2,  sin r ~ r (1 - R^2/8),  R = pi/256

The factor of r halves twice the error of leaving out r^3/6 (the best straight line through the cubic on [-R, R]).
"""

from __future__ import annotations

from dataclasses import dataclass

from idmkit.fixedpoint.assembler import Assembler
from idmkit.fixedpoint.program import SINE_ONE, Code

EXPONENT = -30
ERROR = 2.0**-20.4
"""Bound of the absolute error; a test tries all 2^24 angles."""
LIMIT = SINE_ONE + 2**9
"""Bound of the absolute value, from the same test; interval arithmetic alone finds 1 % more."""

_HALF_STEP = 1 << 15
_RADIANS = 51471
"""2 pi (1 - R^2/8) 2^13: turns in 2^-24 to radians in 2^-22 after a shift by 15."""


@dataclass(frozen=True)
class Angle:
    """An angle split for the table: index of its cosine and sine, r in 2^-22 rad, h in 2^-28."""

    index: int
    r: int
    h: int


def split(asm: Assembler, turns: int) -> Angle:
    """Splits an angle in 2^-24 turn (any multiple of a turn away) into table angle and rest."""
    shifted = asm.emit(Code.ADD, asm.low_bits(turns, 24), asm.constant(_HALF_STEP))
    index = asm.low_bits(asm.emit(Code.SHR, shifted, k=[16]), 8)
    d = asm.emit(Code.SUB, asm.low_bits(shifted, 16), asm.constant(_HALF_STEP))
    r = _down(asm, asm.emit(Code.MUL, d, asm.constant(_RADIANS)), 15)
    half_r = _down(asm, r, 1)
    h = _down(asm, asm.emit(Code.MUL, half_r, half_r), 15)
    return Angle(index, r, h)


def sine(asm: Assembler, angle: Angle) -> int:
    """Place of the sine, in 2^-30."""
    s, c = _table(asm, angle)
    change = _down(asm, asm.emit(Code.MUL, _narrow(asm, c), angle.r), 7)
    return _corrected(asm, s, asm.emit(Code.ADD, s, change), angle)


def cosine(asm: Assembler, angle: Angle) -> int:
    """Place of the cosine, in 2^-30."""
    s, c = _table(asm, angle)
    change = _down(asm, asm.emit(Code.MUL, _narrow(asm, s), angle.r), 7)
    return _corrected(asm, c, asm.emit(Code.SUB, c, change), angle)


def _table(asm: Assembler, angle: Angle) -> tuple[int, int]:
    quarter = asm.emit(Code.ADD, angle.index, asm.constant(64))
    return asm.emit(Code.SINE, angle.index), asm.emit(Code.SINE, quarter)


def _narrow(asm: Assembler, value: int) -> int:
    return _down(asm, value, 15)


def _down(asm: Assembler, value: int, bits: int) -> int:
    """Shifted without rounding, two machine instructions cheaper; ERROR holds what that costs."""
    return asm.emit(Code.SHR, value, k=[bits])


def _corrected(asm: Assembler, entry: int, linear: int, angle: Angle) -> int:
    bend = _down(asm, asm.emit(Code.MUL, _narrow(asm, entry), angle.h), 13)
    return asm.emit(Code.SUB, linear, bend, known=(-LIMIT, LIMIT))
