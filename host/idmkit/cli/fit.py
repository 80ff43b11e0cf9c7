"""idm fit RECORD --robot ROBOT: identify from a record, print and store the result."""

from __future__ import annotations

import argparse
from pathlib import Path

from idmkit.cli.printing import print_result
from idmkit.errors import RecordError
from idmkit.finding import Finding
from idmkit.fitting import fit_record
from idmkit.payload import fit_payload
from idmkit.records import Record, import_tables, load_mapping, load_record
from idmkit.robot import load_robot

REFUSED = 3
"""Exit code where everything worked and the verdict is that the result must not be used."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("record", nargs="+", type=Path, metavar="RECORD", help=".npz, or .csv/.csv.gz with --mapping")
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument("--mapping", type=Path, help="mapping file that says what the columns of a table mean")
    parser.add_argument("--model", type=int, metavar="N", help="dynamic model number instead of the robot file's")
    parser.add_argument(
        "--speeds",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="use samples in which axes move between these parts of their velocity_max (for slow, semi-static models)",
    )
    parser.add_argument(
        "--unloaded",
        type=Path,
        metavar="RECORD",
        help="identify the payload: RECORD was made without it and gives the parameters of links and friction",
    )
    parser.add_argument("--cutoff", type=float, metavar="HZ", help="low-pass cutoff instead of the robot file's")
    parser.add_argument("--json", type=Path, metavar="OUT", help="store the result as JSON")
    parser.add_argument("--figure", type=Path, metavar="OUT.png", help="draw measured torque, model and error")


def run(arguments: argparse.Namespace) -> int:
    """Fits, prints, stores; returns 0, or 3 where the verdict refuses the result."""
    robot = load_robot(arguments.robot)
    record, noticed = read_record(arguments.record, arguments.mapping)
    speeds = None if arguments.speeds is None else (arguments.speeds[0], arguments.speeds[1])
    if arguments.unloaded is None:
        fit = fit_record(
            record, robot, model=arguments.model, cutoff_hz=arguments.cutoff, speeds=speeds, noticed=noticed
        )
    else:
        unloaded, _ = read_record([arguments.unloaded], arguments.mapping)
        fit = fit_payload(
            record, unloaded, robot, model=arguments.model, cutoff_hz=arguments.cutoff, speeds=speeds, noticed=noticed
        )
    print_result(fit.result)
    if arguments.json is not None:
        fit.result.save(arguments.json)
        print(f"result: {arguments.json}")
    if arguments.figure is not None:
        # Drawing takes a second to import and is often not wanted.
        from idmkit.report import save_figure

        save_figure(fit, arguments.figure)
        print(f"figure: {arguments.figure}")
    return 0 if fit.result.verdict.accepted else REFUSED


def read_record(paths: list[Path], mapping: Path | None) -> tuple[Record, list[Finding]]:
    """A stored record, or recorded tables through a mapping file, and what was noticed while reading."""
    if mapping is not None:
        return import_tables(paths, load_mapping(mapping))
    if len(paths) == 1 and paths[0].suffix == ".npz":
        return load_record(paths[0]), []
    raise RecordError(
        f"{paths[0].name} is no .npz record; a table needs a mapping file that says what its columns mean: "
        "--mapping MAP.toml"
    )
