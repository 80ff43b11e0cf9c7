"""idm torque-factor: softMC's TorqueFactor of a drive and its mechanics, and how the number comes about."""

from __future__ import annotations

import argparse
import json

from idmkit.errors import IdmError
from idmkit.robot import load_robot
from idmkit.softmc.torque_factor import Mechanics, Motor, TorqueUnits, explain, units_of_axis


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("--robot", help="all axes of a robot file; instead of what follows")
    parser.add_argument("--micont", type=float, metavar="A", help="rated current (0x6075; the drive says it in mA)")
    parser.add_argument("--mipeak", type=float, metavar="A", help="peak current (0x2036)")
    constant = parser.add_mutually_exclusive_group()
    constant.add_argument("--mkt", type=float, metavar="NM_PER_A", help="torque constant of a rotary motor (0x2039)")
    constant.add_argument("--mkf", type=float, metavar="N_PER_A", help="force constant of a linear motor (0x2038)")
    parser.add_argument("--rated-torque", type=float, metavar="NM", help="0x6076, where it is not MKT x MICONT")
    parser.add_argument(
        "--gear", type=float, default=1.0, metavar="GR", help="motor turns for one turn behind the gear"
    )
    linear = parser.add_mutually_exclusive_group()
    linear.add_argument("--lead", type=float, metavar="M", help="lead of a screw in m a turn")
    linear.add_argument("--radius", type=float, metavar="M", help="radius of a pulley in m")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Prints the factors of one drive or of all axes of a robot."""
    if arguments.robot is not None:
        found = {axis.name: units_of_axis(axis) for axis in load_robot(arguments.robot).axes}
    else:
        found = {"axis": _from_arguments(arguments)}
    if arguments.json:
        print(json.dumps({name: _as_dict(units) for name, units in found.items()}, indent=2))
        return 0
    for name, units in found.items():
        print(f"{name}: TorqueFactor = {units.current_factor:.6g}")
        for line in explain(units):
            print(f"  {line}")
    return 0


def _from_arguments(arguments: argparse.Namespace) -> TorqueUnits:
    constant = arguments.mkt if arguments.mkf is None else arguments.mkf
    if arguments.micont is None or constant is None:
        raise IdmError("give --robot ROBOT, or the drive's --micont with the motor's --mkt (linear motor: --mkf)")
    linear = arguments.mkf is not None
    if arguments.lead is not None:
        kind = "screw"
    elif arguments.radius is not None:
        kind = "pulley"
    elif linear:
        kind = "linear motor"
    else:
        kind = "rotary" if arguments.gear == 1 else "gear"
    motor = Motor(constant, arguments.micont, arguments.mipeak, linear, arguments.rated_torque)
    mechanics = Mechanics(kind, arguments.gear, arguments.lead, arguments.radius)
    return TorqueUnits(motor, mechanics, kind in ("screw", "pulley", "linear motor"))


def _as_dict(units: TorqueUnits) -> dict[str, float | int | str | None]:
    return {
        "unit": units.unit,
        "TorqueFactor": units.current_factor,
        "counts_per_unit_of_0x6077_and_0x60B2": units.torque_factor,
        "TorqueThreshold_at_MICONT": units.continuous_threshold,
        "TorqueThreshold_at_MIPEAK": units.peak_threshold,
        "0x6072_at_MIPEAK": units.peak_per_mille,
    }
