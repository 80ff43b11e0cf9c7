"""PUMA, softMC's models 1 and 2, after Armstrong, Khatib and Burdick (ICRA 1986), in modified DH frames.

Zero pose: upper arm horizontal along x0, forearm up. Model 1 has 23 inertial constants I1..I23; the published list
lacks what a real arm needs besides, so here follow the motors' inertias Im3..Im6 (Im1 and Im2 add to I1 and I2) and
the gravity constants g1..g5, of which g2, g4, g5 follow from I5, I12, I16 and the geometry. Model 2 is gravity and
friction alone, for slow motion: P1..P4 are -g1, -g4, -g2, -g5. softMC leaves out g3, the upper arm's centre of mass
beside its line; it would be taken for P3, so it is here too, without a number.

A payload needs the geometry. In model 1 it is a rigid body on link 6 with the ten parameters of every link: mass,
first moment and inertia about the origin of frame 6, the wrist's centre. In model 2 it has a mass, and the first
moment times gravity along the tool (softMC's PayloadMassRMassG).

Only the mass matrix and gravity stand here; Coriolis and centrifugal torques follow from the mass matrix by
Lagrange's equations and are Armstrong's to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from idmkit.dynamics.chain import INERTIAL_NAMES, Chain, gravity_vector
from idmkit.dynamics.dh import Row, chain_from_dh
from idmkit.dynamics.graph import Graph
from idmkit.dynamics.machine import STANDARD_GRAVITY, State, machine_graph, named, velocity_torques
from idmkit.dynamics.rigid_body import inverse_dynamics
from idmkit.errors import ModelError

INERTIAS = tuple((f"I{k}", "kg m^2") for k in range(1, 24))
MOTORS = tuple((f"Im{k}", "kg m^2") for k in range(3, 7))
GRAVITY = tuple((f"g{k}", "Nm") for k in range(1, 6))
SEMI_STATIC = (*((f"P{k}", "Nm") for k in range(1, 5)), ("g3", "Nm"))
SEMI_STATIC_NUMBERS = (1, 2, 3, 4)
_BODY_UNITS = ("kg", *["kg m"] * 3, *["kg m^2"] * 6)
BODY = tuple((f"payload_{name}", unit) for name, unit in zip(INERTIAL_NAMES, _BODY_UNITS, strict=True))
"""Payload of model 1."""
HUNG = (("payload_m", "kg"), ("payload_mgz", "Nm"))
"""Payload of model 2."""


@dataclass(frozen=True)
class PumaGeometry:
    """Lengths of Armstrong's modified DH table, m; the defaults are the PUMA 560's."""

    a2: float = 0.4318
    a3: float = -0.0203
    d2: float = 0.2435
    d3: float = -0.0934
    d4: float = 0.4331

    def chain(self, gravity: float = STANDARD_GRAVITY, names: Sequence[str] | None = None) -> Chain:
        """The kinematic chain, upright on the floor, without masses."""
        quarter = math.pi / 2
        rows = [
            Row("revolute", a, alpha, d, 0.0)
            for a, alpha, d in (
                (0.0, 0.0, 0.0),
                (0.0, -quarter, self.d2),
                (self.a2, 0.0, self.d3),
                (self.a3, quarter, self.d4),
                (0.0, -quarter, 0.0),
                (0.0, quarter, 0.0),
            )
        ]
        return chain_from_dh("PUMA", rows, "modified", gravity_vector((0, 0, -1), gravity), names=names)


def mass_matrix(q: Any, I: Sequence[Any], Im: Sequence[Any]) -> Any:  # noqa: E741
    """A(q), SX [6, 6], for I[1..23] and Im[3..6] (index 0 unused)."""
    S2, C2, S3, C3 = ca.sin(q[1]), ca.cos(q[1]), ca.sin(q[2]), ca.cos(q[2])
    S4, C4, S5, C5 = ca.sin(q[3]), ca.cos(q[3]), ca.sin(q[4]), ca.cos(q[4])
    S23, C23 = ca.sin(q[1] + q[2]), ca.cos(q[1] + q[2])
    SS23, CC23, SC23 = S23 * S23, C23 * C23, S23 * C23
    SS4, CC4, SC4, SS5, CC5, SC5 = S4 * S4, C4 * C4, S4 * C4, S5 * S5, C5 * C5, S5 * C5
    twist = I[18] * (S23 * C4 * S5 - C23 * C5) + I[19] * S23 * SC4
    twist += I[20] * S4 * (S23 * C4 * CC5 + C23 * SC5) + I[22] * S23 * S4 * S5
    elbow = I[5] * S3 + I[12] * C3 + I[16] * (S3 * C5 + C3 * C4 * S5)
    wrist = I[20] * SS4 * SS5 + I[21] * SS4 + 2 * (I[15] * C5 + I[22] * C4 * S5)
    a11 = I[1] + I[3] * C2 * C2 + I[7] * SS23 + I[10] * SC23 + I[11] * S2 * C2
    a11 += I[20] * (SS5 * (SS23 * (1 + CC4) - 1) - 2 * SC23 * C4 * SC5) + I[21] * SS23 * CC4
    a11 += 2 * (
        I[5] * C2 * S23
        + I[12] * C2 * C23
        + I[15] * (SS23 * C5 + SC23 * C4 * S5)
        + I[16] * C2 * (S23 * C5 + C23 * C4 * S5)
        + I[18] * S4 * S5
        + I[22] * (SC23 * C5 + CC23 * C4 * S5)
    )
    a13 = I[8] * C23 + I[13] * S23 - I[15] * C23 * S4 * S5 + twist
    a12 = a13 + I[4] * S2 + I[9] * C2 + I[16] * S2 * S4 * S5
    a14 = I[14] * C23 + I[15] * S23 * C4 * S5 + I[16] * C2 * C4 * S5 + I[18] * C23 * S4 * S5
    a14 += -I[20] * (S23 * C4 * SC5 + C23 * SS5) + I[22] * C23 * C4 * S5
    a15 = I[15] * S23 * S4 * C5 + I[16] * C2 * S4 * C5 + I[17] * S23 * S4
    a15 += I[18] * (S23 * S5 - C23 * C4 * C5) + I[22] * C23 * S4 * C5
    a16 = I[23] * (C23 * C5 - S23 * C4 * S5)
    a33 = I[6] + wrist
    a23 = a33 + elbow
    a22 = I[2] + a33 + 2 * elbow
    a34 = -I[15] * S4 * S5 + I[20] * S4 * SC5
    a24 = a34 - I[16] * S3 * S4 * S5
    a35 = I[15] * C4 * C5 + I[17] * C4 + I[22] * S5
    a25 = a35 + I[16] * (C3 * S5 + S3 * C4 * C5)
    a26 = a36 = I[23] * S4 * S5
    rows = (
        (a11, a12, a13, a14, a15, a16),
        (a12, a22, a23, a24, a25, a26),
        (a13, a23, a33 + Im[3], a34, a35, a36),
        (a14, a24, a34, Im[4] + I[14] - I[20] * SS5, 0, I[23] * C5),
        (a15, a25, a35, 0, Im[5] + I[17], 0),
        (a16, a26, a36, I[23] * C5, 0, Im[6] + I[23]),
    )
    return ca.vertcat(*[ca.horzcat(*row) for row in rows])


def gravity_torques(q: Any, g1: Any, g2: Any, g3: Any, g4: Any, g5: Any) -> Any:
    """Gravity [6], Nm, for Armstrong's five constants."""
    S2, C2, S4, C4, S5, C5 = ca.sin(q[1]), ca.cos(q[1]), ca.sin(q[3]), ca.cos(q[3]), ca.sin(q[4]), ca.cos(q[4])
    S23, C23 = ca.sin(q[1] + q[2]), ca.cos(q[1] + q[2])
    third = g2 * S23 + g4 * C23 + g5 * (S23 * C5 + C23 * C4 * S5)
    return ca.vertcat(0, g1 * C2 + g3 * S2 + third, third, -g5 * S23 * S4 * S5, g5 * (C23 * S5 + S23 * C4 * C5), 0)


