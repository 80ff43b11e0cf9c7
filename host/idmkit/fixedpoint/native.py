"""A program as a .mpy of C: what a C compiler makes of it takes a third of viper's time.

The module has the names and the call of the viper one (viper.py), so a board does not notice; its arguments are arrays,
whose lengths it checks. Needs a C compiler for the board's processor and MicroPython's source, whose tools/mpy_ld.py
links a native module against py/dynruntime.h.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from idmkit.errors import ModelError
from idmkit.fixedpoint.c_source import integer_body
from idmkit.fixedpoint.program import SINE_ENTRIES, Program

SOURCE_VARIABLE = "IDMKIT_MICROPYTHON_SOURCE"
_HEADERS = Path("/usr/include/x86_64-linux-gnu")
"""Where Debian keeps headers of the C library that 32-bit programs need as well."""
COMPILERS = {
    "armv6m": ("arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m0plus"),
    "armv7m": ("arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m3"),
    "x86": ("gcc", "-m32", "-fno-stack-protector", "-idirafter", str(_HEADERS)),
    "x64": ("gcc", "-m64", "-fno-stack-protector"),
}
"""Compiler and its options for each architecture of .mpy files that is made here."""
_FLAGS = (
    "-std=c99", "-O2", "-fpic", "-fno-common", "-U_FORTIFY_SOURCE", "-Wall", "-Werror", "-DNDEBUG", "-DNO_QSTR",
    "-DMICROPY_ENABLE_DYNRUNTIME", "-DMICROPY_FLOAT_IMPL=MICROPY_FLOAT_IMPL_NONE", '-DMP_CONFIGFILE="config.h"',
)  # fmt: skip

_MODULE = """\
/* Inverse dynamics of {axes}: {proved} values proved in range, {saturated} limited and counted. */
#include "py/dynruntime.h"

static void evaluate(const int32_t *x, const int32_t *p, int32_t *y, const int32_t *sine) {{
    int32_t n = 0;
{body}
    (void)sine;
}}

static void *words(mp_obj_t array, size_t count, int flags) {{
    mp_buffer_info_t info;
    mp_get_buffer_raise(array, &info, flags);
    if (info.len < 4 * count || (uintptr_t)info.buf % 4) {{
        mp_raise_ValueError(MP_ERROR_TEXT("an array of int32 is too short for this model"));
    }}
    return info.buf;
}}

/* inverse_dynamics(x, p, y, sine, sh); sh is the viper module's */
static mp_obj_t inverse_dynamics(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args) {{
    (void)self;
    mp_arg_check_num(n_args, n_kw, 5, 5, false);
    const int32_t *x = words(args[0], {inputs}, MP_BUFFER_READ), *p = words(args[1], {parameters}, MP_BUFFER_READ);
    int32_t *y = words(args[2], {outputs}, MP_BUFFER_WRITE);
    evaluate(x, p, y, words(args[3], {entries}, MP_BUFFER_READ));
    return mp_const_none;
}}

mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args) {{
    MP_DYNRUNTIME_INIT_ENTRY
    mp_obj_t limits[{parameters}];
    {limits}
    mp_store_global(MP_QSTR_PROGRAM_HASH, mp_obj_new_int({hash:#010x}));
    mp_store_global(MP_QSTR_N_AXES, mp_obj_new_int({n_axes}));
    mp_store_global(MP_QSTR_N_PARAMETERS, mp_obj_new_int({parameters}));
    mp_store_global(MP_QSTR_PARAMETER_LIMITS, mp_obj_new_tuple({parameters}, limits));
    mp_store_global(MP_QSTR_inverse_dynamics, MP_DYNRUNTIME_MAKE_FUNCTION(inverse_dynamics));
    MP_DYNRUNTIME_INIT_EXIT
}}
"""


def emit_native(program: Program) -> str:
    """C text of the native module."""
    return _MODULE.format(
        axes=", ".join(program.axes),
        proved=program.proved,
        saturated=program.saturated,
        body="\n".join(integer_body(program)),
        inputs=4 * program.n_axes,
        parameters=len(program.parameters),
        outputs=program.n_axes + 1,
        entries=SINE_ENTRIES,
        n_axes=program.n_axes,
        hash=program.hash,
        limits="\n    ".join(f"limits[{k}] = mp_obj_new_int({p.limit});" for k, p in enumerate(program.parameters)),
    )


def compile_native(program: Program, architecture: str) -> bytes:
    """The native module for an architecture (of COMPILERS); ModelError where something that is needed is missing."""
    if architecture not in COMPILERS:
        raise ModelError(f"no native modules are made for {architecture}; there are {', '.join(COMPILERS)}")
    source = find_source()
    compiler, *options = COMPILERS[architecture]
    if shutil.which(compiler) is None:
        raise ModelError(
            f"{compiler}, which compiles native modules for {architecture}, is not on PATH; install it, or do without "
            "--native: viper needs no C compiler"
        )
    link = [sys.executable, str(source / "tools" / "mpy_ld.py"), "--arch", architecture]
    with tempfile.TemporaryDirectory(prefix="idmkit-") as name:
        folder = Path(name)
        (folder / "model.c").write_text(emit_native(program))
        _run([*link, "--preprocess", "-o", "config.h", "model.c"], folder)
        _run([compiler, *options, *_FLAGS, f"-I{source}", "-I.", "-c", "model.c", "-o", "model.o"], folder)
        _run([*link, "--qstrs", "config.h", "-o", "model.mpy", "model.o"], folder)
        return (folder / "model.mpy").read_bytes()


def find_source() -> Path:
    """MicroPython's source: $IDMKIT_MICROPYTHON_SOURCE, else what `make emulators` fetches into a checkout."""
    named = os.environ.get(SOURCE_VARIABLE)
    path = Path(named) if named else Path(__file__).resolve().parents[3] / "build" / "micropython" / "source"
    if (path / "py" / "dynruntime.h").is_file() and (path / "tools" / "mpy_ld.py").is_file():
        return path
    raise ModelError(
        f"{path} holds no source of MicroPython, which native modules are linked with; run make emulators in a "
        f"checkout, or name a checkout of MicroPython in {SOURCE_VARIABLE}"
    )


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-400:]
        raise ModelError(f"{Path(command[0]).name} could not make the native module: {said}")
