"""idm fit RECORD --robot ROBOT: identify from a record, print and store the result."""

from __future__ import annotations

import argparse
from pathlib import Path

from idmkit.cli.printing import print_findings, print_result
from idmkit.errors import IdentificationError, RecordError
from idmkit.estimators import ESTIMATORS
from idmkit.finding import Finding
from idmkit.fitting import Fit, fit_record
from idmkit.holdout import hold_out
from idmkit.payload import fit_payload
from idmkit.periodic import fit_periodic
from idmkit.records import Record, import_tables, load_mapping, load_record
from idmkit.robot import Robot, load_robot
from idmkit.urdf_export import write_identified_urdf

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
    parser.add_argument(
        "--estimator",
        choices=(*ESTIMATORS, "ml"),
        help="least squares, weighted, robust (huber), instrumental variables (iv), essential parameters only, "
        "physically consistent; with --period: weighted or maximum likelihood (ml)",
    )
    parser.add_argument("--drawings", action="store_true", help="consistent: take what is hardly seen from the URDF")
    parser.add_argument("--skew", action="store_true", help="estimate and correct the time between torque and motion")
    parser.add_argument(
        "--period", type=float, metavar="S", help="average the periods of a periodic motion; needs --harmonics"
    )
    parser.add_argument("--harmonics", type=int, metavar="N", help="harmonics of the periodic motion")
    parser.add_argument("--ladder", action="store_true", help="add friction terms where held-out blocks ask for them")
    parser.add_argument(
        "--hold-out", type=Path, action="append", metavar="RECORD", help="say how well the torques of it are predicted"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="store the result as JSON")
    parser.add_argument("--figure", type=Path, metavar="OUT.png", help="draw measured torque, model and error")
    parser.add_argument("--report", type=Path, metavar="OUT.html", help="one page with all pictures and findings")
    parser.add_argument("--urdf", type=Path, metavar="OUT.urdf", help="copy the arm's URDF with identified inertials")


def run(arguments: argparse.Namespace) -> int:
    """Fits, prints, stores; returns 0, or 3 where the verdict refuses the result."""
    robot = load_robot(arguments.robot)
    record, noticed = read_record(arguments.record, arguments.mapping)
    others = [(path.name, read_record([path], arguments.mapping)[0]) for path in arguments.hold_out or ()]
    speeds = None if arguments.speeds is None else (arguments.speeds[0], arguments.speeds[1])
    if arguments.period is not None:
        fit = _periodic(record, robot, arguments, noticed)
    elif arguments.estimator == "ml":
        raise IdentificationError("maximum likelihood averages periods; give --period S and --harmonics N")
    elif arguments.unloaded is None:
        fit = fit_record(
            record,
            robot,
            model=arguments.model,
            cutoff_hz=arguments.cutoff,
            speeds=speeds,
            noticed=noticed,
            estimator=arguments.estimator,
            ladder=arguments.ladder,
            drawings=arguments.drawings,
            skew=arguments.skew,
        )
    else:
        unloaded, _ = read_record([arguments.unloaded], arguments.mapping)
        fit = fit_payload(
            record, unloaded, robot, model=arguments.model, cutoff_hz=arguments.cutoff, speeds=speeds, noticed=noticed
        )
    print_result(fit.result)
    held_out = []
    for name, other in others:
        held_out.append((name, hold_out(fit, other, robot, name)))
        print()
        print_findings(held_out[-1][1].findings)
    if arguments.json is not None:
        fit.result.save(arguments.json)
        print(f"result: {arguments.json}")
    if arguments.figure is not None:
        # Drawing takes a second to import and is often not wanted.
        from idmkit.report import save_figure

        save_figure(fit, arguments.figure)
        print(f"figure: {arguments.figure}")
    if arguments.report is not None:
        from idmkit.report.page import save_report

        save_report(fit, arguments.report, held_out)
        print(f"report: {arguments.report}")
    if arguments.urdf is not None:
        write_identified_urdf(fit, robot, arguments.urdf)
        print(f"URDF: {arguments.urdf}")
    return 0 if fit.result.verdict.accepted else REFUSED


def _periodic(record: Record, robot: Robot, arguments: argparse.Namespace, noticed: list[Finding]) -> Fit:
    if arguments.harmonics is None:
        raise IdentificationError("--period needs --harmonics: how many the motion has decides what is noise")
    if arguments.estimator not in (None, "wls", "ml"):
        raise IdentificationError(f"periods are estimated by wls or ml, not by {arguments.estimator}")
    return fit_periodic(
        record,
        robot,
        arguments.period,
        arguments.harmonics,
        maximum_likelihood=arguments.estimator == "ml",
        model=arguments.model,
        noticed=noticed,
    )


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
