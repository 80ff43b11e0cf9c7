"""Physically consistent estimates: two independent solvers, one answer, and bodies that can exist."""

from dataclasses import replace

import numpy as np
import pytest
from arms import PUMA, arm, random_inertial, rows

from idmkit.dynamics.base_parameters import base_parameters
from idmkit.dynamics.chain import gravity_vector
from idmkit.dynamics.serial import preferred_order, serial_graph
from idmkit.errors import IdentificationError
from idmkit.identify import cone, consistent, fit_consistent, fit_least_squares
from idmkit.identify.equations import Equations
from idmkit.identify.friction import FrictionTerm, movers_of
from idmkit.identify.physical import from_pseudo_inertia, physical_model, pseudo_inertia, violation

ELBOW = rows("RR", (0, 0.3), (np.pi / 2, 0), (0, 0), (0, 0))
ACROSS = gravity_vector((-1, 0, 0), 9.81)


class Robot:
    """An arm with bodies that exist, its base parameters, and torque at random states with noise."""

    def __init__(self, table, gravity=None, count=200, seed=0, noise=0.02):
        rng = np.random.default_rng(seed)
        self.chain = arm(table, "modified", rng, **({} if gravity is None else {"gravity": gravity}))
        graph = serial_graph(self.chain)
        regressor = graph.regressor()
        self.base = base_parameters(regressor, order=preferred_order(self.chain, graph))
        self.axes, n = self.chain.names, len(self.chain.names)
        inertials = np.concatenate([inertial.parameters for inertial in self.chain.inertials])
        friction = {"Ia": 0.05, "Fv": 0.3, "Fc": 0.5, "offset": 0.1}
        values = dict(zip(graph.keys, inertials, strict=False))
        values |= {f"{axis}.{name}": value for axis in self.axes for name, value in friction.items()}
        self.full = values
        theta = self.base.values([values[name] for name in regressor.names])
        q = rng.uniform(-np.pi, np.pi, (count, n))
        self.qd = rng.uniform(-2, 2, (count, n))
        Y, _ = regressor.select(self.base.names)(q, self.qd, rng.uniform(-5, 5, (count, n)))
        torque = Y @ theta
        torque += noise * torque.std() * rng.standard_normal(torque.shape)
        used = np.ones((n, count), dtype=bool)
        self.equations = Equations(self.axes, self.base.names, Y, torque, used, np.arange(count), np.arange(count))
        self.theta = theta
        self.movers = movers_of(self.axes, [True] * n)

    def physical(self, terms=(), columns=None):
        columns = self.equations.names if columns is None else columns
        top = np.abs(self.qd).max(axis=0)
        return physical_model(self.axes, self.base, columns, self.movers, terms, top)

    def torque(self, estimate):
        return self.equations.regressor @ estimate.values


def test_pseudo_inertia_and_back():
    parameters = random_inertial(np.random.default_rng(0)).parameters
    P = pseudo_inertia(parameters)
    assert np.allclose(P, P.T)
    assert np.linalg.eigvalsh(P)[0] > 0
    assert np.allclose(from_pseudo_inertia(P), parameters)


def test_violation_sees_mass_centre_inertia_triangle_and_friction():
    model = Robot(ELBOW, ACROSS).physical()
    ball = np.array([1.0, 0, 0, 0, 0.02, 0, 0.02, 0, 0, 0.02])
    good = np.concatenate((ball, ball, np.full(len(model.names) - 20, 0.1)))
    assert violation(model, good) == 0
    for place, value in ((0, -1.0), (1, 0.5), (4, -0.02), (4, 0.05), (5, 0.03), (model.names.index("1.Fc"), -1)):
        bad = good.copy()
        bad[place] = value
        assert violation(model, bad) > 1e-3, model.names[place]


@pytest.mark.parametrize(("table", "gravity"), [(ELBOW, ACROSS), (PUMA, None)])
@pytest.mark.parametrize("solver", ["cone", "cholesky"])
def test_bodies_that_exist_are_found_again(table, gravity, solver):
    robot = Robot(table, gravity, noise=1e-6)
    found = fit_consistent(robot.equations, robot.physical(), solver)
    torque = robot.torque(found.estimate)
    # The prior's weight is 1e-9 of the torque's, in the squares: 3e-5 in the torque at most.
    assert np.linalg.norm(torque - robot.equations.torque) < 3e-5 * np.linalg.norm(torque)
    assert violation(robot.physical(), found.full) <= 1e-6


