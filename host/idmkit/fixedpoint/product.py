"""Products of two int32 values in three widths, each made at a wanted exponent, so that sums need no shifts.

narrow: one multiplication, both operands cut. split: one operand whole, in two parts, the other cut. full: both whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from idmkit.fixedpoint.assembler import Assembler
from idmkit.fixedpoint.program import Code
from idmwire.scales import INT32_MAX

_PARTS = 16
_SHARED = 1.7
"""How much more than the least a narrow product may lose where that shares a cut operand with another product."""


class Width(IntEnum):
    """How a product is made."""

    NARROW = 0
    SPLIT = 1
    FULL = 2


@dataclass(frozen=True)
class Factor:
    """Instruction `place` * 2^exponent; `floor`: cut without rounding."""

    place: int
    exponent: int
    floor: bool = False


@dataclass(frozen=True)
class Cut:
    """`bits` taken off operand 0 or 1, which costs at most `error` of its real value."""

    operand: int
    bits: int
    error: float


@dataclass(frozen=True)
class Product:
    """Instruction `place` * 2^exponent, which differs from the product of its factors by at most `error`.

    `cuts` are where that comes from; `rounding` is the rest.
    """

    place: int
    exponent: int
    error: float
    cuts: tuple[Cut, ...] = ()
    rounding: float = 0.0


def narrow(asm: Assembler, a: Factor, b: Factor, exponent: int) -> Product | None:
    """One multiplication; None where the result does not fit at this exponent."""
    cut = exponent - a.exponent - b.exponent
    if cut <= 0:
        if asm.magnitude(a.place) * asm.magnitude(b.place) << -cut > INT32_MAX:
            return None
        return Product(asm.shift(asm.emit(Code.MUL, a.place, b.place), cut), exponent, 0.0)
    choices = []
    for bits_a in range(min(cut, 30) + 1):
        bits_b = cut - bits_a
        if bits_b <= 30 and _size(asm, a, bits_a) * _size(asm, b, bits_b) <= INT32_MAX:
            error_a, error_b = _loss(asm, a, bits_a), _loss(asm, b, bits_b)
            error = error_a * (asm.magnitude(b.place) + error_b) + error_b * asm.magnitude(a.place)
            news = asm.is_new_cut(a.place, bits_a, a.floor) + asm.is_new_cut(b.place, bits_b, b.floor)
            choices.append((error, news, bits_a, bits_b))
    if not choices:
        return None
    least = min(choices)[0]
    error, _, bits_a, bits_b = min(
        (choice for choice in choices if choice[0] <= _SHARED * least), key=lambda choice: (choice[1], choice[0])
    )
    place = asm.emit(Code.MUL, asm.cut(a.place, bits_a, a.floor), asm.cut(b.place, bits_b, b.floor))
    cuts = (_cut(asm, 0, a, bits_a), _cut(asm, 1, b, bits_b))
    return Product(place, exponent, error * 2.0 ** (a.exponent + b.exponent), cuts)


def split(asm: Assembler, a: Factor, b: Factor, exponent: int) -> Product | None:
    """One operand whole in two parts, the other cut: (a_high b) + (a_low b >> k)."""
    simple = narrow(asm, a, b, exponent)
    drop = exponent - a.exponent - b.exponent
    choices = []
    for operand, whole, other in ((1, a, b), (0, b, a)):
        size, size_other = asm.magnitude(whole.place), asm.magnitude(other.place)
        for k in range(1, min(_PARTS, drop) + 1):
            bits = drop - k
            if bits > 30:
                continue
            factor = _rounded(size_other, bits)
            if ((size >> k) + 1) * factor + factor + 1 <= INT32_MAX and factor << k <= INT32_MAX - (1 << k):
                error = _loss(asm, other, bits, rounded=True) * size + 0.5 * 2.0**drop
                choices.append((error, bits, k, operand))
    unit = 2.0 ** (a.exponent + b.exponent)
    if not choices or (simple is not None and simple.error <= min(choices)[0] * unit):
        return simple
    error, bits, k, operand = min(choices)
    whole, other = (b, a) if operand == 0 else (a, b)
    factor = asm.cut(other.place, bits, floor=False)
    high = asm.emit(Code.MUL, asm.emit(Code.SHR, whole.place, k=[k]), factor)
    low = asm.shift(asm.emit(Code.MUL, asm.low_bits(whole.place, k), factor), k)
    cuts = (Cut(operand, bits, _loss(asm, other, bits, rounded=True) * 2.0**other.exponent),)
    return Product(asm.emit(Code.ADD, high, low), exponent, error * unit, cuts, 2.0 ** (exponent - 1))


def full(asm: Assembler, a: Factor, b: Factor, exponent: int) -> Product | None:
    """Both operands whole in two parts; the product of the two low parts, less than one unit, is left out.

    Bits beyond thirty are cut first, since parts of 16 bits and more would not multiply within int32; so is what two
    parts of 16 bits cannot take off.
    """
    best = split(asm, a, b, exponent)
    extra = max(0, exponent - a.exponent - b.exponent - 2 * _PARTS)
    (a, cut_a), (b, cut_b) = (
        _thirty_bits(asm, operand, factor, least)
        for operand, factor, least in ((0, a, (extra + 1) // 2), (1, b, extra // 2))
    )
    size_a, size_b = asm.magnitude(a.place), asm.magnitude(b.place)
    drop = exponent - a.exponent - b.exponent
    choices = []
    for k in range(max(1, drop - _PARTS), min(_PARTS, drop - 1) + 1):
        m = drop - k
        high_a, high_b = (size_a >> k) + 1, (size_b >> m) + 1
        middle = max(high_a << m, high_b << k)
        if high_a * high_b + high_a + high_b + 2 <= INT32_MAX and middle <= INT32_MAX - (1 << max(k, m)):
            choices.append((middle, k, m))
    real = size_a * 2.0**a.exponent, size_b * 2.0**b.exponent
    error = 2.0 ** (exponent + 1) + cut_a.error * (real[1] + cut_b.error) + cut_b.error * real[0]
    if not choices or (best is not None and best.error <= error):
        return best
    _, k, m = min(choices)
    high_a, high_b = (asm.emit(Code.SHR, f.place, k=[s]) for f, s in ((a, k), (b, m)))
    low_a, low_b = (asm.low_bits(f.place, s) for f, s in ((a, k), (b, m)))
    middle_1 = asm.shift(asm.emit(Code.MUL, high_a, low_b), m)
    middle_2 = asm.shift(asm.emit(Code.MUL, high_b, low_a), k)
    high = asm.emit(Code.MUL, high_a, high_b)
    place = asm.emit(Code.ADD, asm.emit(Code.ADD, high, middle_1), middle_2)
    return Product(place, exponent, error, (cut_a, cut_b), 2.0 ** (exponent + 1))


MAKERS = {Width.NARROW: narrow, Width.SPLIT: split, Width.FULL: full}


def _thirty_bits(asm: Assembler, operand: int, factor: Factor, least: int) -> tuple[Factor, Cut]:
    bits = max(least, asm.magnitude(factor.place).bit_length() - 30)
    error = 2.0 ** (factor.exponent + bits - 1) if bits else 0.0
    return Factor(asm.shift(factor.place, bits), factor.exponent + bits), Cut(operand, bits, error)


def _size(asm: Assembler, factor: Factor, bits: int) -> int:
    """Largest absolute value after a cut."""
    return _rounded(asm.magnitude(factor.place), bits)


def _rounded(magnitude: int, bits: int) -> int:
    return -(-magnitude >> bits)


def _loss(asm: Assembler, factor: Factor, bits: int, *, rounded: bool = False) -> float:
    """Largest error of a cut, in units before it; what a constant loses is known."""
    low, high = asm.ranges[factor.place]
    if low == high:
        return abs(low - (low + (1 << bits >> 1) >> bits << bits))
    if not bits:
        return 0.0
    return 2.0**bits if factor.floor and not rounded else 2.0 ** (bits - 1)


def _cut(asm: Assembler, operand: int, factor: Factor, bits: int) -> Cut:
    return Cut(operand, bits, _loss(asm, factor, bits) * 2.0**factor.exponent)
