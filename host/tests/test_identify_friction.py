"""Friction terms as columns, and the ladder that chooses them."""

from itertools import pairwise

import numpy as np
import pytest

from idmkit.errors import IdentificationError
from idmkit.identify import equations_of, fit_least_squares, observe
from idmkit.identify.friction import FrictionTerm, Mover, WithFriction, candidate_terms, movers_of
from idmkit.identify.ladder import climb
from idmkit.identify.least_squares import axis_weights
from idmkit.identify.observations import mean_direction
from idmkit.records import AxisLimits, Channel, Record, clean

RATE, CUTOFF = 500.0, 20.0
LIMITS = {"a": AxisLimits(True, -20, 20, 100, None)}
AXIS = Mover("a", False, True, (1.0,))


class Crank:
    """tau = I qdd - G sin q + Fv qd + Fc sign(qd)."""

    names = ("a.I", "a.G", "a.Fv", "a.Fc")
    truth = np.array([0.2, 3.0, 0.1, 0.6])

    def __call__(self, q, qd, qdd, direction):
        columns = np.stack((qdd[:, 0], -np.sin(q[:, 0]), qd[:, 0], direction[:, 0]), axis=1)
        return columns[None], np.zeros((1, len(q)))


def motion(seconds=40.0):
    time = np.arange(round(seconds * RATE)) / RATE
    parts = ((1.0, 0.31), (0.8, 0.83), (0.4, 1.37))
    w = [2 * np.pi * f for _, f in parts]
    q = sum(a * np.sin(v * time) for (a, _), v in zip(parts, w, strict=True))
    qd = sum(a * v * np.cos(v * time) for (a, _), v in zip(parts, w, strict=True))
    qdd = sum(-a * v * v * np.sin(v * time) for (a, _), v in zip(parts, w, strict=True))
    return (q[:, None], qd[:, None], qdd[:, None])


def record(terms=(), values=(), noise=0.1, seed=0):
    q, qd, qdd = motion()
    direction = mean_direction(qd, qdd, RATE)
    torque = (Crank()(q, qd, qdd, direction)[0] @ Crank.truth)[0]
    load = 0.2 * qdd[:, 0] - 3.0 * np.sin(q[:, 0])
    for term, value in zip(terms, values, strict=True):
        torque = torque + value * term.torque(qd[:, 0], direction[:, 0], load)
    torque = torque + noise * np.random.default_rng(seed).standard_normal(len(torque))
    position, measured = np.ascontiguousarray(q[:, 0]), np.ascontiguousarray(torque)
    return Record(
        RATE,
        (Channel("position", "position", "rad", "a", position), Channel("torque", "torque", "Nm", "a", measured)),
    )


def observed(given, model):
    return observe(clean(given, LIMITS), ("a",), model, CUTOFF, (None,))


def climbed(given):
    observations = observed(given, Crank())
    plain = equations_of(observations, with_slow=True)
    estimate = fit_least_squares(plain)
    terms = candidate_terms(movers_of(("a",), (True,)), Crank.names, observations.qd)
    load = dict(zip(Crank.names[:2], estimate.values[:2], strict=True))
    model = WithFriction(Crank(), movers_of(("a",), (True,)), terms, load, RATE, CUTOFF)
    equations = equations_of(observed(given, model), with_slow=True)
    return climb(equations, terms, axis_weights(plain, estimate.values), estimate.values)


def test_terms_are_what_their_formulas_say():
    u, d, load = np.array([-2.0, 0.5]), np.array([-1.0, 1.0]), np.array([3.0, -4.0])
    expected = {
        "offset": [1, 1],
        "Fa": [2, 0.5],
        "Fs": [-np.exp(-2 / 0.4), np.exp(-0.5 / 0.4)],
        "F2": [-4, 0.25],
        "Fl": [-3, 4],
    }
    for kind, values in expected.items():
        assert FrictionTerm(AXIS, kind, 0.4).torque(u, d, load) == pytest.approx(values)
    assert FrictionTerm(AXIS, "Fs", 0.4).key == "a.Fs"
    assert FrictionTerm(AXIS, "Fs", 0.4).label == "a.Fs(0.4)"
    assert FrictionTerm(AXIS, "F2").unit == "Nm s^2/rad^2"


