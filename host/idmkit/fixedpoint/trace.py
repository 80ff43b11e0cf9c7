"""Pass 1: the model's CasADi expression becomes a formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import casadi as ca

from idmkit.dynamics.graph import Graph
from idmkit.errors import ModelError
from idmkit.fixedpoint.formula import Formula, FormulaBuilder, Op

_TURN = 2 * math.pi
_PARAMETERS = 4
"""Group of the function's inputs that holds theta; 0..3 are q, qd, qdd, direction."""


def trace(graph: Graph, constants: Mapping[int, float]) -> Formula:
    """The formula of a graph; `constants` gives parameters (by index) a value for good.

    Raises ModelError for an operation that the board has not, and for an angle that does not wrap with its joint.
    """
    function = ca.Function("tau", [graph.q, graph.qd, graph.qdd, graph.direction, graph.theta], [ca.densify(graph.tau)])
    builder = FormulaBuilder()
    tracer = _Tracer(builder, graph, constants)
    work: dict[int, int] = {}
    outputs = [0] * graph.n_axes
    for k in range(function.n_instructions()):
        op, source, target = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            outputs[target[1]] = work[source[0]]
        elif op == ca.OP_INPUT:
            work[target[0]] = tracer.load(source[0], source[1])
        elif op == ca.OP_CONST:
            work[target[0]] = builder.constant(function.instruction_constant(k))
        else:
            work[target[0]] = tracer.apply(op, [work[slot] for slot in source])
    return builder.formula(outputs)


class _Tracer:
    def __init__(self, builder: FormulaBuilder, graph: Graph, constants: Mapping[int, float]) -> None:
        self.builder = builder
        self.graph = graph
        self.constants = constants
        b = builder
        self._operations: dict[int, Callable[..., int]] = {
            ca.OP_ASSIGN: lambda x: x,
            ca.OP_ADD: b.add,
            ca.OP_SUB: b.sub,
            ca.OP_MUL: b.mul,
            ca.OP_NEG: b.neg,
            ca.OP_SQ: lambda x: b.mul(x, x),
            ca.OP_DIV: lambda x, y: b.mul(x, b.inverse(y)),
            ca.OP_INV: b.inverse,
            ca.OP_SQRT: b.root,
            ca.OP_SIGN: b.sign,
            ca.OP_TWICE: lambda x: b.mul(b.constant(2.0), x),
            ca.OP_SIN: lambda x: self._circular(x, 0),
            ca.OP_COS: lambda x: self._circular(x, 1),
        }

    def load(self, group: int, index: int) -> int:
        """An input or parameter; a revolute position comes in turns and is made radians."""
        if group == _PARAMETERS:
            if index in self.constants:
                return self.builder.constant(self.constants[index])
            return self.builder.parameter(index)
        place = self.builder.input(group * self.graph.n_axes + index)
        if group == 0 and self.graph.revolute[index]:
            return self.builder.mul(self.builder.constant(_TURN), place)
        return place

    def apply(self, op: int, args: list[int]) -> int:
        if op not in self._operations:
            raise ModelError(
                f"the model uses CasADi operation {op}, which no board program has; write it with + - * / sqrt sin cos "
                "sign"
            )
        return self._operations[op](*args)

    def _circular(self, place: int, quarters: int) -> int:
        """sin(x + quarters of a turn), with the angle's leading joint positive and whole quarters taken out."""
        b = self.builder
        joints, offset = self._turns(place)
        if not joints:
            return b.constant(math.sin(_TURN * (offset + quarters / 4)))
        mirrored = joints[min(joints)] < 0
        if mirrored:
            joints, offset, quarters = {k: -c for k, c in joints.items()}, -offset, -quarters
        whole = round(4 * offset)
        if math.isclose(4 * offset, whole, abs_tol=1e-12):
            offset, quarters = 0.0, quarters + whole
        angle = b.constant(offset)
        for index in sorted(joints):
            angle = b.add(angle, b.mul(b.constant(joints[index]), b.input(index)))
        value = b.cos(angle) if quarters % 2 else b.sin(angle)
        return b.neg(value) if (quarters % 4 in (2, 3)) != mirrored else value

    def _turns(self, place: int) -> tuple[dict[int, int], float]:
        """An angle as whole multiples of revolute joints (by input index) plus an offset in turns."""
        nodes = self.builder.nodes
        node = nodes[place]
        if node.op is Op.CONSTANT:
            return {}, node.value / _TURN
        if node.op is Op.NEG:
            joints, offset = self._turns(node.args[0])
            return {k: -c for k, c in joints.items()}, -offset
        if node.op in (Op.ADD, Op.SUB):
            (left, a), (right, b) = (self._turns(arg) for arg in node.args)
            sign = 1 if node.op is Op.ADD else -1
            total = {k: left.get(k, 0) + sign * right.get(k, 0) for k in left | right}
            return {k: c for k, c in total.items() if c}, a + sign * b
        if node.op is Op.MUL:
            factors = [arg for arg in node.args if nodes[arg].op is Op.CONSTANT]
            others = [arg for arg in node.args if nodes[arg].op is not Op.CONSTANT]
            if len(factors) == 1:
                return self._multiple(nodes[factors[0]].value, others[0])
        raise ModelError(_NO_ANGLE)

    def _multiple(self, factor: float, other: int) -> tuple[dict[int, int], float]:
        node = self.builder.nodes[other]
        if node.op is Op.INPUT:
            turns = Fraction(factor / _TURN).limit_denominator(1000)
            if turns.denominator == 1 and math.isclose(factor, int(turns) * _TURN, rel_tol=1e-12):
                return {node.index: int(turns)}, 0.0
        elif factor == int(factor):
            joints, offset = self._turns(other)
            return {k: int(factor) * c for k, c in joints.items()}, factor * offset
        raise ModelError(_NO_ANGLE)


_NO_ANGLE = (
    "the model takes sine or cosine of something other than a sum of whole multiples of revolute positions and a "
    "constant; such an angle does not wrap with its joints, so the board cannot compute it"
)
