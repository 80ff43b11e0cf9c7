"""idm board list | backup | restore: the boards of this machine, and what they hold."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from idmkit.board import backup
from idmkit.board.list import Found, list_boards
from idmkit.board.restore import restore
from idmkit.cli.benches import open_board


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    tasks = parser.add_subparsers(dest="task", required=True, metavar="TASK")
    task = tasks.add_parser("list", help="USB serial ports with the serial numbers of their boards")
    task.add_argument("--ask", action="store_true", help="greet what is there; opening a port may reset its board")
    task.add_argument("--json", action="store_true", help="print JSON")
    task.set_defaults(task=_list)
    for name, function, summary in (
        ("backup", _backup, "keep settings, parameter sets and counters in a folder with the date"),
        ("restore", _restore, "write a backup's settings to a board, whatever firmware it is from"),
    ):
        task = tasks.add_parser(name, help=summary)
        task.add_argument("port", metavar="PORT", help="port of the board (/dev/ttyACM0, hwgrep://SERIAL, ...)")
        task.set_defaults(task=function)
        if function is _backup:
            task.add_argument("-o", "--out", type=Path, default=Path(), metavar="FOLDER", help="default: here")
        else:
            task.add_argument("backup", type=Path, metavar="BACKUP", help="the backup's folder, or its backup.json")


def run(arguments: argparse.Namespace) -> int:
    """Does the task."""
    return int(arguments.task(arguments))


def _list(arguments: argparse.Namespace) -> int:
    found = list_boards(ask=arguments.ask)
    if arguments.json:
        print(json.dumps([_row(each) for each in found]))
        return 0
    for each in found:
        says = each.board or ("no motion board answers" if arguments.ask else "")
        print(f"{each.port.device:<16} {each.port.url:<34} {each.port.description:<24} {says}".rstrip())
    if not found:
        print("no USB serial ports")
    return 0


def _row(found: Found) -> dict[str, str]:
    return {**dataclasses.asdict(found.port), "url": found.port.url, "board": found.board}


def _backup(arguments: argparse.Namespace) -> int:
    with open_board(arguments.port) as board:
        kept = backup.take(board)
        mismatch = board.mismatch
    place = backup.keep(kept, arguments.out, {})
    if mismatch is not None:
        print(f"note: {mismatch}")
    if kept.unsaved:
        print("note: the settings in force were not stored on the board")
    what = "no settings" if kept.settings is None else f"settings of {kept.settings.robot}"
    print(f"{what}, {sum(map(bool, kept.images.values()))} images, {len(kept.counters)} counters in {place}")
    return 0


def _restore(arguments: argparse.Namespace) -> int:
    kept = backup.load(arguments.backup)
    folder = arguments.backup if arguments.backup.is_dir() else arguments.backup.parent
    with open_board(arguments.port) as board:
        done = restore(board, kept, folder)
    for note in done.notes:
        print(f"note: {note}")
    if done.model:
        print(f"model 0x{done.model:08x} sent and tested")
    print(f"settings of {kept.taken} restored and stored as generation {done.written.generation}")
    return 0
