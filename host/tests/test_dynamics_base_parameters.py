"""Base parameters: published and independently computed counts, the published grouping of the TX40, weak columns."""

import casadi as ca
import numpy as np
import pytest
from arms import FLOOR, IIWA, PANDA, PUMA, STANFORD, TX40, TX40_URDF, UR10E, arm, rows

from idmkit.dynamics.base_parameters import base_graph, base_parameters
from idmkit.dynamics.chain import Chain, Joint, gravity_vector
from idmkit.dynamics.coupling import JointMotor
from idmkit.dynamics.serial import preferred_order, serial_graph
from idmkit.dynamics.urdf import read_urdf
from idmkit.errors import ModelError

# Axes along z of frame 0 and gravity across (horizontal axis) or along them (vertical axis).
ACROSS = gravity_vector((-1, 0, 0), 9.81)
TILTED = gravity_vector((0.3, 0, -1), 9.81)
PLANAR = rows("RRR", (0, 0.4, 0.3), (0, 0, 0), (0, 0, 0), (0, 0, 0))
SCARA = rows("RRPR", (0, 0.35, 0.25, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))
SLIDE = rows("P", (0,), (0,), (0,), (0,))

# (arm, gravity): inertial; with rotor inertias; with friction and offset as well. Counts of 36, 40 and 43 are those
# of the literature for six- and seven-axis arms; the others were computed by the rank of another implementation.
COUNTS = {
    "1R vertical axis": (PLANAR[:1], "modified", FLOOR, 1, 1, 4),
    "1R horizontal axis": (PLANAR[:1], "modified", ACROSS, 3, 3, 6),
    "1P horizontal": (SLIDE, "modified", ACROSS, 1, 1, 4),
    "1P vertical": (SLIDE, "modified", FLOOR, 1, 2, 4),
    "2R horizontal plane": (PLANAR[:2], "modified", FLOOR, 4, 5, 11),
    "2R vertical plane": (PLANAR[:2], "modified", ACROSS, 6, 7, 13),
    "3R vertical plane": (PLANAR, "modified", ACROSS, 9, 11, 20),
    "SCARA RRP": (SCARA[:3], "modified", FLOOR, 5, 7, 15),
    "SCARA RRPR": (SCARA, "modified", FLOOR, 8, 11, 22),
    "PUMA 560": (PUMA, "modified", FLOOR, 36, 40, 58),
    "UR10e": (UR10E, "standard", FLOOR, 36, 40, 58),
    "TX40": (TX40, "modified", FLOOR, 36, 40, 58),
    "PUMA 560, tilted base": (PUMA, "modified", TILTED, 38, 42, 60),
    "Stanford": (STANFORD, "standard", FLOOR, 33, 37, 55),
    "Panda": (PANDA, "modified", FLOOR, 43, 48, 69),
    "iiwa": (IIWA, "modified", FLOOR, 43, 48, 69),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    table, convention, gravity, *expected = COUNTS[name]
    chain = arm(table, convention, gravity=gravity)
    found = []
    for terms in ((), ("Ia",), ("Ia", "Fv", "Fc", "offset")):
        graph = serial_graph(chain, terms=terms)
        base = base_parameters(graph.regressor(), order=preferred_order(chain, graph))
        assert base.weak == ()
        found.append(len(base.names))
    assert found == expected


def wrist():
    matrix = np.diag([32.0, 32, 45, -48, 45, 32])
    matrix[5, 4] = 32
    return JointMotor(matrix)


def test_tx40_is_grouped_as_published():
    """Expressions of Gautier's method for the TX40, as its identified parameters are published (rounded alike)."""
    chain = read_urdf(TX40_URDF, FLOOR).chain.renamed([f"j{k}" for k in range(1, 7)])
    graph = serial_graph(chain, motors=wrist())
    base = base_parameters(graph.regressor(), order=preferred_order(chain, graph))
    assert len(base.names) == 61
    published = {
        "j1.Izz": {"j1.Ia": 1, "j2.Iyy": 1, "j3.Iyy": 1, "j3.mz": 0.07}
        | dict.fromkeys(("j3.m", "j4.m", "j5.m", "j6.m"), 0.05185),
        "j2.Ixz": {"j3.mz": -0.225} | dict.fromkeys(("j3.m", "j4.m", "j5.m", "j6.m"), -0.007875),
        "j2.Izz": {"j2.Ia": 1} | dict.fromkeys(("j3.m", "j4.m", "j5.m", "j6.m"), 0.050625),
        "j3.my": {"j4.mz": -1} | dict.fromkeys(("j4.m", "j5.m", "j6.m"), -0.225),
        "j4.Izz": {"j5.Iyy": 1},
        "j5.my": {"j6.mz": -1},
        "j6.Ixx": {"j6.Iyy": -1},
        "j6.Fcm": {},
    }
    for name, others in published.items():
        row = base.grouping[base.names.index(name)]
        ours = {base.all_names[k]: row[k] for k in np.flatnonzero(row)}
        # The published factors are exact products of lengths in mm; ours come from a solved system.
        assert ours == pytest.approx({name: 1.0} | others, abs=1e-9)
    assert base.expression("j5.my") == "j5.my - j6.mz"


def test_base_values_give_the_torque_of_all_parameters():
    rng = np.random.default_rng(4)
    chain = arm(PANDA, "modified", rng)
    graph = serial_graph(chain)
    regressor = graph.regressor()
    base = base_parameters(regressor, order=preferred_order(chain, graph))
    theta = rng.normal(size=len(regressor.names))
    q, qd, qdd = rng.uniform(-3, 3, (3, 50, 7))
    full = regressor.torque(theta, q, qd, qdd)
    reduced = regressor.select(base.names).torque(base.values(theta), q, qd, qdd)
    # Solving for the grouping costs the base regressor's condition number, a few hundred, times rounding.
    np.testing.assert_allclose(reduced, full, rtol=0, atol=1e-11 * np.abs(full).max())


def test_the_graph_of_the_base_parameters_has_the_same_torque():
    rng = np.random.default_rng(5)
    chain = arm(PUMA, "modified")
    graph = serial_graph(chain, motors=wrist())
    regressor = graph.regressor()
    base = base_parameters(regressor, order=preferred_order(chain, graph))
    small = base_graph(graph, base)
    assert small.keys == base.names
    theta = rng.normal(size=len(regressor.names))
    q, qd, qdd = rng.uniform(-3, 3, (3, 20, 6))
    full = regressor.torque(theta, q, qd, qdd)
    reduced = small.regressor()
    values = dict(zip(base.names, base.values(theta), strict=True))
    torque = reduced.torque([values[name] for name in reduced.names], q, qd, qdd)
    np.testing.assert_allclose(torque, full, rtol=0, atol=1e-11 * np.abs(full).max())
    assert ca.n_nodes(small.tau) < ca.n_nodes(graph.tau)


def test_known_parameters_stay_by_themselves():
    chain = arm(PUMA, "modified")
    graph = serial_graph(chain)
    base = base_parameters(graph.regressor(), order=preferred_order(chain, graph), keep=["1.Ia", "6.m"])
    assert {"1.Ia", "6.m"} <= set(base.names)
    assert "1.Izz" in base.dependent
    assert len(base.names) == 58


def test_the_choice_does_not_depend_on_the_random_states():
    chain = arm(PUMA, "modified")
    graph = serial_graph(chain)
    regressor = graph.regressor()
    found = [base_parameters(regressor, order=preferred_order(chain, graph), seed=seed) for seed in (0, 1)]
    assert found[0].names == found[1].names
    np.testing.assert_allclose(found[0].grouping, found[1].grouping, rtol=0, atol=1e-9)


def test_axes_that_are_almost_parallel_are_named():
    """1e-6 rad between two axes: their inertias could be told apart, but no measurement would."""
    tilt = np.array([0.0, np.sin(1e-6), np.cos(1e-6)])
    joints = tuple(
        Joint(name, "revolute", np.eye(3), np.array([x, 0.0, 0.0]), axis)
        for name, x, axis in (("a", 0.0, np.array([0.0, 0.0, 1.0])), ("b", 0.4, tilt))
    )
    chain = Chain("almost planar", joints, FLOOR, (None, None))
    graph = serial_graph(chain, terms=())
    base = base_parameters(graph.regressor(), order=preferred_order(chain, graph))
    assert base.weak
    assert all(1e-12 < base.shares[name] < 1e-4 for name in base.weak)


def test_unknown_keys_and_limits_are_refused():
    regressor = serial_graph(arm(PUMA, "modified")).regressor()
    with pytest.raises(ModelError, match=r"no parameter 9\.m"):
        base_parameters(regressor, keep=["9.m"])
    with pytest.raises(ModelError, match="6 pairs"):
        base_parameters(regressor, position_limits=[[1.0, -1.0]] * 6)
