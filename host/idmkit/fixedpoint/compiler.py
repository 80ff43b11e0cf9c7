"""The passes in order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from idmkit.dynamics.graph import Graph
from idmkit.errors import ModelError
from idmkit.fixedpoint.expand import expand
from idmkit.fixedpoint.formula import Formula, Op
from idmkit.fixedpoint.limits import Limits, robot_limits
from idmkit.fixedpoint.program import Program, ProgramParameter
from idmkit.fixedpoint.ranges import Interval
from idmkit.fixedpoint.samples import Samples
from idmkit.fixedpoint.scaling import TORQUE_EXPONENT, Lowering, Plan
from idmkit.fixedpoint.trace import trace
from idmkit.fixedpoint.widths import choose
from idmkit.robot import Robot
from idmkit.robot_graph import board_graph
from idmwire.scales import INT32_MAX, SMALL_MAX

_MANTISSA_BITS = 30


def compile_robot(robot: Robot) -> Program:
    """The program of a robot's model."""
    graph = board_graph(robot)
    return compile_program(graph, robot_limits(robot, graph))


def compile_program(graph: Graph, limits: Limits) -> Program:
    """Compiles a graph for a box of states and parameters; parameters that can only be zero are gone.

    The program's `error_bounds` say what is proved, a worst case of all roundings at once; the widths are chosen
    by a model of the error, and error_report() judges. Raises ModelError where the model cannot be compiled.
    """
    proved = limits.proved_parameters()
    formula = trace(graph, {k: 0.0 for k, interval in enumerate(proved) if interval.magnitude == 0})
    inputs = _in_turns(limits.inputs, graph.revolute)
    samples = Samples(formula, inputs, limits.parameters)
    exact = formula
    formula = expand(exact, samples.low, samples.high)
    if formula is not exact:
        samples = Samples(formula, inputs, limits.parameters)
    _check_reach(graph.axes, samples, limits)
    parameters = [
        _board_parameter(parameter.key, parameter.unit, interval.magnitude)
        for parameter, interval in zip(graph.parameters, proved, strict=True)
    ]
    expected = samples.expected().tolist()

    def lower(plan: Plan) -> Lowering:
        return Lowering(formula, inputs, parameters, expected, plan)

    plan = choose(lower, samples, limits.budget)
    parameters = _shortened(parameters, lower(plan), formula)
    lowering = lower(plan)
    code, ranges, outputs = lowering.asm.used([value.place for value in lowering.outputs])
    return Program(
        axes=graph.axes,
        revolute=graph.revolute,
        parameters=tuple(parameters),
        code=tuple(code),
        ranges=tuple(ranges),
        outputs=tuple(outputs),
        error_bounds=tuple(value.error for value in lowering.outputs),
        formula=exact,
    )


def _check_reach(axes: Sequence[str], samples: Samples, limits: Limits) -> None:
    """An axis whose torques reach so far that an int32 for them has no bits left for the error budget is refused."""
    for axis, place, peak, budget in zip(axes, samples.formula.outputs, limits.peak_torque, limits.budget, strict=True):
        largest = float(samples.magnitude[place])
        if not largest <= budget * INT32_MAX:
            raise ModelError(
                f"limits of motion and parameter_ranges let the torque of {axis} reach {largest:.3g}, where the "
                f"drive's peak is {peak:.3g}: an int32 cannot hold both; narrow them in the robot file to what is known"
            )


def _shortened(parameters: list[ProgramParameter], lowering: Lowering, formula: Formula) -> list[ProgramParameter]:
    """Parameters without the bits that all products and sums cut off: the board need not cut what the host rounded."""
    bits: dict[int, int] = {}
    for product, cuts in lowering.cuts.items():
        taken = {cut.operand: cut.bits for cut in cuts}
        for operand, arg in enumerate(formula.nodes[product].args):
            node = formula.nodes[arg]
            if node.op is Op.PARAMETER:
                bits[node.index] = min(bits.get(node.index, 30), taken.get(operand, 0))
    for place, shifts in lowering.shifts.items():
        node = formula.nodes[place]
        if node.op is Op.PARAMETER:
            bits[node.index] = max(0, min(bits.get(node.index, 30), *shifts))
    return [_board_parameter(p.key, p.unit, p.maximum, p.exponent + bits.get(k, 0)) for k, p in enumerate(parameters)]


def _board_parameter(key: str, unit: str, magnitude: float, exponent: int | None = None) -> ProgramParameter:
    if exponent is None:
        exponent = math.frexp(magnitude)[1] - _MANTISSA_BITS if magnitude else TORQUE_EXPONENT
    return ProgramParameter(key, unit, exponent, min(round(magnitude * 2.0**-exponent), SMALL_MAX))


def _in_turns(inputs: tuple[Interval, ...], revolute: tuple[bool, ...]) -> list[Interval]:
    turn = 2 * math.pi
    scales = [turn if k < len(revolute) and revolute[k] else 1.0 for k in range(len(inputs))]
    return [Interval(i.low / scale, i.high / scale) for i, scale in zip(inputs, scales, strict=True)]
