"""idm model ROBOT: the conventions of a robot's model, and what of it can be identified."""

from __future__ import annotations

import argparse
import json

from idmkit.dynamics.graph import Graph
from idmkit.robot import Robot, load_robot
from idmkit.robot_graph import model_name, robot_graph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("robot", metavar="ROBOT", help="robot file, or the name of a ready robot")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Prints frames, parameter order, units and base grouping of an arm; the parameter table of any other robot."""
    robot = load_robot(arguments.robot)
    graph = robot_graph(robot)
    shown = set(graph.regressor().names)
    if arguments.json:
        print(json.dumps({"robot": robot.name, "model": model_name(robot), "parameters": _rows(graph, shown)}))
    elif robot.serial is not None:
        from idmkit.dynamics.conventions import conventions

        print(conventions(robot.serial))
    else:
        _print_table(robot, graph, shown)
    return 0


def _rows(graph: Graph, shown: set[str]) -> list[dict[str, object]]:
    return [
        {
            "name": parameter.key,
            "unit": parameter.unit,
            "kind": parameter.kind,
            "dynamic_parameter": parameter.number,
            "shows_without_payload": parameter.key in shown,
        }
        for parameter in graph.parameters
    ]


def _print_table(robot: Robot, graph: Graph, shown: set[str]) -> None:
    print(f"{robot.name}: {model_name(robot)}")
    print("tau is what the motors must supply, joint side: Nm in rad, N in m. Positive friction dissipates.")
    width = max(len("parameter"), *(len(key) for key in graph.keys))
    print(f"\n  {'parameter':<{width}}  {'unit':<12}  {'DynamicParameter':<16}  without payload")
    for parameter in graph.parameters:
        number = "" if parameter.number is None else f"[{parameter.number}]"
        seen = "identified" if parameter.key in shown else "payload" if parameter.kind == "payload" else "does not show"
        print(f"  {parameter.key:<{width}}  {parameter.unit:<12}  {number:<16}  {seen}")
