"""tau = Y theta + offset, evaluated by numpy over many samples.

Y is the derivative of the model's expression with respect to the unknown parameters. CasADi differentiates once;
then its list of instructions runs here on blocks of samples, one preallocated array a slot, which is many times
faster than calling CasADi once a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from idmkit.errors import ModelError

if TYPE_CHECKING:
    from idmkit.dynamics.graph import Graph

BLOCK = 2048
"""Samples a block: all slots of a six-axis model stay in the cache."""

Target = Callable[[int, int, slice], NDArray[np.float64]]
"""(row, column, samples) -> the part of an output array that takes this element."""

_UNARY: dict[int, Callable[..., Any]] = {
    ca.OP_NEG: np.negative,
    ca.OP_SQ: np.square,
    ca.OP_SIN: np.sin,
    ca.OP_COS: np.cos,
    ca.OP_SQRT: np.sqrt,
    ca.OP_INV: np.reciprocal,
}
_BINARY: dict[int, Callable[..., Any]] = {
    ca.OP_ADD: np.add,
    ca.OP_SUB: np.subtract,
    ca.OP_MUL: np.multiply,
    ca.OP_DIV: np.divide,
    ca.OP_ATAN2: np.arctan2,
}


class Regressor:
    """The linear form of a graph for its unknown parameters.

    `names`: keys of the p columns, in the graph's order. `vanished`: keys whose columns are zero whatever the
    motion, given the `known` values (without payload: L2 and gL of rotary 3, gcos of linear 2); they are no
    columns. Whether the columns can be told apart is a question of the samples, not asked here.
    """

    def __init__(self, graph: Graph, known: Mapping[str, float]) -> None:
        indices = {graph.index(key): float(value) for key, value in known.items()}
        unknown = [k for k in range(len(graph.parameters)) if k not in indices]
        theta = ca.vertcat(*(ca.SX(indices[k]) if k in indices else graph.theta[k] for k in range(len(graph.keys))))
        tau = ca.substitute(graph.tau, graph.theta, theta)
        columns = graph.theta[unknown]
        jacobian = ca.jacobian(tau, columns)
        if any(ca.which_depends(jacobian, columns, 1, False)):
            names = ", ".join(graph.keys[k] for k in unknown)
            raise ModelError(f"torque is not linear in {names}; give values to the payload or to what multiplies it")
        keep = sorted({column for _, column in zip(*jacobian.sparsity().get_triplet(), strict=True)})
        self.n_axes = graph.n_axes
        self.names = tuple(graph.keys[unknown[k]] for k in keep)
        self.vanished = tuple(graph.keys[k] for j, k in enumerate(unknown) if j not in keep)
        offset = ca.substitute(tau, columns, ca.SX.zeros(len(unknown)))
        inputs = [graph.q, graph.qd, graph.qdd, graph.direction]
        self._tape = _Tape(inputs, [jacobian[:, keep], offset])

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, direction: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(Y [n, N, p], offset [n, N]) at N samples given as [N, n] arrays ([N] for one axis), SI and rad.

        `direction` defaults to sign(qd).
        """
        states = [np.asarray(value, dtype=float).reshape(-1, self.n_axes) for value in (q, qd, qdd)]
        states.append(
            np.sign(states[1]) if direction is None else np.asarray(direction, dtype=float).reshape(-1, self.n_axes)
        )
        if len({len(state) for state in states}) != 1:
            raise ModelError(f"q, qd, qdd and direction have {[len(s) for s in states]} samples; they must be equal")
        count = len(states[0])
        rows = np.zeros((self.n_axes, count, len(self.names)))
        offset = np.zeros((self.n_axes, count))
        self._tape.run(
            states,
            [lambda axis, column, part: rows[axis, part, column], lambda axis, _, part: offset[axis, part]],
        )
        return rows, offset


class _Tape:
    """A CasADi SX function as a list of numpy calls over blocks of samples."""

    def __init__(self, inputs: list[Any], outputs: list[Any]) -> None:
        function = ca.Function("rows", inputs, outputs)
        self._slots = function.sz_w()
        self._places = [list(zip(*output.sparsity().get_triplet(), strict=True)) for output in outputs]
        self._code = [
            (
                function.instruction_id(k),
                function.instruction_input(k),
                function.instruction_output(k),
                function.instruction_constant(k) if function.instruction_id(k) == ca.OP_CONST else 0.0,
            )
            for k in range(function.n_instructions())
        ]

    def run(self, inputs: list[NDArray[np.float64]], targets: list[Target]) -> None:
        """Evaluates at the rows of `inputs` [N, n]; targets[i](row, column, samples) is the array to fill."""
        count = len(inputs[0])
        work = np.empty((self._slots, min(BLOCK, max(count, 1))))
        for start in range(0, count, BLOCK):
            part = slice(start, min(start + BLOCK, count))
            w = work[:, : part.stop - part.start]
            for op, source, target, constant in self._code:
                if op == ca.OP_INPUT:
                    w[target[0]] = inputs[source[0]][part, source[1]]
                elif op == ca.OP_OUTPUT:
                    row, column = self._places[target[0]][target[1]]
                    targets[target[0]](row, column, part)[...] = w[source[0]]
                elif op == ca.OP_CONST:
                    w[target[0]] = constant
                elif op == ca.OP_TWICE:
                    np.multiply(w[source[0]], 2.0, out=w[target[0]])
                elif op in _BINARY:
                    _BINARY[op](w[source[0]], w[source[1]], out=w[target[0]])
                elif op == ca.OP_ASSIGN:
                    w[target[0]] = w[source[0]]
                elif op in _UNARY:
                    _UNARY[op](w[source[0]], out=w[target[0]])
                else:
                    raise ModelError(f"the model uses CasADi operation {op}, which the regressor cannot evaluate")
