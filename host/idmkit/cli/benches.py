"""What a verb's PORT means: a port with a board, or `rig:` for a virtual rig made for this command."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from idmkit.bench import Bench, RobotModel, flash_model
from idmkit.errors import IdmError
from idmkit.link.client import Board
from idmkit.rig import Rig
from idmkit.robot import Robot

VIRTUAL = "rig:"
PORT_HELP = f"port of the board (/dev/ttyACM0, socket://host:port, ...), or {VIRTUAL} for a virtual rig of its own"


@contextmanager
def virtual_bench(
    robot: Robot, model: RobotModel, seed: int = 1, folder: Path | None = None, emulator: str | None = None
) -> Iterator[tuple[Rig, Bench]]:
    """A rig of its own, and the bench around it; its board has got the robot's compiled model as any board does."""
    with tempfile.TemporaryDirectory(prefix="idmkit-") as temporary:
        place = folder or Path(temporary)
        with (
            Rig(robot, seed=seed, folder=place, emulator=emulator) as rig,
            open_board(rig.port, robot) as board,
        ):
            flash_model(board, model.program)
            yield rig, Bench(robot, board, rig.advance)


@contextmanager
def open_bench(robot: Robot, model: RobotModel, port: str) -> Iterator[Bench]:
    """The bench behind a PORT argument."""
    if port == VIRTUAL:
        with virtual_bench(robot, model) as (_, bench):
            yield bench
        return
    with open_board(port, robot) as board:
        check_robot(board, robot)
        yield Bench(robot, board)


def check_robot(board: Board, robot: Robot) -> None:
    """Raises IdmError where the board is set up for another robot: its gears and limits would be wrong."""
    if board.mismatch is not None:
        raise board.mismatch
    if board.hello.robot not in ("", robot.name):
        raise IdmError(
            f"the board is set up for the robot {board.hello.robot!r}, the robot file is of {robot.name!r}. Give the "
            f"robot file that belongs to the board, or write this one to it: `idm params PORT --robot ROBOT --settings`"
        )


def open_board(port: str, robot: Robot | None = None) -> Board:
    """The board on a port, with the kinds of joints of a robot."""
    if port == VIRTUAL:
        raise IdmError(
            f"{VIRTUAL} is made for one `idm identify` and forgotten; start a rig that stays with `idm rig ROBOT`, "
            f"and give the port that it prints"
        )
    return Board.open(port, [axis.joint for axis in robot.axes] if robot else ())
