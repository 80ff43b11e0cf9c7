"""Streamed sums against the whole matrices, in both forms, weighted and reduced; the joint-motor matrix."""

import tracemalloc

import numpy as np
import pytest
from arms import PUMA, arm

from idmkit.dynamics.accumulate import Accumulator, Reduction
from idmkit.dynamics.axes import axes_graph
from idmkit.dynamics.base_parameters import base_parameters
from idmkit.dynamics.coupling import JointMotor
from idmkit.dynamics.serial import serial_graph
from idmkit.errors import ModelError

COUNT = 5000
WEIGHTS = np.array([1.0, 0.5, 4.0, 9.0, 2.0, 30.0])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(1)
    regressor = serial_graph(arm(PUMA, "modified")).regressor()
    regressor = regressor.select(base_parameters(regressor).names)
    q, qd, qdd, noise = rng.normal(size=(4, COUNT, 6))
    tau = regressor.torque(rng.normal(size=len(regressor.names)), q, qd, qdd) + noise
    Y, _ = regressor(q, qd, qdd)
    return regressor, (q, qd, qdd, tau), Y


def weighted(Y, tau, weights=WEIGHTS):
    """Stacked and weighted rows of all axes."""
    rows = np.concatenate([np.sqrt(w) * part for w, part in zip(weights, Y, strict=True)])
    return rows, np.concatenate([np.sqrt(w) * part for w, part in zip(weights, tau.T, strict=True)])


@pytest.mark.parametrize("form", ["normal", "triangular"])
def test_sums_are_those_of_the_whole_matrix(problem, form):
    regressor, data, Y = problem
    accumulator = Accumulator(regressor, form=form)
    for part in (slice(0, 3), slice(3, 2500), slice(2500, None)):
        accumulator.add(*(values[part] for values in data))
    sums = accumulator.sums()
    rows, right = weighted(Y, data[3])
    A, b = sums.normal_equations(WEIGHTS)
    # Sums of 5,000 products in another order.
    np.testing.assert_allclose(A, rows.T @ rows, rtol=0, atol=1e-12 * np.abs(A).max())
    np.testing.assert_allclose(b, rows.T @ right, rtol=0, atol=1e-12 * np.abs(b).max())
    theta = np.linalg.lstsq(rows, right, rcond=None)[0]
    expected = np.sum((data[3].T - Y @ theta) ** 2, axis=1) / (COUNT - len(theta) / 6)
    # The normal form subtracts squares of torques, a thousand times those of the residuals.
    np.testing.assert_allclose(sums.residual_variance(theta), expected, rtol=1e-9)
    scaled = rows / np.linalg.norm(rows, axis=0)
    assert sums.condition(WEIGHTS) == pytest.approx(np.linalg.cond(scaled), rel=1e-8)


def test_the_triangular_form_solves_what_squares_the_condition(problem):
    """Two columns that differ by 1e-7: normal equations lose them (1e14), the triangular factor does not."""
    rng = np.random.default_rng(2)
    regressor = axes_graph([("a", "revolute", 3)]).regressor()
    names = regressor.names
    q = 1e-7 * rng.normal(size=COUNT) + np.pi / 2
    qdd = -np.sin(q) + 1e-7 * rng.normal(size=COUNT)
    qd = rng.normal(size=COUNT)
    truth = np.array([0.3, 2.0, 0.1, 0.5])[: len(names)]
    tau = regressor.torque(truth, q, qd, qdd)
    accumulator = Accumulator(regressor, form="triangular")
    accumulator.add(q, qd, qdd, tau)
    R, z, rest = accumulator.sums().triangular([1.0])
    # Condition 1e7 times rounding.
    np.testing.assert_allclose(np.linalg.solve(R, z), truth, rtol=1e-7)
    assert rest < 1e-20 * COUNT
    normal = Accumulator(regressor)
    normal.add(q, qd, qdd, tau)
    assert normal.sums().condition([1.0]) > 1e6
    with pytest.raises(ModelError, match="normal form"):
        normal.sums().triangular([1.0])


def test_memory_does_not_grow_with_the_record(problem):
    regressor, _, _ = problem
    peaks = []
    for blocks in (1, 8):
        data = np.random.default_rng(7).normal(size=(4, blocks * regressor.block, 6))
        accumulator = Accumulator(regressor)
        accumulator.add(*data)
        tracemalloc.start()
        accumulator.add(*data)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Less than one more array of a block (16 kB).
    assert peaks[1] < peaks[0] + 8 * regressor.block


def test_samples_may_have_weights(problem):
    regressor, data, Y = problem
    weights = np.random.default_rng(3).uniform(0, 1, (COUNT, 6))
    accumulator = Accumulator(regressor)
    accumulator.add(*data, weights=weights)
    A, b = accumulator.sums().normal_equations(np.ones(6))
    expected = np.einsum("jnp,nj,jnk->pk", Y, weights, Y, optimize=True)
    np.testing.assert_allclose(A, expected, rtol=0, atol=1e-12 * np.abs(A).max())
    np.testing.assert_allclose(b, np.einsum("jnp,nj,nj->p", Y, weights, data[3]), rtol=0, atol=1e-11 * np.abs(b).max())