def puma_1(geometry: PumaGeometry, gravity: float) -> Callable[..., Any]:
    """The equation of the full model: torques [6], Nm."""
    chain = geometry.chain(gravity)

    def equation(state: State, *theta: Any) -> Any:
        count = len(INERTIAS)
        I, motors, weights = [0, *theta[:count]], theta[count : count + 4], theta[count + 4 :]  # noqa: E741
        A = mass_matrix(state.q, I, [0, 0, 0, *motors])
        body = ca.vertcat(*[0] * 50, *[state.payload[name] for name, _ in BODY])
        carried = inverse_dynamics(chain, state.q, state.qd, state.qdd, body)
        return A @ state.qdd + velocity_torques(A, state.q, state.qd) + gravity_torques(state.q, *weights) + carried

    return equation


def puma_2(geometry: PumaGeometry, gravity: float) -> Callable[..., Any]:
    """The equation of the semi-static model: gravity torques [6], Nm."""

    def equation(state: State, P1: Any, P2: Any, P3: Any, P4: Any, g3: Any) -> Any:
        weight = gravity * state.payload["payload_m"]
        return gravity_torques(
            state.q,
            -(P1 + weight * geometry.a2),
            -(P3 + weight * geometry.d4),
            g3,
            -(P2 + weight * geometry.a3),
            -(P4 + state.payload["payload_mgz"]),
        )

    return equation


def puma_graph(
    geometry: PumaGeometry,
    axes: Sequence[str] = ("j1", "j2", "j3", "j4", "j5", "j6"),
    *,
    model: int = 1,
    gravity: float = STANDARD_GRAVITY,
) -> Graph:
    """Graph of PUMA model 1 (full) or 2 (gravity and friction)."""
    joints = named(axes, ("revolute",) * 6, "PUMA")
    if model == 1:
        numbers = range(1, len(INERTIAS) + 1)
        return machine_graph(joints, INERTIAS + MOTORS + GRAVITY, BODY, puma_1(geometry, gravity), numbers)
    if model == 2:
        return machine_graph(joints, SEMI_STATIC, HUNG, puma_2(geometry, gravity), SEMI_STATIC_NUMBERS)
    raise ModelError(f"PUMA: no dynamic model {model}; there are 1 (full) and 2 (gravity and friction)")
