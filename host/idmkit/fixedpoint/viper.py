"""Writes a program as MicroPython viper source.

One emitter, two texts. With `words` None the text runs on 32- and 64-bit words: loads are sign-extended by `sh`
(32 on 64-bit words, 0 on 32-bit ones). With `words` 32 loads stand alone, which a 32-bit board runs faster.
Values stay in int32 by proof, no literal reaches 2^30, shifts are literals in 0..31.

MicroPython computes an expression in registers and keeps every local in memory (its first three, here x, p and y,
excepted), so values that are used once have no name.
"""

from __future__ import annotations

from idmkit.fixedpoint.frame import SCRATCH, Locals
from idmkit.fixedpoint.program import Code, Program

NESTING = 10

_HEAD = '''"""Inverse dynamics of {axes}: {proved} values proved in range, {saturated} limited and counted."""

{imports}import micropython

PROGRAM_HASH = {hash:#010x}
N_AXES = {n_axes}
N_PARAMETERS = {n_parameters}
PARAMETER_LIMITS = ({limits})
{array}

# x: q, qd, qdd, direction of all axes; p: mantissas; y: torques, then how often a value was limited;
# sine: idmwire.sine.SINE; sh: 32 on 64-bit words, 0 on 32-bit ones.
# {multiplications} multiplications, {instructions} instructions, {locals} locals.
@micropython.viper
def inverse_dynamics(x: ptr32, p: ptr32, y: ptr32, sine: ptr32, sh: int):
    n = 0
'''


def emit_viper(program: Program, *, words: int | None = None) -> str:
    """Source of a module with PROGRAM_HASH, N_AXES, N_PARAMETERS, PARAMETER_LIMITS and `inverse_dynamics`.

    `words`: 32 for a board with 32-bit words only, None for any.
    """
    writer = _Writer(program, extend=words != 32)
    body = "".join(f"    {line}\n" for line in writer.lines())
    scratch = writer.locals.scratch
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
        locals=writer.locals.count,
        imports="from array import array\n\n" if scratch else "",
        array=f'_SCRATCH = array("i", [0] * {scratch})\n' if scratch else "",
    )
    return head + (f"    {SCRATCH} = ptr32(_SCRATCH)\n" if scratch else "") + body


def _named(program: Program) -> list[bool]:
    """Which values get a local variable; the others stand where they are used, and need no store and load.

    An expression nests at most NESTING operations, for a compiler that runs on a board's small stack.
    """
    counts = [0] * len(program.code)
    for instruction in program.code:
        for arg in instruction.args:
            counts[arg] += 1
    for output in program.outputs:
        counts[output] += 1
    named: list[bool] = []
    depths: list[int] = []
    for instruction, count in zip(program.code, counts, strict=True):
        depth = 1 + max((depths[arg] for arg in instruction.args), default=0)
        shared = count > 1 and instruction.code is not Code.CONSTANT
        named.append(instruction.code is Code.CLAMP or shared or depth >= NESTING)
        depths.append(0 if named[-1] else depth)
    return named


