"""idm repeat RESULT.json ...: how well identifications repeat, as a table with means and variations."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

from idmkit.cli.printing import print_findings
from idmkit.repeatability import Repeatability, repeatability
from idmkit.verdict import load_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "result", nargs="+", type=Path, metavar="RESULT.json", help="results of one robot and model, in order of time"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Compares, prints."""
    names = [path.stem for path in arguments.result]
    found = repeatability([load_result(path) for path in arguments.result], names)
    if arguments.json:
        print(json.dumps(_as_dict(found), indent=2))
    else:
        _show(found)
    return 0


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
