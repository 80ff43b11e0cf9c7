"""A model's operations on intervals: what a torque or a position can be while its inputs are within bounds.

Every operation maps intervals to an interval that contains all results, so the outcome is proved whatever happens
between samples. It is wider than the truth by an amount that shrinks with the intervals that go in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idmkit.dynamics.trace import Node, Trace
from idmkit.errors import ModelError

Array = NDArray[np.float64]
Pair = tuple[Array, Array]

BLOCK = 512
"""Intervals that are computed together: all nodes of a six-axis model then fit into 30 MB."""
ROUNDING = 1e-12
"""By which results are widened, relative to their size: more than what rounding adds up to in some thousand steps."""


class IntervalTape:
    """Outputs of CasADi SX expressions over intervals of their inputs."""

    def __init__(self, inputs: Sequence[Any], outputs: Any) -> None:
        """`inputs`: SX symbols; `outputs`: a dense SX column. Raises ModelError for an operation without a rule."""
        self._trace = Trace(inputs, [outputs])
        unknown = {node[0] for node in self._trace.nodes} - {"input", "constant", *_RULES}
        if unknown:
            raise ModelError(f"no interval rule for {', '.join(sorted(unknown))}, which the model uses")

    def __call__(self, low: Array, high: Array) -> Pair:
        """(lowest, highest) [outputs, N] for inputs between `low` and `high` [inputs, N]."""
        outputs = self._trace.outputs[0]
        result = np.empty((2, len(outputs), low.shape[1]))
        for start in range(0, low.shape[1], BLOCK):
            part = slice(start, start + BLOCK)
            values: list[Pair] = []
            for node in self._trace.nodes:
                values.append(_apply(node, values, low[:, part], high[:, part]))
            for place, node_index in enumerate(outputs):
                result[0, place, part], result[1, place, part] = values[node_index]
        slack = ROUNDING * np.abs(result).max(axis=0)
        return result[0] - slack, result[1] + slack


def _apply(node: Node, values: list[Pair], low: Array, high: Array) -> Pair:
    name, *arguments = node
    if name == "input":
        return low[arguments[0]], high[arguments[0]]
    if name == "constant":
        value = np.full(low.shape[1], arguments[0])
        return value, value
    operands = [values[place] for place in arguments]
    if name == "multiply" and arguments[0] == arguments[1]:
        return _square(operands[0])
    result: Pair = _RULES[name](*operands)
    return result


def _multiply(x: Pair, y: Pair) -> Pair:
    corners = np.stack([x[0] * y[0], x[0] * y[1], x[1] * y[0], x[1] * y[1]])
    return corners.min(axis=0), corners.max(axis=0)


def _square(x: Pair) -> Pair:
    low, high = x[0] ** 2, x[1] ** 2
    crosses = (x[0] < 0) & (x[1] > 0)
    return np.where(crosses, 0.0, np.minimum(low, high)), np.maximum(low, high)


def _reciprocal(x: Pair) -> Pair:
    # An interval with 0 in it has no bounded reciprocal; it then proves nothing, and is split.
    good = (x[0] > 0) | (x[1] < 0)
    with np.errstate(divide="ignore"):
        return np.where(good, 1 / x[1], -np.inf), np.where(good, 1 / x[0], np.inf)


def _sqrt(x: Pair) -> Pair:
    return np.sqrt(np.maximum(x[0], 0.0)), np.where(x[0] < 0, np.inf, np.sqrt(np.maximum(x[1], 0.0)))


def _sin(x: Pair) -> Pair:
    ends = np.sin(x[0]), np.sin(x[1])
    top = _passes(x, np.pi / 2)
    bottom = _passes(x, -np.pi / 2)
    return np.where(bottom, -1.0, np.minimum(*ends)), np.where(top, 1.0, np.maximum(*ends))


def _cos(x: Pair) -> Pair:
    return _sin((x[0] + np.pi / 2, x[1] + np.pi / 2))


def _passes(x: Pair, angle: float) -> NDArray[np.bool_]:
    """Where an interval contains `angle` plus whole turns."""
    return np.asarray(np.floor((x[1] - angle) / (2 * np.pi)) >= np.ceil((x[0] - angle) / (2 * np.pi)))


_RULES: dict[str, Any] = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "negative": lambda x: (-x[1], -x[0]),
    "multiply": _multiply,
    "divide": lambda x, y: _multiply(x, _reciprocal(y)),
    "reciprocal": _reciprocal,
    "square": _square,
    "sqrt": _sqrt,
    "sin": _sin,
    "cos": _cos,
}
