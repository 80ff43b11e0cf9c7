"""idm build ROBOT: compile a robot's model to int32 arithmetic for its board, and say what that loses and costs."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from idmkit.board.model_file import compile_module
from idmkit.errors import IdmError, LinkError, ModelError, RigError
from idmkit.files import replacing, write_text
from idmkit.fixedpoint import ErrorReport, Program, compile_program, emit_viper, error_report, robot_limits
from idmkit.fixedpoint.c_source import write_c
from idmkit.fixedpoint.native import COMPILERS, compile_native
from idmkit.rig.model_cost import ARCHITECTURE, ModelCost, model_costs
from idmkit.robot import load_robot
from idmkit.robot_graph import board_graph, model_name

TARGETS = ("armv6m", "armv7m", "armv7emsp", "xtensawin", "rv32imc", "x86", "x64")
"""Architectures whose .mpy the report tells the size of."""
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
    graph = board_graph(robot)
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
    footprint = _footprint(program) if arguments.report else Footprint()
    if arguments.json:
        print(json.dumps(_as_dict(robot.name, program, report, footprint, written), indent=2))
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
            _show(report, footprint)
    return 0 if report is None or _worst(report) <= GOAL else 1


def _worst(report: ErrorReport) -> float:
    return max(axis.largest_percent for axis in report.axes)


def _show(report: ErrorReport, footprint: Footprint) -> None:
    print(f"\n{report.text()}\n")
    print(footprint.text())
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


@dataclasses.dataclass
class Footprint:
    """Bytes of the .mpy by architecture, in both backends; what is measured, by backend; why something is missing."""

    viper: dict[str, int] = dataclasses.field(default_factory=dict)
    native: dict[str, int] = dataclasses.field(default_factory=dict)
    measured: dict[str, ModelCost] = dataclasses.field(default_factory=dict)
    missing: list[str] = dataclasses.field(default_factory=list)

    def text(self) -> str:
        """Lines, ready to print."""
        parts = (
            ("bytes of the .mpy", self.viper),
            ("bytes of the native .mpy", self.native),
            (f"bytes of heap, {ARCHITECTURE}", {name: cost.heap for name, cost in self.measured.items()}),
            (f"instructions of a call, {ARCHITECTURE}", {k: cost.instructions for k, cost in self.measured.items()}),
        )
        lines = [
            f"{what}: " + ", ".join(f"{name} {size}" for name, size in sizes.items()) for what, sizes in parts if sizes
        ]
        return "\n".join(lines + [f"not found: {reason}" for reason in self.missing])


def _footprint(program: Program) -> Footprint:
    found = Footprint()
    modules: dict[str, bytes] = {}
    for backend, compiler, targets, sizes in (
        ("viper", compile_module, TARGETS, found.viper),
        ("native", compile_native, COMPILERS, found.native),
    ):
        for target in targets:
            try:
                module = compiler(program, target)
            except ModelError as problem:
                found.missing.append(str(problem))
                continue
            sizes[target] = len(module)
            if target == ARCHITECTURE:
                modules[backend] = module
    try:
        found.measured = model_costs(modules) if modules else {}
    except (RigError, LinkError) as problem:
        found.missing.append(str(problem))
    found.missing = list(dict.fromkeys(found.missing))
    return found


def _as_dict(
    robot: str, program: Program, report: ErrorReport | None, footprint: Footprint, written: list[Path]
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
        found |= {"report": dataclasses.asdict(report), "mpy_bytes": footprint.viper}
        measured = {backend: dataclasses.asdict(cost) for backend, cost in footprint.measured.items()}
        found |= {"native_mpy_bytes": footprint.native, "measured": {ARCHITECTURE: measured}}
        found |= {"not_found": footprint.missing}
        found["worst_percent"] = _worst(report)
    return found
