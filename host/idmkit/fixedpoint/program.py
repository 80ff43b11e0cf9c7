"""The int32 program: what the board runs and the emulator copies, bit for bit.

A straight line of instructions on int32 values. Every instruction has a proved interval, found from the intervals
of its operands; an instruction whose interval leaves int32 cannot be made. The one that limits a value, CLAMP,
counts how often it did.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from idmkit.errors import ModelError
from idmkit.fixedpoint.formula import Formula
from idmwire.scales import INT32_MAX, INT32_MIN, SMALL_MAX

FORMAT = 1
SINE_ENTRIES = 320
SINE_ONE = 2**30

Range = tuple[int, int]


class ParameterOutOfRange(ModelError):  # noqa: N818 - it says what happened
    """A parameter lies outside the range for which the program was compiled."""


class Code(StrEnum):
    """Instructions. a, b are int32 values, k a constant of the instruction.

    LOAD k: input k. PARAMETER k: mantissa k. CONSTANT k. ADD, SUB, MUL, NEG: exact. SHL k: a * 2^k.
    SHR k: floor(a / 2^k). ROUND k: floor((a + 2^(k-1)) / 2^k). AND k: low bits, k = 2^n - 1. SINE: table entry a.
    CLAMP low high: a limited to [low, high], counted.
    """

    LOAD = "load"
    PARAMETER = "parameter"
    CONSTANT = "constant"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    NEG = "neg"
    SHL = "shl"
    SHR = "shr"
    ROUND = "round"
    AND = "and"
    SINE = "sine"
    CLAMP = "clamp"


@dataclass(frozen=True)
class Instruction:
    """One instruction: operands are places of earlier instructions, `immediate` its constants."""

    code: Code
    args: tuple[int, ...] = ()
    immediate: tuple[int, ...] = ()

    def text(self) -> str:
        """As it stands in a program's listing."""
        return " ".join([str(self.code), *(f"v{arg}" for arg in self.args), *map(str, self.immediate)])


class Unproved(ModelError):  # noqa: N818 - it says what happened
    """The interval of an instruction leaves int32."""


def interval(instruction: Instruction, args: Sequence[Range], parameter_limits: Sequence[int]) -> Range:
    """Exact interval of an instruction's result; Unproved when it, or a step on the way, leaves int32."""
    k = instruction.immediate[0] if instruction.immediate else 0
    match instruction.code:
        case Code.LOAD:
            result = (INT32_MIN, INT32_MAX)
        case Code.PARAMETER:
            result = (-parameter_limits[k], parameter_limits[k])
        case Code.CONSTANT:
            result = (k, k)
        case Code.ADD:
            result = (args[0][0] + args[1][0], args[0][1] + args[1][1])
        case Code.SUB:
            result = (args[0][0] - args[1][1], args[0][1] - args[1][0])
        case Code.MUL:
            corners = [x * y for x in args[0] for y in args[1]]
            square = instruction.args[0] == instruction.args[1]
            result = (max(0, min(corners)) if square else min(corners), max(corners))
        case Code.NEG:
            result = (-args[0][1], -args[0][0])
        case Code.SHL:
            result = (args[0][0] << k, args[0][1] << k)
        case Code.SHR:
            result = (args[0][0] >> k, args[0][1] >> k)
        case Code.ROUND:
            half = 1 << (k - 1)
            _prove((args[0][0] + half, args[0][1] + half), instruction)
            result = ((args[0][0] + half) >> k, (args[0][1] + half) >> k)
        case Code.AND:
            result = (0, k)
        case Code.SINE:
            if args[0][0] < 0 or args[0][1] >= SINE_ENTRIES:
                raise Unproved(f"sine table index {args[0]}")
            result = (-SINE_ONE, SINE_ONE)
        case Code.CLAMP:
            low, high = instruction.immediate
            result = (min(max(args[0][0], low), high), min(max(args[0][1], low), high))
    return _prove(result, instruction)


def _prove(result: Range, instruction: Instruction) -> Range:
    if result[0] < INT32_MIN or result[1] > INT32_MAX:
        raise Unproved(f"{instruction.text()} reaches {result}")
    return result


def _joint(revolute: bool) -> str:
    return "revolute" if revolute else "prismatic"


