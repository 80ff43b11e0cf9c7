"""The graph of any robot: one door for fitting, compiler and command line, whatever the kind of model."""

from __future__ import annotations

from idmkit.dynamics.axes import axes_graph
from idmkit.dynamics.base_parameters import base_graph
from idmkit.dynamics.graph import Graph
from idmkit.errors import ModelError
from idmkit.robot import Robot


def robot_graph(robot: Robot, *, model: int | None = None) -> Graph:
    """All parameters of the robot's model. `model` replaces the dynamic model number, of every axis or of the machine.

    Raises ModelError for a number that the robot's kind does not have.
    """
    if robot.serial is not None:
        if model is not None:
            raise ModelError(f"robot {robot.name!r} is a serial arm; its model has no number")
        return robot.serial.graph()
    if robot.machine is not None:
        return robot.machine.graph([axis.name for axis in robot.axes], robot.gravity, number=model)
    return axes_graph([(axis.name, axis.joint, axis.dynamic_model if model is None else model) for axis in robot.axes])


def board_graph(robot: Robot) -> Graph:
    """What a board computes: the robot's model, of a serial arm with the parameters alone that can be identified.

    Raises ModelError.
    """
    graph = robot_graph(robot)
    return graph if robot.serial is None else base_graph(graph, robot.serial.base(graph))


def model_name(robot: Robot, *, model: int | None = None) -> str:
    """What the model is called: "rotary 3, linear 2", "SCARA 1", "serial arm, 6 axes"."""
    if robot.serial is not None:
        return f"serial arm, {len(robot.axes)} axes"
    if robot.machine is not None:
        name = {"two_link": "two-link"}.get(robot.machine.kind, robot.machine.kind.upper())
        return f"{name} {robot.machine.number if model is None else model}"
    return ", ".join(
        f"{'rotary' if axis.revolute else 'linear'} {axis.dynamic_model if model is None else model}"
        for axis in robot.axes
    )
