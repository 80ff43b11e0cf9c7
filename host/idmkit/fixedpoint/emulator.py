"""Runs a program in numpy with exactly the board's bits, and holds every value against its proof."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idmkit.errors import ModelError
from idmkit.fixedpoint.program import Code, Instruction, Program
from idmwire.sine import SINE

BLOCK = 8192
_TABLE = np.array(SINE, dtype=np.int64)


class Emulator:
    """The twin of the viper program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._limits = np.array([parameter.limit for parameter in program.parameters], dtype=np.int64)

    def run(self, x: ArrayLike, p: ArrayLike) -> NDArray[np.int32]:
        """Outputs int32 [S, n+1] (torques in wire counts, number of saturations) at inputs int32 [S, 4n].

        `p`: mantissas [p] or one set a state [S, p], within the program's limits (ModelError otherwise). A value
        outside its proved interval is an AssertionError: the compiler's proof would be wrong.
        """
        states = np.asarray(x, dtype=np.int32).reshape(-1, 4 * self.program.n_axes).astype(np.int64)
        sets = np.asarray(p, dtype=np.int64)
        if sets.shape[-1:] != self._limits.shape or np.any(np.abs(sets) > self._limits):
            raise ModelError(f"mantissas {sets.tolist()} are not within the program's limits {self._limits.tolist()}")
        sets = np.broadcast_to(sets, (len(states), len(self._limits)))
        parts = [self._block(states[k : k + BLOCK], sets[k : k + BLOCK].T) for k in range(0, len(states), BLOCK)]
        return np.concatenate(parts) if parts else np.empty((0, self.program.n_axes + 1), dtype=np.int32)

    def _block(self, x: NDArray[np.int64], p: NDArray[np.int64]) -> NDArray[np.int32]:
        values: list[Any] = []
        saturations = np.zeros(len(x), dtype=np.int64)
        for instruction, (low, high) in zip(self.program.code, self.program.ranges, strict=True):
            args = [values[arg] for arg in instruction.args]
            value = execute(instruction, args, x, p)
            assert np.min(value) >= low, f"{instruction.text()} gives {np.min(value)} < {low}"
            assert np.max(value) <= high, f"{instruction.text()} gives {np.max(value)} > {high}"
            if instruction.code is Code.CLAMP:
                saturations += value != args[0]
            values.append(value)
        columns = [np.broadcast_to(values[place], len(x)) for place in self.program.outputs]
        return np.stack([*columns, saturations], axis=1).astype(np.int32)


def execute(instruction: Instruction, args: Sequence[Any], x: NDArray[np.int64], p: Any) -> Any:
    """Result of one instruction, int64 (scalar or one a state); `p`: mantissas, or for each one a state."""
    k = instruction.immediate[0] if instruction.immediate else 0
    match instruction.code:
        case Code.LOAD:
            return x[:, k]
        case Code.PARAMETER:
            return np.asarray(p[k], dtype=np.int64)
        case Code.CONSTANT:
            return np.int64(k)
        case Code.ADD:
            return args[0] + args[1]
        case Code.SUB:
            return args[0] - args[1]
        case Code.MUL:
            return args[0] * args[1]
        case Code.NEG:
            return -args[0]
        case Code.SHL:
            return args[0] << k
        case Code.SHR:
            return args[0] >> k
        case Code.ROUND:
            return (args[0] + (1 << (k - 1))) >> k
        case Code.AND:
            return args[0] & k
        case Code.SINE:
            return _TABLE[args[0]]
        case Code.CLAMP:
            return np.minimum(np.maximum(args[0], k), instruction.immediate[1])