@dataclass(frozen=True)
class ProgramParameter:
    """A parameter on the board: value = mantissa * 2^exponent * unit, |mantissa| <= limit < 2^30."""

    key: str
    unit: str
    exponent: int
    limit: int

    @property
    def maximum(self) -> float:
        """Largest absolute value that the program is proved for."""
        return self.limit * 2.0**self.exponent


@dataclass(frozen=True)
class Program:
    """A compiled model for n axes and p parameters.

    `outputs`: places of tau[0..n) in counts of the wire's torque scale. `ranges`: proved interval of every
    instruction. `error_bounds` [n]: proved bound, Nm or N, of the difference between the program and exact
    arithmetic on the same inputs and unrounded parameters, where no value is limited. `formula`: the real
    arithmetic that the program stands for.
    """

    axes: tuple[str, ...]
    revolute: tuple[bool, ...]
    parameters: tuple[ProgramParameter, ...]
    code: tuple[Instruction, ...]
    ranges: tuple[Range, ...]
    outputs: tuple[int, ...]
    error_bounds: tuple[float, ...]
    formula: Formula

    @property
    def n_axes(self) -> int:
        """Number of axes n."""
        return len(self.axes)

    @cached_property
    def hash(self) -> int:
        """Names this program: 1..2^30-1, a small integer on every MicroPython."""
        digest = hashlib.sha256("\n".join(self._lines()).encode()).digest()
        return (int.from_bytes(digest[:4], "big") & SMALL_MAX) or 1

    @property
    def saturated(self) -> int:
        """How many values are limited, and counted when they are; the others are proved in range."""
        return sum(instruction.code is Code.CLAMP for instruction in self.code)

    @property
    def proved(self) -> int:
        """How many values are proved to stay in range."""
        return len(self.code) - self.saturated

    def count(self, code: Code) -> int:
        """Number of instructions of one kind."""
        return sum(instruction.code is code for instruction in self.code)

    def text(self) -> str:
        """Listing: one line an instruction, with its interval."""
        lines = self._lines()
        head = len(lines) - len(self.code)
        listing = [f"{line:<44}; {low} .. {high}" for line, (low, high) in zip(lines[head:], self.ranges, strict=True)]
        return "\n".join([*lines[:head], f"hash {self.hash:#010x}", *listing, ""])

    def _lines(self) -> list[str]:
        return [
            f"format {FORMAT}",
            "axes " + " ".join(f"{name}:{_joint(turns)}" for name, turns in zip(self.axes, self.revolute, strict=True)),
            *(f"parameter {p.key} 2^{p.exponent} {p.unit}, limit {p.limit}" for p in self.parameters),
            "outputs " + " ".join(f"v{place}" for place in self.outputs),
            *(f"v{place} = {instruction.text()}" for place, instruction in enumerate(self.code)),
        ]

    def mantissas(self, values: Mapping[str, float]) -> list[int]:
        """Integers for the parameter image, from the values (SI) of all parameters by key.

        Raises ModelError for a missing or unknown key, ParameterOutOfRange for a value that the program is not
        compiled for.
        """
        known = [parameter.key for parameter in self.parameters]
        missing = [key for key in known if key not in values]
        unknown = [key for key in values if key not in known]
        if missing or unknown:
            raise ModelError(
                f"the program of {', '.join(self.axes)} wants a value for each of {', '.join(known)}; "
                f"missing {', '.join(missing) or 'none'}, unknown {', '.join(unknown) or 'none'}"
            )
        return [self._mantissa(parameter, values[parameter.key]) for parameter in self.parameters]

    @staticmethod
    def _mantissa(parameter: ProgramParameter, value: float) -> int:
        scaled = value * 2.0**-parameter.exponent
        if not abs(scaled) <= parameter.limit + 0.5:
            raise ParameterOutOfRange(
                f"{parameter.key} = {value:g} {parameter.unit} is outside +-{parameter.maximum:g}, for which the "
                "program is compiled; widen its parameter_ranges in the robot file and recompile"
            )
        return max(-parameter.limit, min(parameter.limit, round(scaled)))

    def values(self, mantissas: Sequence[int]) -> dict[str, float]:
        """What a list of mantissas means, SI, by key."""
        return {p.key: m * 2.0**p.exponent for p, m in zip(self.parameters, mantissas, strict=True)}
