"""SCARA, delta, PUMA and two-link arm: published vectors, the rigid-body graph, what can be told apart."""

import casadi as ca
import numpy as np
import pytest
from armstrong import MOTORS, PUBLISHED, bodies, constants, mass_matrix, with_motors
from numpy.testing import assert_allclose

from idmkit.dynamics.base_parameters import base_parameters
from idmkit.dynamics.chain import Chain as Arm
from idmkit.dynamics.chain import Inertial, Joint, gravity_vector
from idmkit.dynamics.delta import DeltaGeometry, arm_angles, delta_graph, platform, unseen
from idmkit.dynamics.puma import BODY, PumaGeometry, puma_graph
from idmkit.dynamics.scara import scara_graph
from idmkit.dynamics.serial import serial_graph
from idmkit.dynamics.two_link import two_link_graph
from idmkit.errors import ModelError

G = 9.80665
PRINTED = 6e-10
"""Half a unit in the ninth decimal, the last that the vectors print."""
EXACT = 1e-10
"""Two recursions in double precision on torques of up to some hundred Nm."""

SCARA = scara_graph(0.35, 0.25)
SCARA_VALUES = {f"P{k}": v for k, v in enumerate((0.9, 0.12, 0.05, 0.2, 1.5, 1.5 * G, 0.004, 0.006), 1)}
SCARA_STATE = ([0.4, -0.9, 0.05, 1], [1.2, -2.1, 0.3, 4], [5, -8, 2, 20])
GEOMETRY = DeltaGeometry(0.2, 0.05, 0.3, 0.8)
POINT = (0.1, -0.05, -0.75)
DELTA_STATE = (
    [0.105380664, 0.473945808, 0.313873906],
    [-0.059771026, 0.876074726, 2.269472042],
    [-46.773924348, -9.952659267, -30.21615006],
)
DELTA_VALUES = {"Theta_AB": 0.05, "gLM": 2.0, "M_BC": 0.3, "Theta_BC": 0.012, "M_P": 0.9}
PUMA = puma_graph(PumaGeometry())
PUMA_STATE = ([0.3, -1.1, 2, 0.4, -0.7, 0.9], [0.5, -0.4, 0.3, 0.2, -0.6, 0.8], [1, -0.5, 0.7, -0.2, 0.4, 0.1])
STILL = [0.0] * 6


def torque(graph, q, qd, qdd, values):
    """Torques [n]; parameters that are not given are zero."""
    function = ca.Function("tau", [graph.q, graph.qd, graph.qdd, graph.direction, graph.theta], [graph.tau])
    theta = [values.get(key, 0.0) for key in graph.keys]
    return np.array(function(q, qd, qdd, np.sign(qd), theta)).ravel()


def states(n, count, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-3, 3, (count, n)) for _ in range(3)]


def arm(*joints, bodies):
    """A chain whose joints stand upright: (kind, translation) each."""
    placed = [
        Joint(f"j{k}", kind, np.eye(3), np.array(where, dtype=float), np.array([0.0, 0.0, 1.0]))
        for k, (kind, where) in enumerate(joints, 1)
    ]
    return Arm("arm", tuple(placed), gravity_vector((0, 0, -1), G), tuple(bodies))


def serial_torque(chain, q, qd, qdd, rotors):
    graph = serial_graph(chain, terms=("Ia",))
    theta = np.concatenate([body.parameters for body in chain.known_inertials()] + [rotors])
    return torque(graph, q, qd, qdd, dict(zip(graph.keys, theta, strict=True)))


def without_friction(graph):
    regressor = graph.regressor()
    return regressor.select([name for name in regressor.names if name in graph.keys_of("model")])


# SCARA


def test_scara_vectors():
    bare = torque(SCARA, *SCARA_STATE, SCARA_VALUES)
    assert_allclose(bare, [5.09384607, -0.317355426, 17.709975, 0.188], atol=5e-9)
    loaded = torque(SCARA, *SCARA_STATE, SCARA_VALUES | {"payload_mass": 2, "payload_inertia": 0.01})
    assert_allclose(loaded, [6.245047767, -0.175845085, 41.323275, 0.358], atol=PRINTED)


