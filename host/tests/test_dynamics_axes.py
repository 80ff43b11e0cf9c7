"""Single-axis models: the equations against hand-written ones, the regressor against the expression."""

import casadi as ca
import numpy as np
import pytest

from idmkit.dynamics.axes import axes_graph
from idmkit.errors import ModelError

ALL = [
    ("r1", "revolute", 1),
    ("r2", "revolute", 2),
    ("r3", "revolute", 3),
    ("l1", "prismatic", 1),
    ("l2", "prismatic", 2),
    ("l3", "prismatic", 3),
]
ROUNDING = 1e-12
"""Relative; a torque is a sum of a few products in double precision."""


def torque(graph, q, qd, qdd, direction, values):
    function = ca.Function("tau", [graph.q, graph.qd, graph.qdd, graph.direction, graph.theta], [graph.tau])
    return np.array(function(q, qd, qdd, direction, [values[key] for key in graph.keys])).ravel()


def states(n, count, seed=3):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-4, 4, (count, n)) for _ in range(3)]


def test_every_model_gives_the_published_equation():
    graph = axes_graph(ALL)
    rng = np.random.default_rng(1)
    v = {key: rng.uniform(0.1, 2) for key in graph.keys}
    q, qd, qdd = (part[0] for part in states(6, 1))
    d = np.array([1, -1, 0, 1, -1, 1])
    friction = np.array([v[f"{name}.Fv"] * qd[k] + v[f"{name}.Fc"] * d[k] for k, (name, _, _) in enumerate(ALL)])
    m = {name: v[f"{name}.payload_mass"] for name, _, _ in ALL}
    j = {name: v[f"{name}.payload_inertia"] for name, _, _ in ALL}
    model = [
        (v["r1.I"] + j["r1"]) * qdd[0],
        (v["r2.I"] + j["r2"] + v["r2.L2"] * m["r2"]) * qdd[1],
        (v["r3.I"] + j["r3"] + v["r3.L2"] * m["r3"]) * qdd[2] - (v["r3.MgA"] + m["r3"] * v["r3.gL"]) * np.sin(q[2]),
        (v["l1.M"] + m["l1"]) * qdd[3],
        (v["l2.M"] + m["l2"]) * qdd[4] + v["l2.Mgcos"] + m["l2"] * v["l2.gcos"],
        (v["l3.M"] + m["l3"]) * qdd[5] + v["l3.F0"] + v["l3.k"] * q[5] + m["l3"] * v["l3.gcos"],
    ]
    np.testing.assert_allclose(torque(graph, q, qd, qdd, d, v), friction + model, rtol=ROUNDING)


def test_friction_dissipates_when_its_coefficients_are_positive():
    graph = axes_graph([("a", "revolute", 1)])
    values = {"a.I": 0, "a.Fv": 0.3, "a.Fc": 0.2, "a.payload_mass": 0, "a.payload_inertia": 0}
    for speed in (-2.0, 2.0):
        assert torque(graph, 0, speed, 0, np.sign(speed), values)[0] * speed > 0


def test_parameters_carry_softmc_numbers_and_a_fixed_order():
    graph = axes_graph([("crank", "revolute", 3)])
    assert graph.keys == tuple(
        f"crank.{name}" for name in ("I", "L2", "MgA", "gL", "Fv", "Fc", "payload_mass", "payload_inertia")
    )
    assert [p.number for p in graph.parameters] == [1, 2, 3, 4, None, None, None, None]


@pytest.mark.parametrize(
    ("axis", "vanished"),
    [
        (("a", "revolute", 1), ()),
        (("a", "revolute", 2), ("a.L2",)),
        (("a", "revolute", 3), ("a.L2", "a.gL")),
        (("a", "prismatic", 1), ()),
        (("a", "prismatic", 2), ("a.gcos",)),
        (("a", "prismatic", 3), ("a.gcos",)),
        (("a", "revolute", 0), ()),
    ],
)
def test_without_payload_its_columns_vanish(axis, vanished):
    assert axes_graph([axis]).regressor().vanished == vanished


def test_regressor_times_parameters_is_the_torque_at_any_number_of_samples():
    graph = axes_graph(ALL)
    known = dict.fromkeys(graph.keys_of("payload"), 0.7) | {"r3.L2": 0.16, "l2.gcos": 4.0, "l3.gcos": 9.0}
    regressor = graph.regressor(known)
    assert regressor.vanished == ()
    values = {key: 0.1 * (1 + k) for k, key in enumerate(graph.keys)} | known
    theta = [values[key] for key in regressor.names]
    for count in (1, 5000):
        q, qd, qdd = states(6, count)
        rows, offset = regressor(q, qd, qdd)
        assert rows.shape == (6, count, len(theta))
        for k in (0, count // 2, count - 1):
            expected = torque(graph, q[k], qd[k], qdd[k], np.sign(qd[k]), values)
            np.testing.assert_allclose(rows[:, k] @ theta + offset[:, k], expected, rtol=ROUNDING)


def test_offset_carries_what_the_known_parameters_give():
    graph = axes_graph([("crank", "revolute", 3)])
    regressor = graph.regressor(graph.no_payload() | {"crank.MgA": 3.0, "crank.Fc": 0.5})
    _, offset = regressor([np.pi / 2], [0.0], [1.0], direction=[1.0])
    np.testing.assert_allclose(offset, [[-3.0 + 0.5]], rtol=ROUNDING)
    assert regressor.names == ("crank.I", "crank.Fv")


def test_payload_and_arm_both_unknown_is_refused():
    graph = axes_graph([("crank", "revolute", 3)])
    with pytest.raises(ModelError, match="not linear"):
        graph.regressor({})


def test_payload_identification_with_the_arm_known():
    graph = axes_graph([("crank", "revolute", 3)])
    known = dict.fromkeys(graph.keys_of("model") + graph.keys_of("friction"), 1.0)
    assert graph.regressor(known).names == ("crank.payload_mass", "crank.payload_inertia")


def test_wrong_requests_are_refused_with_the_choices():
    with pytest.raises(ModelError, match="no dynamic model 4 for a prismatic axis"):
        axes_graph([("a", "prismatic", 4)])
    with pytest.raises(ModelError, match="not unique"):
        axes_graph([("a", "prismatic", 1), ("a", "revolute", 1)])
    with pytest.raises(ModelError, match=r"no parameter 'a\.X'"):
        axes_graph([("a", "prismatic", 1)]).regressor({"a.X": 1})
    with pytest.raises(ModelError, match="samples"):
        axes_graph([("a", "prismatic", 1)]).regressor()([0.0], [0.0, 1.0], [0.0])
