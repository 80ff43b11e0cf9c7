"""Turns CasADi expressions into a list of single operations, each computed once.

CasADi lists the operations of a function; here equal ones are merged. Signs are carried along outside the
operations (a - b and b - a, x y and (-x) y are one operation each), so a minus costs an operation only where a
result needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from idmkit.errors import ModelError

UNARY = {
    ca.OP_SQ: "square",
    ca.OP_SIN: "sin",
    ca.OP_COS: "cos",
    ca.OP_TAN: "tan",
    ca.OP_ASIN: "arcsin",
    ca.OP_ACOS: "arccos",
    ca.OP_ATAN: "arctan",
    ca.OP_SQRT: "sqrt",
    ca.OP_INV: "reciprocal",
    ca.OP_EXP: "exp",
    ca.OP_LOG: "log",
    ca.OP_TANH: "tanh",
    ca.OP_SIGN: "sign",
    ca.OP_FABS: "absolute",
}
BINARY = {
    ca.OP_ADD: "add",
    ca.OP_SUB: "subtract",
    ca.OP_MUL: "multiply",
    ca.OP_DIV: "divide",
    ca.OP_POW: "power",
    ca.OP_CONSTPOW: "power",
    ca.OP_ATAN2: "arctan2",
    ca.OP_FMIN: "fmin",
    ca.OP_FMAX: "fmax",
}
"""CasADi's operations by the name of the numpy function that does the same."""

_ODD = {"sin", "tan", "arcsin", "arctan", "tanh", "sign", "reciprocal"}
_EVEN = {"square", "cos", "absolute"}


Node = tuple[Any, ...]
"""An operation: its name, then the indices of earlier nodes; or ("input", place) and ("constant", value).

The place of an input is its index among all elements of the inputs, one after the other.
"""


class Trace:
    """The operations behind some outputs. `outputs[i][k]` is the node of element k of output i."""

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """`inputs`: SX symbols; `outputs`: dense SX columns. Raises ModelError for an operation without a twin."""
        self.nodes: list[Node] = []
        self._known: dict[Node, int] = {}
        starts = [0]
        for symbol in inputs:
            starts.append(starts[-1] + symbol.numel())
        self.n_inputs: int = starts[-1]
        self.outputs: list[list[int]] = [[-1] * output.numel() for output in outputs]
        function = ca.Function("trace", list(inputs), list(outputs))
        work: dict[int, tuple[bool, int]] = {}
        for k in range(function.n_instructions()):
            code, source, target = (
                function.instruction_id(k),
                function.instruction_input(k),
                function.instruction_output(k),
            )
            if code == ca.OP_INPUT:
                work[target[0]] = (False, self._node(("input", starts[source[0]] + source[1])))
            elif code == ca.OP_CONST:
                value = float(function.instruction_constant(k))
                work[target[0]] = (value < 0, self._node(("constant", abs(value))))
            elif code == ca.OP_OUTPUT:
                self.outputs[target[0]][target[1]] = self._plain(work[source[0]])
            else:
                work[target[0]] = self._operate(code, [work[slot] for slot in source])

    def _node(self, node: Node) -> int:
        index = self._known.setdefault(node, len(self.nodes))
        if index == len(self.nodes):
            self.nodes.append(node)
        return index

    def _plain(self, signed: tuple[bool, int]) -> int:
        minus, index = signed
        if not minus:
            return index
        name, *arguments = self.nodes[index]
        if name == "subtract":
            return self._node(("subtract", arguments[1], arguments[0]))
        return self._node(("negative", index))

    def _operate(self, code: int, operands: list[tuple[bool, int]]) -> tuple[bool, int]:
        minus_a, a = operands[0]
        minus_b, b = operands[-1]
        if code == ca.OP_MUL:
            return minus_a != minus_b, self._node(("multiply", a, b) if a < b else ("multiply", b, a))
        if code in (ca.OP_ADD, ca.OP_TWICE):
            return self._add(minus_a, a, minus_b, b)
        if code == ca.OP_SUB:
            return self._add(minus_a, a, not minus_b, b)
        if code == ca.OP_NEG:
            return not minus_a, a
        if code == ca.OP_ASSIGN:
            return minus_a, a
        if code == ca.OP_DIV:
            return minus_a != minus_b, self._node(("divide", a, b))
        if code in UNARY:
            return self._apply(UNARY[code], operands[0])
        if code in BINARY:
            return False, self._node((BINARY[code], *(self._plain(operand) for operand in operands)))
        raise ModelError(f"the model uses CasADi's operation {code}, which has no numpy twin here")

    def _apply(self, name: str, operand: tuple[bool, int]) -> tuple[bool, int]:
        minus, node = operand
        if name in _ODD:
            return minus, self._node((name, node))
        if name in _EVEN:
            return False, self._node((name, node))
        return False, self._node((name, self._plain(operand)))

    def _add(self, minus_a: bool, a: int, minus_b: bool, b: int) -> tuple[bool, int]:
        if minus_a == minus_b:
            return minus_a, self._node(("add", a, b) if a < b else ("add", b, a))
        if a <= b:
            return minus_a, self._node(("subtract", a, b))
        return minus_b, self._node(("subtract", b, a))
