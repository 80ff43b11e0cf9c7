"""Models that the tests of the fixed-point compiler share: the ready robots, all single axes, and a two-axis arm."""

import casadi as ca

from idmkit.dynamics.axes import axes_graph
from idmkit.dynamics.graph import Graph, Parameter
from idmkit.fixedpoint import Limits, Program, compile_program, robot_limits
from idmkit.fixedpoint.ranges import Interval
from idmkit.robot import load_robot

MODELS = ("crank", "slide", "axes", "arm")


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


def graph_and_limits(name: str) -> tuple[Graph, Limits]:
    """A model and the box it is compiled for."""
    if name == "arm":
        return arm()
    if name == "axes":
        return all_axes()
    robot = load_robot(name)
    graph = axes_graph([(axis.name, axis.joint, axis.dynamic_model) for axis in robot.axes])
    return graph, robot_limits(robot, graph)


def model(name: str) -> tuple[Program, Limits]:
    """A compiled model and the box it is compiled for."""
    graph, limits = graph_and_limits(name)
    return compile_program(graph, limits), limits
