"""idm flash-model ROBOT [PORT]: a robot's compiled model onto its board, over the link."""

from __future__ import annotations

import argparse
import json

from idmkit.bench import RobotModel, flash_model
from idmkit.board.model_file import architecture
from idmkit.cli.benches import open_board
from idmkit.cli.progress import Progress
from idmkit.link.transport import only_port
from idmkit.robot import load_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("robot", metavar="ROBOT", help="robot file, or the name of a ready robot")
    parser.add_argument(
        "port", nargs="?", metavar="PORT", help="port of the board; without it, the only USB serial port there is"
    )
    parser.add_argument("--native", action="store_true", help="by a C compiler: a third of the time on the board")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Compiles, uploads, and says what the board uses now."""
    robot = load_robot(arguments.robot)
    program = RobotModel.of(robot).program
    with open_board(arguments.port or only_port(), robot) as board:
        if board.mismatch is not None:
            raise board.mismatch
        target = architecture(board.hello.mpy_version)
        before = board.hello.program_hash
        with Progress("sending the model", 100) as progress:
            size = flash_model(
                board,
                program,
                lambda sent, all_of_it: progress.step(100 * sent // all_of_it),
                native=arguments.native,
            )
        wants = board.hello.axes and before != program.hash
    if arguments.json:
        print(json.dumps({"robot": robot.name, "program_hash": program.hash, "before": before, "architecture": target,
                          "bytes": size}))  # fmt: skip
        return 0
    print(f"{robot.name}: program 0x{program.hash:08x} for {target}, {size} bytes, tested on the board and in use")
    if wants:
        print("The board's parameters belong to another model: `idm params PORT --robot ROBOT --write RESULT.json`")
    return 0
