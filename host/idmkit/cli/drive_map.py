"""idm drive-map RECORD --robot ROBOT --loaded RECORD NAME=VALUE: what torque an ampere makes, from a known load."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from idmkit.cli.fit import REFUSED, read_record
from idmkit.drive_map import TWO_SIGMA, DriveMap, fit_drive_maps
from idmkit.errors import IdmError
from idmkit.files import write_text
from idmkit.robot import Axis, load_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "record", nargs="+", type=Path, metavar="RECORD", help="made without the load; currents in amperes"
    )
    parser.add_argument("--robot", required=True, help="robot file, or the name of a ready robot")
    parser.add_argument(
        "--loaded", "--load", nargs="+", action="append", required=True, metavar=("RECORD", "NAME=VALUE"),
        help="a record with a load, and the load in SI: payload parameters of the model (`idm model`), or AXIS=TORQUE, "
        "constant, that the motor supplies more; may come several times",
    )  # fmt: skip
    parser.add_argument("--mapping", type=Path, help="mapping file, for records that are tables (.csv)")
    parser.add_argument("--cutoff", type=float, metavar="HZ", help="low-pass cutoff instead of the robot file's")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT.toml", help="write the channels for a mapping file")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Fits, prints, writes; returns 0, or 3 where an axis has no map."""
    robot = load_robot(arguments.robot)
    loads = [(Path(path), dict(_pair(word) for word in words)) for path, *words in arguments.loaded]
    named: list[tuple[Path, dict[str, float]]] = [*((path, {}) for path in arguments.record), *loads]
    records = [(read_record([path], arguments.mapping)[0], load) for path, load in named]
    maps, refused = fit_drive_maps(records, robot, cutoff_hz=arguments.cutoff)
    axes = {axis.name: axis for axis in robot.axes}
    if arguments.output is not None:
        write_text(arguments.output, "\n".join(_channel(found) for found in maps))
    if arguments.json:
        described = [_as_dict(found, axes[found.axis]) for found in maps]
        print(json.dumps({"maps": described, "refused": refused}))
        return REFUSED if refused else 0
    for found in maps:
        _print(found, axes[found.axis])
    for sentence in refused.values():
        print(f"! {sentence}")
    if arguments.output is not None:
        print(f"channels for a mapping file: {arguments.output}; write the names of the columns into it")
    return REFUSED if refused else 0


def _pair(word: str) -> tuple[str, float]:
    name, sign, value = word.partition("=")
    try:
        if not sign:
            raise ValueError
        return name, float(value)
    except ValueError:
        raise IdmError(f"{word!r} is no load: write NAME=VALUE, as payload_mass=1.5") from None


def _rated_torque(found: DriveMap, axis: Axis) -> float:
    """rated_torque of the robot file that the map's first coefficient stands for, Nm at the motor."""
    drive = axis.drive
    return float(found.coefficients[0]) * drive.rated_current * drive.rated_torque / drive.joint_rated_torque


def _print(found: DriveMap, axis: Axis) -> None:
    terms = []
    for power, (value, half) in zip(("i", "i^3", "i^5"), found.intervals(), strict=False):
        terms.append(f"({value:.5g} +- {half:.2g}) {power}")
    print(f"{found.axis}: torque = {' + '.join(terms)} {found.unit}, i in A up to {found.current_max:.4g} A (95 %)")
    peak, half = float(found.torque(found.current_max)), TWO_SIGMA * float(found.std(found.current_max))
    lost = 100 * (1 - peak / (float(found.coefficients[0]) * found.current_max))
    print(f"  at {found.current_max:.4g} A {peak:.5g} +- {half:.2g} {found.unit}, {lost:.2g} % below a line")
    print(
        f"  the load takes {found.load:.3g} {found.unit} rms, {100 * found.share:.0f} % of it unlike links and "
        f"friction; {found.residual:.2g} {found.unit} stay unexplained"
    )
    print(
        f"  [axes.drive] rated_torque = {_rated_torque(found, axis):.5g} at small currents; the robot file says "
        f"{axis.drive.rated_torque:g}"
    )


def _channel(found: DriveMap) -> str:
    lines = ["[[channels]]", 'column = "COLUMN"', f'axis = "{found.axis}"', *found.mapping(), 'side = "joint"']
    return "\n".join([f"# up to {found.current_max:.4g} A", *lines, ""])


def _as_dict(found: DriveMap, axis: Axis) -> dict[str, object]:
    return {
        "axis": found.axis,
        "unit": found.unit,
        "torque_per_ampere": [value for value, _ in found.intervals()],
        "interval_95": [half for _, half in found.intervals()],
        "current_max": found.current_max,
        "percent": found.percent,
        "load_rms": found.load,
        "share": found.share,
        "residual_rms": found.residual,
        "rated_torque": _rated_torque(found, axis),
    }
