"""The machines' equations against two others' work: recursive rigid-body dynamics and MuJoCo's inverse dynamics.

Link data is made up here, and the models' parameters follow from it by the formulas of docs/models.md. The MuJoCo
models are written here, too, from chains; of the delta, the rig's tree is used with its loops cut, and put together
by the Jacobian of its loops instead of the model's kinematics.
"""

import math

import casadi as ca
import mujoco
import numpy as np
import pytest
from arms import TX40, arm, random_chain
from armstrong import MOTORS, bodies, constants, with_motors

from idmkit.dynamics.chain import Chain, Inertial, Joint, gravity_vector
from idmkit.dynamics.delta import DeltaGeometry, arm_angles, delta_graph
from idmkit.dynamics.puma import PumaGeometry, puma_graph
from idmkit.dynamics.scara import scara_graph
from idmkit.dynamics.serial import serial_graph
from idmkit.dynamics.two_link import two_link_graph
from idmkit.rig.machine_plant import build_plant
from idmkit.rig.spec import read_rig_spec
from idmkit.robot import load_robot

G = 9.80665
SERIAL = 1e-10
"""Of the largest torque of a state: two recursions in double precision."""
LOOPS = 1e-7
"""The same for the delta: MuJoCo's rods have a millionth of their inertia about their own axis, the model's have none.
Measured: 3e-9.
"""
STATES = 25


def function(graph):
    """(q, qd, qdd, values by key) -> torques [n]; parameters that are not given are zero."""
    tau = ca.Function("tau", [graph.q, graph.qd, graph.qdd, graph.direction, graph.theta], [graph.tau])
    return lambda q, qd, qdd, values: np.array(
        tau(q, qd, qdd, np.zeros(len(q)), [values.get(key, 0.0) for key in graph.keys])
    ).ravel()


def states(n, seed=7):
    rng = np.random.default_rng(seed)
    limits = (3.0, 4.0, 30.0)
    return zip(*(rng.uniform(-limit, limit, (STATES, n)) for limit in limits), strict=True)


def serial(chain, rotors):
    graph = serial_graph(chain, terms=("Ia",))
    theta = np.concatenate([body.parameters for body in chain.known_inertials()] + [rotors])
    values = dict(zip(graph.keys, theta, strict=True))
    run = function(graph)
    return lambda q, qd, qdd: run(q, qd, qdd, values)


def numbers(values):
    return " ".join(repr(float(value)) for value in values)


def simulated(chain, rotors, rest=""):
    """MuJoCo's inverse dynamics of a chain, rotors as armatures."""
    text = ""
    for joint, body, rotor in reversed(list(zip(chain.joints, chain.known_inertials(), rotors, strict=True))):
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, joint.rotation.ravel())
        J = body.inertia_about_centre
        full = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
        kind = "hinge" if joint.kind == "revolute" else "slide"
        text = (
            f'<body pos="{numbers(joint.translation)}" quat="{numbers(quat)}">'
            f'<joint name="{joint.name}" type="{kind}" axis="{numbers(joint.axis)}" armature="{float(rotor)!r}"/>'
            f'<inertial pos="{numbers(body.centre)}" mass="{body.mass!r}" fullinertia="{numbers(full)}"/>{text}</body>'
        )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><option gravity="{numbers(chain.gravity)}"/>'
        f"<worldbody>{text}</worldbody>{rest}</mujoco>"
    )
    data = mujoco.MjData(model)

    def inverse(q, qd, qdd):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        return data.qfrc_inverse.copy()

    return inverse


def same(found, *oracles, n):
    for state in states(n):
        torque = found(*state)
        for oracle in oracles:
            expected = oracle(*state)
            assert np.abs(torque - expected).max() < SERIAL * np.abs(expected).max()


def upright(*joints, links):
    """A chain of joints along z: (kind, x of the joint in the frame before)."""
    placed = [
        Joint(f"j{k}", kind, np.eye(3), np.array([x, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]))
        for k, (kind, x) in enumerate(joints, 1)
    ]
    return Chain("arm", tuple(placed), gravity_vector((0, 0, -1), G), tuple(links))


