"""idm identify PORT --robot ROBOT: excite, capture, fit, judge, and write back on request."""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path

from idmkit.bench import Bench, RobotModel, check_model, write_model
from idmkit.bench.identify import AnyPlan, identification_record, reach_of_identification, record_cycles
from idmkit.bench.planned import planned_motion
from idmkit.cli.benches import PORT_HELP, open_bench
from idmkit.cli.confirm import may_move
from idmkit.cli.fit import REFUSED
from idmkit.cli.printing import print_result
from idmkit.cli.progress import Progress
from idmkit.errors import IdmError
from idmkit.excitation.plan_file import load_plan
from idmkit.fitting import Fit, fit_record
from idmkit.records import Record, save_record
from idmkit.robot import Robot, load_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_run_arguments(parser, "record, result, figure")
    parser.add_argument("--write", action="store_true", help="write an accepted result to the board and store it there")


def add_run_arguments(parser: argparse.ArgumentParser, files: str) -> None:
    """What every verb takes that makes an identification run; `files` go into its folder."""
    parser.add_argument("port", metavar="PORT", help=PORT_HELP)
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument(
        "--plan", type=Path, metavar="PLAN.json", help="run this plan of `idm plan` instead of the robot file's sines"
    )
    parser.add_argument("-o", "--output", type=Path, default=Path(), metavar="FOLDER", help=f"for {files}")
    parser.add_argument("--yes", action="store_true", help="the robot may move: do not ask")
    parser.add_argument("--json", action="store_true", help="print JSON")


def read_run_arguments(arguments: argparse.Namespace) -> tuple[Robot, RobotModel, AnyPlan | None]:
    """Robot, its compiled model and the plan; raises IdmError for a folder or a plan that will not do."""
    robot = load_robot(arguments.robot)
    model = RobotModel.of(robot)
    if not arguments.output.is_dir():
        raise IdmError(f"{arguments.output} is no folder; make it, or choose another one with -o")
    plan = None if arguments.plan is None else load_plan(arguments.plan)
    if plan is not None:
        planned_motion(plan, robot)
    return robot, model, plan


def run(arguments: argparse.Namespace) -> int:
    """Runs the identification; files are written when all of it has succeeded."""
    robot, model, plan = read_run_arguments(arguments)
    folder: Path = arguments.output
    with open_bench(robot, model, arguments.port) as bench:
        if arguments.write:
            check_model(bench, model.program)
        may_move(bench, arguments.port, reach_of_identification(robot, plan), yes=arguments.yes)
        fit, files = identify(bench, robot, folder, plan=plan, date="" if bench.virtual else today())
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


def identify(
    bench: Bench, robot: Robot, folder: Path, *, plan: AnyPlan | None = None, date: str = ""
) -> tuple[Fit, dict[str, Path]]:
    """Excites, captures, fits and judges; record, result and figure go into `folder`.

    Moves and leaves the board as `identification_record` does.
    """
    with Progress("recording", record_cycles(bench, plan)) as progress:
        record = identification_record(bench, plan, date=date, progress=progress.step)
    fit = fit_record(record, robot)
    return fit, save_identification(fit, record, robot, folder)


def save_identification(fit: Fit, record: Record, robot: Robot, folder: Path) -> dict[str, Path]:
    """Record, result and figure into `folder`; where each is."""
    from idmkit.report import save_figure

    files = {
        "record": folder / f"{robot.name}_record.npz",
        "result": folder / f"{robot.name}_result.json",
        "figure": folder / f"{robot.name}_fit.png",
    }
    save_record(record, files["record"])
    fit.result.save(files["result"])
    save_figure(fit, files["figure"])
    return files


def today() -> str:
    """The date of a record from a real robot."""
    return datetime.date.today().isoformat()
