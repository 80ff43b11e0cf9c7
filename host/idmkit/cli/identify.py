"""idm identify PORT --robot ROBOT: excite, capture, fit, judge, and write back on request."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path

from idmkit.bench import Bench, RobotModel, check_model, identification_run, put_back, write_model, write_settings
from idmkit.bench.excite import identification_cycles
from idmkit.cli.benches import PORT_HELP, VIRTUAL, open_bench
from idmkit.cli.fit import REFUSED
from idmkit.cli.printing import print_result
from idmkit.cli.progress import Progress
from idmkit.errors import IdmError
from idmkit.fitting import Fit, fit_record
from idmkit.link.images import read_image
from idmkit.records import save_record
from idmkit.robot import Robot, load_robot

VIRTUAL_BOARD = "unix"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("port", metavar="PORT", help=PORT_HELP)
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path(), metavar="FOLDER", help="for record, result, figure"
    )
    parser.add_argument("--write", action="store_true", help="write an accepted result to the board and store it there")
    parser.add_argument("--yes", action="store_true", help="the robot may move: do not ask")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Runs the identification; files are written when all of it has succeeded."""
    robot = load_robot(arguments.robot)
    model = RobotModel.of(robot)
    folder: Path = arguments.output
    if not folder.is_dir():
        raise IdmError(f"{folder} is no folder; make it, or choose another one with -o")
    with open_bench(robot, model, arguments.port) as bench:
        if arguments.write:
            check_model(bench, model.program)
        _may_move(bench, robot, arguments)
        fit, files = identify(bench, robot, folder, date="" if bench.virtual else _today())
        written = None
        if arguments.write and fit.result.verdict.accepted:
            written = write_model(bench, model.program, model.values(fit.result.values()))
    if arguments.json:
        answer = {**fit.result.as_dict(), "files": {name: str(path) for name, path in files.items()}}
        answer["stored_generation"] = written.generation if written else None
        print(json.dumps(answer))
    else:
        print_result(fit.result)
        for name, path in files.items():
            print(f"{name}: {path}")
        if written:
            print(f"stored on the board as generation {written.generation}")
    return 0 if fit.result.verdict.accepted else REFUSED


def identify(bench: Bench, robot: Robot, folder: Path, *, date: str = "") -> tuple[Fit, dict[str, Path]]:
    """Excites, captures, fits and judges; record, result and figure go into `folder`.

    The robot moves without its model's feed-forward; afterwards what the board had before is in force again.
    """
    from idmkit.report import save_figure

    before = read_image(bench.board, "applied")
    write_settings(bench)
    with Progress("recording", identification_cycles(bench)) as progress:
        run = identification_run(bench, date=date, progress=progress.step)
    put_back(bench, before)
    fit = fit_record(run.record, robot)
    files = {
        "record": folder / f"{robot.name}_record.npz",
        "result": folder / f"{robot.name}_result.json",
        "figure": folder / f"{robot.name}_fit.png",
    }
    save_record(run.record, files["record"])
    fit.result.save(files["result"])
    save_figure(fit, files["figure"])
    return fit, files


def _may_move(bench: Bench, robot: Robot, arguments: argparse.Namespace) -> None:
    """A real robot moves only when somebody has said that it may."""
    if arguments.yes or arguments.port == VIRTUAL or bench.board.hello.board == VIRTUAL_BOARD:
        return
    reach = "; ".join(
        f"{axis.name} from {axis.identification.start:g} to {axis.identification.target:g} "
        f"{'rad' if axis.revolute else 'm'} at up to {axis.identification.peak_velocity:.3g} "
        f"{'rad/s' if axis.revolute else 'm/s'}"
        for axis in robot.axes
    )
    if not sys.stdin.isatty():
        raise IdmError(f"the robot would move ({reach}); clear its space and give --yes")
    if input(f"The robot will move: {reach}. Is its space clear? [y/N] ").strip().lower() != "y":
        raise IdmError("nothing was moved")


def _today() -> str:
    return datetime.date.today().isoformat()
