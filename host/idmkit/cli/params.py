"""idm params PORT --robot ROBOT: what is on the board, applied and stored; settings and results written to it."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from idmkit.bench import Bench, RobotModel, write_model, write_settings
from idmkit.board.parameters import parameters_of, settings_of
from idmkit.board.settings import parameter_image
from idmkit.cli.benches import check_robot, open_board
from idmkit.errors import IdmError
from idmkit.link.images import read_image
from idmkit.robot import Robot, load_robot
from idmkit.verdict import Result, load_result
from idmwire.image import ImageError, ParameterImage, unpack


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("port", metavar="PORT", help="port of the board (/dev/ttyACM0, socket://host:port, ...)")
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument("--image", choices=("applied", "stored"), default="applied", help="which parameters to show")
    write = parser.add_mutually_exclusive_group()
    write.add_argument("--write", type=Path, metavar="RESULT.json", help="write and store the parameters of a result")
    write.add_argument("--settings", action="store_true", help="write and store the robot file's settings, no model")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Writes what was asked for, then shows what is there."""
    robot = load_robot(arguments.robot)
    model = RobotModel.of(robot)
    result = None if arguments.write is None else _accepted(arguments.write, robot)
    with open_board(arguments.port, robot) as board:
        bench = Bench(robot, board)
        if not arguments.settings:
            check_robot(board, robot)
        written = None
        if result is not None:
            written = write_model(bench, model.program, model.values(result.values()))
        elif arguments.settings:
            written = write_settings(bench, store=True)
        data = read_image(board, arguments.image)
    if not data:
        raise IdmError(f"the board has no {arguments.image} parameters; write some with --write or --settings")
    try:
        image = unpack(data)
    except ImageError as problem:
        raise IdmError(f"the {arguments.image} parameters cannot be read: {problem}") from problem
    if written and not arguments.json:
        print(f"written, read back and stored as generation {written.generation} (CRC 0x{written.crc:08x})\n")
    _show(image, robot, model, as_json=arguments.json)
    return 0


def _accepted(path: Path, robot: Robot) -> Result:
    """A stored result that may be written to the board of `robot`."""
    result = load_result(path)
    if result.robot != robot.name:
        raise IdmError(f"{path} is a result of the robot {result.robot!r}, the robot file is of {robot.name!r}")
    if not result.verdict.accepted:
        raise IdmError(f"the verdict of {path} refuses this result; nothing was written")
    return result


def _show(image: ParameterImage, robot: Robot, model: RobotModel, *, as_json: bool) -> None:
    if image.n_axes != len(robot.axes):
        raise IdmError(
            f"the board's parameters are of robot {image.robot!r} with {image.n_axes} axes, the robot file has "
            f"{len(robot.axes)}; give the robot file that belongs to the board"
        )
    settings = settings_of(image, [axis.joint for axis in robot.axes])
    parameters = parameters_of(image, model.program) if image.program_hash else []
    if as_json:
        print(
            json.dumps(
                {
                    "robot": image.robot,
                    "generation": image.generation,
                    "program_hash": image.program_hash,
                    "settings": [dataclasses.asdict(setting) for setting in settings],
                    "parameters": [dataclasses.asdict(parameter) for parameter in parameters],
                    "differs_from_robot_file": differences(image, robot, model),
                }
            )
        )
        return
    print(f"robot {image.robot}, generation {image.generation}")
    for setting in settings:
        axis = "board" if setting.axis is None else robot.axes[setting.axis].name
        print(f"  {axis:<10} {setting.softmc_name or setting.name:<24} {setting.value:>14.8g} {setting.unit}")
    for parameter in parameters:
        print(f"  {parameter.name:<35} {parameter.value:>14.8g} {parameter.unit}")
    for name in differences(image, robot, model):
        print(f"  ! {name} differs from the robot file")


def differences(image: ParameterImage, robot: Robot, model: RobotModel) -> list[str]:
    """The settings in which an image differs from what the robot file says (R32: nothing is silently another)."""
    with_model = bool(image.program_hash)
    wanted = parameter_image(
        robot,
        model.program if with_model else None,
        dict(zip((p.key for p in model.program.parameters), image.engineering, strict=False)) if with_model else None,
    )
    joints = [axis.joint for axis in robot.axes]
    return [
        f"{'board' if have.axis is None else robot.axes[have.axis].name}.{have.name}"
        for have, want in zip(settings_of(image, joints), settings_of(wanted, joints), strict=True)
        if have.value != want.value
    ]
