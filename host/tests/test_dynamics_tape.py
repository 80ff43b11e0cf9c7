"""The tape against CasADi's own evaluation, at any number of samples, and that a block allocates nothing."""

import tracemalloc

import casadi as ca
import numpy as np
import pytest
from arms import PANDA, arm

from idmkit.dynamics.serial import serial_graph
from idmkit.dynamics.tape import Tape
from idmkit.dynamics.trace import Trace
from idmkit.errors import ModelError

x = ca.SX.sym("x", 3)
y = ca.SX.sym("y", 2)


def evaluate(tape, values, segments):
    tape.inputs[:, : values.shape[1]] = values
    return [tape.run(segment, values.shape[1]).copy() for segment in segments]


EXPRESSIONS = [
    ca.vertcat(ca.sin(x[0]) * y[1] - ca.cos(x[1]), -ca.sin(-x[0]), x[0] - x[1], x[1] - x[0]),
    ca.vertcat(ca.exp(-(x[2] ** 2)), ca.sqrt(1 + x[0] ** 2) / y[0], 1 / y[1], ca.tanh(-x[1]), ca.sign(x[2])),
    ca.vertcat(ca.atan2(x[0], y[0]), ca.fabs(-x[1]), ca.fmin(x[0], -x[1]), ca.fmax(x[2], 0.1), 2 * x[0], -x[2]),
    ca.vertcat(x[0], 3.5, -3.5, y[1], y[1], 0, ca.log(ca.fabs(y[0])), ca.fabs(x[0]) ** 1.5, ca.asin(x[0] / 9)),
    ca.vertcat(ca.tan(x[0]), ca.acos(x[1] / 9), ca.atan(-x[2]), (x[0] + x[1]) * (x[1] + x[0]) - 2 * (-x[0] - x[1])),
]


def test_operations_are_casadis():
    tape = Tape(Trace([x, y], EXPRESSIONS), block=64)
    function = ca.Function("f", [x, y], EXPRESSIONS)
    values = np.random.default_rng(1).normal(size=(5, 64))
    results = evaluate(tape, values, range(len(EXPRESSIONS)))
    expected = function(values[:3], values[3:])
    for ours, theirs in zip(results, expected, strict=True):
        # Functions of a vector unit may differ from the C library's in their last bits.
        np.testing.assert_allclose(ours, np.array(theirs), rtol=1e-13, atol=1e-15)


def test_an_operation_without_a_twin_is_refused():
    with pytest.raises(ModelError, match="no numpy twin"):
        Trace([x], [ca.erf(x[:1])])


def test_later_segments_use_what_earlier_ones_computed():
    shared = ca.sin(x[0]) * x[1]
    tape = Tape(Trace([x], [ca.vertcat(shared), ca.vertcat(shared + 1, shared)]), block=8)
    assert tape.size == 4  # sine, product; sum and one copy
    values = np.random.default_rng(2).normal(size=(3, 8))
    first, second = evaluate(tape, values, (0, 1))
    np.testing.assert_array_equal(second[1], first[0])


def seven_axes():
    chain = arm(PANDA, "modified")
    graph = serial_graph(chain)
    return graph, graph.regressor()


@pytest.mark.parametrize("count", [1, 2047, 2048, 2049, 5000])
def test_any_number_of_samples(count):
    graph, regressor = seven_axes()
    q, qd, qdd = np.random.default_rng(3).uniform(-2, 2, (3, count, 7))
    theta = np.random.default_rng(4).normal(size=len(regressor.names))
    full = np.zeros(len(graph.keys))
    full[[graph.index(name) for name in regressor.names]] = theta
    function = ca.Function("f", [graph.q, graph.qd, graph.qdd, graph.direction, graph.theta], [graph.tau])
    torque = regressor.torque(theta, q, qd, qdd)
    for k in {0, count // 2, count - 1}:
        expected = np.array(function(q[k], qd[k], qdd[k], np.sign(qd[k]), full))[:, 0]
        # A thousand operations in another order of summation.
        np.testing.assert_allclose(torque[k], expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_a_block_allocates_nothing_of_its_size():
    _, regressor = seven_axes()
    states = np.random.default_rng(5).uniform(-2, 2, (3, 4 * regressor.block, 7))
    for _ in regressor.rows(*states):
        pass
    tracemalloc.start()
    for _ in regressor.rows(*states):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # One array of a block would be 16 kB, and there are a thousand results; views are a few hundred bytes.
    assert peak < 8 * regressor.block


def test_columns_of_links_before_the_joint_are_left_out():
    _, regressor = seven_axes()
    last = {regressor.names[k] for k in regressor.columns[6]}
    assert {name.split(".")[0] for name in last} == {"7"}
    assert len(regressor.columns[0]) > 60


def test_arguments_of_other_sizes_are_refused():
    _, regressor = seven_axes()
    with pytest.raises(ModelError, match="must be equal"):
        regressor(np.zeros((2, 7)), np.zeros((1, 7)), np.zeros((2, 7)))
    with pytest.raises(ModelError, match="theta has shape"):
        regressor.torque([1.0], *np.zeros((3, 2, 7)))
    with pytest.raises(ModelError, match=r"no column 9\.m"):
        regressor.select(["9.m"])
