"""idm import CSV --mapping MAP.toml -o RECORD.npz: a recorded table becomes a record, as it was measured."""

from __future__ import annotations

import argparse
from pathlib import Path

from idmkit.cli.printing import print_findings
from idmkit.records import import_tables, load_mapping, save_record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("table", nargs="+", type=Path, metavar="CSV", help="tables of equal length, .csv or .csv.gz")
    parser.add_argument("--mapping", required=True, type=Path, help="file that says what the columns mean")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="RECORD.npz", help="the record to write")


def run(arguments: argparse.Namespace) -> int:
    """Imports, says what came in, writes."""
    record, findings = import_tables(arguments.table, load_mapping(arguments.mapping))
    print_findings(findings)
    save_record(record, arguments.output)
    names = ", ".join(f"{channel.axis}.{channel.name} in {channel.unit}" for channel in record.channels)
    print(f"{record.rows} rows, {record.duration_s:.3f} s at {record.sample_rate_hz:.5g} Hz: {names}")
    print(f"record: {arguments.output}")
    return 0
