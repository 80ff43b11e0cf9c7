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
    lines = _body(program)
    lines += [f"y[{axis}] = {text}" for axis, text in enumerate(_outputs(program))]
    lines.append(f"y[{program.n_axes}] = n")
    return head + "".join(f"    {line}\n" for line in lines)


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


def _body(program: Program) -> list[str]:
    named = _named(program)
    lines = []
    for place, instruction in enumerate(program.code):
        if not named[place]:
            continue
        lines.append(f"v{place} = {_bare(_expression(program, place, named))}")
        if instruction.code is Code.CLAMP:
            low, high = instruction.immediate
            lines += [f"if v{place} > {high}:", f"    v{place} = {high}", "    n += 1"]
            lines += [f"elif v{place} < {low}:", f"    v{place} = {low}", "    n += 1"]
    return lines


def _outputs(program: Program) -> list[str]:
    named = _named(program)
    return [_bare(_operand(program, place, named)) for place in program.outputs]


def _operand(program: Program, place: int, named: list[bool]) -> str:
    if named[place]:
        return f"v{place}"
    return _expression(program, place, named)


def _expression(program: Program, place: int, named: list[bool]) -> str:
    """Text of one value; every operation stands in brackets."""
    instruction = program.code[place]
    args = [_operand(program, arg, named) for arg in instruction.args]
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
            return f"({_masked(program, instruction.args[0], args[0])} & {k})"
        case Code.SINE:
            return _signed(f"sine[{args[0]}]")
        case Code.CLAMP:
            return args[0]


def _bare(expression: str) -> str:
    """Without the outermost brackets."""
    return expression[1:-1] if expression.startswith("(") else expression


def _signed(load: str) -> str:
    return f"(({load} << sh) >> sh)"


def _masked(program: Program, place: int, operand: str) -> str:
    """A load that is masked at once needs no sign."""
    load = program.code[place]
    return f"x[{load.immediate[0]}]" if load.code is Code.LOAD and not operand.startswith("v") else operand
