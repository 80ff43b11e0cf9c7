"""idm params PORT --robot ROBOT: what is on the board; settings and results written to it, compared, rolled back."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from pathlib import Path

from idmkit.bench import Bench, RobotModel, roll_back, write_model, write_settings
from idmkit.board.parameters import parameters_of, settings_of
from idmkit.board.posture import load_tables, tables_of
from idmkit.board.settings import parameter_image
from idmkit.cli.benches import check_robot, open_board
from idmkit.errors import IdmError
from idmkit.link.client import Board
from idmkit.link.images import Written, read_image
from idmkit.parameter_sets import DRIFT_PERCENT, Change, compare, keep, read_parameters
from idmkit.robot import Robot, load_robot
from idmkit.verdict import ParameterResult, Result, load_result
from idmwire.image import ImageError, ParameterImage, unpack

PREVIOUS = "previous"
DRIFTED = 3
"""Exit code where everything worked and --compare found a parameter that drifted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("port", metavar="PORT", help="port of the board (/dev/ttyACM0, socket://host:port, ...)")
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument(
        "--image",
        choices=("applied", "stored", PREVIOUS),
        default="applied",
        help="which parameters to show; previous is the set that was stored before the one stored now",
    )
    write = parser.add_mutually_exclusive_group()
    write.add_argument("--write", type=Path, metavar="RESULT.json", help="write and store the parameters of a result")
    write.add_argument("--settings", action="store_true", help="write and store the robot file's settings, no model")
    write.add_argument("--roll-back", action="store_true", help="write and store the set that was stored before")
    parser.add_argument("--conditions", default="", metavar="TEXT", help="kept with --write: load, temperature, ...")
    parser.add_argument("--tables", type=Path, metavar="FILE", help="posture tables, written along with --write")
    parser.add_argument("--record", default="", metavar="FILE", help="kept with --write: the record behind the result")
    parser.add_argument(
        "--compare",
        metavar="SET",
        help=f"compare the model's parameters with a kept set, a result, or {PREVIOUS!r}; a drift ends with {DRIFTED}",
    )
    parser.add_argument(
        "--drift",
        type=float,
        default=DRIFT_PERCENT,
        metavar="PERCENT",
        help="change that --compare calls a drift (default: %(default)g)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Writes what was asked for, then shows what is there."""
    robot = load_robot(arguments.robot)
    model = RobotModel.of(robot)
    result = None if arguments.write is None else _accepted(arguments.write, robot)
    tables = () if arguments.tables is None else load_tables(arguments.tables)
    if tables and result is None:
        raise IdmError("posture tables are written together with a result: give --write RESULT.json, too")
    words = [word for table in tables for word in table.words(model.program)]
    other = None
    if arguments.compare not in (None, PREVIOUS):
        other = read_parameters(Path(arguments.compare), robot.name)
    with open_board(arguments.port, robot) as board:
        bench = Bench(robot, board)
        if not arguments.settings:
            check_robot(board, robot)
        written = _write(bench, model, result, words, arguments)
        image = _image(board, arguments.image)
        if arguments.compare == PREVIOUS:
            other = _as_results(_image(board, PREVIOUS), model)
    if written:
        _tell(written, result, arguments)
    changes = None if other is None else compare(other, _as_results(image, model), arguments.drift)
    _show(image, robot, model, changes, as_json=arguments.json)
    return DRIFTED if any(change.alarm for change in changes or ()) else 0


def _write(
    bench: Bench, model: RobotModel, result: Result | None, tables: list[int], arguments: argparse.Namespace
) -> Written | None:
    if result is not None:
        return write_model(bench, model.program, model.values(result.values()), tables=tables)
    if arguments.settings:
        return write_settings(bench, store=True)
    return roll_back(bench) if arguments.roll_back else None


def _tell(written: Written, result: Result | None, arguments: argparse.Namespace) -> None:
    """Keeps a written result as a set, and says what was written."""
    lines = [f"written, read back and stored as generation {written.generation} (CRC 0x{written.crc:08x})"]
    if result is not None:
        notes = {"conditions": arguments.conditions, "record": arguments.record}
        lines.append(f"kept as {keep(arguments.write, result, written.generation, written.crc, **notes)}")
    if not arguments.json:
        print("\n".join(lines), end="\n\n")


def _image(board: Board, which: str) -> ParameterImage:
    """One of the board's images; raises IdmError where there is none, or none that can be read."""
    data = read_image(board, which)
    if not data:
        raise IdmError(f"the board has no {which} parameters; write some with --write or --settings")
    try:
        return unpack(data)
    except ImageError as problem:
        raise IdmError(f"the {which} parameters cannot be read: {problem}") from problem


def _as_results(image: ParameterImage, model: RobotModel) -> list[ParameterResult]:
    """An image's parameters as a result has them; none where it holds settings only."""
    if not image.program_hash:
        return []
    return [ParameterResult(p.name, p.value, None, None, p.unit) for p in parameters_of(image, model.program)]


def _accepted(path: Path, robot: Robot) -> Result:
    """A stored result that may be written to the board of `robot`."""
    result = load_result(path)
    if result.robot != robot.name:
        raise IdmError(f"{path} is a result of the robot {result.robot!r}, the robot file is of {robot.name!r}")
    if not result.verdict.accepted:
        raise IdmError(f"the verdict of {path} refuses this result; nothing was written")
    return result


def _show(
    image: ParameterImage, robot: Robot, model: RobotModel, changes: list[Change] | None, *, as_json: bool
) -> None:
    if image.n_axes != len(robot.axes):
        raise IdmError(
            f"the board's parameters are of robot {image.robot!r} with {image.n_axes} axes, the robot file has "
            f"{len(robot.axes)}; give the robot file that belongs to the board"
        )
    settings = settings_of(image, [axis.joint for axis in robot.axes])
    parameters = parameters_of(image, model.program) if image.program_hash else []
    tables = tables_of(image.tables, model.program)
    if as_json:
        print(
            json.dumps(
                {
                    "robot": image.robot,
                    "generation": image.generation,
                    "program_hash": image.program_hash,
                    "settings": [dataclasses.asdict(setting) for setting in settings],
                    "parameters": [dataclasses.asdict(parameter) for parameter in parameters],
                    "tables": [dataclasses.asdict(table) for table in tables],
                    "differs_from_robot_file": differences(image, robot, model),
                    "changes": None if changes is None else [_finite(change) for change in changes],
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
    for table in tables:
        over = robot.axes[table.axis].name
        print(f"  {table.key:<35} {min(table.values):.6g} to {max(table.values):.6g}, a table over {over}")
    for name in differences(image, robot, model):
        print(f"  ! {name} differs from the robot file")
    if changes is not None:
        print("\ncompared:                                  before            now   change, %")
    for change in changes or ():
        alarm = "  ! drifted" if change.alarm else ""
        print(f"  {change.name:<30} {change.before:>14.8g} {change.now:>14.8g} {change.percent:>11.3g}{alarm}")


def _finite(change: Change) -> dict[str, object]:
    percent = change.percent if math.isfinite(change.percent) else None
    return dataclasses.asdict(change) | {"percent": percent}


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
