"""idm prg FILE: a softMC identification program (IDNT<group>.PRG) from a result, or a result from a program."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

from idmkit.dynamics.graph import Graph
from idmkit.errors import IdmError
from idmkit.robot import Robot, load_robot
from idmkit.robot_graph import model_name, robot_graph
from idmkit.softmc.exchange import left_out, nowhere, to_prg, to_result, values_of
from idmkit.softmc.prg import Prg, load_prg
from idmkit.verdict import load_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="IDNT1.PRG to read, or RESULT.json to write one from")
    parser.add_argument("--robot", help="robot file, or the name of a ready robot; to convert")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="RESULT.json or IDNT1.PRG to write")
    parser.add_argument("--group", metavar="NAME", help="softMC's name of the robot; default: the robot's, in capitals")
    parser.add_argument("--axes", metavar="A1,A2,...", help="softMC's names of its axes; default: A1, A2, ...")
    parser.add_argument(
        "--friction",
        choices=("positive", "negative"),
        default="positive",
        help="sign of a friction coefficient that brakes the motion, in the program (default: positive)",
    )
    parser.add_argument("--model", type=int, metavar="N", help="dynamic model number instead of the robot file's")
    parser.add_argument("--raw-samples", type=int, metavar="N", help="length of the record before it was trimmed")


def run(arguments: argparse.Namespace) -> int:
    """Shows a program, or converts."""
    writing = arguments.file.suffix.lower() == ".json"
    if arguments.output is None and not writing:
        _show(load_prg(arguments.file))
        return 0
    if arguments.robot is None or arguments.output is None:
        raise IdmError("to convert, give --robot ROBOT and -o OUT (RESULT.json or IDNT1.PRG)")
    robot = load_robot(arguments.robot)
    graph = robot_graph(robot, model=arguments.model)
    group = arguments.group or robot.name.upper()
    elements = arguments.axes.split(",") if arguments.axes else [f"A{k + 1}" for k in range(len(robot.axes))]
    models = _models(robot, group, elements, arguments.model)
    if writing:
        _write(arguments, graph, models, group, elements)
        return 0
    prg = load_prg(arguments.file)
    _check_models(prg, models)
    values = values_of(prg, graph, group=group, elements=elements, friction=arguments.friction)
    name = model_name(robot, model=arguments.model)
    to_result(prg, graph, values, robot=robot.name, model=name, gravity=robot.gravity).save(arguments.output)
    _print_values(graph, values)
    print(f"result: {arguments.output}")
    return 0


def _models(robot: Robot, group: str, elements: list[str], number: int | None) -> dict[str, int]:
    """DynamicModel of the group, or of each axis where each has its own."""
    if robot.machine is not None:
        return {group: robot.machine.number if number is None else number}
    given = [axis.dynamic_model if number is None else number for axis in robot.axes]
    return dict(zip(elements, given, strict=False))


def _write(
    arguments: argparse.Namespace, graph: Graph, models: dict[str, int], group: str, elements: list[str]
) -> None:
    result = load_result(arguments.file)
    prg = to_prg(
        result, graph, models, group=group, elements=elements,
        date=datetime.now().replace(microsecond=0), raw_samples=arguments.raw_samples, friction=arguments.friction,
    )  # fmt: skip
    prg.save(arguments.output)
    if unknown := left_out(result, graph):
        print(f"  ! written as 0, because the result does not have it: {', '.join(unknown)}")
    if strange := nowhere(graph):
        print(f"  ! left out, because softMC has no place for it: {', '.join(strange)}")
    print(f"program: {arguments.output}")


def _check_models(prg: Prg, models: dict[str, int]) -> None:
    for element, expected in models.items():
        number = prg.value(element, "DynamicModel")
        if number is not None and number != expected:
            raise IdmError(
                f"the program sets {element}.DynamicModel = {number:g}, the robot file says {expected}; correct the "
                f"robot file, or say --model {number:g}"
            )


def _print_values(graph: Graph, values: dict[str, float]) -> None:
    for parameter in graph.parameters:
        if parameter.key in values:
            print(f"  {parameter.key:<20} {values[parameter.key]:>14.8g} {parameter.unit}")


def _show(prg: Prg) -> None:
    head = prg.head
    if head.group is not None:
        print(f"{head.group}: identification {'succeeded' if head.succeeded else 'failed'}", end="")
        print("" if head.date is None else f", {head.date:%Y-%m-%d %H:%M:%S}")
    if head.samples is not None:
        raw = "" if head.raw_samples is None else f" of {head.raw_samples}"
        cutoff = "" if head.cutoff_hz is None else f", cutoff {head.cutoff_hz:g} Hz"
        print(f"{head.samples} samples{raw}{cutoff}")
    if head.max_percent:
        print(f"\n  {'axis':<6} {'max %':>7} {'mean %':>7}  moving samples")
        for k, largest in enumerate(head.max_percent):
            mean = f"{head.mean_percent[k]:.2f}" if k < len(head.mean_percent) else "-"
            moving = ""
            if k < len(head.moving):
                moving = f"{head.moving[k].samples} above {head.moving[k].threshold:g} {head.moving[k].unit}"
            print(f"  {k + 1:<6} {largest:>7.2f} {mean:>7}  {moving}")
    print()
    for setting in prg.settings:
        print(f"  {setting}")
