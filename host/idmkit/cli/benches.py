"""What a verb's PORT means: a port with a board, or `rig:` for a virtual rig made for this command."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from idmkit.bench import Bench
from idmkit.dynamics.axes import axes_graph
from idmkit.dynamics.graph import Graph
from idmkit.fixedpoint import Program, compile_robot, emit_viper
from idmkit.link.client import Board
from idmkit.rig import Rig
from idmkit.robot import Robot

VIRTUAL = "rig:"
PORT_HELP = f"port of the board (/dev/ttyACM0, socket://host:port, ...), or {VIRTUAL} for a virtual rig of its own"


@dataclass(frozen=True)
class RobotModel:
    """A robot's graph and what it compiles to."""

    graph: Graph
    program: Program

    @classmethod
    def of(cls, robot: Robot) -> RobotModel:
        """Traces and compiles; raises RobotFileError or ModelError."""
        return cls(
            axes_graph([(axis.name, axis.joint, axis.dynamic_model) for axis in robot.axes]), compile_robot(robot)
        )

    def values(self, identified: dict[str, float]) -> dict[str, float]:
        """All parameters of the program: those given, and no payload."""
        return {**self.graph.no_payload(), **{key: identified[key] for key in identified}}


@contextmanager
def virtual_bench(
    robot: Robot, model: RobotModel, seed: int = 1, folder: Path | None = None
) -> Iterator[tuple[Rig, Bench]]:
    """A rig of its own with the robot's compiled model on its board, and the bench around it."""
    with tempfile.TemporaryDirectory(prefix="idmkit-") as temporary:
        place = folder or Path(temporary)
        with (
            Rig(robot, seed=seed, folder=place, model_source=emit_viper(model.program)) as rig,
            open_board(robot, rig.port) as board,
        ):
            yield rig, Bench(robot, board, rig.advance)


@contextmanager
def open_bench(robot: Robot, model: RobotModel, port: str) -> Iterator[Bench]:
    """The bench behind a PORT argument."""
    if port == VIRTUAL:
        with virtual_bench(robot, model) as (_, bench):
            yield bench
        return
    with open_board(robot, port) as board:
        yield Bench(robot, board)


def open_board(robot: Robot, port: str) -> Board:
    """The board on a port, with the robot's kinds of joints."""
    return Board.open(port, [axis.joint for axis in robot.axes])