@pytest.mark.parametrize("axes", [3, 4])
@pytest.mark.parametrize("payload", [(0.0, 0.0), (1.3, 0.02)])
def test_scara_is_the_rigid_body_arm(axes, payload):
    L1, L2, M2, A2, I1, I2, J2, M3, I4, J4 = 0.35, 0.25, 4.0, 0.11, 0.4, 0.06, 0.05, 1.5, 0.004, 0.006
    mass, inertia = payload
    joints = [
        ("revolute", (0, 0, 0)), ("revolute", (L1, 0, 0.1)), ("prismatic", (L2, 0, 0)), ("revolute", (0, 0, 0))
    ][:axes]  # fmt: skip
    links = [
        Inertial.from_centre(0, (0, 0, 0), np.diag([0, 0, I1])),
        Inertial.from_centre(M2, (A2, 0, 0), np.diag([0, 0, I2])),
        Inertial.from_centre(0.9, (0, 0, -0.2), np.zeros((3, 3))),
        Inertial.from_centre(M3 - 0.9 + mass, (0, 0, 0), np.diag([0, 0, I4 + inertia])),
    ][:axes]
    values = {"P1": L1**2 * M2 + I1, "P2": A2**2 * M2 + I2, "P3": J2, "P4": L1 * A2 * M2, "P5": M3, "P6": G * M3}
    values |= {"P7": I4, "P8": J4, "payload_mass": mass, "payload_inertia": inertia}
    if axes == 3:
        links[2] = Inertial.from_centre(M3 + mass, (0, 0, -0.2), np.diag([0, 0, inertia]))
    graph = scara_graph(L1, L2, ("j1", "j2", "j3", "j4")[:axes])
    chain = arm(*joints, bodies=links)
    for q, qd, qdd in zip(*states(axes, 20), strict=True):
        expected = serial_torque(chain, q, qd, qdd, [0, J2, 0, J4][:axes])
        assert_allclose(torque(graph, q, qd, qdd, values), expected, rtol=EXACT, atol=EXACT)


def test_a_ball_screw_couples_the_quill_both_ways():
    graph = scara_graph(0.35, 0.25, spline=True)
    values = {"J34": 0.01}
    assert_allclose(torque(graph, [0] * 4, [0] * 4, [0, 0, 1, 0], values), [0, 0, 0, 0.01], atol=1e-15)
    assert_allclose(torque(graph, [0] * 4, [0] * 4, [0, 0, 0, 1], values), [0, 0, 0.01, 0], atol=1e-15)
    assert [p.number for p in graph.parameters][:9] == [1, 2, 3, 4, 5, 6, 7, 8, None]


def test_scara_parameters_can_all_be_told_apart_but_only_with_the_vertical_axis():
    assert len(base_parameters(without_friction(SCARA)).names) == 8
    assert len(base_parameters(without_friction(scara_graph(0.35, 0.25, ("a", "b", "c")))).names) == 6
    regressor = SCARA.regressor()
    rows, _ = regressor(*states(4, 200))
    keys = [regressor.names.index(f"P{k}") for k in range(1, 9)]
    both = rows[:2, :, keys].reshape(-1, 8)
    # M3 shows in the first two axes as a mixture of P1, P2 and P4; P6 and P8 do not show there at all.
    assert np.linalg.matrix_rank(both) == 5


# Delta


def test_delta_kinematics_there_and_back():
    angles = arm_angles(GEOMETRY, POINT)
    assert_allclose(angles, DELTA_STATE[0], atol=PRINTED)
    q = ca.SX.sym("q", 3)
    forward = ca.Function("P", [q], [platform(GEOMETRY, q)])
    assert_allclose(np.array(forward(angles)).ravel(), POINT, atol=1e-15)
    with pytest.raises(ModelError, match=r"arm \d cannot reach the point \(0, 0, -1.4\) m"):
        arm_angles(GEOMETRY, (0, 0, -1.4))


