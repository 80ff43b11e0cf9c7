"""idm flash PORT --board BOARD: the firmware onto a board, or a newer one onto a board that has it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from idmkit.board.flash import PROMPT_S, flash


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("port", metavar="PORT", help="port of the board (/dev/ttyACM0, socket://host:port, ...)")
    parser.add_argument("--board", required=True, help="which board it is: rpi_pico, ... (docs/boards.md)")
    parser.add_argument(
        "--backups", type=Path, default=Path(), metavar="FOLDER", help="where the backup goes (default: here)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Flashes, and tells step by step."""
    asked = False

    def tell(step: str, found: str) -> None:
        nonlocal asked
        if found:
            print(f"{step + ':':<9} {found}")
        elif step == "prompt" and not asked:
            asked = True
            print(f"prompt:   if nothing happens, restart the board within {PROMPT_S:g} s")
        sys.stdout.flush()

    done = flash(arguments.port, arguments.board, folder=arguments.backups, tell=tell)
    for note in done.notes:
        print(f"note:     {note}")
    print(f"{len(done.copied)} files copied, {len(done.removed)} removed; the board runs")
    return 0
