"""A model's operations run by numpy over blocks of samples, in arrays that are allocated once.

Every operation is one numpy call on one block, written into a register (`out=`). A register is free again after
its last use, so the six-axis regressor lives in about a hundred of them and stays in the cache; results go straight
into the output arrays. A block is long enough that numpy's overhead a call (0.2 us) vanishes beside the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from idmkit.dynamics.rotations import Array
from idmkit.dynamics.trace import BINARY, UNARY, Node, Trace

BLOCK = 2048
"""Samples a block."""

_FUNCTIONS = {name: getattr(np, name) for name in {*UNARY.values(), *BINARY.values(), "negative"}}

_Step = tuple[Callable[..., Any], tuple[int, ...]]
"""A numpy function and the storage places of its arguments, the last of which it writes."""


class Tape:
    """The program of some outputs ("segments"), which can be run one after the other on each block.

    Fill the rows of `inputs` [inputs, block], then `run(0)`, `run(1)`, ... in this order; segment s is then in
    `outputs[s]` [elements + spare, block]. The `spare` last rows of each are the caller's. Later segments use
    what earlier ones computed.
    """

    def __init__(
        self, trace: Trace, segments: Sequence[Sequence[int]] | None = None, *, block: int = BLOCK, spare: int = 0
    ) -> None:
        """`segments`: the nodes of each output; default: all of the trace's outputs."""
        chosen = trace.outputs if segments is None else segments
        self.block = block
        self.inputs: Array = np.zeros((trace.n_inputs, block))
        self.outputs: tuple[Array, ...] = tuple(np.empty((len(part) + spare, block)) for part in chosen)
        plan = _Plan(trace, chosen, self.inputs, self.outputs)
        self._storage = plan.storage
        self._steps = plan.steps
        self._code: dict[int, list[list[tuple[Any, ...]]]] = {}

    @property
    def size(self) -> int:
        """Number of numpy calls a block."""
        return sum(len(steps) for steps in self._steps)

    def run(self, segment: int, count: int | None = None) -> Array:
        """Runs one segment on the first `count` samples of the block; returns its output [elements + spare, count]."""
        count = self.block if count is None else count
        if count not in self._code:
            self._bind(count)
        for function, arguments in self._code[count][segment]:
            function(*arguments)
        return self.outputs[segment][:, :count]

    def _bind(self, count: int) -> None:
        """Prepares the arguments for blocks of `count` samples; keeps those for whole blocks and the last other."""
        whole = self._code.get(self.block)
        storage = [array[:count] if array.ndim else array for array in self._storage]
        code = [
            [(function, tuple(storage[place] for place in places)) for function, places in steps]
            for steps in self._steps
        ]
        self._code = {count: code} if whole is None else {self.block: whole, count: code}


class _Plan:
    """Order of the operations, and a place in storage for each result.

    A result that is an element of its segment's output lives there from the start; others get a register.
    """

    def __init__(
        self, trace: Trace, segments: Sequence[Sequence[int]], inputs: Array, outputs: tuple[Array, ...]
    ) -> None:
        self.storage: list[Array] = []
        self.steps: list[list[_Step]] = [[] for _ in outputs]
        self._nodes = trace.nodes
        self._block = inputs.shape[1]
        self._places: dict[int, int] = {}
        self._register_of: dict[int, int] = {}
        self._free: list[int] = []
        for index, node in enumerate(trace.nodes):
            if node[0] == "input":
                self._places[index] = self._store(inputs[node[1]])
            elif node[0] == "constant":
                self._places[index] = self._store(np.array(node[1]))
        order = _schedule(trace.nodes, segments, set(self._places))
        self._last = _last_uses(trace.nodes, segments, order)
        time = 0
        for segment, (operations, elements) in enumerate(zip(order, segments, strict=True)):
            rows = [self._store(outputs[segment][row]) for row in range(len(elements))]
            home = {index: rows[row] for row, index in reversed(list(enumerate(elements)))}
            for index in operations:
                self._compute(segment, index, home.get(index), time)
                time += 1
            self._copy(segment, elements, rows, time)
            time += 1

    def _store(self, array: Array) -> int:
        self.storage.append(array)
        return len(self.storage) - 1

    def _compute(self, segment: int, index: int, home: int | None, time: int) -> None:
        name, *arguments = self._nodes[index]
        sources = [self._places[argument] for argument in arguments]
        self._release(arguments, time)
        place = home
        if place is None:
            place = self._free.pop() if self._free else self._store(np.empty(self._block))
            self._register_of[index] = place
        self._places[index] = place
        self.steps[segment].append((_FUNCTIONS[name], (*sources, place)))

    def _copy(self, segment: int, elements: Sequence[int], rows: list[int], time: int) -> None:
        """Fills the elements of an output that are inputs, constants, or results that live elsewhere."""
        for index, row in zip(elements, rows, strict=True):
            if self._nodes[index][0] == "constant":
                self.storage[row][...] = self._nodes[index][1]
            elif self._places[index] != row:
                self.steps[segment].append((np.copyto, (row, self._places[index])))
        self._release(elements, time)

    def _release(self, indices: Sequence[int], time: int) -> None:
        """Frees the registers of results that are not needed any more; a repeated index is freed once."""
        for index in indices:
            if self._last[index] == time and index in self._register_of:
                self._free.append(self._register_of.pop(index))


def _schedule(nodes: Sequence[Node], segments: Sequence[Sequence[int]], given: set[int]) -> list[list[int]]:
    """Operations a segment in an order that keeps few results alive: depth first, element by element."""
    done = set(given)
    order: list[list[int]] = []
    for elements in segments:
        order.append([])
        stack = list(reversed(elements))
        while stack:
            index = stack[-1]
            waiting = [] if index in done else [a for a in nodes[index][:0:-1] if a not in done]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            if index not in done:
                done.add(index)
                order[-1].append(index)
    return order


def _last_uses(
    nodes: Sequence[Node], segments: Sequence[Sequence[int]], order: Sequence[Sequence[int]]
) -> dict[int, int]:
    """When each result is needed last, counting operations and, behind each segment, the filling of its output."""
    last: dict[int, int] = {}
    time = 0
    for operations, elements in zip(order, segments, strict=True):
        for index in operations:
            for argument in nodes[index][1:]:
                last[argument] = time
            time += 1
        for index in elements:
            last[index] = time
        time += 1
    return last
