"""A robot's model in both of its shapes: the graph that is identified, the program that the board runs."""

from __future__ import annotations

from dataclasses import dataclass

from idmkit.dynamics.graph import Graph
from idmkit.fixedpoint import Program, compile_robot
from idmkit.robot import Robot
from idmkit.robot_graph import robot_graph


@dataclass(frozen=True)
class RobotModel:
    """A robot's graph and what it compiles to."""

    graph: Graph
    program: Program

    @classmethod
    def of(cls, robot: Robot) -> RobotModel:
        """Traces and compiles; raises RobotFileError or ModelError."""
        return cls(robot_graph(robot), compile_robot(robot))

    def values(self, identified: dict[str, float]) -> dict[str, float]:
        """All parameters of the program: those given, and no payload."""
        return {**self.graph.no_payload(), **identified}
