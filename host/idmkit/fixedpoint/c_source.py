"""Writes a program as plain C for a controller of one's own: in int32, in floating point, and vectors to test with.

`model.c` holds inverse_dynamics (the board's bits) and inverse_dynamics_float (the formula it stands for), `model.h`
what a caller needs, `vectors.txt` states with their parameters and torques, `check.c` a main that compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from idmkit.fixedpoint.emulator import Emulator
from idmkit.fixedpoint.formula import Node, Op
from idmkit.fixedpoint.limits import Limits
from idmkit.fixedpoint.program import Code, Instruction, Program
from idmkit.fixedpoint.report import corner_states, input_counts
from idmkit.fixedpoint.scaling import INPUT_EXPONENTS, TORQUE_EXPONENT
from idmwire.sine import SINE

VECTORS = 2000

_HEADER = """\
/* Inverse dynamics of {axes}. Program {hash:#010x}.
 *
 * x[{inputs}], integers: q, qd, qdd, direction of all axes.
 *   q: turns * 2^{q_bits} (revolute) or m * 2^{q_bits}; qd: rad/s or m/s * 2^{qd_bits};
 *   qdd: rad/s^2 or m/s^2 * 2^{qdd_bits};
 *   direction: -1, 0 or 1, the sign of the velocity as Coulomb friction sees it.
 * p[{n_parameters}], integers: parameter k is p[k] * 2^exponent, |p[k]| <= limit:
{parameters}
 * y[{outputs}], integers: torques, Nm or N * 2^{torque_bits}; then how many values were limited.
 *
 * Needs 32-bit two's complement and a right shift that keeps the sign, as every C compiler in use has them.
 */
#ifndef MODEL_H
#define MODEL_H
#include <stdint.h>

#define PROGRAM_HASH {hash:#010x}
#define N_AXES {n_axes}
#define N_PARAMETERS {n_parameters}

void inverse_dynamics(const int32_t *x, const int32_t *p, int32_t *y);

/* The same in floating point: q in turns (revolute) or m, all else and the parameters in SI units; torques only. */
#ifndef REAL
#define REAL double
#endif
void inverse_dynamics_float(const REAL *x, const REAL *p, REAL *tau);
#endif
"""

_CHECK = """\
/* Compares model.c with vectors.txt: cc -O2 model.c check.c -lm && ./a.out vectors.txt */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include "model.h"

int main(int argc, char **argv) {
    int32_t x[4 * N_AXES], p[N_PARAMETERS], want[N_AXES + 1], y[N_AXES + 1];
    FILE *f = argc > 1 ? fopen(argv[1], "r") : 0;
    long count = 0, wrong = 0;
    if (!f) {
        fprintf(stderr, "usage: check vectors.txt\\n");
        return 2;
    }
    for (;; count++) {
        for (int k = 0; k < 4 * N_AXES + N_PARAMETERS + N_AXES + 1; k++) {
            int32_t *at = k < 4 * N_AXES ? x + k : k < 4 * N_AXES + N_PARAMETERS ? p + (k - 4 * N_AXES)
                                                 : want + (k - 4 * N_AXES - N_PARAMETERS);
            if (fscanf(f, "%" SCNd32, at) != 1) {
                fclose(f);
                printf("%ld vectors, %ld wrong\\n", count, wrong);
                return wrong != 0 || count == 0;
            }
        }
        inverse_dynamics(x, p, y);
        for (int k = 0; k <= N_AXES; k++) {
            if (y[k] != want[k]) {
                wrong++;
                break;
            }
        }
    }
}
"""


def write_c(program: Program, limits: Limits, folder: Path) -> list[Path]:
    """Writes model.h, model.c, check.c and vectors.txt; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "model.h": _header(program),
        "model.c": emit_c(program),
        "check.c": _CHECK,
        "vectors.txt": "".join(" ".join(map(str, row)) + "\n" for row in vectors(program, limits).tolist()),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [folder / name for name in texts]


