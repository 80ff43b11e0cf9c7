"""idm verdict RECORD --robot ROBOT: why an identification failed or is not to be trusted, with evidence."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from idmkit.cli.fit import REFUSED, read_record
from idmkit.cli.printing import print_findings
from idmkit.fitting import fit_record
from idmkit.robot import load_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("record", nargs="+", type=Path, metavar="RECORD", help=".npz, or .csv/.csv.gz with --mapping")
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument("--mapping", type=Path, help="mapping file that says what the columns of a table mean")
    parser.add_argument("--model", type=int, metavar="N", help="dynamic model number instead of the robot file's")
    parser.add_argument("--cutoff", type=float, metavar="HZ", help="low-pass cutoff instead of the robot file's")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Identifies and prints what there is to say about it; returns 0, or 3 where the result must not be used."""
    robot = load_robot(arguments.robot)
    record, noticed = read_record(arguments.record, arguments.mapping)
    fit = fit_record(record, robot, model=arguments.model, cutoff_hz=arguments.cutoff, noticed=noticed)
    findings, accepted = fit.result.verdict.findings, fit.result.verdict.accepted
    if arguments.json:
        found = [finding.as_dict() for finding in findings]
        print(json.dumps({"accepted": accepted, "findings": found}, indent=2, default=str))
    else:
        print(f"{fit.result.robot}: {fit.result.model}, {'accepted' if accepted else 'REFUSED'}")
        print_findings(findings)
        if not findings:
            print("  nothing to be said against it")
    return 0 if accepted else REFUSED