def test_two_link():
    l1, l2, r1, r2, m1, m2, J1, J2, mass, inertia = 0.41, 0.33, 0.17, 0.15, 3.1, 1.9, 0.05, 0.021, 0.7, 0.004
    tool = Inertial.from_centre(mass, (l2, 0, 0), np.diag([0.003, 0.002, inertia]))
    links = [
        Inertial.from_centre(m1, (r1, 0, 0.02), np.diag([0.03, 0.04, J1])),
        Inertial.from_centre(m2, (r2, 0, -0.01), np.diag([0.01, 0.02, J2])) + tool,
    ]
    values = {"M1": J1 + J2 + m1 * r1**2 + m2 * (l1**2 + r2**2) + 0.3, "M2": J2 + m2 * r2**2, "R": m2 * r2 * l1}
    values |= {"payload_mass": mass, "payload_inertia": inertia}
    chain, rotors = upright(("revolute", 0), ("revolute", l1), links=links), [0.3, 0.0]
    run = function(two_link_graph(l1, l2))
    same(lambda *state: run(*state, values), serial(chain, rotors), simulated(chain, rotors), n=2)


@pytest.mark.parametrize(("axes", "spline"), [(3, False), (4, False), (4, True)])
def test_scara(axes, spline):
    L1, L2, A2, m1, m2, m3, m4, mass = 0.36, 0.27, 0.12, 6.0, 4.2, 0.8, 0.5, 1.4
    izz, J, inertia = (0.09, 0.05, 0.0011, 0.0023), (0.4, 0.06, 2.1, 0.0031), 0.005
    nut, turns = (2.5e-6, 2 * math.pi / 0.02) if spline else (0.0, 0.0)
    flat = [np.diag([0.6 * I, 0.7 * I, I]) for I in izz]  # noqa: E741
    tool = Inertial.from_centre(mass, (0, 0, -0.1), np.diag([0.004, 0.003, inertia]))
    links = [
        Inertial.from_centre(m1, (0.15, 0, 0.05), flat[0]),
        Inertial.from_centre(m2, (A2, 0, -0.03), flat[1]),
        Inertial.from_centre(m3, (0, 0, 0.2), flat[2]),
        Inertial.from_centre(m4, (0, 0, -0.1), flat[3]),
    ][:axes]
    links[-1] = links[-1] + tool
    joints = [("revolute", 0), ("revolute", L1), ("prismatic", L2), ("revolute", 0)][:axes]
    chain = upright(*joints, links=links)
    J3 = J[2] + nut * turns**2
    quill = m3 + (m4 if axes == 4 else 0)
    values = {
        # What axis 3 feels of its motor is part of P5, and taken from what it does not load.
        "P1": L1**2 * m2 + m1 * 0.15**2 + izz[0] + J[0] - L1**2 * J3,
        "P2": A2**2 * m2 + izz[1] + izz[2] - L2**2 * J3,
        "P3": J[1],
        "P4": L1 * A2 * m2 - L1 * L2 * J3,
        "P5": quill + J3,
        "P6": G * quill,
        "P7": izz[3],
        "P8": J[3] + nut,
        "J34": nut * turns,
        "payload_mass": mass,
        "payload_inertia": inertia,
    }
    screw = (
        f'<tendon><fixed armature="{nut!r}"><joint joint="j3" coef="{turns!r}"/><joint joint="j4" coef="1"/></fixed>'
        "</tendon>"
    )
    run = function(scara_graph(L1, L2, chain.names, spline=spline))
    oracles = [simulated(chain, J[:axes], screw if spline else "")]
    if not spline:
        oracles.append(serial(chain, J[:axes]))
    same(lambda *state: run(*state, values), *oracles, n=axes)


def test_puma():
    """Armstrong's link data. No body has his link 3; MuJoCo gets one with 0.004 kg m^2 more about x and y.

    I7 has their difference, I1 the one about y; so link 1, which turns about z alone, gets as much less.
    """
    data = bodies()
    possible = [
        Inertial.from_centre(13.0, (0, 0, 0), np.diag([0.35, 0.35, 0.346])),
        data[1],
        data[2] + Inertial.from_centre(0, (0, 0, 0), np.diag([0.004, 0.004, 0.0])),
        *data[3:],
    ]
    values = with_motors(constants(G))
    empty = PumaGeometry().chain()
    run = function(puma_graph(PumaGeometry()))

    def chain(links):
        return Chain("PUMA", empty.joints, empty.gravity, tuple(links))

    oracles = serial(chain(data), MOTORS), simulated(chain(possible), MOTORS)
    same(lambda *state: run(*state, values), *oracles, n=6)


def test_puma_2_and_its_payload():
    tool = Inertial.from_centre(2.2, (0, 0, 0.13), np.diag([0.012, 0.011, 0.005]))
    empty = PumaGeometry().chain()
    links = [*bodies()[:5], bodies()[5] + tool]
    full, still = constants(G), np.zeros(6)
    values = {"P1": -full["g1"], "P2": -full["g4"], "P3": -full["g2"], "P4": -full["g5"], "g3": full["g3"]}
    values |= {"payload_m": 2.2, "payload_mgz": 2.2 * 0.13 * G}
    run = function(puma_graph(PumaGeometry(), model=2))
    oracle = serial(Chain("PUMA", empty.joints, empty.gravity, tuple(links)), MOTORS)
    for q, _, _ in states(6):
        expected = oracle(q, still, still)
        assert np.abs(run(q, still, still, values) - expected).max() < SERIAL * np.abs(expected).max()


