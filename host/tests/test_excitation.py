"""Planned motions: at rest at their ends, exact gradients, limits kept between samples too, causes named."""

import dataclasses
import json
import math

import casadi as ca
import numpy as np
import pytest

from idmkit.cli.main import main
from idmkit.dynamics.machine import State
from idmkit.dynamics.puma import PumaGeometry
from idmkit.dynamics.scara import scara
from idmkit.errors import IdentificationError, IdmError, ModelError
from idmkit.excitation.comparison import compare
from idmkit.excitation.criterion import CRITERIA, criterion_function, excited_model, quality
from idmkit.excitation.fourier import FourierSeries, rest_basis
from idmkit.excitation.intervals import IntervalTape
from idmkit.excitation.kinematics import chain_end, tool_position
from idmkit.excitation.limits import plan_limits, prove
from idmkit.excitation.plan import choose_period, plan_excitation
from idmkit.excitation.plan_file import load_plan, save_plan
from idmkit.excitation.problem import build_problem
from idmkit.excitation.solve import random_start
from idmkit.excitation.trapezoid import plan_trapezoids
from idmkit.robot import load_robot

NOMINAL = {
    "crank": {"crank.I": 0.12, "crank.MgA": 3.0, "crank.Fv": 0.08, "crank.Fc": 0.35},
    "two_link": {
        "M1": 2.0, "M2": 0.4, "R": 0.35, "j1.Fv": 1.0, "j1.Fc": 2.0, "j2.Fv": 0.4, "j2.Fc": 0.8,
    },
    "scara": {
        "P1": 1.2, "P2": 0.12, "P3": 0.075, "P4": 0.18, "P5": 1.8, "P6": 15.0, "P7": 0.0017, "P8": 0.0035,
        "J34": 8e-4, "j1.Fv": 4.0, "j1.Fc": 6.0, "j2.Fv": 1.2, "j2.Fc": 2.0, "j3.Fv": 35.0, "j3.Fc": 9.0,
        "j4.Fv": 0.05, "j4.Fc": 0.25,
    },
}  # fmt: skip


def model_of(name, **changes):
    """The model of a ready robot with nominal parameters; `changes` to each of its axes."""
    robot = load_robot(name)
    axes = tuple(dataclasses.replace(axis, **changes) for axis in robot.axes)
    return excited_model(dataclasses.replace(robot, axes=axes), nominal=NOMINAL[name])


@pytest.fixture(scope="module")
def plans():
    """One plan each, from one start: (model, plan)."""
    found = {}
    for name in NOMINAL:
        model = model_of(name)
        found[name] = model, plan_excitation(model, starts=1, harmonics=5)
    return found


def values_of(motion, model, times):
    """{(kind, name): values} of everything that has a limit, by plain evaluation."""
    graph = model.graph
    states = motion.derivatives(times, 4)
    out = {}
    for kind, values in zip(("position", "speed", "acceleration", "jerk"), states, strict=True):
        for axis, column in zip(model.robot.axes, values.T, strict=True):
            out[kind, axis.name] = column
    torque = ca.Function("tau", [graph.q, graph.qd, graph.qdd, graph.direction], [model.torque_expression()])
    q, qd, qdd = (state.T for state in states[:3])
    for axis, row in zip(model.robot.axes, np.array(torque.map(len(times))(q, qd, qdd, np.sign(qd))), strict=True):
        out["torque", axis.name] = row
    if model.robot.machine is not None:
        tool = ca.Function("tool", [graph.q], [tool_position(model.robot, graph.q)]).map(len(times))(q)
        for name, row in zip("xyz", np.array(tool), strict=True):
            out["box", name] = row
    return out