def test_torque_and_regressor_pass_the_same_reduction(problem):
    regressor, data, Y = problem
    taps = np.hanning(37)
    reduction = Reduction(taps, 10)
    accumulator = Accumulator(regressor, reduction=reduction)
    accumulator.add(*data)
    sums = accumulator.sums()
    padded = np.append(taps, np.zeros(3))
    starts = range(0, COUNT - len(padded) + 1, 10)
    torque = np.array([padded @ data[3][k : k + 40] for k in starts])
    rows = np.array([[padded @ part[k : k + 40] for k in starts] for part in Y])
    assert sums.axes[0].count == len(starts)
    A, b = sums.normal_equations(WEIGHTS)
    full, right = weighted(rows, torque)
    np.testing.assert_allclose(A, full.T @ full, rtol=0, atol=1e-12 * np.abs(A).max())
    np.testing.assert_allclose(b, full.T @ right, rtol=0, atol=1e-11 * np.abs(b).max())
    pieces = Accumulator(regressor, reduction=reduction)
    cut = 2000
    pieces.add(*(values[: cut + reduction.overlap] for values in data))
    pieces.add(*(values[cut:] for values in data))
    np.testing.assert_allclose(pieces.sums().normal_equations(WEIGHTS)[0], A, rtol=0, atol=1e-12 * np.abs(A).max())


def test_what_does_not_fit_is_refused(problem):
    regressor, data, _ = problem
    with pytest.raises(ModelError, match="does not fit a block"):
        Accumulator(regressor, reduction=Reduction(np.ones(3000), 10))
    with pytest.raises(ModelError, match="step of at least 1"):
        Reduction(np.ones(3), 0)
    accumulator = Accumulator(regressor)
    with pytest.raises(ModelError, match="1 samples of torque for 5000"):
        accumulator.add(*data[:3], data[3][:1])
    with pytest.raises(ModelError, match="0 samples cannot determine"):
        accumulator.sums().residual_variance(np.zeros(len(regressor.names)))


def test_known_parameters_leave_the_torque():
    """What the known part of a model explains is taken off before the sums are formed."""
    graph = axes_graph([("a", "revolute", 3)])
    regressor = graph.regressor(graph.no_payload() | {"a.MgA": 2.0})
    q, qd, qdd = np.random.default_rng(4).normal(size=(3, 100))
    theta = np.array([0.3, 0.2, 0.1])
    tau = regressor.torque(theta, q, qd, qdd)
    accumulator = Accumulator(regressor)
    accumulator.add(q, qd, qdd, tau)
    A, b = accumulator.sums().normal_equations([1.0])
    np.testing.assert_allclose(np.linalg.solve(A, b), theta, rtol=1e-12)


def wrist():
    matrix = np.diag([32.0, 32, 45, -48, 45, 32])
    matrix[5, 4] = 32
    return JointMotor(matrix)


def test_positions_and_torques_pass_the_joint_motor_matrix_by_virtual_work():
    rng = np.random.default_rng(5)
    motors = wrist()
    q, tau = rng.normal(size=(2, 10, 6))
    motor = motors.motor_motion(q)
    np.testing.assert_allclose(motor[:, 5], 32 * (q[:, 4] + q[:, 5]))
    np.testing.assert_allclose(motors.joint_motion(motor), q, atol=1e-13)
    np.testing.assert_allclose(motors.joint_torque(motors.motor_torque(tau)), tau, atol=1e-13)
    np.testing.assert_allclose(
        np.sum(motors.motor_torque(tau) * motors.motor_motion(q), axis=1), np.sum(tau * q, axis=1), atol=1e-12
    )


def test_a_coupled_motor_loads_the_joints_it_moves():
    graph = serial_graph(arm(PUMA, "modified"), motors=wrist())
    assert graph.keys[-3:] == ("6.Iam", "6.Fvm", "6.Fcm")
    regressor = graph.regressor()
    q, qd, qdd = np.random.default_rng(6).normal(size=(3, 20, 6))
    Y, _ = regressor(q, qd, qdd)
    inertia, viscous, coulomb = (Y[:, :, regressor.names.index(key)] for key in graph.keys[-3:])
    sign = np.sign(qd[:, 4] + qd[:, 5])
    np.testing.assert_array_equal(inertia[4:], [qdd[:, 5], qdd[:, 4]])
    np.testing.assert_array_equal(viscous[4:], [qd[:, 5], qd[:, 4]])
    np.testing.assert_array_equal(coulomb[4:], [sign, sign])
    assert not np.any(inertia[:4])
    assert not np.any(coulomb[:4])


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[1.0, 0], [0]], r"rows of the joint-motor matrix have \[2, 1\]"),
        ([[1.0, 0]], "must be square"),
        ([[1.0, 0], [1, 0]], "gear ratios other than 0"),
        ([[1.0, 1], [1, 1]], "rank 1 of 2"),
    ],
)
def test_a_matrix_without_inverse_is_refused(rows, sentence):
    with pytest.raises(ModelError, match=sentence):
        JointMotor.from_rows(rows)
    with pytest.raises(ModelError, match="has 1 rows for 6 joints"):
        serial_graph(arm(PUMA, "modified"), motors=JointMotor(np.eye(1)))