@pytest.mark.parametrize("name", ["tx40", "random"])
def test_serial_arms(name):
    rng = np.random.default_rng(3)
    for _ in range(1 if name == "tx40" else 6):
        chain = arm(TX40, "modified", rng) if name == "tx40" else random_chain(rng)
        rotors = rng.uniform(0, 2, len(chain.joints))
        same(serial(chain, rotors), simulated(chain, rotors), n=len(chain.joints))


class CutTree:
    """A delta's arms with rods and its platform in MuJoCo, loops cut, and the Jacobian of the three gaps."""

    def __init__(self, robot):
        model = build_plant(robot, read_rig_spec(robot)).model
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EQUALITY)
        model.dof_damping[:] = 0
        model.dof_frictionloss[:] = 0
        self.model, self.data = model, mujoco.MjData(model)
        self.driven = np.arange(0, 9, 3)
        self.others = np.setdiff1d(np.arange(model.nv), self.driven)
        self.sites = [(model.site(f"rod{k}").id, model.site(f"end{k}").id) for k in range(3)]

    def gaps(self):
        place = self.data.site_xpos
        return np.concatenate([place[rod] - place[end] for rod, end in self.sites])

    def jacobian(self, dot=False):
        rows = []
        for pair in self.sites:
            part = [np.zeros((3, self.model.nv)) for _ in pair]
            for J, site in zip(part, pair, strict=True):
                body, point = self.model.site_bodyid[site], self.data.site_xpos[site]
                function = mujoco.mj_jacDot if dot else mujoco.mj_jac
                function(self.model, self.data, J, None, point, body)
            rows.append(part[0] - part[1])
        return np.concatenate(rows)

    def close(self, arms, height):
        """Newton's iterations on the gaps with the arms held, rods hanging towards a platform at `height`."""
        self.data.qpos[:] = 0
        self.data.qpos[self.driven] = arms
        self.data.qpos[self.driven + 1] = math.pi / 2 - 0.5 - arms
        self.data.qpos[-1] = height
        for _ in range(30):
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_comPos(self.model, self.data)
            step = np.linalg.solve(self.jacobian()[:, self.others], self.gaps())
            self.data.qpos[self.others] -= step
            if np.abs(step).max() < 1e-15:
                break
        mujoco.mj_forward(self.model, self.data)
        assert np.abs(self.gaps()).max() < 1e-14

    def torques(self, arms, speed, acceleration, height=-0.75):
        self.close(arms, height)
        J = self.jacobian()
        allowed = np.zeros((self.model.nv, 3))
        allowed[self.driven] = np.eye(3)
        allowed[self.others] = -np.linalg.solve(J[:, self.others], J[:, self.driven])
        self.data.qvel[:] = allowed @ speed
        mujoco.mj_forward(self.model, self.data)
        bent = self.jacobian(dot=True) @ self.data.qvel
        self.data.qacc[:] = allowed @ acceleration
        self.data.qacc[self.others] -= np.linalg.solve(J[:, self.others], bent)
        mujoco.mj_inverse(self.model, self.data)
        return allowed.T @ self.data.qfrc_inverse


def test_delta():
    robot = load_robot("delta")
    geometry = DeltaGeometry(0.2, 0.05, 0.3, 0.8)
    assert robot.machine.delta_geometry == geometry
    rotor = 1.3e-4 * 20**2
    values = {"Theta_AB": 0.009 + 1.1 * 0.11**2 + rotor, "gLM": 1.1 * 0.11 * G, "M_BC": 0.3}
    values |= {"Theta_BC": 0.0148, "M_P": 0.85}
    tree, run = CutTree(robot), function(delta_graph(geometry))
    rng = np.random.default_rng(11)
    for _ in range(STATES):
        arms = arm_angles(geometry, rng.uniform((-0.25, -0.25, -0.9), (0.25, 0.25, -0.65)))
        speed, acceleration = rng.uniform(-8, 8, 3), rng.uniform(-150, 150, 3)
        expected = tree.torques(arms, speed, acceleration)
        found = run(arms, speed, acceleration, values)
        assert np.abs(found - expected).max() < LOOPS * np.abs(expected).max()