class _Writer:
    """Writes statements in the program's order."""

    def __init__(self, program: Program, *, extend: bool) -> None:
        self._code = program.code
        self._named = _named(program)
        self._extend = extend
        self._n_axes = program.n_axes
        self._outputs: dict[int, list[int]] = {}
        for axis, place in enumerate(program.outputs):
            self._outputs.setdefault(place, []).append(axis)
        self._statements = [k for k in range(len(self._code)) if self._named[k] or k in self._outputs]
        reads = {k: self._reads(k) for k in self._statements}
        self.locals = Locals([(k, self._named[k], reads[k]) for k in self._statements])

    def lines(self) -> list[str]:
        """The function's body after `n = 0`."""
        lines: list[str] = []
        for place in self._statements:
            text = _bare(self._expression(place))
            if self._named[place]:
                name = self.locals.names[place]
                if self._code[place].code is Code.CLAMP:
                    limited = "t" if self._in_scratch(place) else name
                    lines += [f"{limited} = {text}", *_clamp(limited, *self._code[place].immediate)]
                    text = limited
                if text != name:
                    lines.append(f"{name} = {text}")
                text = self._operand(place)
            lines += [f"y[{axis}] = {text}" for axis in self._outputs.get(place, [])]
        return [*lines, f"y[{self._n_axes}] = n"]

    def _reads(self, place: int) -> list[int]:
        """Named values that the text of this value reads, as often as it does."""
        found: list[int] = []
        stack = list(self._code[place].args)
        while stack:
            arg = stack.pop()
            if self._named[arg]:
                found.append(arg)
            else:
                stack += self._code[arg].args
        return found

    def _operand(self, place: int) -> str:
        if not self._named[place]:
            return self._expression(place)
        name = self.locals.names[place]
        return self._signed(name) if self._in_scratch(place) else name

    def _in_scratch(self, place: int) -> bool:
        return self.locals.names[place].startswith(SCRATCH)

    def _expression(self, place: int) -> str:
        """Text of one value; every operation stands in brackets."""
        instruction = self._code[place]
        args = [self._operand(arg) for arg in instruction.args]
        k = instruction.immediate[0] if instruction.immediate else 0
        match instruction.code:
            case Code.LOAD:
                return self._signed(f"x[{k}]")
            case Code.PARAMETER:
                return self._signed(f"p[{k}]")
            case Code.CONSTANT:
                return str(k) if k >= 0 else f"({k})"
            case Code.ADD:
                return f"({_longer_first(args, '+')})"
            case Code.SUB:
                return f"({args[0]} - {args[1]})"
            case Code.MUL:
                return f"({_longer_first(args, '*')})"
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
                return self._signed(f"sine[{args[0]}]")
            case Code.CLAMP:
                return args[0]

    def _masked(self, place: int, operand: str) -> str:
        """A load that is masked at once needs no sign."""
        load = self._code[place]
        return f"x[{load.immediate[0]}]" if load.code is Code.LOAD and not self._named[place] else operand

    def _signed(self, load: str) -> str:
        return f"(({load} << sh) >> sh)" if self._extend else load


def _longer_first(args: list[str], operator: str) -> str:
    """What needs computing goes first: its result waits in a register while the other operand is loaded."""
    first, second = args if args[0].startswith("(") or not args[1].startswith("(") else reversed(args)
    return f"{first} {operator} {second}"


def _clamp(name: str, low: int, high: int) -> list[str]:
    """Two comparisons, behind one test that finds whether either can hold: that is what costs when neither does."""
    bits = high.bit_length()
    width = high - low
    if low == -high - 1 == -(1 << bits) and bits < 30:
        test = f"({name} + {high + 1}) >> {bits + 1}"
    elif low == -high - 1 == -(1 << bits):
        test = f"(({name} >> {bits}) + 1) >> 1"
    elif width < 1 << 30 and abs(low) < 1 << 30:
        moved = f"{name} - {low}" if low >= 0 else f"{name} + {-low}"
        test = f"uint({moved}) > uint({width})"
    else:
        test = ""
    comparisons = [
        f"if {name} > {_literal(high)}:",
        f"    {name} = {_literal(high)}",
        "    n += 1",
        f"elif {name} < {_literal(low)}:",
        f"    {name} = {_literal(low)}",
        "    n += 1",
    ]
    return [f"if {test}:", *(f"    {line}" for line in comparisons)] if test else comparisons


def _literal(value: int) -> str:
    """A number below 2^30, or made of such."""
    return str(value) if abs(value) < 1 << 30 else f"({value >> 1} << 1)" if value % 2 == 0 else str(value)


def _bare(expression: str) -> str:
    """Without the outermost brackets."""
    return expression[1:-1] if expression.startswith("(") else expression