def test_delta_vectors():
    tau = torque(delta_graph(GEOMETRY), *DELTA_STATE, DELTA_VALUES)
    # The state is printed to nine decimals; the torque follows an acceleration with 0.05 to 0.3 Nm s^2.
    assert_allclose(tau, [-12.932866755, -1.168695255, -7.494232449], atol=2e-8)


def test_lumped_rods_give_their_own_vector():
    r = 2 / 3
    values = {"I_b": 0.05 + 0.3**2 * r * 0.3, "G_b": 2 + G * 0.3 * r * 0.3, "m_nt": 0.9 + 3 * (1 - r) * 0.3}
    tau = torque(delta_graph(GEOMETRY, rods="lumped"), *DELTA_STATE, values)
    assert_allclose(tau, [-12.928751342, -1.038462523, -7.433625149], atol=2e-8)


def test_lumped_and_exact_rods_agree_when_the_rods_weigh_nothing():
    exact = DELTA_VALUES | {"M_BC": 0.0, "Theta_BC": 0.0, "payload_mass": 0.7}
    lumped = {"I_b": 0.05, "G_b": 2.0, "m_nt": 0.9, "payload_mass": 0.7}
    tau = [torque(delta_graph(GEOMETRY, rods=r), *DELTA_STATE, v) for r, v in (("exact", exact), ("lumped", lumped))]
    assert_allclose(*tau, rtol=EXACT)


def test_one_direction_of_the_delta_is_unseen():
    along = {key: DELTA_VALUES[key] + step for key, step in unseen(GEOMETRY).items()}
    graph = delta_graph(GEOMETRY)
    assert_allclose(torque(graph, *DELTA_STATE, along), torque(graph, *DELTA_STATE, DELTA_VALUES), atol=1e-12)
    # Positions within the workspace: the platform is the lower one of two solutions everywhere else.
    base = base_parameters(without_friction(graph), position_limits=[(-0.4, 1.0)] * 3)
    assert len(base.names) == 4


def test_the_fourth_axis_of_a_delta_turns_the_tool_alone():
    graph = delta_graph(GEOMETRY, ("a", "b", "c", "d"))
    state = [[*part, value] for part, value in zip(DELTA_STATE, (2.0, 3.0, 5.0), strict=True)]
    tau = torque(graph, *state, DELTA_VALUES | {"Theta_Tphi": 0.004, "payload_inertia": 0.001})
    assert_allclose(tau[:3], torque(delta_graph(GEOMETRY), *DELTA_STATE, DELTA_VALUES), rtol=EXACT)
    assert tau[3] == pytest.approx(0.025)
    assert [p.number for p in graph.parameters][:6] == [1, 2, 3, 4, 5, 8]
    lumped = delta_graph(GEOMETRY, ("a", "b", "c", "d"), rods="lumped")
    assert [(p.name, p.number) for p in lumped.parameters][2:4] == [("m_nt", None), ("Theta_Tphi", 8)]


def test_impossible_deltas_are_refused():
    with pytest.raises(ModelError, match="cannot reach"):
        DeltaGeometry(0.2, 0.05, 0.8, 0.3)
    with pytest.raises(ModelError, match="'exact' or 'lumped'"):
        delta_graph(GEOMETRY, rods="stiff")


# PUMA


def test_puma_vectors():
    values = with_motors(PUBLISHED)
    q, qd, qdd = PUMA_STATE
    tau = torque(PUMA, q, qd, qdd, values)
    gravity = torque(PUMA, q, STILL, STILL, values)
    velocity = torque(PUMA, q, qd, STILL, values) - gravity
    expected = [3.276669586, -28.446538013, -6.115329495, -0.045318361, 0.067001681, 0.019333072]
    assert_allclose(tau, expected, atol=PRINTED)
    assert_allclose(gravity, [0, -24.245799373, -6.462992149, -0.005541677, -0.004268783, 0], atol=PRINTED)
    expected = [-0.298705321, -0.245205629, -0.040369502, 0.000596803, -0.000562848, -0.000000412]
    assert_allclose(velocity, expected, atol=PRINTED)


