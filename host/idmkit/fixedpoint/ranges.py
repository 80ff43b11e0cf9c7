"""Intervals of real numbers, and one for every node of a formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from idmkit.errors import ModelError
from idmkit.fixedpoint.formula import Formula, Op


@dataclass(frozen=True)
class Interval:
    """All numbers from `low` to `high`."""

    low: float
    high: float

    @property
    def magnitude(self) -> float:
        """Largest absolute value."""
        return max(abs(self.low), abs(self.high))


def node_ranges(formula: Formula, inputs: Sequence[Interval], parameters: Sequence[Interval]) -> list[Interval]:
    """One interval a node, by interval arithmetic; sine and cosine are within [-1, 1] as their angles wrap."""
    ranges: list[Interval] = []
    for node in formula.nodes:
        args = [ranges[place] for place in node.args]
        match node.op:
            case Op.INPUT:
                result = inputs[node.index]
            case Op.PARAMETER:
                result = parameters[node.index]
            case Op.CONSTANT:
                result = Interval(node.value, node.value)
            case Op.ADD:
                result = Interval(args[0].low + args[1].low, args[0].high + args[1].high)
            case Op.SUB:
                result = Interval(args[0].low - args[1].high, args[0].high - args[1].low)
            case Op.MUL:
                result = _product(args[0], args[1], same=node.args[0] == node.args[1])
            case Op.NEG:
                result = Interval(-args[0].high, -args[0].low)
            case Op.SIN | Op.COS | Op.SIGN:
                result = Interval(-1.0, 1.0)
            case Op.LIMIT:
                result = Interval(node.value, node.high)
            case Op.INVERSE | Op.ROOT:
                raise ModelError("a quotient or root must be expanded before its range is known")
        ranges.append(result)
    return ranges


def _product(a: Interval, b: Interval, *, same: bool) -> Interval:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    if same:
        return Interval(0.0 if a.low <= 0 <= a.high else min(a.low**2, a.high**2), max(corners))
    return Interval(min(corners), max(corners))
