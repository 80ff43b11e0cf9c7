"""Whether a robot may move: a real one only when somebody has said so."""

from __future__ import annotations

import sys

from idmkit.bench import Bench
from idmkit.cli.benches import VIRTUAL
from idmkit.errors import IdmError

VIRTUAL_BOARD = "unix"


def may_move(bench: Bench, port: str, reach: str, *, yes: bool) -> None:
    """Asks whether the robot may move as `reach` says; raises IdmError where it may not, or nobody can be asked."""
    if yes or port == VIRTUAL or bench.board.hello.board == VIRTUAL_BOARD:
        return
    if not sys.stdin.isatty():
        raise IdmError(f"the robot would move ({reach}); clear its space and give --yes")
    if input(f"The robot will move: {reach}. Is its space clear? [y/N] ").strip().lower() != "y":
        raise IdmError("nothing was moved")
