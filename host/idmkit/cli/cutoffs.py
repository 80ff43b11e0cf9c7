"""idm cutoffs RECORD --robot ROBOT --at HZ HZ ...: one fit a cutoff, raw against filtered, and which to take."""

from __future__ import annotations

import argparse
from pathlib import Path

from idmkit.cli.fit import read_record
from idmkit.estimators import ESTIMATORS
from idmkit.fitting import Fit, fit_record
from idmkit.robot import load_robot
from idmkit.sweep import sweep_cutoffs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("record", nargs="+", type=Path, metavar="RECORD", help=".npz, or .csv/.csv.gz with --mapping")
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument("--mapping", type=Path, help="mapping file that says what the columns of a table mean")
    parser.add_argument("--model", type=int, metavar="N", help="dynamic model number instead of the robot file's")
    parser.add_argument("--estimator", choices=ESTIMATORS, help="as in idm fit")
    parser.add_argument("--at", type=float, nargs="+", required=True, metavar="HZ", help="the cutoffs to compare")


def run(arguments: argparse.Namespace) -> int:
    """Prints one line a cutoff and the advice."""
    robot = load_robot(arguments.robot)
    record, _ = read_record(arguments.record, arguments.mapping)

    def fit(cutoff_hz: float) -> Fit:
        return fit_record(record, robot, model=arguments.model, cutoff_hz=cutoff_hz, estimator=arguments.estimator)

    sweep = sweep_cutoffs(record, robot, arguments.at, fit)
    print("what the filter takes from the raw torque, what the model leaves of the filtered one, and the parameter")
    print("that lies farthest from its value at a lower cutoff, in combined standard deviations\n")
    width = max(len(axis) for axis in sweep.axes) + 16
    print(f"  {'Hz':>6}  " + "".join(f"{axis + ': taken, left %':<{width + 2}}" for axis in sweep.axes) + "farthest")
    for trial in sweep.trials:
        cells = [
            f"{taken:.1f}, {left:.1f}" for taken, left in zip(trial.taken_percent, trial.error_percent, strict=True)
        ]
        farthest = f"{trial.furthest} {trial.deviations:.1f}" if trial.furthest else "-"
        print(f"  {trial.cutoff_hz:>6g}  " + "".join(f"{cell:<{width + 2}}" for cell in cells) + farthest)
    print(f"\nadvice: {sweep.advised_hz:g} Hz, the highest cutoff up to which the parameters agree within 3 deviations")
    return 0
