"""A model as a straight line of real operations, in one canonical form.

Equal expressions are one node, constants are folded, signs are moved outwards, the operands of a sum or product
stand in the order of their digests. So the formula, and with it every bit of the compiled program, does not depend
on the order in which another library keeps its operations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Op(StrEnum):
    """Operations of a formula. The argument of SIN and COS is in turns.

    INVERSE is 1/x, ROOT the square root, SIGN -1, 0 or 1. LIMIT holds a value that is proved nowhere, only seen, to be
    between `low` and `high`; the board limits it there and counts.
    """

    INPUT = "input"
    PARAMETER = "parameter"
    CONSTANT = "constant"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    NEG = "neg"
    SIN = "sin"
    COS = "cos"
    INVERSE = "inverse"
    ROOT = "root"
    SIGN = "sign"
    LIMIT = "limit"


@dataclass(frozen=True)
class Node:
    """One operation. `args` are places of earlier nodes, `index` counts inputs or parameters.

    `value` is a constant, or where a LIMIT begins; `high` is where it ends.
    """

    op: Op
    args: tuple[int, ...] = ()
    index: int = 0
    value: float = 0.0
    high: float = 0.0


@dataclass(frozen=True)
class Formula:
    """Nodes in order of evaluation, and the places of the outputs.

    Inputs of n axes are q[0..n), qd, qdd, direction as on the board: revolute positions in turns, all else SI.
    """

    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]

    def text(self) -> str:
        """One line a node, for people and for comparison."""
        lines = [f"f{place} = {_node_text(node)}" for place, node in enumerate(self.nodes)]
        return "\n".join([*lines, "outputs " + " ".join(f"f{place}" for place in self.outputs), ""])

    def evaluate(self, inputs: NDArray[np.float64], parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """Outputs [S, n] in float64 at `inputs` [S, 4n] and `parameters` [p] or [S, p]."""
        return self.values(inputs, parameters)[list(self.outputs)].T

    def values(self, inputs: NDArray[np.float64], parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of all nodes [nodes, S]."""
        theta = np.broadcast_to(parameters, (len(inputs), np.shape(parameters)[-1]))
        values = np.empty((len(self.nodes), len(inputs)))
        for place, node in enumerate(self.nodes):
            values[place] = _evaluate(node, [values[arg] for arg in node.args], inputs, theta)
        return values


def _node_text(node: Node) -> str:
    if node.op is Op.CONSTANT:
        return f"constant {node.value.hex()}"
    if node.op in (Op.INPUT, Op.PARAMETER):
        return f"{node.op} {node.index}"
    if node.op is Op.LIMIT:
        return f"limit f{node.args[0]} {node.value.hex()} {node.high.hex()}"
    return f"{node.op} " + " ".join(f"f{place}" for place in node.args)


def _evaluate(node: Node, args: list[Any], inputs: NDArray[np.float64], theta: NDArray[np.float64]) -> Any:
    match node.op:
        case Op.INPUT:
            return inputs[:, node.index]
        case Op.PARAMETER:
            return theta[:, node.index]
        case Op.CONSTANT:
            return node.value
        case Op.ADD:
            return args[0] + args[1]
        case Op.SUB:
            return args[0] - args[1]
        case Op.MUL:
            return args[0] * args[1]
        case Op.NEG:
            return -args[0]
        case Op.SIN:
            return np.sin(2 * np.pi * args[0])
        case Op.COS:
            return np.cos(2 * np.pi * args[0])
        case Op.INVERSE:
            return 1 / args[0]
        case Op.ROOT:
            return np.sqrt(args[0])
        case Op.SIGN:
            return np.sign(args[0])
        case Op.LIMIT:
            return np.clip(args[0], node.value, node.high)


