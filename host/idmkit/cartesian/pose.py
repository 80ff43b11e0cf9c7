"""Where a robot's tool is and how it is turned, and which joints bring it elsewhere: Newton's method from a known pose.

The conditions are as many as the axes: the tool's position, and that the tool keeps its orientation as far as the axes
can choose it (two-link arm: none; SCARA and delta with four axes: its angle about z; PUMA and serial arms: all of it).
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from idmkit.dynamics.chain import Chain
from idmkit.dynamics.puma import PumaGeometry
from idmkit.dynamics.rotations import Array
from idmkit.errors import ModelError
from idmkit.excitation.kinematics import DIRECTIONS, chain_frame, tool_position
from idmkit.robot import Robot

ITERATIONS = 20
REACHED = 1e-11
"""Largest residual (m, rad) of a solution."""
LEAST_SINGULAR = 0.02
"""Smallest singular value of the Jacobian, lengths over the robot's reach, from which a place counts as singular."""


class Tool:
    """The tool of a robot with a machine model; raises ModelError for others."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        n = len(robot.axes)
        q, goal, before = ca.SX.sym("q", n), ca.SX.sym("goal", 3), ca.SX.sym("before", n)
        position = tool_position(robot, q)
        planar = robot.machine is not None and robot.machine.kind == "two_link"
        place = (position - goal)[:2] if planar else position - goal
        residual = ca.vertcat(place, _turned(robot, q, before))
        if residual.numel() != n:
            raise ModelError(
                f"{robot.name} has {n} axes, a tool that moves in a straight line needs {residual.numel()} there"
            )
        self._position = ca.Function("position", [q], [position])
        self._residual = ca.Function("residual", [q, goal, before], [residual, ca.jacobian(residual, q)])
        self._places = place.numel()
        self.reach = _reach(robot)

    def position(self, q: Array) -> Array:
        """[3], m."""
        return np.array(self._position(q)).ravel()

    def solve(self, goal: Array, near: Array, orientation: Array) -> Array | None:
        """Axes [n] with the tool at `goal` [3], turned as it is at `orientation` [n]; the solution near `near`.

        None where Newton's method does not find one: out of reach, or beyond a singular place.
        """
        q = near.copy()
        for _ in range(ITERATIONS):
            residual, jacobian = (np.array(value) for value in self._residual(q, goal, orientation))
            if not np.isfinite(residual).all():
                return None
            if np.abs(residual).max() < REACHED:
                return q
            try:
                step = np.linalg.solve(jacobian, residual).ravel()
            except np.linalg.LinAlgError:
                return None
            if np.abs(step).max() > 0.5:
                return None
            q -= step
        return None

    def singular_value(self, q: Array) -> float:
        """Smallest singular value of the Jacobian with lengths in units of the reach: 0 in a singular place."""
        jacobian = np.array(self._residual(q, self.position(q), q)[1])
        jacobian[: self._places] /= self.reach
        jacobian[:, [not axis.revolute for axis in self.robot.axes]] *= self.reach
        return float(np.linalg.svd(jacobian, compute_uv=False)[-1])


def describe(point: Array) -> str:
    """A point in words."""
    return "(" + ", ".join(f"{name} {value:.4g}" for name, value in zip(DIRECTIONS, point, strict=True)) + ") m"


def _turned(robot: Robot, q: Any, before: Any) -> Any:
    """Conditions that the tool is turned at q as it is at `before`."""
    kind = robot.machine.kind if robot.machine is not None else ""
    if kind == "scara" and q.numel() > 3:
        return q[0] + q[1] + q[3] - before[0] - before[1] - before[3]
    if kind == "delta" and q.numel() > 3:
        return q[3] - before[3]
    chain = _chain(robot)
    if chain is not None:
        difference = chain_frame(chain, before)[1].T @ chain_frame(chain, q)[1]
        return (
            ca.vertcat(
                difference[2, 1] - difference[1, 2],
                difference[0, 2] - difference[2, 0],
                difference[1, 0] - difference[0, 1],
            )
            / 2
        )
    return ca.SX(0, 1)


def _chain(robot: Robot) -> Chain | None:
    """The chain of an arm that can turn its tool in any way."""
    if robot.serial is not None:
        return robot.serial.chain
    if robot.machine is not None and robot.machine.kind == "puma":
        return PumaGeometry(**robot.machine.geometry).chain()
    return None


def _reach(robot: Robot) -> float:
    """A length of the robot's size, m."""
    if robot.machine is not None:
        return float(np.linalg.norm(list(robot.machine.geometry.values())))
    assert robot.serial is not None  # tool_position has raised for all others
    return float(np.linalg.norm([joint.translation for joint in robot.serial.chain.joints]))
