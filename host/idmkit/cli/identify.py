"""idm identify PORT --robot ROBOT: excite, capture, fit, judge, and write back on request."""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path

from idmkit.bench import Bench, RobotModel, check_model, identification_run, put_back, write_model, write_settings
from idmkit.bench.excite import identification_cycles
from idmkit.bench.planned import planned_motion, planned_run
from idmkit.cli.benches import PORT_HELP, open_bench
from idmkit.cli.confirm import may_move
from idmkit.cli.fit import REFUSED
from idmkit.cli.printing import print_result
from idmkit.cli.progress import Progress
from idmkit.errors import IdmError
from idmkit.excitation.plan import Plan
from idmkit.excitation.plan_file import load_plan
from idmkit.excitation.trapezoid import TrapezoidPlan
from idmkit.fitting import Fit, fit_record
from idmkit.link.images import read_image
from idmkit.records import save_record
from idmkit.robot import Robot, load_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("port", metavar="PORT", help=PORT_HELP)
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument(
        "--plan", type=Path, metavar="PLAN.json", help="run this plan of `idm plan` instead of the robot file's sines"
    )
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
    plan = None if arguments.plan is None else load_plan(arguments.plan)
    if plan is not None:
        planned_motion(plan, robot)
    with open_bench(robot, model, arguments.port) as bench:
        if arguments.write:
            check_model(bench, model.program)
        may_move(bench, arguments.port, _reach(robot, plan), yes=arguments.yes)
        fit, files = identify(bench, robot, folder, plan=plan, date="" if bench.virtual else _today())
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
    bench: Bench, robot: Robot, folder: Path, *, plan: Plan | TrapezoidPlan | None = None, date: str = ""
) -> tuple[Fit, dict[str, Path]]:
    """Excites, captures, fits and judges; record, result and figure go into `folder`.

    The motion is `plan`, or the sines of the robot file without one.
    The robot moves without its model's feed-forward; afterwards what the board had before is in force again.
    """
    from idmkit.report import save_figure

    before = read_image(bench.board, "applied")
    write_settings(bench)
    cycles = identification_cycles(bench) if plan is None else bench.cycles(plan.duration_s)
    with Progress("recording", cycles) as progress:
        if plan is None:
            run = identification_run(bench, date=date, progress=progress.step)
        else:
            run = planned_run(bench, plan, date=date, progress=progress.step)
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


def _reach(robot: Robot, plan: Plan | TrapezoidPlan | None) -> str:
    """Where each axis goes, and how fast."""
    if plan is None:
        ends = [(a.identification.start, a.identification.target, a.identification.peak_velocity) for a in robot.axes]
    else:
        low, high = planned_motion(plan, robot)[1].bounds(2)
        ends = [(low[0, k], high[0, k], max(-low[1, k], high[1, k])) for k in range(len(robot.axes))]
    return "; ".join(
        f"{axis.name} from {first:.4g} to {last:.4g} {'rad' if axis.revolute else 'm'} at up to {speed:.3g} "
        f"{'rad/s' if axis.revolute else 'm/s'}"
        for axis, (first, last, speed) in zip(robot.axes, ends, strict=True)
    )


def _today() -> str:
    return datetime.date.today().isoformat()
