"""Delta robot, softMC's model 1, with exact rods or lumped ones, for three or four axes.

Geometry: R_A and R_P are the radii of base and platform, l_A = |AB| the arms, l_B = |BC| the rods; arm i stands at
phi_i = 0, 120, 240 degrees and its angle is positive below the horizontal. z points up.

    B_i = R_A e_r + l_A (cos q_i e_r - sin q_i e_z)      C_i = P + R_P e_r      |C_i - B_i| = l_B

Theta_AB and M_AB belong to one arm, M_BC and Theta_BC to one pair of rods (mass, inertia across its middle), M_P to
the platform. With rigid rods whose centre of mass is in the middle, by virtual work along dP/dq and dB/dq:

    tau_j = Theta_AB qdd_j - gLM cos q_j + (M_P + payload) (Pdd + g e_z) . dP/dq_j
          + M_BC sum_i [(Bdd_i + Pdd)/2 + g e_z] . (dB_i/dq_j + dP/dq_j)/2
          + Theta_BC/l_B^2 sum_i (Pdd - Bdd_i) . (dP/dq_j - dB_i/dq_j)

Of these five only four combinations show; the direction that does not is `unseen`. So M_BC is to be weighed and given.
Axis 4 turns the tool through a telescopic shaft: (Theta_Tphi + payload inertia) qdd_4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from idmkit.dynamics.graph import Graph
from idmkit.dynamics.machine import STANDARD_GRAVITY, State, machine_graph, named
from idmkit.dynamics.rotations import Array
from idmkit.errors import ModelError

INERTIA = "kg m^2"
EXACT = (("Theta_AB", INERTIA), ("gLM", "Nm"), ("M_BC", "kg"), ("Theta_BC", INERTIA), ("M_P", "kg"))
LUMPED = (("I_b", INERTIA), ("G_b", "Nm"), ("m_nt", "kg"))
SHAFT = (("Theta_Tphi", INERTIA),)
EXACT_NUMBERS, LUMPED_NUMBERS, SHAFT_NUMBER = (1, 2, 3, 4, 5), (None, None, None), (8,)
"""softMC's: 6 and 7 are mass and inertia of a shaft that swings, 9 to 14 lengths, stiffnesses and limits."""
PAYLOAD = (("payload_mass", "kg"), ("payload_inertia", INERTIA))


@dataclass(frozen=True)
class DeltaGeometry:
    """Radii of base and platform, lengths of arms and rods, m."""

    R_A: float
    R_P: float
    l_A: float
    l_B: float

    def __post_init__(self) -> None:
        if min(self.R_A, self.R_P, self.l_A, self.l_B) <= 0 or self.l_B <= abs(self.R_A + self.l_A - self.R_P):
            raise ModelError(
                f"a delta with R_A {self.R_A:g}, R_P {self.R_P:g}, l_A {self.l_A:g}, l_B {self.l_B:g} m cannot reach "
                f"below its horizontal arms; check the four lengths"
            )


def arm_directions() -> list[tuple[float, float]]:
    """(cos, sin) of the arms' angles."""
    return [(math.cos(math.radians(phi)), math.sin(math.radians(phi))) for phi in (0, 120, 240)]


def elbows(geometry: DeltaGeometry, q: Any) -> list[Any]:
    """The elbows B_i, SX [3] each, for arm angles q."""
    out = []
    for i, (c, s) in enumerate(arm_directions()):
        r = geometry.R_A + geometry.l_A * ca.cos(q[i])
        out.append(ca.vertcat(r * c, r * s, -geometry.l_A * ca.sin(q[i])))
    return out


def platform(geometry: DeltaGeometry, q: Any) -> Any:
    """Forward kinematics: P, SX [3], the lower intersection of three spheres of radius l_B."""
    b = [
        elbow - geometry.R_P * ca.vertcat(c, s, 0)
        for elbow, (c, s) in zip(elbows(geometry, q), arm_directions(), strict=True)
    ]
    # P lies on the line where the spheres' difference planes meet: (b_i - b_0) . P = (|b_i|^2 - |b_0|^2)/2.
    d1, d2 = b[1] - b[0], b[2] - b[0]
    normal = ca.cross(d1, d2)
    e1, e2 = ca.dot(d1, d1) / 2, ca.dot(d2, d2) / 2
    centre = (e1 * ca.cross(d2, normal) + e2 * ca.cross(normal, d1)) / ca.dot(normal, normal)
    height = ca.sqrt((geometry.l_B**2 - ca.dot(centre, centre)) / ca.dot(normal, normal))
    # The normal points up for arms numbered anticlockwise, seen from above.
    return b[0] + centre - height * normal


def arm_angles(geometry: DeltaGeometry, point: ArrayLike) -> Array:
    """Inverse kinematics: arm angles [3] (rad) for the platform at `point` [3] (m), elbows out.

    Raises ModelError that names the arm which cannot reach.
    """
    P = np.asarray(point, dtype=float)
    angles = np.empty(3)
    for i, (c, s) in enumerate(arm_directions()):
        # The arm's plane: x outwards from joint A, z up.
        radial = np.array([c, s, 0.0])
        D = P + (geometry.R_P - geometry.R_A) * radial
        E, F = 2 * geometry.l_A * (D @ radial), -2 * geometry.l_A * D[2]
        G = D @ D + geometry.l_A**2 - geometry.l_B**2
        reach = math.hypot(E, F)
        if abs(G) > reach:
            raise ModelError(
                f"the delta's arm {i + 1} cannot reach the point ({P[0]:g}, {P[1]:g}, {P[2]:g}) m: shoulder and rod "
                f"end are {math.sqrt(D @ D):.4g} m apart, the arm has {geometry.l_A:g} m, the rod {geometry.l_B:g} m; "
                "choose a point inside the workspace"
            )
        angles[i] = math.atan2(F, E) - math.acos(G / reach)
    return angles