def test_a_coupled_motor_loads_all_the_axes_it_turns():
    """Motor b turns with axes a and b: its friction depends on the sum of their speeds and loads both."""

    class Two:
        names = ("a.I", "b.I")

        def __call__(self, q, qd, qdd, direction):
            Y = np.zeros((2, len(q), 2))
            Y[0, :, 0], Y[1, :, 1] = qdd[:, 0], qdd[:, 1]
            return Y, np.zeros((2, len(q)))

    movers = movers_of(("a", "b"), (True, True), np.array([[1.0, 0.0], [0.7, 1.0]]))
    assert [mover.coupled for mover in movers] == [False, True]
    terms = [FrictionTerm(movers[1], "F2"), FrictionTerm(movers[1], "Fl")]
    model = WithFriction(Two(), movers, terms, {"a.I": 2.0, "b.I": 3.0}, RATE, CUTOFF)
    assert model.names == ("a.I", "b.I", "b.F2m", "b.Flm")
    time = np.arange(2000) / RATE
    qd = np.stack((np.sin(3 * time), np.cos(2 * time)), axis=1)
    qdd = np.stack((3 * np.cos(3 * time), -2 * np.sin(2 * time)), axis=1)
    Y, _ = model(qd, qd, qdd, np.sign(qd))
    u = 0.7 * qd[:, 0] + qd[:, 1]
    assert Y[0, :, 2] == pytest.approx(0.7 * u * np.abs(u))
    assert Y[1, :, 2] == pytest.approx(u * np.abs(u))
    # The motor of b carries the torque of b alone; that of a carries what b's motor does not.
    inner = slice(300, -300)
    carried = np.abs(3.0 * qdd[:, 1])
    direction = mean_direction(u, qdd @ np.array([0.7, 1.0]), RATE)
    # The low-pass rounds the load where its sign changes.
    assert Y[1, inner, 3] == pytest.approx(direction[inner] * carried[inner], abs=0.05)


def test_names_must_stay_unique():
    model = WithFriction(
        Crank(), [AXIS], [FrictionTerm(AXIS, "Fs", 0.1), FrictionTerm(AXIS, "Fs", 0.2)], {}, RATE, CUTOFF
    )
    assert model.names[-2:] == ("a.Fs(0.1)", "a.Fs(0.2)")

    class Clash(Crank):
        names = ("a.I", "a.G", "a.Fv", "a.F2")

    with pytest.raises(IdentificationError, match="two parameters have one name"):
        WithFriction(Clash(), [AXIS], [FrictionTerm(AXIS, "F2")], {}, RATE, CUTOFF)


@pytest.mark.parametrize("seed", range(3))
def test_plain_friction_is_left_plain(seed):
    assert climbed(record(seed=seed)) == []


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (FrictionTerm(AXIS, "offset"), 0.3),
        (FrictionTerm(AXIS, "Fa"), 0.1),
        (FrictionTerm(AXIS, "Fs", 0.4), 0.5),
        (FrictionTerm(AXIS, "F2"), -0.01),
        (FrictionTerm(AXIS, "Fl"), 0.1),
    ],
)
def test_the_term_that_is_there_is_the_one_that_is_found(term, value):
    rungs = climbed(record([term], [value]))
    assert rungs[0].term.kind == term.kind
    assert rungs[0].error < 0.9
    assert all(later.error < earlier.error for earlier, later in pairwise(rungs))


def test_a_mover_gets_each_kind_of_term_once():
    terms = [FrictionTerm(AXIS, "Fs", 0.4), FrictionTerm(AXIS, "Fa"), FrictionTerm(AXIS, "Fl")]
    rungs = climbed(record(terms, [0.5, 0.1, 0.1]))
    kinds = [rung.term.kind for rung in rungs]
    assert len(set(kinds)) == len(kinds)
    assert {"Fs", "Fa", "Fl"} <= set(kinds)


def test_an_axis_at_rest_gets_no_candidates():
    assert candidate_terms([AXIS], (), np.zeros((10, 1))) == []
    assert "offset" not in {term.kind for term in candidate_terms([AXIS], ("a.offset",), np.ones((10, 1)))}
