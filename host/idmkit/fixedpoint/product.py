"""Products of two int32 values in three widths. Each takes the shifts that lose least."""

from __future__ import annotations

from dataclasses import dataclass

from idmkit.fixedpoint.assembler import Assembler
from idmkit.fixedpoint.program import Code
from idmwire.scales import INT32_MAX

_SHIFTS = range(31)
_PARTS = range(1, 17)


@dataclass(frozen=True)
class Factor:
    """Instruction `place` * 2^exponent."""

    place: int
    exponent: int


@dataclass(frozen=True)
class Product:
    """Instruction `place` * 2^exponent, which differs from the product of its factors by at most `error`."""

    place: int
    exponent: int
    error: float


def narrow(asm: Assembler, a: Factor, b: Factor, limit: int) -> Product:
    """One multiplication of operands cut as far as the product's limit asks; exact where nothing must be cut."""
    size_a, size_b = asm.magnitude(a.place), asm.magnitude(b.place)
    choices = []
    for cut_a in _SHIFTS:
        cut_b = next((s for s in _SHIFTS if _cut(size_a, cut_a) * _cut(size_b, s) <= limit), None)
        if cut_b is not None:
            error = _half(cut_a) * (size_b + _half(cut_b)) + _half(cut_b) * size_a
            choices.append((error, cut_a + cut_b, cut_a, cut_b))
    error, _, cut_a, cut_b = min(choices)
    place = asm.emit(Code.MUL, asm.shift(a.place, cut_a), asm.shift(b.place, cut_b))
    unit = 2.0 ** (a.exponent + b.exponent)
    return Product(place, a.exponent + b.exponent + cut_a + cut_b, error * unit)


def split(asm: Assembler, a: Factor, b: Factor, limit: int) -> Product:
    """One operand whole in two parts, the other cut: (a_high b) + (a_low b >> k)."""
    choices = [_best_split(asm, *pair, limit) for pair in ((a, b), (b, a))]
    simple = narrow(asm, a, b, limit)
    unit = 2.0 ** (a.exponent + b.exponent)
    error, cut, k, whole, other = min(choices, key=lambda choice: choice[:3])
    if simple.error <= error * unit:
        return simple
    factor = asm.shift(other.place, cut)
    high = asm.emit(Code.SHR, whole.place, k=[k])
    low = asm.low_bits(whole.place, k)
    place = asm.emit(Code.ADD, asm.emit(Code.MUL, high, factor), asm.shift(asm.emit(Code.MUL, low, factor), k))
    return Product(place, a.exponent + b.exponent + cut + k, error * unit)


def _best_split(asm: Assembler, whole: Factor, other: Factor, limit: int) -> tuple[float, int, int, Factor, Factor]:
    """(error, cut of the other, k, whole, other) that loses least."""
    size, size_other = asm.magnitude(whole.place), asm.magnitude(other.place)
    choices = []
    for cut in _SHIFTS:
        factor = _cut(size_other, cut)
        for k in _PARTS:
            if ((size >> k) + 1) * factor + factor + 1 <= limit and factor << k <= INT32_MAX - (1 << k):
                choices.append((_half(cut) * size + 0.5 * 2.0 ** (k + cut), cut, k))
                break
    return *min(choices), whole, other


def full(asm: Assembler, a: Factor, b: Factor, limit: int) -> Product:
    """Both operands whole in two parts; the product of the two low parts, less than one unit, is left out."""
    size_a, size_b = asm.magnitude(a.place), asm.magnitude(b.place)
    choices = []
    for k in _PARTS:
        for m in _PARTS:
            high_a, high_b = (size_a >> k) + 1, (size_b >> m) + 1
            middle = high_a << m, high_b << k
            if high_a * high_b + high_a + high_b + 2 <= limit and max(middle) <= INT32_MAX - (1 << max(k, m)):
                choices.append((2.0 ** (k + m + 1), k, m))
    best = split(asm, a, b, limit)
    error, k, m = min(choices)
    unit = 2.0 ** (a.exponent + b.exponent)
    if best.error <= error * unit:
        return best
    high_a, high_b = (asm.emit(Code.SHR, f.place, k=[s]) for f, s in ((a, k), (b, m)))
    low_a, low_b = (asm.low_bits(f.place, s) for f, s in ((a, k), (b, m)))
    middle_1 = asm.shift(asm.emit(Code.MUL, high_a, low_b), m)
    middle_2 = asm.shift(asm.emit(Code.MUL, high_b, low_a), k)
    high = asm.emit(Code.MUL, high_a, high_b)
    place = asm.emit(Code.ADD, asm.emit(Code.ADD, high, middle_1), middle_2)
    return Product(place, a.exponent + b.exponent + k + m, error * unit)


def _cut(magnitude: int, bits: int) -> int:
    """Largest absolute value after a rounding shift."""
    return (magnitude + (1 << bits >> 1)) >> bits


def _half(bits: int) -> float:
    """Largest error of a rounding shift, in units before it."""
    return 2.0 ** (bits - 1) if bits else 0.0
