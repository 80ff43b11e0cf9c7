"""idm drives PORT: what the drives behind a board say, and where the robot file says otherwise."""

from __future__ import annotations

import argparse
import dataclasses
import json

from idmkit.board.drives import DriveData, differences, read_drive
from idmkit.cli.benches import check_robot, open_board
from idmkit.errors import IdmError
from idmkit.robot import load_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("port", metavar="PORT", help="port of the board (/dev/ttyACM0, socket://host:port, ...)")
    parser.add_argument("--robot", help="compare with this robot file; ends with 1 where a number differs")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Asks every drive, prints, compares."""
    robot = load_robot(arguments.robot) if arguments.robot else None
    with open_board(arguments.port, robot) as board:
        if robot is not None:
            check_robot(board, robot)
        if not board.axes:
            raise IdmError(
                "the board has no settings yet, so it knows of no drives; write them with "
                "`idm params PORT --robot ROBOT --settings`"
            )
        drives = [read_drive(board, axis) for axis in range(board.axes)]
    names = [axis.name for axis in robot.axes] if robot else [f"axis {axis}" for axis in range(len(drives))]
    found = []
    if robot:
        for axis, drive in zip(robot.axes, drives, strict=True):
            found += differences(axis, drive)
    if arguments.json:
        described = [{"axis": name, **dataclasses.asdict(drive)} for name, drive in zip(names, drives, strict=True)]
        print(json.dumps({"drives": described, "differences": found}, indent=2))
        return int(bool(found))
    for name, drive in zip(names, drives, strict=True):
        _print(name, drive)
    for sentence in found:
        print(f"! {sentence}")
    if robot and not found:
        print(f"The robot file {robot.name!r} agrees with what its drives say.")
    return int(bool(found))


def _print(name: str, drive: DriveData) -> None:
    print(f"{name}: bus {drive.bus}, node {drive.node}, {drive.nmt_state}, {drive.state}")
    if drive.name:
        print(f"  {drive.name}")
    for label, value, unit, index in (
        ("rated current", drive.rated_current, "A", 0x6075),
        ("peak current", drive.peak_current, "A", 0x2036),
        ("rated torque", drive.rated_torque, "Nm", 0x6076),
        ("torque constant", drive.torque_constant, "Nm/A", 0x2039),
        ("force constant", drive.force_constant, "N/A", 0x2038),
    ):
        if value is not None:
            print(f"  {label:<16} {value:g} {unit} (0x{index:04X})")
    if drive.emergencies:
        print(f"  {drive.emergencies} emergency messages so far")
    if drive.error:
        print(f"  ! {drive.error}")
    if drive.trouble:
        print(f"  ! {drive.trouble}")
