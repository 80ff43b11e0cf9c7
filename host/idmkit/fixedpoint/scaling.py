"""Pass 4: exponents, shifts and widths; the formula becomes int32 instructions with a proved error.

Every value is an int32 with its own exponent. A sum is one thing, however many terms it has: all its products are
made at the sum's exponent, so that nothing is shifted between them. What is proved about ranges comes from the
instructions' intervals, and from two terms a cos t + b sin t being at most hypot(a, b). Where that proof is much
larger than any value to be expected, the value is limited near the latter, and the board counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from idmkit.errors import ModelError
from idmkit.fixedpoint import circular
from idmkit.fixedpoint.assembler import Assembler
from idmkit.fixedpoint.formula import Formula, Node, Op
from idmkit.fixedpoint.product import MAKERS, Cut, Factor, Product, Width
from idmkit.fixedpoint.program import Code, ProgramParameter, Unproved
from idmkit.fixedpoint.ranges import Interval
from idmkit.fixedpoint.terms import Term, angles, single_terms, uses
from idmwire.scales import INT32_MAX, SCALES, SMALL_MAX

ROOM = INT32_MAX - 2**24
"""Largest absolute value of a sum before its rounding is known."""
UNBOUNDED = 1e30
"""Bound of an error of which nothing is proved: a long chain of products."""
_ABOVE = 1 + 2.0**-12
"""What is expected exactly must not be limited for the last unit."""
_MAX_SHIFT = 30
_SIGN_BIT = 31
LOOSE = 4.5
"""A value whose proved range is this many times what is expected gets a limit: the power of two above the latter."""
INPUT_EXPONENTS = (SCALES["position"][0], SCALES["velocity"][0], SCALES["acceleration"][0], 0)
TORQUE_EXPONENT = SCALES["torque"][0]


@dataclass(frozen=True)
class Plan:
    """Choices of the compiler: width of products by node, nodes that are cut without rounding."""

    widths: dict[int, Width] = field(default_factory=dict)
    floors: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Value:
    """Instruction `place` * 2^exponent stands for a real value to within `error`."""

    place: int
    exponent: int
    error: float


class Lowering:
    """Lowers one formula.

    `values`: what each node became that stands by itself. Where the error comes from: `cuts` of a product's
    operands, by product; `rounding`, what else a node loses. `shifts`: what sums take off a value. `expected`
    [nodes]: magnitudes that values reach.
    """

    def __init__(
        self,
        formula: Formula,
        inputs: Sequence[Interval],
        parameters: Sequence[ProgramParameter],
        expected: Sequence[float],
        plan: Plan,
    ) -> None:
        self.formula = formula
        self.asm = Assembler([parameter.limit for parameter in parameters])
        self.cuts: dict[int, tuple[Cut, ...]] = {}
        self.rounding: dict[int, float] = {}
        self.shifts: dict[int, list[int]] = {}
        self.values: dict[int, Value] = {}
        self._own: dict[int, float] = {}
        self._inputs = inputs
        self._parameters = parameters
        self._expected = expected
        self._plan = plan
        self._n_axes = len(inputs) // len(INPUT_EXPONENTS)
        counts = uses(formula)
        self._terms, inside = single_terms(formula, counts)
        skipped = angles(formula) | inside
        for place, node in enumerate(formula.nodes):
            if place not in skipped:
                self.values[place] = self._lower(place, node)
        self.outputs = [self._output(self.values[place]) for place in formula.outputs]

    def _lower(self, place: int, node: Node) -> Value:
        match node.op:
            case Op.INPUT:
                return self._input(node.index)
            case Op.PARAMETER:
                exponent = self._parameters[node.index].exponent
                self.rounding[place] = 2.0 ** (exponent - 1)
                return Value(self.asm.emit(Code.PARAMETER, k=[node.index]), exponent, 2.0 ** (exponent - 1))
            case Op.CONSTANT:
                return self._constant(node.value)
            case Op.ADD | Op.SUB:
                return self._limited(place, self._sum(place, self._terms[place]))
            case Op.MUL:
                return self._limited(place, self._alone(place))
            case Op.NEG:
                value = self.values[node.args[0]]
                return Value(self.asm.emit(Code.NEG, value.place), value.exponent, value.error)
            case Op.SIN | Op.COS:
                return self._circular(place, node)
            case Op.LIMIT:
                return self._held(node)
            case Op.SIGN:
                return self._sign(self.values[node.args[0]])
            case Op.INVERSE | Op.ROOT:
                raise ModelError("a quotient or root must be expanded before it is scaled")

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

    def _held(self, node: Node) -> Value:
        value = self.values[node.args[0]]
        low, high = (round(limit * 2.0**-value.exponent) for limit in (node.value, node.high))
        return self._clamped(value, low, high)

    def _sign(self, value: Value) -> Value:
        """The sign of a sum; where that is not exact, nothing is proved near zero."""
        negative = self.asm.emit(Code.SHR, value.place, k=[_SIGN_BIT])
        positive = self.asm.emit(Code.SHR, self.asm.emit(Code.NEG, value.place), k=[_SIGN_BIT])
        return Value(self.asm.emit(Code.SUB, negative, positive), 0, 2.0 if value.error else 0.0)

    def _limited(self, place: int, value: Value) -> Value:
        """Limited where the proved range is much larger than what is expected."""
        largest = self._expected[place] * 2.0**-value.exponent * _ABOVE
        if largest == 0 or self.asm.magnitude(value.place) < LOOSE * largest:
            return value
        limit = 1 << max(math.ceil(math.log2(largest)), 0)
        return self._clamped(value, -limit, limit - 1)

    # --- Products

    def _alone(self, place: int) -> Value:
        """A product that stands by itself, as fine as fits."""
        power = self._power(place)
        if power is not None:
            return power
        magnitude = math.prod(self._magnitude(self.values[arg]) for arg in self.formula.nodes[place].args)
        return self._product(place, self._finest(magnitude, [self._natural(place)]))

    def _power(self, place: int) -> Value | None:
        """A product with a power of two is its other operand at another exponent."""
        a, b = (self.values[arg] for arg in self.formula.nodes[place].args)
        for power, other in ((a, b), (b, a)):
            if self.asm.ranges[power.place] == (1, 1) and power.error == 0:
                return Value(other.place, other.exponent + power.exponent, other.error * 2.0**power.exponent)
        return None

    def _product(self, place: int, exponent: int) -> Value:
        """The product at this exponent or, where its proof fails, at the next that fits; zero where it is far below."""
        args = self.formula.nodes[place].args
        a, b = (self.values[arg] for arg in args)
        if exponent - self._natural(place) > 2 * _MAX_SHIFT:
            self.rounding[place] = lost = self._magnitude(a) * self._magnitude(b)
            return Value(self.asm.constant(0), exponent, lost)
        factors = [Factor(v.place, v.exponent, arg in self._plan.floors) for arg, v in zip(args, (a, b), strict=True)]
        made: Product | None = None
        while made is None:
            made = MAKERS[self._plan.widths.get(place, Width.NARROW)](self.asm, factors[0], factors[1], exponent)
            exponent += 1
        self.cuts[place] = made.cuts
        self.rounding[place] = made.rounding
        self._own[place] = made.error
        error = made.error + self._magnitude(a) * b.error + self._magnitude(b) * a.error + a.error * b.error
        return Value(made.place, made.exponent, min(error, UNBOUNDED))

    def _natural(self, place: int) -> int:
        """Exponent of the exact product."""
        a, b = (self.values[arg] for arg in self.formula.nodes[place].args)
        return a.exponent + b.exponent

    def _magnitude(self, value: Value) -> float:
        return self.asm.magnitude(value.place) * 2.0**value.exponent

    @staticmethod
    def _finest(magnitude: float, natural: Sequence[int]) -> int:
        """Smallest useful exponent at which `magnitude` fits."""
        least = math.ceil(math.log2(magnitude / ROOM)) if magnitude else -1000
        return max(least, min(natural, default=0))

    # --- Sums

    def _sum(self, place: int, terms: Sequence[Term]) -> Value:
        """All terms at one exponent, the finest at which every partial sum is proved."""
        powers = {term.place: power for term in terms if term.inside and (power := self._power(term.place))}
        magnitude, natural = 0.0, []
        for term in terms:
            if term.inside and term.place not in powers:
                args = self.formula.nodes[term.place].args
                magnitude += math.prod(self._magnitude(self.values[arg]) for arg in args)
                natural.append(self._natural(term.place))
            else:
                value = powers.get(term.place) or self.values[term.place]
                magnitude += self._magnitude(value)
                natural.append(value.exponent)
        exponent = self._finest(magnitude, natural)
        while True:
            try:
                return self._added(place, terms, powers, exponent)
            except Unproved:
                exponent += 1

    def _added(self, place: int, terms: Sequence[Term], powers: dict[int, Value], exponent: int) -> Value:
        values = []
        lost = 0.0
        for term in terms:
            if term.inside and term.place not in powers:
                value = self._product(term.place, exponent)
                if value.exponent != exponent:
                    raise Unproved("a product of a sum does not fit")
            else:
                value = powers.get(term.place) or self.values[term.place]
                self.shifts.setdefault(term.place, []).append(exponent - value.exponent)
                value, loss = self._align(value, exponent)
                lost += loss
            values.append(value)
        first = next((k for k, term in enumerate(terms) if term.sign > 0), 0)
        order = [first, *(k for k in range(len(terms)) if k != first)]
        total = values[first].place
        if terms[first].sign < 0:
            total = self.asm.emit(Code.NEG, total)
        bound = self._bound(terms, values, exponent)
        for k in order[1:]:
            code = Code.ADD if terms[k].sign > 0 else Code.SUB
            known = (-bound, bound) if k == order[-1] else None
            total = self.asm.emit(code, total, values[k].place, known=known)
        self.rounding[place] = lost
        return Value(total, exponent, sum(value.error for value in values))

    def _bound(self, terms: Sequence[Term], values: Sequence[Value], exponent: int) -> int:
        """Largest magnitude of the sum in units of its exponent, where sine and cosine of one angle share it."""
        by_angle: dict[tuple[int, Op], list[float]] = {}
        total = 0.0
        slack = 0.0
        for term, value in zip(terms, values, strict=True):
            node = self.formula.nodes[term.place]
            turned = None
            for arg, other in zip(node.args, reversed(node.args), strict=True) if node.op is Op.MUL else ():
                circle = self.formula.nodes[arg]
                if circle.op in (Op.SIN, Op.COS) and turned is None:
                    turned = (circle.args[0], circle.op), self._magnitude(self.values[other])
            if turned is None:
                total += self.asm.magnitude(value.place)
                continue
            slack += self._own.get(term.place, 0.0) * 2.0**-exponent + 1
            by_angle.setdefault(turned[0], []).append(turned[1] * 2.0**-exponent)
        for angle in {angle for angle, _ in by_angle}:
            sides = [sum(by_angle.get((angle, op), [])) for op in (Op.SIN, Op.COS)]
            total += math.hypot(*sides) * (1 + 2.0**-19)
        return math.ceil(total + slack) + 1

    def _align(self, value: Value, exponent: int) -> tuple[Value, float]:
        """The value at another exponent, and what that loses; far below it becomes zero, and its size an error."""
        bits = exponent - value.exponent
        size = self._magnitude(value)
        if bits > _MAX_SHIFT or size == 0:
            return Value(self.asm.constant(0), exponent, value.error + size), size
        if self.asm.ranges[value.place][0] == self.asm.ranges[value.place][1] and size > SMALL_MAX * 2.0**exponent:
            raise Unproved("a literal of 2^30 and more, which boards do not take")
        loss = 2.0 ** (exponent - 1) if bits > 0 else 0.0
        return Value(self.asm.shift(value.place, bits), exponent, value.error + loss), loss

    # --- Angles and outputs

    def _circular(self, place: int, node: Node) -> Value:
        turns, error = self._turns(node.args[0])
        angle = circular.split(self.asm, turns)
        make = circular.sine if node.op is Op.SIN else circular.cosine
        self.rounding[place] = circular.ERROR
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
        if value.exponent > TORQUE_EXPONENT:
            room = SMALL_MAX >> value.exponent - TORQUE_EXPONENT
            value = self._clamped(value, -room, room)
        value, _ = self._align(value, TORQUE_EXPONENT)
        return self._clamped(value, -SMALL_MAX, SMALL_MAX)

    def _clamped(self, value: Value, low: int, high: int) -> Value:
        return Value(self.asm.clamp(value.place, low, high), value.exponent, value.error)
