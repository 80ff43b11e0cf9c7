"""Pass 3: quotients and square roots become sums and products: a polynomial, then Newton's iteration.

Both need the range of their operand. It is what sampling found and some room; the board limits the operand to it
and counts. The error of the iteration, at most ACCURACY of the value, adds to what int32 loses.

    1/x:        y <- y (2 - x y)            an error e of x y becomes e^2
    1/sqrt x:   y <- y (3/2 - x y^2 / 2)    an error e of y becomes 3/2 e^2;   sqrt x = x y
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from idmkit.errors import ModelError
from idmkit.fixedpoint.formula import Formula, FormulaBuilder, Node, Op
from idmkit.fixedpoint.samples import Floats

ACCURACY = 2e-6
_ROOM = 1.25
_POINTS = 2001
_DEGREES = range(1, 7)


@dataclass(frozen=True)
class _Start:
    """Polynomial of the first guess, lowest power first, and how many steps follow."""

    coefficients: tuple[float, ...]
    steps: int


def expand(formula: Formula, low: Floats, high: Floats) -> Formula:
    """The formula without quotients and roots; `low`, `high` [nodes]: what sampling found.

    Raises ModelError where an operand comes near zero (or below, for a root) within the limits of motion.
    """
    if not any(node.op in (Op.INVERSE, Op.ROOT) for node in formula.nodes):
        return formula
    builder = FormulaBuilder()
    places: list[int] = []
    reciprocal_roots: dict[int, int] = {}
    for place, node in enumerate(formula.nodes):
        args = [places[arg] for arg in node.args]
        if node.op is Op.ROOT:
            x = _held(builder, args[0], node, low, high)
            reciprocal_roots[place] = y = _reciprocal_root(builder, *x)
            places.append(builder.mul(x[0], y))
        elif node.op is Op.INVERSE and node.args[0] in reciprocal_roots:
            places.append(reciprocal_roots[node.args[0]])
        elif node.op is Op.INVERSE:
            places.append(_inverse(builder, *_held(builder, args[0], node, low, high)))
        else:
            places.append(_same(builder, node, args))
    return builder.formula([places[output] for output in formula.outputs])


def _same(builder: FormulaBuilder, node: Node, args: Sequence[int]) -> int:
    match node.op:
        case Op.INPUT:
            return builder.input(node.index)
        case Op.PARAMETER:
            return builder.parameter(node.index)
        case Op.CONSTANT:
            return builder.constant(node.value)
        case Op.LIMIT:
            return builder.limit(args[0], node.value, node.high)
        case _:
            return int(getattr(builder, node.op.value)(*args))


def _held(builder: FormulaBuilder, x: int, node: Node, low: Floats, high: Floats) -> tuple[int, float, float]:
    """(the operand, held within its range and positive; the range)."""
    first, last = float(low[node.args[0]]), float(high[node.args[0]])
    if last < 0 and node.op is Op.INVERSE:
        raise ModelError("the model divides by something negative; write the sign into the numerator")
    if first <= 0 or last > 1e6 * first:
        raise ModelError(
            f"the model takes {'a quotient' if node.op is Op.INVERSE else 'a square root'} of a value between "
            f"{first:g} and {last:g} within the limits of motion: a singular posture; narrow position_min and "
            "position_max"
        )
    first, last = first / _ROOM, last * _ROOM
    return builder.limit(x, first, last), first, last


def _inverse(b: FormulaBuilder, x: int, low: float, high: float) -> int:
    start = _start(low, high, lambda v: 1 / v, lambda e: e**2, cost=2)
    y = _polynomial(b, x, start.coefficients)
    for _ in range(start.steps):
        y = b.mul(y, b.sub(b.constant(2.0), b.mul(x, y)))
    return y


def _reciprocal_root(b: FormulaBuilder, x: int, low: float, high: float) -> int:
    start = _start(low, high, lambda v: v**-0.5, lambda e: 1.5 * e**2, cost=3)
    y = _polynomial(b, x, start.coefficients)
    half = b.mul(b.constant(0.5), x)
    for _ in range(start.steps):
        y = b.mul(y, b.sub(b.constant(1.5), b.mul(half, b.mul(y, y))))
    return y


def _polynomial(b: FormulaBuilder, x: int, coefficients: Sequence[float]) -> int:
    y = b.constant(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        y = b.add(b.constant(coefficient), b.mul(x, y))
    return y


def _start(
    low: float, high: float, function: Callable[[Floats], Floats], after: Callable[[float], float], *, cost: int
) -> _Start:
    """The polynomial and number of steps that need the fewest products."""
    v = np.linspace(low, high, _POINTS)
    choices = []
    for degree in _DEGREES:
        nodes = np.cos(np.pi * (np.arange(40 * degree) + 0.5) / (40 * degree))
        at = (low + high) / 2 + (high - low) / 2 * nodes
        fit = np.polynomial.Polynomial.fit(at, function(at), degree, w=1 / function(at), domain=[low, high])
        coefficients = fit.convert().coef
        error = float(np.abs(np.polynomial.polynomial.polyval(v, coefficients) / function(v) - 1).max())
        steps = 0
        while ACCURACY < error < 0.6:
            error, steps = after(error), steps + 1
        if error <= ACCURACY:
            choices.append((degree + cost * steps, degree, _Start(tuple(coefficients.tolist()), steps)))
    if not choices:
        raise ModelError(
            f"a quotient or root over {low:g} .. {high:g} needs too many steps; narrow the limits of motion"
        )
    return min(choices, key=lambda choice: choice[:2])[2]
