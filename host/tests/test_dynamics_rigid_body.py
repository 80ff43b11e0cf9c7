"""Serial arms against Pinocchio, and against what is published of single arms.

Tolerance against Pinocchio: 1e-10 of the largest value. Both sides round at 1e-16 in a few hundred operations;
the rest of the margin is for the TX40, whose file writes right angles with 11 digits (5e-12 rad off), which the
reader here takes as exact and Pinocchio does not.
"""

import numpy as np
import pinocchio as pin
import pytest
from arms import PANDA, PUMA, TX40_URDF, arm, random_chain

from idmkit.dynamics.chain import INERTIAL_NAMES, Chain, Inertial, gravity_vector
from idmkit.dynamics.rotations import turn
from idmkit.dynamics.serial import serial_graph
from idmkit.dynamics.urdf import read_urdf
from idmkit.errors import ModelError

TOLERANCE = 1e-10


def pinocchio_model(chain: Chain) -> pin.Model:
    """The same chain, built through Pinocchio's own calls."""
    model = pin.Model()
    model.gravity.linear = chain.gravity
    parent = 0
    for joint, body in zip(chain.joints, chain.known_inertials(), strict=True):
        kinds = {"revolute": pin.JointModelRevoluteUnaligned, "prismatic": pin.JointModelPrismaticUnaligned}
        placement = pin.SE3(joint.rotation, joint.translation)
        parent = model.addJoint(parent, kinds[joint.kind](*joint.axis), placement, joint.name)
        inertia = pin.Inertia.FromDynamicParameters(body.parameters)
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    return model


def states(rng, n, count=5):
    return rng.uniform(-3, 3, (count, n)), rng.uniform(-5, 5, (count, n)), rng.uniform(-20, 20, (count, n))


def link_regressor(chain, q, qd, qdd):
    """[N, n, 10 n]: the columns of all links, those that vanish included."""
    regressor = serial_graph(chain, terms=()).regressor()
    Y, _ = regressor(q, qd, qdd)
    full = np.zeros((len(q), len(chain.joints), 10 * len(chain.joints)))
    keys = [f"{joint.name}.{name}" for joint in chain.joints for name in INERTIAL_NAMES]
    for column, name in enumerate(regressor.names):
        full[:, :, keys.index(name)] = Y[:, :, column].T
    return full


def assert_same_as_pinocchio(chain, model, rng):
    q, qd, qdd = states(rng, len(chain.joints))
    data = model.createData()
    theta = np.concatenate([body.parameters for body in chain.known_inertials()])
    ours = link_regressor(chain, q, qd, qdd)
    for k in range(len(q)):
        theirs = np.atleast_2d(pin.computeJointTorqueRegressor(model, data, q[k], qd[k], qdd[k]))
        np.testing.assert_allclose(ours[k], theirs, rtol=0, atol=TOLERANCE * np.abs(theirs).max())
        tau = pin.rnea(model, data, q[k], qd[k], qdd[k])
        np.testing.assert_allclose(ours[k] @ theta, tau, rtol=0, atol=TOLERANCE * np.abs(tau).max())


def test_tx40_urdf():
    chain = read_urdf(TX40_URDF, gravity_vector((0, 0, -1), 9.81)).chain
    model = pin.buildModelFromUrdf(str(TX40_URDF))
    theirs = np.concatenate([model.inertias[j].toDynamicParameters() for j in range(1, 7)])
    ours = np.concatenate([body.parameters for body in chain.known_inertials()])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE * np.abs(theirs).max())
    assert_same_as_pinocchio(chain, model, np.random.default_rng(1))


def test_seven_joint_arm():
    rng = np.random.default_rng(2)
    chain = arm(PANDA, "modified", rng)
    assert_same_as_pinocchio(chain, pinocchio_model(chain), rng)


def test_standard_dh_places_the_links_where_the_table_says():
    """The table multiplied out, joint by joint, without the chain's regrouping of its factors."""
    rng = np.random.default_rng(3)
    table = [*PANDA[:3], PUMA[2]]
    chain = arm(table, "standard", rng)
    q = rng.uniform(-3, 3, 4)
    T = np.eye(4)
    for row, position in list(zip(table, q, strict=True))[:-1]:
        T = T @ homogeneous(turn((0, 0, 1), np.cos(row.theta + position), np.sin(row.theta + position)), (0, 0, row.d))
        T = T @ homogeneous(turn((1, 0, 0), np.cos(row.alpha), np.sin(row.alpha)), (row.a, 0, 0))
    last = table[-1].theta + q[-1]
    T = T @ homogeneous(turn((0, 0, 1), np.cos(last), np.sin(last)), (0, 0, table[-1].d))
    rotation, translation = chain.placement(q)
    np.testing.assert_allclose(rotation, T[:3, :3], atol=1e-12)
    np.testing.assert_allclose(translation, T[:3, 3], atol=1e-12)


