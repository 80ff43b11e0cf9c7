"""tau = Y theta + offset, evaluated by numpy over many samples.

Y is the derivative of the model's expression with respect to the unknown parameters. CasADi differentiates once;
a `Tape` then runs the operations over blocks of samples. The torque of an axis depends on few of the parameters
(of an arm, on those of the links behind it), so only these columns are computed and handed out: the rows of one
axis at a time, as a tall matrix that the next block overwrites.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from idmkit.dynamics.rotations import Array
from idmkit.dynamics.tape import BLOCK, Tape
from idmkit.dynamics.trace import Trace
from idmkit.errors import ModelError

if TYPE_CHECKING:
    from idmkit.dynamics.graph import Graph


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one axis at `samples`; overwritten by the next block.

    `augmented` [c, p_axis + 1]: the columns `Regressor.columns[axis]`, then one more column for the caller's use.
    `offset` [c]: torque that does not depend on the unknown parameters, None where there is none.
    """

    axis: int
    samples: slice
    augmented: Array
    offset: Array | None

    @property
    def matrix(self) -> Array:
        """[c, p_axis] the columns of the regressor alone."""
        return self.augmented[:, :-1]


class Regressor:
    """The linear form of a graph for its unknown parameters; made by `Graph.regressor`.

    `names`: keys of the p columns, in the graph's order. `vanished`: keys whose columns are zero whatever the
    motion, given the known values (without payload: L2 and gL of rotary 3, gcos of linear 2; of an arm, most of
    its first link); they are no columns. `columns[j]`: the columns that can differ from zero in the rows of axis
    j. Whether columns can be told apart is a question of the samples, not asked here.
    """

    def __init__(
        self,
        trace: Trace,
        elements: Sequence[Mapping[int, int]],
        offset: Sequence[int],
        names: Sequence[str],
        vanished: Sequence[str],
    ) -> None:
        """From the operations of a graph: `elements[j]` maps columns of axis j to nodes; `offset`: nodes or nothing."""
        self.names = tuple(names)
        self.vanished = tuple(vanished)
        self.n_axes = len(elements)
        self.columns: tuple[NDArray[np.intp], ...] = tuple(np.array(list(row), dtype=np.intp) for row in elements)
        self._trace = trace
        self._elements = elements
        self._offset_nodes = offset

    @cached_property
    def _tape(self) -> Tape:
        return Tape(self._trace, [list(row.values()) for row in self._elements], spare=1)

    @cached_property
    def _offset(self) -> Tape | None:
        return Tape(self._trace, [self._offset_nodes]) if self._offset_nodes else None

    def select(self, names: Sequence[str]) -> Regressor:
        """The linear form for some of the parameters, in this order; the others are taken as zero."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise ModelError(f"the regressor has no column {', '.join(missing)}; it has {', '.join(self.names)}")
        chosen = [self.names.index(name) for name in names]
        elements = [{k: row[old] for k, old in enumerate(chosen) if old in row} for row in self._elements]
        return Regressor(self._trace, elements, self._offset_nodes, names, ())

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, direction: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """(Y [n, N, p], offset [n, N]) at N samples given as [N, n] arrays ([N] for one axis), SI and rad.

        `direction` defaults to sign(qd). For many samples see `rows`, which never holds Y as a whole.
        """
        states = self._states(q, qd, qdd, direction)
        Y = np.zeros((self.n_axes, len(states[0]), len(self.names)))
        offset = np.zeros((self.n_axes, len(states[0])))
        for rows in self._run(states, self.block):
            Y[rows.axis][rows.samples, self.columns[rows.axis]] = rows.matrix
            if rows.offset is not None:
                offset[rows.axis, rows.samples] = rows.offset
        return Y, offset

    def rows(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        direction: ArrayLike | None = None,
        *,
        stride: int | None = None,
    ) -> Iterator[Rows]:
        """The rows of axis 0..n-1 at the first block of samples, then at the next; arguments as for a call.

        A block begins `stride` samples behind the last (default: where it ended). All rows of a regressor share
        one set of arrays, so go through them once at a time.
        """
        return self._run(self._states(q, qd, qdd, direction), self.block if stride is None else stride)

    @property
    def block(self) -> int:
        """Samples a block."""
        return BLOCK

    def torque(
        self, theta: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, direction: ArrayLike | None = None
    ) -> Array:
        """Torques [N, n] of the model with the parameters theta [p]; other arguments as for a call."""
        values = np.asarray(theta, dtype=float)
        if values.shape != (len(self.names),):
            raise ModelError(f"theta has shape {values.shape}; the model has {len(self.names)} parameters")
        states = self._states(q, qd, qdd, direction)
        tau = np.empty((len(states[0]), self.n_axes))
        for rows in self._run(states, self.block):
            part = rows.matrix @ values[self.columns[rows.axis]]
            tau[rows.samples, rows.axis] = part if rows.offset is None else part + rows.offset
        return tau

    def _states(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, direction: ArrayLike | None) -> list[Array]:
        given = [q, qd, qdd] if direction is None else [q, qd, qdd, direction]
        states = [np.asarray(value, dtype=float).reshape(-1, self.n_axes) for value in given]
        if len({len(state) for state in states}) != 1:
            raise ModelError(f"q, qd, qdd and direction have {[len(s) for s in states]} samples; they must be equal")
        return states

    def _run(self, states: list[Array], stride: int) -> Iterator[Rows]:
        tape, n = self._tape, self.n_axes
        for start in range(0, len(states[0]), stride):
            samples = slice(start, min(start + tape.block, len(states[0])))
            count = samples.stop - start
            for k, state in enumerate(states):
                np.copyto(tape.inputs[k * n : (k + 1) * n, :count], state[samples].T)
            if len(states) == 3:
                np.sign(tape.inputs[n : 2 * n, :count], out=tape.inputs[3 * n :, :count])
            offsets = None
            if self._offset is not None:
                self._offset.inputs[...] = tape.inputs
                offsets = self._offset.run(0, count)
            for axis in range(n):
                augmented = tape.run(axis, count).T
                yield Rows(axis, samples, augmented, None if offsets is None else offsets[axis])


def linear_form(graph: Graph, known: Mapping[str, float]) -> Regressor:
    """The regressor of a graph for the parameters that are not in `known`.

    Raises ModelError for a key that the graph lacks, and when tau is not linear in what is left.
    """
    values = {graph.index(key): float(value) for key, value in known.items()}
    keys = graph.keys
    unknown = [k for k in range(len(keys)) if k not in values]
    theta = ca.vertcat(*(ca.SX(values[k]) if k in values else graph.theta[k] for k in range(len(keys))))
    tau = ca.substitute(graph.tau, graph.theta, theta) if values else graph.tau
    columns = graph.theta[unknown]
    jacobian = ca.jacobian(tau, columns)
    if any(ca.which_depends(jacobian, columns, 1, False)):
        names = ", ".join(keys[k] for k in unknown)
        raise ModelError(f"torque is not linear in {names}; give values to the payload or to what multiplies it")
    offset = ca.sparsify(ca.substitute(tau, columns, ca.SX.zeros(len(unknown))))
    outputs = [jacobian.nz[:]] + ([ca.densify(offset)] if offset.nnz() else [])
    trace = Trace([graph.q, graph.qd, graph.qdd, graph.direction], outputs)
    places = list(zip(*jacobian.sparsity().get_triplet(), strict=True))
    keep = sorted({column for _, column in places})
    elements: list[dict[int, int]] = [{} for _ in graph.axes]
    # CasADi lists nonzeros column by column, so the columns of an axis come in order.
    for (axis, column), node in zip(places, trace.outputs[0], strict=True):
        elements[axis][keep.index(column)] = node
    return Regressor(
        trace,
        elements,
        offset=trace.outputs[1] if offset.nnz() else (),
        names=[keys[unknown[k]] for k in keep],
        vanished=[keys[k] for j, k in enumerate(unknown) if j not in keep],
    )