@pytest.mark.parametrize("harmonics", [2, 5, 9])
def test_a_series_is_at_rest_at_both_ends(harmonics):
    rng = np.random.default_rng(harmonics)
    both = rng.normal(size=(3, 2 * harmonics - 2)) @ rest_basis(harmonics).T
    series = FourierSeries(4.0, rng.normal(size=3), both[:, :harmonics], both[:, harmonics:])
    states = series.derivatives([0.0, 4.0, 8.0])
    size = np.abs(series.derivatives(np.linspace(0, 4, 100))).max(axis=(1, 2))
    # Rounding of H terms, and of the phase 2 pi H at the ends.
    assert np.abs(states[1:]).max(axis=(1, 2)) == pytest.approx([0, 0], abs=1e-13 * harmonics**2 * size[1:].max())
    assert np.ptp(states[0], axis=0) == pytest.approx(np.zeros(3), abs=1e-13 * harmonics * size[0])


def test_derivatives_are_derivatives():
    rng = np.random.default_rng(0)
    series = FourierSeries(3.0, rng.normal(size=2), rng.normal(size=(2, 4)), rng.normal(size=(2, 4)))
    t, h = np.linspace(0, 3, 50), 1e-5
    upper, lower, exact = series.derivatives(t + h, 5), series.derivatives(t - h, 5), series.derivatives(t, 5)
    for k in range(4):
        # Central differences: h^2 times the third derivative, at most 1e-10 of (2 pi 4/3)^3.
        assert (upper[k] - lower[k]) / (2 * h) == pytest.approx(exact[k + 1], abs=1e-5 * np.abs(exact[k + 1]).max())


def test_bounds_of_a_series_hold_and_are_tight():
    rng = np.random.default_rng(1)
    series = FourierSeries(2.0, rng.normal(size=3), rng.normal(size=(3, 6)), rng.normal(size=(3, 6)))
    low, high = series.bounds()
    values = series.derivatives(np.linspace(0, 2, 200_001), 4)
    assert np.all(low <= values.min(axis=1))
    assert np.all(values.max(axis=1) <= high)
    assert np.all(high - low <= 1.003 * np.ptp(values, axis=1))


def test_intervals_contain_what_they_should():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    outputs = ca.vertcat(x * y - ca.sin(3 * x), ca.cos(x) ** 2 + 1 / (2 + y * y), ca.sqrt(4 + x * y), -x / (3 + y))
    tape, exact = IntervalTape([x, y], outputs), ca.Function("f", [x, y], [outputs])
    rng = np.random.default_rng(2)
    low = rng.uniform(-1.5, 1.0, (2, 600))
    high = low + rng.uniform(0, 0.5, (2, 600))
    found_low, found_high = tape(low, high)
    for share in rng.uniform(0, 1, (20, 2, 600)):
        point = low + share * (high - low)
        values = np.array(exact.map(600)(point[:1], point[1:]))
        assert np.all(found_low <= values)
        assert np.all(values <= found_high)


def test_an_operation_without_rule_is_refused():
    x = ca.SX.sym("x")
    with pytest.raises(ModelError, match="no interval rule for arctan"):
        IntervalTape([x], ca.atan(x))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", ["crank", "two_link", "scara"])
