"""idm verdict RECORD --robot ROBOT: why an identification failed or is not to be trusted, with evidence."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from idmkit.cli.fit import REFUSED, read_record
from idmkit.cli.printing import print_findings
from idmkit.finding import Finding, worst
from idmkit.fitting import Fit, fit_record
from idmkit.robot import Robot, load_robot
from idmkit.verdict import torque_errors
from idmkit.verdict.causes import cause_findings, facts_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("record", nargs="+", type=Path, metavar="RECORD", help=".npz, or .csv/.csv.gz with --mapping")
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument("--mapping", type=Path, help="mapping file that says what the columns of a table mean")
    parser.add_argument("--model", type=int, metavar="N", help="dynamic model number instead of the robot file's")
    parser.add_argument("--cutoff", type=float, metavar="HZ", help="low-pass cutoff instead of the robot file's")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Identifies, looks for causes, prints; returns 0, or 3 where the result must not be used."""
    robot = load_robot(arguments.robot)
    record, noticed = read_record(arguments.record, arguments.mapping)
    fit = fit_record(record, robot, model=arguments.model, cutoff_hz=arguments.cutoff, noticed=noticed)
    findings = all_findings(fit, robot)
    accepted = worst(findings) != "refusal"
    if arguments.json:
        found = [finding.as_dict() for finding in findings]
        print(json.dumps({"accepted": accepted, "findings": found}, indent=2, default=str))
    else:
        print(f"{fit.result.robot}: {fit.result.model}, {'accepted' if accepted else 'REFUSED'}")
        print_findings(findings)
        if not findings:
            print("  nothing to be said against it")
    return 0 if accepted else REFUSED


def all_findings(fit: Fit, robot: Robot) -> list[Finding]:
    """The findings of the result and, behind them, the causes that it does not name already."""
    errors = torque_errors(fit.observations, fit.estimate)
    causes = cause_findings(fit.observations, fit.estimate, errors, [facts_of(axis) for axis in robot.axes])
    known = {(finding.code, finding.axis) for finding in fit.result.verdict.findings}
    return [
        *fit.result.verdict.findings,
        *(cause for cause in causes if (cause.code, cause.axis) not in known),
    ]
