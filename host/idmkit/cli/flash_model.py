"""idm flash-model ROBOT [PORT]: a robot's compiled model onto its board, over the link."""

from __future__ import annotations

import argparse
import json

from idmkit.bench import RobotModel
from idmkit.board.model_file import architecture, make_model_file
from idmkit.cli.benches import open_board
from idmkit.cli.progress import Progress
from idmkit.link.models import upload_model
from idmkit.link.transport import only_port
from idmkit.robot import load_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("robot", metavar="ROBOT", help="robot file, or the name of a ready robot")
    parser.add_argument(
        "port", nargs="?", metavar="PORT", help="port of the board; without it, the only USB serial port there is"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Compiles, uploads, and says what the board uses now."""
    robot = load_robot(arguments.robot)
    program = RobotModel.of(robot).program
    with open_board(arguments.port or only_port(), robot) as board:
        if board.mismatch is not None:
            raise board.mismatch
        target = architecture(board.hello.mpy_version)
        data = make_model_file(program, board.hello.mpy_version)
        before = board.hello.program_hash
        with Progress("sending the model", len(data)) as progress:
            used = upload_model(board, data, progress.step)
        wants = board.hello.axes and before != used
    if arguments.json:
        print(json.dumps({"robot": robot.name, "program_hash": used, "before": before, "architecture": target,
                          "bytes": len(data)}))  # fmt: skip
        return 0
    print(f"{robot.name}: program 0x{used:08x} for {target}, {len(data)} bytes, tested on the board and in use")
    if wants:
        print("The board's parameters belong to another model: `idm params PORT --robot ROBOT --write RESULT.json`")
    return 0