class FormulaBuilder:
    """Makes nodes in canonical form; each method returns the place of a node."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._places: dict[Node, int] = {}
        self._digests: list[bytes] = []

    def input(self, index: int) -> int:
        """An input of the board's order."""
        return self._make(Node(Op.INPUT, index=index))

    def parameter(self, index: int) -> int:
        """A parameter of the model's order."""
        return self._make(Node(Op.PARAMETER, index=index))

    def constant(self, value: float) -> int:
        """A number; -0.0 counts as 0.0."""
        return self._make(Node(Op.CONSTANT, value=float(value) + 0.0))

    def add(self, a: int, b: int) -> int:
        """Sum of a and b."""
        x, y = self._value(a), self._value(b)
        if x is not None and y is not None:
            return self.constant(x + y)
        if x == 0:
            return b
        if y == 0:
            return a
        if self._is(b, Op.NEG):
            return self.sub(a, self.nodes[b].args[0])
        if self._is(a, Op.NEG):
            return self.sub(b, self.nodes[a].args[0])
        if a == b:
            return self.mul(self.constant(2.0), a)
        return self._make(Node(Op.ADD, self._ordered(a, b)))

    def sub(self, a: int, b: int) -> int:
        """Difference of a and b."""
        x, y = self._value(a), self._value(b)
        if x is not None and y is not None:
            return self.constant(x - y)
        if a == b:
            return self.constant(0.0)
        if y == 0:
            return a
        if x == 0:
            return self.neg(b)
        if self._is(b, Op.NEG):
            return self.add(a, self.nodes[b].args[0])
        if self._is(a, Op.NEG):
            return self.neg(self.add(self.nodes[a].args[0], b))
        return self._make(Node(Op.SUB, (a, b)))

    def mul(self, a: int, b: int) -> int:
        """Product of a and b."""
        x, y = self._value(a), self._value(b)
        if x is not None and y is not None:
            return self.constant(x * y)
        for factor, other in ((x, b), (y, a)):
            if factor == 0:
                return self.constant(0.0)
            if factor == 1:
                return other
            if factor is not None and factor < 0:
                return self.neg(self.mul(self.constant(-factor), other))
        for factor, other in ((a, b), (b, a)):
            if self._is(factor, Op.NEG):
                return self.neg(self.mul(self.nodes[factor].args[0], other))
        return self._make(Node(Op.MUL, self._ordered(a, b)))

    def neg(self, a: int) -> int:
        """Negative of a."""
        x = self._value(a)
        if x is not None:
            return self.constant(-x)
        if self._is(a, Op.NEG):
            return self.nodes[a].args[0]
        if self._is(a, Op.SUB):
            left, right = self.nodes[a].args
            return self.sub(right, left)
        return self._make(Node(Op.NEG, (a,)))

    def sin(self, turns: int) -> int:
        """Sine of an angle in turns."""
        return self._make(Node(Op.SIN, (turns,)))

    def cos(self, turns: int) -> int:
        """Cosine of an angle in turns."""
        return self._make(Node(Op.COS, (turns,)))

    def inverse(self, a: int) -> int:
        """1/a."""
        x = self._value(a)
        if x:
            return self.constant(1 / x)
        if self._is(a, Op.NEG):
            return self.neg(self.inverse(self.nodes[a].args[0]))
        if self._is(a, Op.MUL):
            for factor, other in (self.nodes[a].args, self.nodes[a].args[::-1]):
                if number := self._value(factor):
                    return self.mul(self.constant(1 / number), self.inverse(other))
        return self._make(Node(Op.INVERSE, (a,)))

    def root(self, a: int) -> int:
        """Square root of a."""
        x = self._value(a)
        return self._make(Node(Op.ROOT, (a,))) if x is None or x < 0 else self.constant(x**0.5)

    def sign(self, a: int) -> int:
        """Sign of a: -1, 0 or 1."""
        x = self._value(a)
        if x is not None:
            return self.constant((x > 0) - (x < 0))
        if self._is(a, Op.NEG):
            return self.neg(self.sign(self.nodes[a].args[0]))
        return self._make(Node(Op.SIGN, (a,)))

    def limit(self, a: int, low: float, high: float) -> int:
        """a, held within [low, high]."""
        return self._make(Node(Op.LIMIT, (a,), value=low, high=high))

    def formula(self, outputs: Sequence[int]) -> Formula:
        """What the outputs need, each node right after its operands."""
        order: dict[int, int] = {}
        for output in outputs:
            stack = [output]
            while stack:
                place = stack[-1]
                missing = [arg for arg in self.nodes[place].args if arg not in order]
                if place in order or not missing:
                    stack.pop()
                    order.setdefault(place, len(order))
                else:
                    stack.extend(reversed(missing))
        nodes = [
            Node(node.op, tuple(order[arg] for arg in node.args), node.index, node.value, node.high)
            for node in (self.nodes[place] for place in order)
        ]
        return Formula(tuple(nodes), tuple(order[place] for place in outputs))

    def _make(self, node: Node) -> int:
        if node not in self._places:
            self._places[node] = len(self.nodes)
            self.nodes.append(node)
            head = f"{node.op} {node.index} {node.value.hex()} {node.high.hex()}".encode()
            self._digests.append(hashlib.sha256(head + b"".join(self._digests[arg] for arg in node.args)).digest())
        return self._places[node]

    def _ordered(self, a: int, b: int) -> tuple[int, int]:
        return (a, b) if self._digests[a] <= self._digests[b] else (b, a)

    def _value(self, place: int) -> float | None:
        node = self.nodes[place]
        return node.value if node.op is Op.CONSTANT else None

    def _is(self, place: int, op: Op) -> bool:
        return self.nodes[place].op is op
