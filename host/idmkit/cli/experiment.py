"""idm experiment NAME ROBOT: an experiment on a virtual rig of its own, as tables and a picture."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from idmkit.experiments import EXPERIMENTS
from idmkit.experiments.outcome import Outcome
from idmkit.robot import load_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "name",
        choices=tuple(EXPERIMENTS),
        metavar="NAME",
        help="; ".join(f"{name}: {text}" for name, text in EXPERIMENTS.items()),
    )
    parser.add_argument("robot", metavar="ROBOT", help="robot file with a [rig] table, or the name of a ready robot")
    parser.add_argument("-o", "--output", type=Path, metavar="FIGURE", help="picture (default: ROBOT_NAME.png)")
    parser.add_argument(
        "--seed", type=int, default=1, help="of the torque noise (default 1); the same gives the same bits"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Runs it, draws it, prints it."""
    from idmkit.report.panels import save_panels

    robot = load_robot(arguments.robot)
    module = importlib.import_module(f"idmkit.experiments.{arguments.name}")
    say = (lambda _: None) if arguments.json else (lambda text: print(f"  {text} ...", flush=True))
    outcome: Outcome = module.run(robot, arguments.seed, say)
    path = arguments.output or Path(f"{robot.name}_{arguments.name}.png")
    save_panels(outcome, path)
    if arguments.json:
        print(
            json.dumps({"experiment": outcome.experiment, "robot": outcome.robot, **outcome.data, "figure": str(path)})
        )
        return 0
    for table in outcome.tables:
        print(f"\n{table.text()}")
    print(f"\nfigure: {path}")
    return 0
