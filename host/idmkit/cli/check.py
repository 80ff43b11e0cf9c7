"""idm check PORT --robot ROBOT: before the first fast motion, slowly: signs, scales, limits, noise, delays."""

from __future__ import annotations

import argparse
import json

from idmkit.bench import RobotModel, put_back, write_settings
from idmkit.bench.check import JOG_RANGE, JOG_SPEED, check
from idmkit.cli.benches import PORT_HELP, open_bench
from idmkit.cli.confirm import may_move
from idmkit.cli.fit import REFUSED
from idmkit.cli.printing import print_findings
from idmkit.finding import worst
from idmkit.link.images import read_image
from idmkit.robot import load_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("port", metavar="PORT", help=PORT_HELP)
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument("--yes", action="store_true", help="the robot may move: do not ask")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Jogs, judges, prints; returns 0, or 3 where the robot must not move faster yet."""
    robot = load_robot(arguments.robot)
    say = (lambda _: None) if arguments.json else (lambda text: print(f"  {text} ...", flush=True))
    with open_bench(robot, RobotModel.of(robot), arguments.port) as bench:
        reach = (
            f"each axis by {100 * JOG_RANGE:.0f} % of its range at {100 * JOG_SPEED:.0f} % of its speed, then all axes "
            "between the ends of their identification runs at a tenth of that speed"
        )
        may_move(bench, arguments.port, reach, yes=arguments.yes)
        before = read_image(bench.board, "applied")
        write_settings(bench)
        jogs, slow = check(bench, say)
        put_back(bench, before)
    findings = [finding for jog in jogs for finding in jog.findings] + slow
    passed = worst(findings) != "refusal"
    if arguments.json:
        axes = [
            {"axis": jog.axis, "torque_noise": jog.noise, "friction": [jog.friction, jog.friction_std],
             "gravity": jog.gravity, "position_delay_cycles": jog.delay}
            for jog in jogs
        ]  # fmt: skip
        print(json.dumps({"passed": passed, "axes": axes, "findings": [f.as_dict() for f in findings]}, default=str))
        return 0 if passed else REFUSED
    print(f"\n  {'axis':<8}{'friction':>20}{'weight':>12}{'noise':>12}{'delay, cycles':>16}")
    for axis, jog in zip(robot.axes, jogs, strict=True):
        unit = "Nm" if axis.revolute else "N"
        friction = f"{jog.friction:.3g} +- {jog.friction_std:.1g} {unit}"
        print(f"  {jog.axis:<8}{friction:>20}{jog.gravity:>12.3g}{jog.noise:>12.2g}{jog.delay:>16}")
    print_findings(findings)
    print("  ready for the identification run" if passed else "  NOT ready: correct this before anything moves faster")
    return 0 if passed else REFUSED
