"""Formulas: one canonical form, whatever the order in which an expression was written; angles that wrap."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from compiled_models import MODELS, graph_and_limits, model

from idmkit.dynamics.graph import Graph, Parameter
from idmkit.errors import ModelError
from idmkit.fixedpoint import Emulator, Limits, compile_program
from idmkit.fixedpoint.expand import ACCURACY, expand
from idmkit.fixedpoint.formula import FormulaBuilder, Op
from idmkit.fixedpoint.ranges import Interval
from idmkit.fixedpoint.samples import Samples
from idmkit.fixedpoint.scaling import TORQUE_EXPONENT
from idmkit.fixedpoint.trace import trace

ROUNDING = 1e-12
"""Relative: both sides are a few double-precision operations."""
CIRCLE = 1e-12
"""Absolute: turns times 2 pi against radians, for some tens of radians."""


def graph_of(expression, axes=2):
    q, qd, qdd, d = (ca.SX.sym(name, axes) for name in ("q", "qd", "qdd", "d"))
    theta = ca.SX.sym("theta", 3)
    parameters = tuple(Parameter(name, "1", "model") for name in "abc")
    symbols = SimpleNamespace(q=q, qd=qd, qdd=qdd, a=theta[0], b=theta[1], c=theta[2])
    tau = ca.vertcat(*expression(symbols))
    names = tuple("xyzuvw"[:axes])
    return Graph(names, (True,) * axes, parameters, q, qd, qdd, d, theta, tau)


def text(expression):
    return trace(graph_of(expression), {}).text()


def test_the_order_of_writing_does_not_matter():
    one = text(lambda s: (s.a * s.qdd[0] + s.b * ca.sin(s.q[0] + s.q[1]), s.b * (s.qd[0] * s.qd[0]) - s.c))
    two = text(lambda s: (ca.sin(s.q[1] + s.q[0]) * s.b + s.qdd[0] * s.a, -s.c + s.b * s.qd[0] ** 2))
    three = text(lambda s: (s.qdd[0] * s.a - s.b * ca.sin(-s.q[1] - s.q[0]), -(s.c - s.qd[0] ** 2 * s.b)))
    assert one == two == three


def test_equal_parts_are_computed_once_and_constants_folded():
    formula = trace(graph_of(lambda s: (s.a * ca.sin(s.q[0]), s.b * ca.sin(s.q[0]) * (2 * ca.SX(3)))), {})
    assert sum(node.op is Op.SIN for node in formula.nodes) == 1
    assert [node.value for node in formula.nodes if node.op is Op.CONSTANT] == [6.0]


def test_a_parameter_that_is_zero_takes_its_terms_along():
    formula = trace(graph_of(lambda s: (s.a * ca.sin(s.q[0]) + s.b * s.qd[0], s.a)), {0: 0.0})
    assert not any(node.op is Op.SIN for node in formula.nodes)
    assert formula.nodes[formula.outputs[1]].value == 0


@pytest.mark.parametrize(
    "angle",
    [
        lambda q: q[0],
        lambda q: -q[0],
        lambda q: q[1] - q[0],
        lambda q: 2 * q[0] - 3 * q[1],
        lambda q: q[0] + ca.pi / 2,
        lambda q: ca.pi - q[0],
        lambda q: 3 * (q[0] + q[1]) - q[0] - 1.5 * ca.pi,
        lambda q: q[0] + 0.7,
        lambda q: -0.7 - (q[1] - q[0]),
        lambda q: q[0] - q[0] + 0.3,
    ],
)
def test_angles_become_whole_multiples_of_joints(angle):
    graph = graph_of(lambda s: (ca.sin(angle(s.q)), ca.cos(angle(s.q))))
    formula = trace(graph, {})
    q = np.random.default_rng(2).uniform(-6, 6, (50, 2))
    inputs = np.hstack([q / (2 * np.pi), np.zeros((50, 6))])
    expected = [[float(np.sin(float(angle(row)))), float(np.cos(float(angle(row))))] for row in q]
    np.testing.assert_allclose(formula.evaluate(inputs, np.zeros(3)), expected, atol=CIRCLE)


def test_whole_quarter_turns_share_one_angle():
    formula = trace(graph_of(lambda s: (ca.sin(s.q[0] + ca.pi / 2), -ca.sin(s.q[0] - ca.pi))), {})
    assert {node.op for node in formula.nodes} == {Op.INPUT, Op.SIN, Op.COS}


@pytest.mark.parametrize(
    "angle", [lambda s: 0.5 * s.q[0], lambda s: s.qd[0], lambda s: s.q[0] * s.q[1], lambda s: 1.0001 * s.q[0]]
)
def test_an_angle_that_does_not_wrap_is_refused(angle):
    with pytest.raises(ModelError, match="whole multiples"):
        trace(graph_of(lambda s: (ca.sin(angle(s)), 0)), {})


def test_an_operation_that_the_board_has_not_is_refused():
    with pytest.raises(ModelError, match="no board program"):
        trace(graph_of(lambda s: (ca.exp(s.qd[0]), 0)), {})


@pytest.mark.parametrize("name", MODELS)
def test_formula_gives_what_casadi_gives(name):
    program, limits = model(name)
    graph, _ = graph_and_limits(name)
    rng = np.random.default_rng(4)
    x = rng.uniform([i.low for i in limits.inputs], [i.high for i in limits.inputs], (20, 4 * graph.n_axes))
    theta = rng.uniform([i.low for i in limits.parameters], [i.high for i in limits.parameters])
    function = ca.Function("tau", [graph.q, graph.qd, graph.qdd, graph.direction, graph.theta], [graph.tau])
    n = graph.n_axes
    expected = [np.array(function(*np.split(row, 4), theta)).ravel() for row in x]
    turns = np.array([2 * np.pi if revolute else 1.0 for revolute in graph.revolute])
    x[:, :n] /= turns
    np.testing.assert_allclose(program.formula.evaluate(x, theta), expected, rtol=ROUNDING, atol=CIRCLE)


def test_samples_have_the_slopes_of_every_value():
    b = FormulaBuilder()
    x, y, p = b.input(0), b.input(1), b.parameter(0)
    formula = b.formula([b.sub(b.mul(p, b.mul(x, x)), b.mul(b.add(x, y), b.neg(b.sin(b.input(2)))))])
    box = [Interval(-1, 3), Interval(0.5, 2), Interval(-9, 9)]
    samples = Samples(formula, box, [Interval(-2, -1)])
    place = next(k for k, node in enumerate(formula.nodes) if node.op is Op.PARAMETER)
    square = next(k for k, node in enumerate(formula.nodes) if node.op is Op.MUL and node.args[0] == node.args[1])
    np.testing.assert_array_equal(samples.slopes[0][place], samples.values[square])
    assert samples.magnitude[square] == pytest.approx(9), "corners are among the samples"
    assert samples.low[place] == -2


def test_the_sign_of_a_sum_is_exact_down_to_the_last_bit():
    """Coulomb friction of a motor that moves two joints."""
    graph = graph_of(lambda s: (s.a * ca.sign(s.qd[0] + s.qd[1]), s.b * ca.sign(-s.qd[0])))
    box = [Interval(-3, 3)] * 2 + [Interval(-9, 9)] * 4 + [Interval(-1, 1)] * 2
    program = compile_program(graph, Limits(tuple(box), (Interval(0, 4),) * 3, (4.0, 4.0)))
    assert sum(node.op is Op.SIGN for node in program.formula.nodes) == 2
    qd = np.array([[0, 0], [1, 0], [-1, 0], [5, -5], [5, -6], [-6, 5], [2**18, 2**18], [-(2**18), -(2**18)]])
    x = np.zeros((len(qd), 8), dtype=np.int64)
    x[:, 2:4] = qd
    y = Emulator(program).run(x, program.mantissas({"a": 2.0, "b": 3.0, "c": 0.0}))[:, :2] * 2.0**TORQUE_EXPONENT
    np.testing.assert_array_equal(y, np.sign([qd.sum(axis=1) * 2, -qd[:, 0] * 3]).T * [2.0, 3.0])
    assert max(program.error_bounds) < 2.0**TORQUE_EXPONENT


def test_quotients_and_roots_are_operations():
    listing = text(lambda s: (s.a / (2 + ca.cos(s.q[0])), ca.sqrt(2 + ca.cos(s.q[0])) / 4))
    assert listing.count("inverse") == listing.count("root") == 1


@pytest.mark.parametrize("share", [1.5, 12.0, 30.0])
def test_expanded_quotients_and_roots_are_accurate(share):
    b = FormulaBuilder()
    x = b.input(0)
    exact = b.formula([b.inverse(x), b.root(x), b.inverse(b.root(x)), b.inverse(b.mul(b.constant(3.0), b.neg(x)))])
    box = [Interval(0.3, 0.3 * share)]
    samples = Samples(exact, box, [])
    formula = expand(exact, samples.low, samples.high)
    assert not {node.op for node in formula.nodes} & {Op.INVERSE, Op.ROOT}
    points = np.linspace(0.3, 0.3 * share, 5000)[:, None]
    none = np.empty((0,))
    np.testing.assert_allclose(formula.evaluate(points, none), exact.evaluate(points, none), rtol=1.1 * ACCURACY)


def test_a_quotient_near_zero_is_refused():
    b = FormulaBuilder()
    exact = b.formula([b.inverse(b.input(0))])
    for box in (Interval(-1, 1), Interval(-2, -1), Interval(0, 1)):
        samples = Samples(exact, [box], [])
        with pytest.raises(ModelError, match=r"singular posture|sign into the numerator"):
            expand(exact, samples.low, samples.high)
