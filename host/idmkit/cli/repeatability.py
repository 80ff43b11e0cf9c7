"""idm repeatability RECORD ...: how well identifications repeat, as a table with means and variations."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

from idmkit.cli.fit import read_record
from idmkit.cli.printing import print_findings
from idmkit.errors import IdmError
from idmkit.fitting import fit_record
from idmkit.repeatability import Repeatability, repeatability
from idmkit.robot import load_robot
from idmkit.verdict import Result, load_result

RESULT = ".json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "record",
        nargs="+",
        type=Path,
        metavar="RECORD",
        help="records (.npz, or tables with --mapping) or results (.json) of one robot and model, in order of time",
    )
    parser.add_argument("--robot", help="robot file, or the name of a ready robot; records need it")
    parser.add_argument("--mapping", type=Path, help="mapping file that says what the columns of the tables mean")
    parser.add_argument("--model", type=int, metavar="N", help="dynamic model number instead of the robot file's")
    parser.add_argument("--cutoff", type=float, metavar="HZ", help="low-pass cutoff instead of the robot file's")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Identifies what is not yet a result, compares, prints."""
    names = [path.stem for path in arguments.record]
    found = repeatability([_result(path, arguments) for path in arguments.record], names)
    if arguments.json:
        print(json.dumps(_as_dict(found), indent=2))
    else:
        _show(found)
    return 0


def _result(path: Path, arguments: argparse.Namespace) -> Result:
    if path.suffix == RESULT:
        return load_result(path)
    if arguments.robot is None:
        raise IdmError(f"{path.name} is a record; say of which robot it is (--robot), or give results (.json)")
    record, noticed = read_record([path], arguments.mapping)
    robot = load_robot(arguments.robot)
    fit = fit_record(record, robot, model=arguments.model, cutoff_hz=arguments.cutoff, noticed=noticed)
    refusals = [finding for finding in fit.result.verdict.findings if finding.severity == "refusal"]
    if refusals:
        raise IdmError(f"{path.name} gives no result to compare: {refusals[0]}")
    return fit.result


def _show(found: Repeatability) -> None:
    width = max(len("std / mean, %"), *(len(name) for name in found.runs))
    columns = [max(12, len(parameter.name)) for parameter in found.parameters]

    def row(label: str, cells: list[str]) -> None:
        print(f"  {label:<{width}}  " + "  ".join(f"{cell:>{w}}" for cell, w in zip(cells, columns, strict=True)))

    row("", [parameter.name for parameter in found.parameters])
    row("unit", [parameter.unit for parameter in found.parameters])
    for k, name in enumerate(found.runs):
        row(name, [f"{parameter.values[k]:.7g}" for parameter in found.parameters])
    print()
    row("mean", [f"{parameter.mean:.7g}" for parameter in found.parameters])
    row("range / mean, %", [_number(parameter.range_percent) for parameter in found.parameters])
    row("std / mean, %", [_number(parameter.std_percent) for parameter in found.parameters])
    row("drift, %", [_number(parameter.drift_percent) for parameter in found.parameters])
    row("std / reported", [_number(parameter.excess) for parameter in found.parameters])
    if found.findings:
        print()
        print_findings(found.findings)


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "-"


def _as_dict(found: Repeatability) -> dict[str, object]:
    numbers = ("mean", "range_percent", "std_percent", "drift_percent", "drift_chance", "excess", "excess_chance")
    return {
        "runs": list(found.runs),
        "parameters": [
            {
                "name": parameter.name,
                "unit": parameter.unit,
                "values": parameter.values.tolist(),
                **{name: value if math.isfinite(value := getattr(parameter, name)) else None for name in numbers},
            }
            for parameter in found.parameters
        ],
        "findings": [finding.as_dict() for finding in found.findings],
    }
