"""Models that the tests of the fixed-point compiler share: ready robots, all single axes, arms of two and six axes."""

import math
from dataclasses import replace
from functools import cache

import armstrong
import casadi as ca

from idmkit.axis import Drive
from idmkit.dynamics.axes import axes_graph
from idmkit.dynamics.base_parameters import base_graph, base_parameters
from idmkit.dynamics.chain import INERTIAL_NAMES, Chain, Inertial
from idmkit.dynamics.graph import Graph, Parameter
from idmkit.dynamics.puma import PumaGeometry, gravity_torques
from idmkit.dynamics.serial import preferred_order, serial_graph
from idmkit.fixedpoint import Limits, Program, compile_program, robot_limits
from idmkit.fixedpoint.ranges import Interval
from idmkit.robot import load_robot
from idmkit.robot_graph import board_graph

SINGLE = ("crank", "slide")
SIX_AXES = ("tx40", "puma_base")
MACHINES = ("two_link", "scara", "delta", "puma", *SIX_AXES)
READY = (*SINGLE, "two_link", "scara", "delta", "puma", "tx40")
MODELS = (*SINGLE, "axes", "arm", *MACHINES, "written_out")


TX40_PEAKS = (40.0, 40.0, 35.0, 10.0, 8.0, 5.0)
"""Torques at the joints, Nm."""
TX40_GEARS = (32, 32, 45, 48, 45, 32)


def arm() -> tuple[Graph, Limits]:
    """Two axes that use all there is: sums of angles with an offset, a spring on a joint, powers, big numbers."""
    q, qd, qdd, d = (ca.SX.sym(name, 2) for name in ("q", "qd", "qdd", "d"))
    theta = ca.SX.sym("theta", 4)
    a, b, spring, fc = (theta[k] for k in range(4))
    s, c = ca.sin(q[1] - 0.3), ca.cos(q[0] + 2 * q[1] + ca.pi / 2)
    tau = ca.vertcat(
        (a + 2 * b * c) * qdd[0] + (b * s) * (qd[0] + qd[1]) ** 2 + 1234.5 * c + fc * d[0],
        b * c * qdd[0] - 0.001 * a * qdd[1] - b * s * qd[0] ** 2 + spring * (q[1] - 0.2) - 3 * d[1],
    )
    names = ("a", "b", "spring", "fc")
    parameters = tuple(Parameter(name, "1", "model") for name in names)
    graph = Graph(("one", "two"), (True, True), parameters, q, qd, qdd, d, theta, tau)
    box = [3.0, 2.0, 20.0, 15.0, 400.0, 300.0, 1.0, 1.0]
    ranges = (Interval(0, 9), Interval(-4, 7), Interval(0, 0.5), Interval(0, 100))
    return graph, Limits(tuple(Interval(-v, v) for v in box), ranges, (300.0, 60.0))


def all_axes() -> tuple[Graph, Limits]:
    """Every single-axis model, one axis each."""
    graph = axes_graph(
        [
            ("r1", "revolute", 1),
            ("r2", "revolute", 2),
            ("r3", "revolute", 3),
            ("l1", "prismatic", 1),
            ("l2", "prismatic", 2),
        ]
    )
    inputs = [Interval(-v, v) for v in (4.0, 30.0, 200.0, 1.0) for _ in range(5)]
    ranges = tuple(Interval(0, {"payload": 0.5, "friction": 2.0}.get(p.kind, 3.0)) for p in graph.parameters)
    return graph, Limits(tuple(inputs), ranges, (50.0,) * 5)


def serial(
    chain: Chain, bodies: tuple[Inertial, ...], motion: tuple[tuple[float, ...], ...], peaks: tuple[float, ...]
) -> tuple[Graph, Limits]:
    """A six-axis arm's base parameters, each between zero and twice its value; friction and rotors by the peaks."""
    graph = serial_graph(chain, terms=("Ia", "Fv", "Fc"))
    base = base_parameters(graph.regressor(), order=preferred_order(chain, graph))
    numbers = {
        f"{joint.name}.{name}": value
        for joint, body in zip(chain.joints, bodies, strict=True)
        for name, value in zip(INERTIAL_NAMES, body.parameters, strict=True)
    }
    known = dict(zip(base.names, base.values([numbers.get(name, 0.0) for name in base.all_names]), strict=True))
    small = base_graph(graph, base)
    peak = dict(zip(chain.names, peaks, strict=True))
    ranges = []
    for parameter in small.parameters:
        share = {"Fv": 0.05, "Fc": 0.1, "Ia": 0.01}.get(parameter.name)
        value = max(known[parameter.key], 1e-3, key=abs) if share is None else share * peak[parameter.axis]
        ranges.append(Interval(min(0.0, 2 * value), max(0.0, 2 * value)))
    inputs = tuple(Interval(-limit, limit) for limits in motion for limit in limits)
    return small, Limits(inputs, tuple(ranges), peaks, tuple(p / 2 for p in peaks))


def tx40() -> tuple[Graph, Limits]:
    """Staubli's TX40 by its robot file, the coupled motor of its wrist and all, with drives, which the file lacks."""
    robot = load_robot("tx40")
    axes = tuple(
        replace(axis, drive_or_none=Drive(k, 65536, gear, 2 * math.pi, peak / gear / 3, 3.0, peak / gear, 3, 5, 5, 0.0))
        for k, (axis, peak, gear) in enumerate(zip(robot.axes, TX40_PEAKS, TX40_GEARS, strict=True), 1)
    )
    robot = replace(robot, axes=axes)
    graph = board_graph(robot)
    return graph, robot_limits(robot, graph)


def puma_base() -> tuple[Graph, Limits]:
    """The PUMA 560 as a rigid-body recursion over its base parameters."""
    motion = ((2.8, 3.9, 4.2, 2.0, 1.7, 4.0), (4.0, 3.0, 4.5, 4.0, 4.0, 6.0), (24.0, 18.0, 27.0, 24.0, 24.0, 36.0))
    peaks = (97.61, 186.4, 89.37, 24.18, 20.07, 21.32)
    return serial(PumaGeometry().chain(), tuple(armstrong.bodies()), (*motion, (1.0,) * 6), peaks)


def written_out() -> tuple[Graph, Limits]:
    """The PUMA by the paper's mass matrix over its joints: more values than a function may have locals."""
    graph, limits = graph_and_limits("puma")
    theta = ca.vertsplit(graph.theta)
    A = armstrong.mass_matrix(graph.q, [0, *theta[:23]], [0] * 3 + theta[23:27])
    momentum = A @ graph.qd
    inertial = A @ graph.qdd + ca.jtimes(momentum, graph.q, graph.qd)
    inertial -= ca.gradient(ca.dot(graph.qd, momentum), graph.q) / 2
    return replace(graph, tau=inertial + gravity_torques(graph.q, *theta[27:32])), limits


@cache
def graph_and_limits(name: str) -> tuple[Graph, Limits]:
    """A model and the box it is compiled for."""
    made = {"arm": arm, "axes": all_axes, "tx40": tx40, "puma_base": puma_base, "written_out": written_out}
    if name in made:
        return made[name]()
    robot = load_robot(name)
    graph = board_graph(robot)
    return graph, robot_limits(robot, graph)


@cache
def model(name: str) -> tuple[Program, Limits]:
    """A compiled model and the box it is compiled for."""
    graph, limits = graph_and_limits(name)
    return compile_program(graph, limits), limits