def vectors(program: Program, limits: Limits, count: int = VECTORS) -> NDArray[np.int64]:
    """Rows x, p, y: random states, corners, and states far outside; largest, random and ordinary parameters."""
    rng = np.random.default_rng(0)
    low, high = input_counts(program, limits)
    inside = rng.integers(low, high + 1, (count // 2, len(low)))
    corners = corner_states(low, high, rng)[: count // 4]
    outside = rng.integers(-(2**31), 2**31, (count // 4, len(low)))
    x = np.concatenate([inside, corners, outside])
    most = np.array([parameter.limit for parameter in program.parameters])
    p = rng.integers(-most, most + 1, (len(x), len(most)))
    p[::7] = np.where(rng.random((len(p[::7]), len(most))) < 0.5, -most, most)
    p[1::2] //= 8
    return np.concatenate([x, p, Emulator(program).run(x, p)], axis=1)


def emit_c(program: Program) -> str:
    """Text of model.c."""
    table = ",\n    ".join(", ".join(map(str, SINE[k : k + 8])) for k in range(0, len(SINE), 8))
    sine = [f"static const int32_t sine[{len(SINE)}] = {{\n    {table}}};", ""] if program.count(Code.SINE) else []
    lines = [
        '#include "model.h"',
        "#include <math.h>",
        "",
        *sine,
        "void inverse_dynamics(const int32_t *x, const int32_t *p, int32_t *y) {",
        "    int32_t n = 0;",
        *integer_body(program),
        "}",
        "",
        "void inverse_dynamics_float(const REAL *x, const REAL *p, REAL *tau) {",
        *(f"    const REAL f{k} = {_real(node)};" for k, node in enumerate(program.formula.nodes)),
        *(f"    tau[{axis}] = f{place};" for axis, place in enumerate(program.formula.outputs)),
        "    (void)x; (void)p;",
        "}",
        "",
    ]
    return "\n".join(lines)


def _header(program: Program) -> str:
    return _HEADER.format(
        axes=", ".join(program.axes),
        hash=program.hash,
        inputs=4 * program.n_axes,
        outputs=program.n_axes + 1,
        n_axes=program.n_axes,
        n_parameters=len(program.parameters),
        q_bits=-INPUT_EXPONENTS[0],
        qd_bits=-INPUT_EXPONENTS[1],
        qdd_bits=-INPUT_EXPONENTS[2],
        torque_bits=-TORQUE_EXPONENT,
        parameters="\n".join(
            f" *   {k}: {p.key}, {p.unit}, exponent {p.exponent}, limit {p.limit}"
            for k, p in enumerate(program.parameters)
        ),
    )


def integer_body(program: Program) -> list[str]:
    """Statements that set y from x, p, sine and n = 0."""
    lines = []
    for place, instruction in enumerate(program.code):
        if instruction.code is Code.CLAMP:
            (low, high), source = instruction.immediate, f"v{instruction.args[0]}"
            lines.append(
                f"    const int32_t v{place} = {source} > {high} ? {high} : {source} < {low} ? {low} : {source};"
            )
            lines.append(f"    n += v{place} != {source};")
        else:
            lines.append(f"    const int32_t v{place} = {_integer(instruction, [f'v{a}' for a in instruction.args])};")
    lines += [f"    y[{axis}] = v{place};" for axis, place in enumerate(program.outputs)]
    return [*lines, f"    y[{program.n_axes}] = n;"]


def _integer(instruction: Instruction, args: Sequence[str]) -> str:
    k = instruction.immediate[0] if instruction.immediate else 0
    match instruction.code:
        case Code.LOAD:
            return f"x[{k}]"
        case Code.PARAMETER:
            return f"p[{k}]"
        case Code.CONSTANT:
            return str(k)
        case Code.ADD:
            return f"{args[0]} + {args[1]}"
        case Code.SUB:
            return f"{args[0]} - {args[1]}"
        case Code.MUL:
            return f"{args[0]} * {args[1]}"
        case Code.NEG:
            return f"-{args[0]}"
        case Code.SHL:
            return f"{args[0]} * {1 << k}"
        case Code.SHR:
            return f"{args[0]} >> {k}"
        case Code.ROUND:
            return f"({args[0]} + {1 << (k - 1)}) >> {k}"
        case Code.AND:
            return f"{args[0]} & {k}"
        case Code.SINE:
            return f"sine[{args[0]}]"
        case Code.CLAMP:
            raise ValueError("a limit is two statements")


def _real(node: Node) -> str:
    args = [f"f{arg}" for arg in node.args]
    turn = "(REAL)6.283185307179586"
    match node.op:
        case Op.INPUT:
            return f"x[{node.index}]"
        case Op.PARAMETER:
            return f"p[{node.index}]"
        case Op.CONSTANT:
            return f"(REAL){node.value!r}"
        case Op.ADD:
            return f"{args[0]} + {args[1]}"
        case Op.SUB:
            return f"{args[0]} - {args[1]}"
        case Op.MUL:
            return f"{args[0]} * {args[1]}"
        case Op.NEG:
            return f"-{args[0]}"
        case Op.SIN:
            return f"sin({turn} * {args[0]})"
        case Op.COS:
            return f"cos({turn} * {args[0]})"
        case Op.INVERSE:
            return f"1 / {args[0]}"
        case Op.ROOT:
            return f"sqrt({args[0]})"
        case Op.SIGN:
            return f"(REAL)(({args[0]} > 0) - ({args[0]} < 0))"
        case Op.LIMIT:
            low, high = f"(REAL){node.value!r}", f"(REAL){node.high!r}"
            return f"{args[0]} < {low} ? {low} : {args[0]} > {high} ? {high} : {args[0]}"