def exact_rods(geometry: DeltaGeometry, gravity: float) -> Callable[..., Any]:
    """The equation with rods that are rigid bodies."""

    def equation(state: State, Theta_AB: Any, gLM: Any, M_BC: Any, Theta_BC: Any, M_P: Any, *shaft: Any) -> Any:
        motion = _Motion(geometry, state)
        up = ca.vertcat(0, 0, gravity)
        load = M_P + state.payload["payload_mass"]
        tau = Theta_AB * motion.qdd - gLM * ca.cos(motion.q) + load * (motion.J.T @ (motion.Pdd + up))
        for Jb, Bdd in zip(motion.elbow_jacobians, motion.elbow_accelerations, strict=True):
            tau += M_BC * ((Jb + motion.J) / 2).T @ ((Bdd + motion.Pdd) / 2 + up)
            tau += Theta_BC / geometry.l_B**2 * (motion.J - Jb).T @ (motion.Pdd - Bdd)
        return _with_shaft(tau, state, shaft)

    return equation


def lumped_rods(geometry: DeltaGeometry, gravity: float) -> Callable[..., Any]:
    """The equation with each rod's mass shared between elbow and platform (Clavel): I_b, G_b, m_nt."""

    def equation(state: State, I_b: Any, G_b: Any, m_nt: Any, *shaft: Any) -> Any:
        motion = _Motion(geometry, state)
        load = m_nt + state.payload["payload_mass"]
        tau = I_b * motion.qdd - G_b * ca.cos(motion.q)
        tau += load * (motion.J.T @ (motion.Pdd + ca.vertcat(0, 0, gravity)))
        return _with_shaft(tau, state, shaft)

    return equation


class _Motion:
    """Platform and elbows in motion: Jacobians over the arms' angles, accelerations.

    The rods keep their length: with s_i = C_i - B_i, s_i . (Pd - Bd_i) = 0, and once more differentiated
    s_i . (Pdd - Bdd_i) + |Pd - Bd_i|^2 = 0. Both are solved by the same three cross products of rods.
    """

    def __init__(self, geometry: DeltaGeometry, state: State) -> None:
        self.q, qd, self.qdd = state.q[:3], state.qd[:3], state.qdd[:3]
        P = platform(geometry, self.q)
        rods, slopes, curves = [], [], []
        for i, (elbow, (c, s)) in enumerate(zip(elbows(geometry, self.q), arm_directions(), strict=True)):
            rods.append(P + geometry.R_P * ca.vertcat(c, s, 0) - elbow)
            inward, down = -geometry.l_A * ca.sin(self.q[i]), -geometry.l_A * ca.cos(self.q[i])
            slopes.append(ca.vertcat(c * inward, s * inward, down))
            curves.append(ca.vertcat(c * down, s * down, -inward))
        # In this order their triple product is positive below the base.
        across = [ca.cross(rods[i - 1], rods[i - 2]) for i in range(3)]
        across = [normal / ca.dot(rods[0], across[0]) for normal in across]
        self.J = ca.horzcat(*(across[i] * ca.dot(rods[i], slopes[i]) for i in range(3)))
        self.elbow_jacobians = [ca.horzcat(*(slopes[i] if k == i else ca.SX(3, 1) for k in range(3))) for i in range(3)]
        self.elbow_accelerations = [slopes[i] * self.qdd[i] + curves[i] * qd[i] ** 2 for i in range(3)]
        Pd, self.Pdd = self.J @ qd, ca.SX(3, 1)
        for i in range(3):
            apart = Pd - slopes[i] * qd[i]
            self.Pdd += across[i] * (ca.dot(rods[i], self.elbow_accelerations[i]) - ca.dot(apart, apart))


def _with_shaft(tau: Any, state: State, shaft: tuple[Any, ...]) -> Any:
    if not shaft:
        return tau
    return ca.vertcat(tau, (shaft[0] + state.payload["payload_inertia"]) * state.qdd[3])


def delta_graph(
    geometry: DeltaGeometry,
    axes: Sequence[str] = ("j1", "j2", "j3"),
    *,
    rods: str = "exact",
    gravity: float = STANDARD_GRAVITY,
) -> Graph:
    """Graph of a delta with three or four axes; `rods` is "exact" or "lumped"."""
    if rods not in ("exact", "lumped"):
        raise ModelError(f"delta: rods are 'exact' or 'lumped', not {rods!r}")
    four = len(axes) == 4
    joints = ("revolute",) * (4 if four else 3)
    equation, model = (exact_rods, EXACT) if rods == "exact" else (lumped_rods, LUMPED)
    table = model + (SHAFT if four else ())
    numbers = (EXACT_NUMBERS if rods == "exact" else LUMPED_NUMBERS) + (SHAFT_NUMBER if four else ())
    return machine_graph(named(axes, joints, "delta"), table, PAYLOAD, equation(geometry, gravity), numbers)


def unseen(geometry: DeltaGeometry, gravity: float = STANDARD_GRAVITY) -> dict[str, float]:
    """The direction in (Theta_AB, gLM, M_BC, Theta_BC, M_P) along which no torque changes.

    A kilogram less of rods is the same as these increments of the others:
    col(M_BC) = l_A^2/2 col(Theta_AB) + g l_A/2 col(gLM) + 3/2 col(M_P) - l_B^2/4 col(Theta_BC).
    """
    return {
        "Theta_AB": geometry.l_A**2 / 2,
        "gLM": gravity * geometry.l_A / 2,
        "M_BC": -1.0,
        "Theta_BC": -(geometry.l_B**2) / 4,
        "M_P": 1.5,
    }