def homogeneous(rotation, translation):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation, translation
    return T


@pytest.mark.parametrize("block", range(8))
def test_random_chains_with_prismatic_joints(block):
    """200 chains, in blocks so that a failure names a small range of seeds."""
    for seed in range(25 * block, 25 * block + 25):
        rng = np.random.default_rng(seed)
        chain = random_chain(rng)
        assert_same_as_pinocchio(chain, pinocchio_model(chain), rng)


def test_puma_560_gravity_and_inertia_in_closed_form():
    """Armstrong, Khatib and Burdick's explicit terms, from the same link data."""
    chain = arm(PUMA, "modified")
    a2, a3, d4, g = 0.4318, -0.0203, 0.4331, 9.81
    mass = (0.0, 17.4, 4.8, 0.82, 0.34, 0.09)
    centre = ((0, 0, 0), (0.068, 0.006, -0.016), (0, -0.070, 0.014), (0, 0, -0.019), (0, 0, 0), (0, 0, 0.032))
    inertia = ((0, 0, 0.35), (0.130, 0.524, 0.539), (0.066, 0.0125, 0.086), (1.8e-3, 1.8e-3, 1.3e-3))
    inertia += ((0.3e-3, 0.3e-3, 0.4e-3), (0.15e-3, 0.15e-3, 0.04e-3))
    theta = np.concatenate(
        [Inertial.from_centre(m, c, np.diag(J)).parameters for m, c, J in zip(mass, centre, inertia, strict=True)]
    )
    q = np.array([0.3, -1.1, 2.0, 0.4, -0.7, 0.9])
    still = np.zeros((1, 6))
    gravity = link_regressor(chain, q[None], still, still)[0] @ theta
    m456, m3456 = sum(mass[3:]), sum(mass[2:])
    g1, g2 = -g * (m3456 * a2 + mass[1] * 0.068), g * (-mass[2] * 0.070 - m456 * d4 + mass[3] * 0.019)
    g3, g4, g5 = g * mass[1] * 0.006, -g * m456 * a3, -g * mass[5] * 0.032
    c, s = np.cos(q), np.sin(q)
    c23, s23 = np.cos(q[1] + q[2]), np.sin(q[1] + q[2])
    t3 = g2 * s23 + g4 * c23 + g5 * (s23 * c[4] + c23 * c[3] * s[4])
    expected = [0, g1 * c[1] + g3 * s[1] + t3, t3, -g5 * s23 * s[3] * s[4], g5 * (c23 * s[4] + s23 * c[3] * c[4]), 0]
    np.testing.assert_allclose(gravity, expected, rtol=0, atol=1e-12)
    sixth = np.eye(6)[5:]
    column = link_regressor(chain, q[None], still, sixth)[0] @ theta - gravity
    i23 = 0.04e-3
    np.testing.assert_allclose(column[3:], [i23 * c[4], 0, i23], rtol=0, atol=1e-12)


def test_a_spring_adds_its_stiffness_times_position():
    chain = arm(PUMA[:2], "modified")
    graph = serial_graph(chain, springs=["2"])
    regressor = graph.regressor()
    Y, _ = regressor([[0.3, 0.7]], [[1.0, -1.0]], [[2.0, 3.0]])
    np.testing.assert_array_equal(Y[:, 0, regressor.names.index("2.k")], [0, 0.7])
    assert graph.parameters[graph.index("2.k")].unit == "Nm/rad"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"terms": ("Fs",)}, "no joint term Fs"),
        ({"springs": ["7"]}, "springs on 7"),
        ({"springs": ["1"], "terms": ("Fv",)}, "preload"),
    ],
)
def test_what_an_arm_lacks_is_refused(settings, sentence):
    with pytest.raises(ModelError, match=sentence):
        serial_graph(arm(PUMA, "modified"), **settings)
