"""idm sequential RECORD... --robot ROBOT: a two-link arm from records in which one axis moves each."""

from __future__ import annotations

import argparse
from pathlib import Path

from idmkit.board.posture import save_tables, sequential_tables
from idmkit.fitting import fit_record
from idmkit.fixedpoint import compile_robot
from idmkit.records import load_record
from idmkit.robot import load_robot
from idmkit.sequential import Sequential, fit_sequential

AGREE = 3.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "record", nargs="+", type=Path, metavar="RECORD", help=".npz; one axis moves, the other is held"
    )
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument("--cutoff", type=float, metavar="HZ", help="low-pass cutoff instead of the robot file's")
    parser.add_argument(
        "--tables", type=Path, metavar="FILE", help="write axis 1's parameters as tables over the posture of axis 2"
    )
    parser.add_argument("--against", type=Path, metavar="RECORD", help="compare with a record in which both axes move")


def run(arguments: argparse.Namespace) -> int:
    """Fits, prints."""
    robot = load_robot(arguments.robot)
    found = fit_sequential([load_record(path) for path in arguments.record], robot, cutoff_hz=arguments.cutoff)
    names = [axis.name for axis in robot.axes]
    for path, step in zip(arguments.record, found.steps, strict=True):
        other = names[1 - step.axis]
        print(
            f"{path.name}: {names[step.axis]} moves, {other} at {step.posture:.4g} rad: "
            f"inertia {step.values[0]:.5g} +- {step.stds[0]:.2g} kg m^2"
        )
    simultaneous, differences = {}, {}
    if arguments.against is not None:
        fit = fit_record(load_record(arguments.against), robot, cutoff_hz=arguments.cutoff)
        simultaneous = dict(
            zip(fit.estimate.names, zip(fit.estimate.values, fit.estimate.std, strict=True), strict=True)
        )
        differences = found.against(fit)
    _show(found, simultaneous, differences)
    if arguments.tables is not None:
        tables = sequential_tables(found, compile_robot(robot))
        save_tables(tables, arguments.tables)
        print(f"{arguments.tables}: {', '.join(table.key for table in tables)} over {names[1]}")
    return 0


def _show(found: Sequential, simultaneous: dict[str, tuple[float, float]], differences: dict[str, float]) -> None:
    for name, value in found.values.items():
        line = f"  {name:<8} {value:>11.5g} +- {found.stds[name]:<8.2g}"
        if name in simultaneous:
            other, std = simultaneous[name]
            line += f" at once {other:>11.5g} +- {std:<8.2g} apart by {abs(differences[name]):.1f} sigma"
        print(line)
    if found.scatter > AGREE:
        print(f"the postures disagree: they scatter by {found.scatter:.1f} of their standard deviations about a line")
    if differences:
        worst = max(differences, key=lambda name: abs(differences[name]))
        agree = abs(differences[worst]) < AGREE
        print("the two ways agree" if agree else f"the two ways disagree, most of all on {worst}")