def test_gradients_against_finite_differences(name, criterion):
    model = model_of(name)
    problem = build_problem(
        model, plan_limits(model), criterion=criterion, period_s=3.0, harmonics=3, torque_margin=0.03
    )
    gradient = ca.Function("g", [problem.x], [ca.gradient(problem.objective, problem.x)])
    value = ca.Function("f", [problem.x], [problem.objective])
    x = random_start(problem, len(model.robot.axes), np.random.default_rng(3))
    exact = np.array(gradient(x)).ravel()
    h = 1e-5
    differences = [float(value(x + h * e) - value(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    # Central differences: rounding 1e-16/h and h^2 of the third derivative.
    assert exact == pytest.approx(differences, abs=1e-6 * np.abs(exact).max())


def test_criteria_are_what_their_names_say():
    rng = np.random.default_rng(4)
    W = rng.normal(size=(40, 5)) * [1, 2, 3, 4, 30]
    M = W.T @ W
    values = {name: float(criterion_function(name, 5)(M)) for name in CRITERIA}
    assert values["logdet"] == pytest.approx(-math.log(np.linalg.det(M)))
    assert values["trace"] == pytest.approx(math.log(np.trace(np.linalg.inv(M))))
    assert np.linalg.cond(W) <= math.exp(values["condition"]) <= 5 * np.linalg.cond(W)
    found = quality(M, "abcde")
    assert found.logdet == pytest.approx(-values["logdet"])
    assert found.trace == pytest.approx(math.exp(values["trace"]))
    assert found.condition == pytest.approx(np.linalg.cond(W))


def test_what_a_motion_leaves_open_is_said():
    M = np.diag([1.0, 2.0, 0.0])
    found = quality(M, ["I", "Fv", "MgA"])
    assert (found.complete, found.weakest, found.trace) == (False, "MgA", math.inf)


@pytest.mark.parametrize("name", NOMINAL)
def test_no_limit_is_exceeded_on_a_ten_times_finer_grid(plans, name):
    model, plan = plans[name]
    points = 10 * 12 * plan.series.harmonics
    found = values_of(plan.series, model, np.arange(points) * (plan.series.period_s / points))
    for proof in plan.proofs:
        values = found[proof.limit.kind, proof.limit.name]
        assert proof.holds
        assert proof.low <= values.min()
        assert values.max() <= proof.high


@pytest.mark.parametrize("name", NOMINAL)
def test_a_plan_is_at_rest_at_its_ends(plans, name):
    series = plans[name][1].series
    states, size = series.derivatives([0.0, series.period_s]), np.abs(np.stack(series.bounds(3))).max(axis=0)
    assert np.all(np.abs(states[1:]) <= 1e-12 * size[1:, None])


@pytest.mark.parametrize(("name", "least"), [("crank", 3), ("two_link", 1.5), ("scara", 3)])
def test_a_plan_tells_more_than_the_sines(plans, name, least):
    model, plan = plans[name]
    assert compare(model, plan.series, plan.duration_s).factor > least


def test_seeds_repeat_and_differ(plans):
    model, plan = plans["crank"]
    again, other = (plan_excitation(model, starts=1, harmonics=5, seed=seed) for seed in (1, 2))
    assert np.array_equal(plan.series.a, again.series.a)
    assert np.array_equal(plan.series.b, again.series.b)
    assert not np.array_equal(plan.series.a, other.series.a)


def test_progress_comes_to_an_end():
    seen = []
    plan_excitation(model_of("crank"), starts=2, harmonics=3, progress=lambda done, total: seen.append((done, total)))
    assert seen[0][0] < seen[-1][0] <= seen[-1][1]


def test_a_box_is_kept(plans):
    model, _ = plans["two_link"]
    box = [(-0.2, 0.6), (-0.5, 0.5), (-1.0, 1.0)]
    plan = plan_excitation(model, box=box, starts=1, harmonics=4)
    found = values_of(plan.series, model, np.linspace(0, plan.series.period_s, 2001))
    for direction, (low, high) in zip("xyz", box, strict=True):
        assert low <= found["box", direction].min()
        assert found["box", direction].max() <= high


def test_a_box_that_cannot_be_reached_is_the_cause():
    with pytest.raises(IdentificationError, match=r"the box in x \(5 \.\. 6 m\) is exceeded by [\d.]+ m at least"):
        plan_excitation(model_of("two_link"), box=[(5, 6), (-1, 1), (-1, 1)], starts=1, harmonics=3)


def test_a_torque_that_does_not_hold_the_robot_is_the_cause():
    drive = dataclasses.replace(load_robot("scara").axes[2].drive, rated_torque=0.001, peak_torque=0.01)
    robot = load_robot("scara")
    axes = tuple(dataclasses.replace(a, drive_or_none=drive) if a.name == "j3" else a for a in robot.axes)
    weak = excited_model(dataclasses.replace(robot, axes=axes), nominal=NOMINAL["scara"])
    with pytest.raises(IdentificationError, match="the torque of j3") as caught:
        plan_excitation(weak, starts=1, harmonics=3)
    assert "j1" not in str(caught.value)


def test_a_frequency_limit_that_leaves_nothing_is_the_cause():
    with pytest.raises(IdentificationError, match=r"the highest frequency, 0\.1 Hz \(R_ext times the resonance\)"):
        plan_excitation(model_of("crank"), highest_hz=0.1)


def test_a_speed_limit_below_the_threshold_is_the_cause():
    with pytest.raises(IdentificationError, match=r"speed limit, 0\.5, is not above its velocity_threshold, 1"):
        plan_excitation(model_of("crank", velocity_max=0.5))


@pytest.mark.parametrize("highest_hz", [0.3, 0.5, 1.0, math.inf])
def test_frequencies_stay_below_resonance_and_cutoff(highest_hz):
    robot = load_robot("crank")
    periods, harmonics = choose_period(robot, 16.0, highest_hz, 6)
    assert 2 <= harmonics <= 6
    assert harmonics * periods / 16.0 < min(highest_hz, 4.0)


def test_a_box_the_wrong_way_round_is_refused():
    with pytest.raises(ModelError, match="the box in y is 1 to -1 m"):
        plan_limits(model_of("two_link"), [(-1, 1), (1, -1), (-1, 1)])


def test_single_axes_have_no_box():
    model = model_of("crank")
    with pytest.raises(ModelError, match="no common geometry"):
        plan_excitation(model, box=[(-1, 1)] * 3, starts=1)


def test_nominal_parameters_are_complete():
    robot = load_robot("crank")
    with pytest.raises(ModelError, match=r"lack crank\.MgA"):
        excited_model(robot, nominal={key: v for key, v in NOMINAL["crank"].items() if key != "crank.MgA"})
    with pytest.raises(ModelError, match="torque noise"):
        excited_model(robot, noise=[0.0])


def test_tool_positions_against_numbers():
    q = ca.SX.sym("q", 6)
    chain = PumaGeometry().chain()
    found = ca.Function("p", [q], [chain_end(chain, q)])
    for angles in np.random.default_rng(5).uniform(-2, 2, (5, 6)):
        assert np.array(found(angles)).ravel() == pytest.approx(chain.placement(angles)[1], abs=1e-12)


@pytest.mark.parametrize("name", NOMINAL)
def test_trapezoids_keep_all_limits_and_reach_the_whole_range(name):
    model = model_of(name)
    plan = plan_trapezoids(model)
    times = np.linspace(0, plan.duration_s, 20_001)
    found = values_of(plan.motion, model, times)
    for proof in plan.proofs:
        values = found[proof.limit.kind, proof.limit.name]
        assert proof.holds
        assert proof.low - 1e-9 <= values.min()
        assert values.max() <= proof.high + 1e-9
    for axis, moves in zip(model.robot.axes, plan.motion.moves, strict=True):
        used = np.ptp(found["position", axis.name]) / (axis.position_max - axis.position_min)
        assert used == pytest.approx(0.98, abs=1e-6)
        assert len({round(move.speed, 6) for move in moves}) > 2
        assert len({round(move.acceleration, 6) for move in moves}) > 1


def test_trapezoids_are_consistent_in_time():
    motion = plan_trapezoids(model_of("scara")).motion
    times = np.linspace(0, motion.duration_s, 100_001)
    states, dt = motion.derivatives(times, 4), times[1]
    jerk = np.abs(states[3]).max(axis=0)
    for k in range(2):
        change = np.diff(states[k], axis=0) - dt * (states[k + 1][1:] + states[k + 1][:-1]) / 2
        # The trapezoidal rule misses a corner of the next derivative by at most dt^2 times its step.
        assert np.all(np.abs(change) <= dt**2 * jerk * (dt if k == 0 else 1) + 1e-9)
    assert states[1:3, [0, -1]] == pytest.approx(np.zeros((2, 2, 4)), abs=1e-9)


def test_trapezoids_slow_down_for_torque_and_say_what_is_too_much():
    robot = load_robot("crank")

    def with_torque(most):
        guards = dataclasses.replace(robot.axes[0].guards, torque_threshold=most)
        axis = dataclasses.replace(robot.axes[0], guards_or_none=guards)
        return excited_model(dataclasses.replace(robot, axes=(axis,)), nominal=NOMINAL["crank"])

    assert plan_trapezoids(with_torque(10.0)).accelerations_used < 1
    with pytest.raises(IdentificationError, match=r"torque of crank \(-2 .. 2 Nm\) reaches"):
        plan_trapezoids(with_torque(2.0))
    with pytest.raises(IdentificationError, match="give the run more time"):
        plan_trapezoids(model_of("crank"), duration_s=0.1)


def test_accelerations_last_as_long_as_the_resonance_asks():
    motion = plan_trapezoids(model_of("scara"), highest_hz=2.0).motion
    lasting = [m.speed / m.acceleration + m.acceleration / m.jerk for moves in motion.moves for m in moves]
    # In whole segments of the board: two of them, a ramp and a constant acceleration, may be begun.
    assert 0.25 - 1e-9 <= min(lasting) < 0.25 + 2 * 8 * load_robot("scara").cycle_time_s


def test_plans_come_back_from_their_files(plans, tmp_path):
    path = tmp_path / "plan.json"
    model, plan = plans["scara"]
    save_plan(plan, path)
    back = load_plan(path)
    assert np.array_equal(back.series.b, plan.series.b)
    assert (back.proofs, back.outcomes, back.periods) == (plan.proofs, plan.outcomes, plan.periods)
    moves = plan_trapezoids(model)
    save_plan(moves, path)
    again = load_plan(path)
    assert again.motion.moves == moves.motion.moves
    assert all(proof.holds for proof in prove(again.motion, model, plan_limits(model)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 9}, "plan schema 9"),
        ({"kind": "spiral"}, "kind 'spiral'"),
        ({"a": [[1.0, 0.0]], "b": [[0.0, 0.0]]}, "not at rest"),
        ({"offset": [0.0, 1.0]}, "no plan of this program"),
        ({"period_s": -1.0}, "are no motion"),
    ],
)
def test_broken_plan_files_are_refused(plans, tmp_path, change, message):
    path = tmp_path / "plan.json"
    save_plan(plans["crank"][1], path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(IdmError, match=message):
        load_plan(path)


def test_the_verb_plans_and_draws(tmp_path, capsys):
    out, figure = tmp_path / "plan.json", tmp_path / "plan.svg"
    words = ["plan", "crank", "-o", str(out), "--figure", str(figure), "--starts", "1", "--harmonics", "4"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "times smaller" in printed
    assert "no resonance is known" in printed
    assert load_plan(out).robot == "crank"
    assert figure.read_text().startswith("<?xml")
    assert main(["plan", "crank", "-o", str(out), "--trapezoid"]) == 0
    assert main(["plan", "crank", "-o", str(out), "--resonance", "0.2"]) == 1
    assert "R_ext times the resonance" in capsys.readouterr().err


def test_scara_kinematics_fit_its_dynamics():
    """The speed of the tool carries a payload's kinetic energy: m |v|^2/2 by the mass matrix of the model."""
    robot = load_robot("scara")
    q, qdd = ca.SX.sym("q", 4), ca.SX.sym("qdd", 4)
    jacobian = ca.Function("J", [q], [ca.jacobian(tool_position(robot, q), q)])
    lengths = robot.machine.geometry

    state = State(q, ca.SX.zeros(4), qdd, {"payload_mass": 1.0, "payload_inertia": 0.0})
    tau = scara(lengths["L1"], lengths["L2"], 0.0)(state, *[0] * 9)
    mass = ca.Function("A", [q], [ca.jacobian(tau, qdd)])
    pose = [0.4, -1.1, -0.1, 0.7]
    J = np.array(jacobian(pose))
    assert np.array(mass(pose)) == pytest.approx(J.T @ J, abs=1e-12)