def test_puma_has_armstrongs_mass_matrix():
    """For constants that no link data give, one by one: A(q) as printed, and Lagrange's equations by CasADi."""
    q, qd, qdd = (ca.SX.sym(name, 6) for name in ("q", "qd", "qdd"))
    constant = ca.SX.sym("I", 27)
    A = mass_matrix(q, [0, *ca.vertsplit(constant[:23])], [0] * 3 + ca.vertsplit(constant[23:27]))
    momentum = A @ qd
    tau = A @ qdd + ca.jtimes(momentum, q, qd) - ca.gradient(ca.dot(qd, momentum), q) / 2
    printed = ca.Function("printed", [q, qd, qdd, constant], [tau])
    names = [*(f"I{k}" for k in range(1, 24)), *(f"Im{k}" for k in range(3, 7))]
    rng = np.random.default_rng(2)
    for state in zip(*states(6, 20), strict=True):
        values = rng.uniform(-1, 1, 27)
        expected = np.array(printed(*state, values)).ravel()
        assert_allclose(torque(PUMA, *state, dict(zip(names, values, strict=False))), expected, rtol=EXACT, atol=EXACT)


def test_published_constants_follow_from_the_link_data():
    computed = constants(9.81)
    # I1 and I3 do not follow from the paper's own link data, whoever computes them: 1.553 and 1.602.
    doubtful = {"I1": 1.553, "I3": 1.602}
    for name, value in (PUBLISHED | doubtful).items():
        assert computed[name] == pytest.approx(value, rel=0.01), name


def test_puma_is_the_rigid_body_arm():
    chain = PumaGeometry().chain()
    chain = Arm("PUMA", chain.joints, chain.gravity, tuple(bodies()))
    values = with_motors(constants(G))
    for q, qd, qdd in zip(*states(6, 50), strict=True):
        expected = serial_torque(chain, q, qd, qdd, MOTORS)
        assert_allclose(torque(PUMA, q, qd, qdd, values), expected, rtol=EXACT, atol=EXACT)


def test_a_payload_on_the_puma_is_a_body_on_its_last_link():
    chain = PumaGeometry().chain()
    tool = Inertial.from_centre(2.0, (0.03, -0.02, 0.15), np.diag([0.01, 0.02, 0.015]))
    links = [*bodies()[:5], bodies()[5] + tool]
    chain = Arm("PUMA", chain.joints, chain.gravity, tuple(links))
    carried = dict(zip((name for name, _ in BODY), tool.parameters, strict=True))
    values = with_motors(constants(G)) | carried
    expected = serial_torque(chain, *PUMA_STATE, MOTORS)
    assert_allclose(torque(PUMA, *PUMA_STATE, values), expected, rtol=EXACT, atol=EXACT)


def test_puma_2_is_gravity_without_g3():
    slow = puma_graph(PumaGeometry(), model=2)
    full = with_motors(PUBLISHED) | {"g3": 0.0}
    values = {"P1": 37.2, "P2": -0.249, "P3": 8.44, "P4": 0.0282}
    q = PUMA_STATE[0]
    assert_allclose(torque(slow, *PUMA_STATE, values), torque(PUMA, q, STILL, STILL, full), atol=EXACT)
    whole, beside = full | {"g3": 1.02}, values | {"g3": 1.02}
    assert_allclose(torque(slow, *PUMA_STATE, beside), torque(PUMA, q, STILL, STILL, whole), atol=EXACT)
    tool = {"payload_m": 2.0, "payload_mz": 0.3}
    hung = values | {"payload_m": 2.0, "payload_mgz": 0.3 * G}
    assert_allclose(torque(slow, *PUMA_STATE, hung), torque(PUMA, q, STILL, STILL, full | tool), atol=EXACT)
    with pytest.raises(ModelError, match="no dynamic model 3"):
        puma_graph(PumaGeometry(), model=3)


