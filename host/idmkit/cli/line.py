"""idm line PORT --robot ROBOT --to X Y Z: the tool in a straight line, with bounded jerk, its orientation kept."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from idmkit.bench import Bench, RobotModel, write_settings
from idmkit.bench.lines import move_straight, off_the_line
from idmkit.bench.moves import move_to, positions
from idmkit.cartesian import Line
from idmkit.cartesian.pose import Tool, describe
from idmkit.cli.benches import PORT_HELP, VIRTUAL, open_bench
from idmkit.cli.confirm import may_move
from idmkit.errors import IdmError
from idmkit.records import save_record
from idmkit.robot import load_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("port", metavar="PORT", help=PORT_HELP)
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument("--to", type=float, nargs=3, required=True, metavar=("X", "Y", "Z"), help="goal of the tool, m")
    parser.add_argument("--speed", type=float, default=0.1, metavar="M/S", help="along the line (default: 0.1)")
    parser.add_argument(
        "--from", type=float, nargs="+", dest="start", metavar="Q", help="go to these axes first (rad, m), all of them"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="RECORD.npz", help="save the record of the line")
    parser.add_argument("--yes", action="store_true", help="the robot may move: do not ask")


def run(arguments: argparse.Namespace) -> int:
    """Plans the line, moves along it, says how straight it was."""
    robot = load_robot(arguments.robot)
    model = RobotModel.of(robot)
    tool = Tool(robot)
    if arguments.start is not None and len(arguments.start) != len(robot.axes):
        raise IdmError(f"--from gives {len(arguments.start)} axes, {robot.name} has {len(robot.axes)}")
    with open_bench(robot, model, arguments.port) as bench:
        may_move(bench, arguments.port, f"its tool to {describe(np.array(arguments.to))}", yes=arguments.yes)
        if arguments.port == VIRTUAL:
            write_settings(bench)
        with bench.armed():
            if arguments.start is not None:
                move_to(bench, arguments.start)
            begin = tool.position(np.array(positions(bench)))
            line, run = move_straight(bench, arguments.to, arguments.speed)
    if arguments.output is not None:
        save_record(run.record, arguments.output)
    _show(bench, line, begin, np.array(arguments.to), arguments.speed)
    commanded, measured = off_the_line(run, tool, begin, np.array(arguments.to))
    print(f"  off the line at most: commanded {1e6 * commanded:.3g} um, measured {1e6 * measured:.3g} um")
    return 0


def _show(bench: Bench, line: Line, begin: np.ndarray, goal: np.ndarray, speed: float) -> None:
    way = float(np.linalg.norm(goal - begin))
    print(
        f"{bench.robot.name}: {1e3 * way:.4g} mm from {describe(begin)} to {describe(goal)}"
        f" in {line.duration_s:.4g} s; speed {line.speed:.4g} m/s, acceleration {line.acceleration:.4g} m/s^2, jerk "
        f"{line.jerk:.4g} m/s^3"
    )
    if line.speed < 0.999 * speed:
        print(f"  slower than {speed:g} m/s because of {line.limit or 'the way, on which it cannot be reached'}")
