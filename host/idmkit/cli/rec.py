"""idm rec FILE: an identification record (IDNT<group>.REC) from a record, or a record from one; and its picture."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from idmkit.errors import IdmError
from idmkit.fitting import fit_record
from idmkit.records import Record, load_record, save_record
from idmkit.robot import load_robot
from idmkit.softmc.rec import identification_record, load_rec, measured_part, save_rec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="IDNT1.REC to read, or RECORD.npz to identify from")
    parser.add_argument("--robot", help="robot file, or the name of a ready robot; for a RECORD.npz")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", help="IDNT1.REC to write, or RECORD.npz of what was measured"
    )
    parser.add_argument("--figure", type=Path, metavar="OUT.png", help="draw the signals")
    parser.add_argument(
        "--axes", metavar="N1,N2,...", help="names of the axes in what is written; default: A1, A2, ... in a REC"
    )


def run(arguments: argparse.Namespace) -> int:
    """Reads or identifies, shows, writes, draws."""
    names = arguments.axes.split(",") if arguments.axes else None
    if arguments.file.suffix.lower() == ".npz":
        if arguments.robot is None:
            raise IdmError("an identification record needs the model: give --robot ROBOT")
        robot = load_robot(arguments.robot)
        source = load_record(arguments.file)
        record = identification_record(source, fit_record(source, robot), robot)
        if arguments.output is not None:
            elements = names or [f"A{k + 1}" for k in range(len(robot.axes))]
            save_rec(record, arguments.output, group=robot.name.upper(), elements=elements)
    else:
        record = load_rec(arguments.file, names)
        if arguments.output is not None:
            save_record(measured_part(record), arguments.output)
    _show(record)
    if arguments.output is not None:
        print(f"record: {arguments.output}")
    if arguments.figure is not None:
        # Drawing takes a second to import and is often not wanted.
        from idmkit.report.rec import save_rec_figure

        save_rec_figure(record, arguments.figure)
        print(f"figure: {arguments.figure}")
    return 0


def _show(record: Record) -> None:
    print(f"{record.rows} samples at {record.sample_rate_hz:.5g} Hz, {record.duration_s:.3f} s")
    for channel in record.channels:
        samples = channel.samples[np.isfinite(channel.samples)]
        low, high = (samples.min(), samples.max()) if len(samples) else (np.nan, np.nan)
        print(f"  {channel.axis:<8} {channel.name:<24} {low:>12.5g} .. {high:<12.5g} {channel.unit}")