def test_of_34_constants_of_the_puma_32_can_be_told_apart():
    base = base_parameters(without_friction(PUMA))
    assert len(base.names) == 32
    # The other two are the motors of axes 1 and 2, whose columns are those of I1 and I2.
    q, qd, qdd = states(6, 5)
    rows, _ = PUMA.regressor()(q, qd, qdd)
    for k, axis in ((0, 0), (1, 1)):
        motor = np.zeros((6, 5))
        motor[axis] = qdd[:, axis]
        assert_allclose(rows[:, :, k], motor, atol=EXACT)


# Two-link arm


def test_two_link_arm_is_its_own_lagrangian():
    """T and the Euler-Lagrange equations written out for two bodies, differentiated by CasADi."""
    l1, l2, r1, r2, m1, m2, I1, I2, mass, inertia = 0.4, 0.3, 0.18, 0.13, 3.0, 1.7, 0.05, 0.02, 0.6, 0.003
    q, qd, qdd = (ca.SX.sym(name, 2) for name in ("q", "qd", "qdd"))
    end = ca.vertcat(ca.cos(q[0] + q[1]), ca.sin(q[0] + q[1]))
    elbow = l1 * ca.vertcat(ca.cos(q[0]), ca.sin(q[0]))
    T = ca.SX(0)
    for m, I, point, turning in (  # noqa: E741
        (m1, I1, elbow * r1 / l1, qd[0]),
        (m2, I2, elbow + r2 * end, qd[0] + qd[1]),
        (mass, inertia, elbow + l2 * end, qd[0] + qd[1]),
    ):
        T += m / 2 * ca.sumsqr(ca.jtimes(point, q, qd)) + I / 2 * turning**2
    momentum = ca.gradient(T, qd)
    tau = ca.jtimes(momentum, q, qd) + ca.jtimes(momentum, qd, qdd) - ca.gradient(T, q)
    lagrange = ca.Function("tau", [q, qd, qdd], [tau])
    values = {"M1": I1 + I2 + m1 * r1**2 + m2 * (l1**2 + r2**2), "M2": I2 + m2 * r2**2, "R": m2 * r2 * l1}
    values |= {"payload_mass": mass, "payload_inertia": inertia}
    graph = two_link_graph(l1, l2)
    for state in zip(*states(2, 20), strict=True):
        assert_allclose(torque(graph, *state, values), np.array(lagrange(*state)).ravel(), rtol=EXACT, atol=EXACT)


def test_two_link_postures_show_what_the_article_says():
    graph = two_link_graph(0.4, 0.3)
    values = {"M1": 1.0, "M2": 0.2, "R": 0.15}
    for posture, inertia in ((0.0, 1.3), (np.pi / 2, 1.0)):
        assert torque(graph, [0.7, posture], [2, 0], [1, 0], values)[0] == pytest.approx(inertia)
    assert torque(graph, [0.7, 0.3], [0, 2], [0, 1], values)[1] == pytest.approx(0.2)


# All of them


@pytest.mark.parametrize("graph", [SCARA, delta_graph(GEOMETRY), PUMA, two_link_graph(0.4, 0.3)])
def test_friction_is_every_axis_own_and_dissipates(graph):
    values = {key: 0.1 * k for k, key in enumerate(graph.keys_of("friction"), 1)}
    n = graph.n_axes
    posture, still, speed = [0.3] * n, [0.0] * n, np.linspace(-1, 2, n)
    expected = [0.1 * (2 * k + 1) * v + 0.1 * (2 * k + 2) * np.sign(v) for k, v in enumerate(speed)]
    assert_allclose(torque(graph, posture, speed, still, values), expected, atol=1e-12)


def test_wrong_numbers_of_axes_are_refused():
    with pytest.raises(ModelError, match="SCARA: 2 axis names for 4 joints"):
        scara_graph(0.35, 0.25, ("a", "b"))
    with pytest.raises(ModelError, match="delta: 2 axis names for 3 joints"):
        delta_graph(GEOMETRY, ("a", "b"))
    with pytest.raises(ModelError, match="PUMA: 5 axis names for 6 joints"):
        puma_graph(PumaGeometry(), "abcde")
