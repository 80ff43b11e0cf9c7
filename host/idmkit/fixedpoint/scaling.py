"""Pass 3: exponents, shifts and widths; the formula becomes int32 instructions with a proved error.

Every value is an int32 with its own exponent. Sums are kept 30 bits wide. A product comes in three widths:
narrow (both operands cut to about 15 bits), split (one operand whole, in two parts), full (both whole). The
compiler starts with narrow ones and widens where the error comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from idmkit.fixedpoint import circular
from idmkit.fixedpoint.assembler import Assembler
from idmkit.fixedpoint.formula import Formula, Node, Op
from idmkit.fixedpoint.product import Factor, Product, full, narrow, split
from idmkit.fixedpoint.program import Code, ProgramParameter
from idmkit.fixedpoint.ranges import Interval
from idmwire.scales import SCALES, SMALL_MAX

WIDE = circular.LIMIT
"""Largest absolute value of a wide integer: two of them add up within int32."""
_MAX_SHIFT = 30
INPUT_EXPONENTS = (
    SCALES["position"][0],
    SCALES["velocity"][0],
    SCALES["acceleration"][0],
    0,
)
TORQUE_EXPONENT = SCALES["torque"][0]


class Width(IntEnum):
    """How a product is made."""

    NARROW = 0
    SPLIT = 1
    FULL = 2


@dataclass(frozen=True)
class Value:
    """Instruction `place` * 2^exponent stands for a real value to within `error`."""

    place: int
    exponent: int
    error: float


class Lowering:
    """Lowers one formula; `values` holds what each node became, `rounding` the error each product adds itself."""

    def __init__(
        self,
        formula: Formula,
        inputs: Sequence[Interval],
        parameters: Sequence[ProgramParameter],
        widths: dict[int, Width],
    ) -> None:
        self.formula = formula
        self.asm = Assembler([parameter.limit for parameter in parameters])
        self.rounding: dict[int, float] = {}
        self._inputs = inputs
        self._parameters = parameters
        self._widths = widths
        self._n_axes = len(inputs) // len(INPUT_EXPONENTS)
        self.values: dict[int, Value] = {}
        angles = _angles(formula)
        for place, node in enumerate(formula.nodes):
            if place not in angles:
                self.values[place] = self._lower(place, node)
        self.outputs = [self._output(self.values[place]) for place in formula.outputs]

    def _lower(self, place: int, node: Node) -> Value:
        match node.op:
            case Op.INPUT:
                return self._input(node.index)
            case Op.PARAMETER:
                exponent = self._parameters[node.index].exponent
                return Value(self.asm.emit(Code.PARAMETER, k=[node.index]), exponent, 2.0 ** (exponent - 1))
            case Op.CONSTANT:
                return self._constant(node.value)
            case Op.ADD | Op.SUB:
                code = Code.ADD if node.op is Op.ADD else Code.SUB
                return self._sum(code, self.values[node.args[0]], self.values[node.args[1]])
            case Op.MUL:
                return self._product(place, self.values[node.args[0]], self.values[node.args[1]])
            case Op.NEG:
                value = self.values[node.args[0]]
                return Value(self.asm.emit(Code.NEG, value.place), value.exponent, value.error)
            case Op.SIN | Op.COS:
                return self._circular(node)

    def _input(self, index: int) -> Value:
        """Loaded and held within the robot's limits, which the board counts."""
        exponent = INPUT_EXPONENTS[index // self._n_axes]
        one = 2.0**-exponent
        low = max(math.floor(self._inputs[index].low * one), -SMALL_MAX)
        high = min(math.ceil(self._inputs[index].high * one), SMALL_MAX)
        return Value(self.asm.clamp(self.asm.emit(Code.LOAD, k=[index]), low, high), exponent, 0.0)

    def _constant(self, value: float) -> Value:
        """29 bits at most, without trailing zeros: short numbers make short products."""
        exponent = math.frexp(value)[1] - 29
        mantissa = round(value * 2.0**-exponent)
        while mantissa and mantissa % 2 == 0:
            mantissa, exponent = mantissa // 2, exponent + 1
        return Value(self.asm.constant(mantissa), exponent, abs(value - mantissa * 2.0**exponent))

    def _sum(self, code: Code, a: Value, b: Value) -> Value:
        """Both operands at the finest exponent at which they and their sum are at most WIDE."""
        exponent = max(min(a.exponent, b.exponent), self._finest(a), self._finest(b))
        while self._sum_magnitude(code, a, b, exponent) > WIDE:
            exponent += 1
        left, right = self._align(a, exponent), self._align(b, exponent)
        return Value(self.asm.emit(code, left.place, right.place), exponent, left.error + right.error)

    def _finest(self, value: Value) -> int:
        """Smallest exponent at which the value is at most WIDE."""
        magnitude = self.asm.magnitude(value.place)
        exponent = value.exponent
        if magnitude == 0:
            return -1000
        while magnitude << 1 <= WIDE:
            magnitude, exponent = magnitude << 1, exponent - 1
        while magnitude > WIDE:
            magnitude, exponent = magnitude + 1 >> 1, exponent + 1
        return exponent

    def _sum_magnitude(self, code: Code, a: Value, b: Value, exponent: int) -> float:
        low_a, high_a = (limit * 2.0 ** (a.exponent - exponent) for limit in self.asm.ranges[a.place])
        low_b, high_b = (limit * 2.0 ** (b.exponent - exponent) for limit in self.asm.ranges[b.place])
        if code is Code.SUB:
            low_b, high_b = -high_b, -low_b
        return max(abs(low_a + low_b), abs(high_a + high_b)) + 1

    def _align(self, value: Value, exponent: int) -> Value:
        """The value at another exponent; a value far below it becomes zero, and its size an error."""
        bits = exponent - value.exponent
        size = self.asm.magnitude(value.place) * 2.0**value.exponent
        if bits > _MAX_SHIFT or size == 0:
            return Value(self.asm.constant(0), exponent, value.error + size)
        error = value.error + (2.0 ** (exponent - 1) if bits > 0 else 0.0)
        return Value(self.asm.shift(value.place, bits), exponent, error)

    def _product(self, place: int, a: Value, b: Value) -> Value:
        for power, other in ((a, b), (b, a)):
            low, high = self.asm.ranges[power.place]
            if low == high == 1 and power.error == 0:
                return Value(other.place, other.exponent + power.exponent, other.error * 2.0**power.exponent)
        makers: dict[Width, Callable[[Assembler, Factor, Factor, int], Product]] = {
            Width.NARROW: narrow,
            Width.SPLIT: split,
            Width.FULL: full,
        }
        left, right = Factor(a.place, a.exponent), Factor(b.place, b.exponent)
        made = makers[self._widths.get(place, Width.NARROW)](self.asm, left, right, WIDE)
        self.rounding[place] = made.error
        size_a = self.asm.magnitude(a.place) * 2.0**a.exponent + a.error
        size_b = self.asm.magnitude(b.place) * 2.0**b.exponent + b.error
        return Value(made.place, made.exponent, made.error + size_a * b.error + size_b * a.error)

    def _circular(self, node: Node) -> Value:
        turns, error = self._turns(node.args[0])
        angle = circular.split(self.asm, turns)
        make = circular.sine if node.op is Op.SIN else circular.cosine
        return Value(make(self.asm, angle), circular.EXPONENT, circular.ERROR + 2 * math.pi * error)

    def _turns(self, place: int) -> tuple[int, float]:
        """An angle in 2^-24 turn, each joint cut to one turn so that sums stay small; and its error in turns."""
        node = self.formula.nodes[place]
        one = 2.0 ** -INPUT_EXPONENTS[0]
        if node.op is Op.INPUT:
            return self.asm.low_bits(self.asm.emit(Code.LOAD, k=[node.index]), -INPUT_EXPONENTS[0]), 0.0
        if node.op is Op.CONSTANT:
            return self.asm.constant(round(node.value * one)), abs(round(node.value * one) / one - node.value)
        parts = [self._turns(arg) for arg in node.args]
        code = {Op.ADD: Code.ADD, Op.SUB: Code.SUB, Op.NEG: Code.NEG, Op.MUL: Code.MUL}[node.op]
        if code is not Code.MUL:
            return self.asm.emit(code, *(turns for turns, _ in parts)), sum(error for _, error in parts)
        factor, joint = sorted(node.args, key=lambda arg: self.formula.nodes[arg].op is not Op.CONSTANT)
        times = self.asm.constant(int(self.formula.nodes[factor].value))
        return self.asm.emit(Code.MUL, times, self._turns(joint)[0]), 0.0

    def _output(self, value: Value) -> Value:
        """In counts of the wire's torque, within its range."""
        room = SMALL_MAX >> max(value.exponent - TORQUE_EXPONENT, 0)
        value = self._clamped(value, -room, room)
        value = self._align(value, TORQUE_EXPONENT)
        return self._clamped(value, -SMALL_MAX, SMALL_MAX)

    def _clamped(self, value: Value, low: int, high: int) -> Value:
        return Value(self.asm.clamp(value.place, low, high), value.exponent, value.error)


def _angles(formula: Formula) -> set[int]:
    """Nodes that only sines and cosines use: they are computed in turns, not as real values."""
    users: dict[int, set[int]] = {place: set() for place in range(len(formula.nodes))}
    for place, node in enumerate(formula.nodes):
        for arg in node.args:
            users[arg].add(place)
    result: set[int] = set()
    for place in range(len(formula.nodes) - 1, -1, -1):
        if place in formula.outputs:
            continue
        if all(user in result or formula.nodes[user].op in (Op.SIN, Op.COS) for user in users[place]):
            result.add(place)
    return result
