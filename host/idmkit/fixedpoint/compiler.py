"""The passes in order, and the choice of widths: products get wider until the error is within the budget."""

from __future__ import annotations

import math

from idmkit.dynamics.graph import Graph
from idmkit.fixedpoint.formula import Formula
from idmkit.fixedpoint.limits import Limits, robot_limits
from idmkit.fixedpoint.program import Program, ProgramParameter
from idmkit.fixedpoint.ranges import Interval, node_ranges, sensitivities
from idmkit.fixedpoint.scaling import TORQUE_EXPONENT, Lowering, Width
from idmkit.fixedpoint.trace import trace
from idmkit.robot import Robot
from idmkit.robot_graph import robot_graph
from idmwire.scales import SMALL_MAX

_MANTISSA_BITS = 30


def compile_robot(robot: Robot) -> Program:
    """The program of a robot's model."""
    graph = robot_graph(robot)
    return compile_program(graph, robot_limits(robot, graph))


def compile_program(graph: Graph, limits: Limits) -> Program:
    """Compiles a graph for a box of states and parameters; parameters that can only be zero are gone.

    The program's `error_bounds` say what is proved; where even the widest products leave a bound above
    `limits.budget` it is the reader of the report who judges. Raises ModelError where the model cannot be compiled.
    """
    proved = limits.proved_parameters()
    formula = trace(graph, {k: 0.0 for k, interval in enumerate(proved) if interval.magnitude == 0})
    parameters = tuple(
        _board_parameter(parameter.key, parameter.unit, interval.magnitude)
        for parameter, interval in zip(graph.parameters, proved, strict=True)
    )
    inputs = _in_turns(limits.inputs, graph.revolute)
    lowering = _widen(formula, inputs, proved, parameters, limits.budget)
    code, ranges, outputs = lowering.asm.used([value.place for value in lowering.outputs])
    return Program(
        axes=graph.axes,
        revolute=graph.revolute,
        parameters=parameters,
        code=tuple(code),
        ranges=tuple(ranges),
        outputs=tuple(outputs),
        error_bounds=tuple(value.error for value in lowering.outputs),
        formula=formula,
    )


def _board_parameter(key: str, unit: str, magnitude: float) -> ProgramParameter:
    exponent = math.frexp(magnitude)[1] - _MANTISSA_BITS if magnitude else TORQUE_EXPONENT
    return ProgramParameter(key, unit, exponent, min(round(magnitude * 2.0**-exponent), SMALL_MAX))


def _in_turns(inputs: tuple[Interval, ...], revolute: tuple[bool, ...]) -> list[Interval]:
    turn = 2 * math.pi
    scales = [turn if k < len(revolute) and revolute[k] else 1.0 for k in range(len(inputs))]
    return [Interval(i.low / scale, i.high / scale) for i, scale in zip(inputs, scales, strict=True)]


def _widen(
    formula: Formula,
    inputs: list[Interval],
    proved: tuple[Interval, ...],
    parameters: tuple[ProgramParameter, ...],
    budget: tuple[float, ...],
) -> Lowering:
    """Widens the product that adds most to an error above its budget, until none is above or none can be wider."""
    ranges = node_ranges(formula, inputs, proved)
    weights = [sensitivities(formula, ranges, axis) for axis in range(len(budget))]
    widths: dict[int, Width] = {}
    best = Lowering(formula, inputs, parameters, widths)
    finished: set[int] = set()
    while True:
        over = [axis for axis, value in enumerate(best.outputs) if value.error > budget[axis]]
        shares = {
            place: max(weights[axis][place] * error / budget[axis] for axis in over)
            for place, error in best.rounding.items()
            if over and error > 0 and place not in finished
        }
        if not shares:
            return best
        place = max(shares, key=lambda p: (shares[p], -p))
        width = widths.get(place, Width.NARROW)
        if width is Width.FULL:
            finished.add(place)
            continue
        trial = widths | {place: Width(width + 1)}
        lowered = Lowering(formula, inputs, parameters, trial)
        widths = trial
        if lowered.rounding[place] < best.rounding[place]:
            best = lowered
        elif width + 1 == Width.FULL:
            finished.add(place)
