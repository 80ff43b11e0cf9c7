"""Makes int32 instructions: equal ones once, each with its proved interval."""

from __future__ import annotations

from collections.abc import Sequence

from idmkit.fixedpoint.program import Code, Instruction, Range, interval


class Assembler:
    """A growing list of instructions; every method returns the place of its result.

    Raises Unproved where a result could leave int32.
    """

    def __init__(self, parameter_limits: Sequence[int]) -> None:
        self.code: list[Instruction] = []
        self.ranges: list[Range] = []
        self._parameter_limits = parameter_limits
        self._places: dict[Instruction, int] = {}

    def emit(self, code: Code, *args: int, k: Sequence[int] = (), known: Range | None = None) -> int:
        """Appends an instruction. `known` narrows its interval where more is known than its operands' intervals say."""
        instruction = Instruction(code, args, tuple(k))
        if instruction in self._places:
            return self._places[instruction]
        found = interval(instruction, [self.ranges[arg] for arg in args], self._parameter_limits)
        if known is not None:
            found = (max(found[0], known[0]), min(found[1], known[1]))
        self._places[instruction] = len(self.code)
        self.code.append(instruction)
        self.ranges.append(found)
        return self._places[instruction]

    def constant(self, value: int) -> int:
        """An integer."""
        return self.emit(Code.CONSTANT, k=[value])

    def shift(self, place: int, bits: int) -> int:
        """Times 2^-bits: rounded to nearest for bits > 0, exact for bits < 0."""
        if bits == 0:
            return place
        low, high = self.ranges[place]
        if low == high:
            return self.constant(low + (1 << bits - 1) >> bits if bits > 0 else low << -bits)
        if bits > 0:
            return self.emit(Code.ROUND, place, k=[bits])
        return self.emit(Code.SHL, place, k=[-bits])

    def cut(self, place: int, bits: int, floor: bool) -> int:
        """Times 2^-bits for bits >= 0, rounded to nearest or, two machine instructions cheaper, down."""
        if not floor or bits == 0 or self.ranges[place][0] == self.ranges[place][1]:
            return self.shift(place, bits)
        return self.emit(Code.SHR, place, k=[bits])

    def is_new_cut(self, place: int, bits: int, floor: bool) -> bool:
        """Whether `cut` would add an instruction."""
        if bits == 0 or self.ranges[place][0] == self.ranges[place][1]:
            return False
        return Instruction(Code.SHR if floor else Code.ROUND, (place,), (bits,)) not in self._places

    def low_bits(self, place: int, bits: int) -> int:
        """The value modulo 2^bits; no instruction where it is proved to be within already."""
        low, high = self.ranges[place]
        return place if low >= 0 and high < 1 << bits else self.emit(Code.AND, place, k=[(1 << bits) - 1])

    def clamp(self, place: int, low: int, high: int) -> int:
        """Limited to [low, high]; no instruction where that is proved already."""
        found = self.ranges[place]
        if low <= found[0] and found[1] <= high:
            return place
        return self.emit(Code.CLAMP, place, k=[low, high])

    def magnitude(self, place: int) -> int:
        """Largest absolute value."""
        return max(-self.ranges[place][0], self.ranges[place][1])

    def used(self, outputs: Sequence[int]) -> tuple[list[Instruction], list[Range], list[int]]:
        """Instructions, intervals and outputs without what no output needs."""
        needed = set(outputs)
        for place in range(len(self.code) - 1, -1, -1):
            if place in needed:
                needed.update(self.code[place].args)
        order = {place: k for k, place in enumerate(sorted(needed))}
        code = [
            Instruction(self.code[p].code, tuple(order[arg] for arg in self.code[p].args), self.code[p].immediate)
            for p in order
        ]
        return code, [self.ranges[p] for p in order], [order[output] for output in outputs]
