"""A model evaluated over its box: how large every value gets, and how much every value weighs in each torque.

States and parameters are drawn inside the box and, as often, from its corners, where sums of like terms are largest.
The seed is fixed, so the same robot gives the same program.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from idmkit.fixedpoint.formula import Formula, Op
from idmkit.fixedpoint.ranges import Interval, node_ranges

Floats = NDArray[np.float64]

STATES = 2048
MARGIN = 1.5
"""How many times what was found a value may reach."""
NEAR = 2.5


class Samples:
    """Values of all nodes of a formula at `count` points of a box.

    `values` [nodes, S]; `slopes[axis]` [nodes, S] is d torque / d node; `low`, `high` [nodes] the extremes found.
    """

    def __init__(
        self, formula: Formula, inputs: Sequence[Interval], parameters: Sequence[Interval], *, count: int = STATES
    ) -> None:
        rng = np.random.default_rng(0)
        self.formula = formula
        self._box = inputs, parameters
        with np.errstate(divide="ignore", invalid="ignore"):
            self.values = formula.values(_draw(inputs, count, rng), _draw(parameters, count, rng))
        self.low: Floats = self.values.min(axis=1)
        self.high: Floats = self.values.max(axis=1)

    @cached_property
    def slopes(self) -> list[Floats]:
        """See above."""
        return [self._slopes(output) for output in self.formula.outputs]

    @property
    def magnitude(self) -> Floats:
        """Largest absolute value found of each node [nodes]."""
        largest: Floats = np.maximum(-self.low, self.high)
        return largest

    def expected(self) -> Floats:
        """What each node's magnitude must be expected to reach [nodes].

        The bound of interval arithmetic, where that is near what was found; else MARGIN times the latter.
        """
        found = self.magnitude
        bound = np.array([interval.magnitude for interval in node_ranges(self.formula, *self._box)])
        expected: Floats = np.where(bound <= NEAR * found, bound, np.fmin(bound, MARGIN * found))
        return expected

    def _slopes(self, output: int) -> Floats:
        """Derivative of one output with respect to every node, in reverse order."""
        values = self.values
        result = np.zeros_like(values)
        result[output] = 1.0
        for place in range(output, -1, -1):
            node, slope = self.formula.nodes[place], result[place]
            if node.op is Op.MUL:
                a, b = node.args
                result[a] += slope * values[b]
                result[b] += slope * values[a]
            elif node.op is Op.SUB:
                result[node.args[0]] += slope
                result[node.args[1]] -= slope
            elif node.op is Op.NEG:
                result[node.args[0]] -= slope
            elif node.op in (Op.ADD, Op.LIMIT):
                for arg in node.args:
                    result[arg] += slope
        return result


def _draw(box: Sequence[Interval], count: int, rng: np.random.Generator) -> Floats:
    """Points [count, len(box)]: a quarter anywhere, a quarter corners, the rest a mixture coordinate by coordinate."""
    low = np.array([interval.low for interval in box])
    high = np.array([interval.high for interval in box])
    shape = (count, len(box))
    anywhere = rng.uniform(low, high, shape)
    corners = np.where(rng.random(shape) < 0.5, low, high)
    share = np.repeat([0.0, 1.0, 0.5, 0.8], [count // 4, count // 4, count // 4, count - 3 * (count // 4)])
    drawn: Floats = np.where(rng.random(shape) < share[:, None], corners, anywhere)
    return drawn
