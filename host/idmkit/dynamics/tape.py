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
from idmkit.dynamics.trace import Trace

BLOCK = 2048
"""Samples a block."""

_Step = tuple[Callable[..., Any], tuple[int, ...]]
"""A numpy function and the storage places of its arguments, the last of which it writes."""


class Tape:
    """The program of some outputs ("segments"), which can be run one after the other on each block.

    Fill the rows of `inputs` [inputs, block], then `run(0)`, `run(1)`, ... in this order; segment s is then in
    `outputs[s]` [elements + spare, block]. The `spare` last rows of each are the caller's. Later segments use
    what earlier ones computed.
    """

    def __init__(self, inputs: Sequence[Any], segments: Sequence[Any], *, block: int = BLOCK, spare: int = 0) -> None:
        trace = Trace(inputs, segments)
        self.block = block
        self.inputs: Array = np.zeros((sum(symbol.numel() for symbol in inputs), block))
        self.outputs: tuple[Array, ...] = tuple(np.zeros((len(part) + spare, block)) for part in trace.outputs)
        plan = _Plan(trace, self.inputs, self.outputs)
        self._storage = plan.storage
        self._steps = plan.steps
        self._code: dict[int, list[list[tuple[Any, ...]]]] = {}
        self._bind(block)

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
        storage = [array[..., :count] if array.ndim else array for array in self._storage]
        code = [
            [(function, tuple(storage[place] for place in places)) for function, places in steps]
            for steps in self._steps
        ]
        self._code = {count: code} if whole is None else {self.block: whole, count: code}


class _Plan:
    """Order of the operations, and a place in storage for each result.

    A result that is an element of its segment's output lives there from the start; others get a register.
    """

    def __init__(self, trace: Trace, inputs: Array, outputs: tuple[Array, ...]) -> None:
        self.storage: list[Array] = []
        self.steps: list[list[_Step]] = [[] for _ in outputs]
        self._nodes = trace.nodes
        self._block = inputs.shape[1]
        self._places: dict[int, int] = {}
        self._register_of: dict[int, int] = {}
        self._free: list[int] = []
        order = _schedule(trace)
        self._last = _last_uses(trace, order)
        for index, node in enumerate(trace.nodes):
            if node.operation == "input":
                self._places[index] = self._store(inputs[node.place])
            elif node.operation == "constant":
                self._places[index] = self._store(np.array(node.value))
        time = 0
        for segment, (operations, elements) in enumerate(zip(order, trace.outputs, strict=True)):
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
        node = self._nodes[index]
        sources = tuple(self._places[argument] for argument in node.arguments)
        self._release(node.arguments, time)
        place = home
        if place is None:
            place = self._free.pop() if self._free else self._store(np.zeros(self._block))
            self._register_of[index] = place
        self._places[index] = place
        self.steps[segment].append((getattr(np, node.operation), (*sources, place)))

    def _copy(self, segment: int, elements: list[int], rows: list[int], time: int) -> None:
        """Fills the elements of an output that are inputs, constants, or results that live elsewhere."""
        for index, row in zip(elements, rows, strict=True):
            if self._nodes[index].operation == "constant":
                self.storage[row][...] = self._nodes[index].value
            elif self._places[index] != row:
                self.steps[segment].append((np.copyto, (row, self._places[index])))
        self._release(elements, time)

    def _release(self, indices: Sequence[int], time: int) -> None:
        for index in set(indices):
            if self._last[index] == time and index in self._register_of:
                self._free.append(self._register_of.pop(index))


def _schedule(trace: Trace) -> list[list[int]]:
    """Operations a segment in an order that keeps few results alive: depth first, element by element."""
    done = {index for index, node in enumerate(trace.nodes) if not node.arguments}
    order: list[list[int]] = []
    for elements in trace.outputs:
        order.append([])
        stack = [(index, False) for index in reversed(elements)]
        while stack:
            index, ready = stack.pop()
            if index in done:
                continue
            if ready:
                done.add(index)
                order[-1].append(index)
            else:
                stack.append((index, True))
                stack += [(argument, False) for argument in reversed(trace.nodes[index].arguments)]
    return order


def _last_uses(trace: Trace, order: list[list[int]]) -> dict[int, int]:
    """When each result is needed last, counting operations and, behind each segment, the filling of its output."""
    last: dict[int, int] = {}
    time = 0
    for operations, elements in zip(order, trace.outputs, strict=True):
        for index in operations:
            for argument in trace.nodes[index].arguments:
                last[argument] = time
            time += 1
        for index in elements:
            last[index] = time
        time += 1
    return last