@pytest.mark.parametrize("seed", range(2))
def test_both_solvers_agree_where_the_answer_lies_on_the_edge(seed):
    robot = Robot(PUMA, count=40, seed=seed, noise=0.3)
    plain = fit_least_squares(robot.equations, weighted=True)
    one, other = (fit_consistent(robot.equations, robot.physical(), solver) for solver in ("cone", "cholesky"))
    names = [f"{axis}.{name}" for axis in robot.axes for name in ("Fv", "Fc")]
    places = [robot.equations.names.index(name) for name in names]
    assert plain.values[places].min() < 0  # so that the bounds are needed here
    assert one.estimate.values[places].min() >= -1e-6
    difference = np.linalg.norm(robot.torque(one.estimate) - robot.torque(other.estimate))
    assert difference < 1e-4 * np.linalg.norm(robot.torque(one.estimate))


@pytest.mark.parametrize("solver", ["cone", "cholesky"])
@pytest.mark.parametrize("F2", [-0.1, -0.8])
def test_friction_terms_may_be_negative_but_all_together_dissipate(solver, F2):
    """-0.1 slows the growth of the friction; -0.8 would make it a drive above 1 rad/s."""
    robot = Robot(ELBOW, ACROSS, noise=0.0)
    terms = [FrictionTerm(robot.movers[0], "Fs", 0.5), FrictionTerm(robot.movers[0], "F2")]
    columns = np.zeros((2, 200, 2))
    speed = robot.qd[:, 0]
    for k, term in enumerate(terms):
        columns[0, :, k] = term.torque(speed, np.sign(speed), np.zeros(200))
    names = (*robot.equations.names, *(term.key for term in terms))
    torque = robot.equations.torque + columns @ np.array([0.2, F2])
    regressor = np.concatenate((robot.equations.regressor, columns), axis=2)
    equations = replace(robot.equations, names=names, regressor=regressor, torque=torque)
    found = fit_consistent(equations, robot.physical(terms, names), solver)
    value = {name: found.estimate.values[names.index(f"1.{name}")] for name in ("Fv", "Fc", "Fs", "F2")}
    grid = np.linspace(0.04, 2, 50)
    friction = value["Fc"] + value["Fv"] * grid + value["Fs"] * np.exp(-grid / 0.5) + value["F2"] * grid**2
    assert friction.min() > -1e-3 * friction.max()
    if F2 == -0.1:
        # The two terms look much alike at these speeds; the cone solver is exact to 1e-8 in the squares.
        assert value["F2"] == pytest.approx(F2, rel=0.05)


def test_values_from_drawings_decide_what_the_motion_does_not_show():
    robot = Robot(ELBOW, ACROSS, noise=1e-6)  # link 1: mass and centre along the axis do not show
    top = np.abs(robot.qd).max(axis=0)
    model = physical_model(robot.axes, robot.base, robot.equations.names, robot.movers, (), top, cad=robot.full)
    found = fit_consistent(robot.equations, model)
    assert found.full[model.names.index("1.m")] == pytest.approx(robot.full["1.m"], rel=0.05)
    without = fit_consistent(robot.equations, robot.physical())
    assert without.full[0] < 0.9 * robot.full["1.m"]


def test_a_cone_solver_that_fails_is_not_trusted(monkeypatch):
    robot = Robot(ELBOW, ACROSS)
    expected = fit_consistent(robot.equations, robot.physical(), "cholesky").estimate.values

    def failing(problem):
        raise IdentificationError("the cone solver ended with 'infeasible'")

    def lying(problem):
        return np.full(problem.matrix.shape[1], -1.0)

    for replacement in (failing, lying):
        monkeypatch.setattr(cone, "minimise", replacement)
        assert fit_consistent(robot.equations, robot.physical(), "cone").estimate.values == pytest.approx(expected)
    monkeypatch.setattr(consistent.cholesky, "minimise", lying)
    with pytest.raises(IdentificationError, match="no physically consistent parameters were found"):
        fit_consistent(robot.equations, robot.physical())


def test_without_cvxpy_the_other_way_is_taken_and_the_cone_says_what_to_install(monkeypatch):
    robot = Robot(ELBOW, ACROSS)
    monkeypatch.setattr(cone, "available", lambda: False)
    assert violation(robot.physical(), fit_consistent(robot.equations, robot.physical()).full) == 0
    with pytest.raises(IdentificationError, match="pip install cvxpy clarabel"):
        cone.minimise(None)
