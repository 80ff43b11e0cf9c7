"""Writes a program as MicroPython viper source.

The same text runs on 32- and 64-bit words: values stay in int32 by proof, loads are sign-extended by `sh` (32 on
64-bit words, 0 on 32-bit ones), no literal reaches 2^30, shifts are literals in 0..31.
"""

from __future__ import annotations

from idmkit.fixedpoint.program import Code, Program

NESTING = 10

_HEAD = '''"""Inverse dynamics of {axes}: {proved} values proved in range, {saturated} limited and counted."""

import micropython

PROGRAM_HASH = {hash:#010x}
N_AXES = {n_axes}
N_PARAMETERS = {n_parameters}
PARAMETER_LIMITS = ({limits})


# x: q, qd, qdd, direction of all axes; p: mantissas; y: torques, then how often a value was limited;
# sine: idmwire.sine.SINE; sh: 32 on 64-bit words, 0 on 32-bit ones.
# {multiplications} multiplications, {instructions} instructions.
@micropython.viper
def inverse_dynamics(x: ptr32, p: ptr32, y: ptr32, sine: ptr32, sh: int):
    n = 0
'''


def emit_viper(program: Program) -> str:
    """Source of a module with PROGRAM_HASH, N_AXES, N_PARAMETERS, PARAMETER_LIMITS and `inverse_dynamics`."""
    head = _HEAD.format(
        axes=", ".join(program.axes),
        proved=program.proved,
        saturated=program.saturated,
        hash=program.hash,
        n_axes=program.n_axes,
        n_parameters=len(program.parameters),
        limits=" ".join(f"{parameter.limit}," for parameter in program.parameters),
        multiplications=program.count(Code.MUL),
        instructions=len(program.code),
    )
    return head + "".join(f"    {line}\n" for line in _Writer(program).lines())


def _uses(program: Program) -> list[int]:
    counts = [0] * len(program.code)
    for instruction in program.code:
        for arg in instruction.args:
            counts[arg] += 1
    for output in program.outputs:
        counts[output] += 1
    return counts


def _named(program: Program) -> list[bool]:
    """Which values get a local variable; the others stand where they are used, and need no store and load.

    An expression nests at most NESTING operations, for a compiler that runs on a board's small stack.
    """
    named: list[bool] = []
    depths: list[int] = []
    for instruction, count in zip(program.code, _uses(program), strict=True):
        depth = 1 + max((depths[arg] for arg in instruction.args), default=0)
        shared = count > 1 and instruction.code is not Code.CONSTANT
        named.append(instruction.code is Code.CLAMP or shared or depth >= NESTING)
        depths.append(0 if named[-1] else depth)
    return named


class _Writer:
    """Writes statements in the program's order; a local is used again after the last statement that reads it."""

    def __init__(self, program: Program) -> None:
        self._code = program.code
        self._named = _named(program)
        self._outputs: dict[int, list[int]] = {}
        for axis, place in enumerate(program.outputs):
            self._outputs.setdefault(place, []).append(axis)
        self._statements = [k for k in range(len(self._code)) if self._named[k] or k in self._outputs]
        self._last = {read: k for k in self._statements for read in self._reads(k)}
        self._last |= {k: max(k, self._last.get(k, k)) for k in self._outputs}
        self._locals: dict[int, str] = {}
        self._n_axes = program.n_axes

    def lines(self) -> list[str]:
        """The function's body after `n = 0`."""
        lines: list[str] = []
        free: list[str] = []
        count = 0
        for place in self._statements:
            text = _bare(self._expression(place))
            free += [self._locals.pop(read) for read in sorted(self._reads(place)) if self._last[read] == place]
            if self._named[place]:
                if not free:
                    free.append(f"v{count}")
                    count += 1
                name = self._locals[place] = free.pop()
                lines.append(f"{name} = {text}")
                if self._code[place].code is Code.CLAMP:
                    lines += _clamp(name, *self._code[place].immediate)
                text = name
            lines += [f"y[{axis}] = {text}" for axis in self._outputs.get(place, [])]
            if self._named[place] and self._last.get(place, place) == place:
                free.append(self._locals.pop(place))
        return [*lines, f"y[{self._n_axes}] = n"]

    def _reads(self, place: int) -> set[int]:
        """Named values that the text of this value reads."""
        found: set[int] = set()
        stack = list(self._code[place].args)
        while stack:
            arg = stack.pop()
            if self._named[arg]:
                found.add(arg)
            else:
                stack += self._code[arg].args
        return found

    def _operand(self, place: int) -> str:
        return self._locals[place] if self._named[place] else self._expression(place)

    def _expression(self, place: int) -> str:
        """Text of one value; every operation stands in brackets."""
        instruction = self._code[place]
        args = [self._operand(arg) for arg in instruction.args]
        k = instruction.immediate[0] if instruction.immediate else 0
        match instruction.code:
            case Code.LOAD:
                return _signed(f"x[{k}]")
            case Code.PARAMETER:
                return _signed(f"p[{k}]")
            case Code.CONSTANT:
                return str(k) if k >= 0 else f"({k})"
            case Code.ADD:
                return f"({args[0]} + {args[1]})"
            case Code.SUB:
                return f"({args[0]} - {args[1]})"
            case Code.MUL:
                return f"({args[0]} * {args[1]})"
            case Code.NEG:
                return f"(0 - {args[0]})"
            case Code.SHL:
                return f"({args[0]} << {k})"
            case Code.SHR:
                return f"({args[0]} >> {k})"
            case Code.ROUND:
                return f"(({args[0]} + {1 << (k - 1)}) >> {k})"
            case Code.AND:
                return f"({self._masked(instruction.args[0], args[0])} & {k})"
            case Code.SINE:
                return _signed(f"sine[{args[0]}]")
            case Code.CLAMP:
                return args[0]

    def _masked(self, place: int, operand: str) -> str:
        """A load that is masked at once needs no sign."""
        load = self._code[place]
        return f"x[{load.immediate[0]}]" if load.code is Code.LOAD and not self._named[place] else operand


def _clamp(name: str, low: int, high: int) -> list[str]:
    return [
        f"if {name} > {high}:",
        f"    {name} = {high}",
        "    n += 1",
        f"elif {name} < {low}:",
        f"    {name} = {low}",
        "    n += 1",
    ]


def _bare(expression: str) -> str:
    """Without the outermost brackets."""
    return expression[1:-1] if expression.startswith("(") else expression


def _signed(load: str) -> str:
    return f"(({load} << sh) >> sh)"
