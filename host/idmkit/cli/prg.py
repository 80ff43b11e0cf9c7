"""idm prg FILE: a softMC identification program (IDNT<group>.PRG) from a result, or a result from a program."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

from idmkit.dynamics.axes import axes_graph
from idmkit.dynamics.graph import Graph
from idmkit.errors import IdmError
from idmkit.robot import Robot, load_robot
from idmkit.softmc.exchange import to_prg, to_result, values_of
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
    graph = axes_graph([(axis.name, axis.joint, axis.dynamic_model) for axis in robot.axes])
    group = arguments.group or robot.name.upper()
    elements = arguments.axes.split(",") if arguments.axes else [f"A{k + 1}" for k in range(len(robot.axes))]
    if writing:
        models = {element: axis.dynamic_model for element, axis in zip(elements, robot.axes, strict=False)}
        prg = to_prg(
            load_result(arguments.file), graph, models, group=group, elements=elements,
            date=datetime.now().replace(microsecond=0), raw_samples=arguments.raw_samples, friction=arguments.friction,
        )  # fmt: skip
        prg.save(arguments.output)
        print(f"program: {arguments.output}")
        return 0
    prg = load_prg(arguments.file)
    _check_models(prg, robot, elements)
    values = values_of(prg, graph, group=group, elements=elements, friction=arguments.friction)
    to_result(prg, graph, values, robot=robot.name, model=_model_text(robot), gravity=robot.gravity).save(
        arguments.output
    )
    _print_values(graph, values)
    print(f"result: {arguments.output}")
    return 0


def _check_models(prg: Prg, robot: Robot, elements: list[str]) -> None:
    for element, axis in zip(elements, robot.axes, strict=False):
        number = prg.value(element, "DynamicModel")
        if number is not None and number != axis.dynamic_model:
            raise IdmError(
                f"the program sets {element}.DynamicModel = {number:g}, the robot file says {axis.dynamic_model} for "
                f"axis {axis.name!r}; correct dynamic_model in the robot file"
            )


def _model_text(robot: Robot) -> str:
    return ", ".join(f"{'rotary' if axis.revolute else 'linear'} {axis.dynamic_model}" for axis in robot.axes)


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
