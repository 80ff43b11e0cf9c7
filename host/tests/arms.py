"""Arms that several tests share, by their published geometry; masses are made up where a test needs some."""

from pathlib import Path

import numpy as np

import idmkit
from idmkit.dynamics.chain import Chain, Inertial, Joint, gravity_vector
from idmkit.dynamics.dh import Row, chain_from_dh
from idmkit.dynamics.rotations import turn

TX40_URDF = Path(idmkit.__file__).parent / "robots" / "tx40.urdf"
FLOOR = gravity_vector((0, 0, -1), 9.81)
QUARTER = np.pi / 2


def rows(kinds, a, alpha, d, theta):
    joints = ["revolute" if kind == "R" else "prismatic" for kind in kinds]
    return [Row(*row) for row in zip(joints, a, alpha, d, theta, strict=True)]


# Armstrong, Khatib and Burdick 1986, modified convention.
PUMA = rows(
    "RRRRRR",
    (0, 0, 0.4318, -0.0203, 0, 0),
    (0, -QUARTER, 0, QUARTER, -QUARTER, QUARTER),
    (0, 0.2435, -0.0934, 0.4331, 0, 0),
    (0, 0, 0, 0, 0, 0),
)
TX40 = rows(
    "RRRRRR",
    (0, 0, 0.225, 0, 0, 0),
    (0, -QUARTER, 0, QUARTER, -QUARTER, QUARTER),
    (0.32, 0, 0.035, 0.225, 0, 0),
    (0, 0, 0, 0, 0, np.pi),
)
# Franka Emika's published table, modified convention.
PANDA = rows(
    "RRRRRRR",
    (0, 0, 0, 0.0825, -0.0825, 0, 0.088),
    (0, -QUARTER, QUARTER, QUARTER, -QUARTER, QUARTER, QUARTER),
    (0.333, 0, 0.316, 0, 0.384, 0, 0),
    (0, 0, 0, 0, 0, 0, 0),
)
IIWA = rows(
    "RRRRRRR",
    (0, 0, 0, 0, 0, 0, 0),
    (0, -QUARTER, QUARTER, QUARTER, -QUARTER, -QUARTER, QUARTER),
    (0.34, 0, 0.4, 0, 0.4, 0, 0.126),
    (0, 0, 0, 0, 0, 0, 0),
)
# Universal Robots' published table, standard convention.
UR10E = rows(
    "RRRRRR",
    (0, -0.6127, -0.57155, 0, 0, 0),
    (QUARTER, 0, 0, QUARTER, -QUARTER, 0),
    (0.1807, 0, 0, 0.17415, 0.11985, 0.11655),
    (0, 0, 0, 0, 0, 0),
)
# Stanford arm, Paul 1981, standard convention.
STANFORD = rows(
    "RRPRRR",
    (0, 0, 0, 0, 0, 0),
    (-QUARTER, QUARTER, 0, -QUARTER, QUARTER, 0),
    (0.412, 0.154, 0, 0, 0, 0.263),
    (0, 0, -QUARTER, 0, 0, 0),
)


def random_inertial(rng) -> Inertial:
    """A body that can exist: point masses scattered about a centre off the origin."""
    points, weights = rng.normal(0, 0.2, (12, 3)) + rng.normal(0, 0.2, 3), rng.uniform(0.1, 1, 12)
    first = weights @ points
    second = np.einsum("k,ki,kj->ij", weights, points, points)
    return Inertial(float(weights.sum()), first, np.trace(second) * np.eye(3) - second)


def arm(table, convention, rng=None, gravity=FLOOR) -> Chain:
    inertials = None if rng is None else [random_inertial(rng) for _ in table]
    return chain_from_dh("arm", table, convention, gravity, inertials=inertials)


def random_chain(rng, n=None) -> Chain:
    """One to seven joints of both kinds at random places; half of the axes along coordinates, half anywhere."""
    joints = []
    for k in range(n or rng.integers(1, 8)):
        axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        if rng.random() < 0.5:
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
        placed = rng.normal(size=3)
        rotation = turn(placed / np.linalg.norm(placed), np.cos(1.7 * k), np.sin(1.7 * k))
        kind = "prismatic" if rng.random() < 0.35 else "revolute"
        joints.append(Joint(f"j{k + 1}", kind, rotation, rng.normal(0, 0.4, 3), axis))
    bodies = tuple(random_inertial(rng) for _ in joints)
    return Chain("random", tuple(joints), gravity_vector(rng.normal(size=3), 9.81), bodies)
