"""SCARA, softMC's model 1: eight parameters for three or four axes.

L1, L2 are the links' lengths; M2, A2, I2 mass, distance to the centre of mass and inertia of link 2; I1 the inertia
of link 1 about joint 1; J2, J4 reflected rotor inertias; M3 the mass that moves up and down; I4 its inertia about
its axis. Positive q3 is up and q4 turns like q1 and q2.

    P1 = L1^2 M2 + I1   P2 = A2^2 M2 + I2   P3 = J2   P4 = L1 A2 M2   P5 = M3   P6 = g M3   P7 = I4   P8 = J4

The rotor of axis 3, J3 seen from q3, needs no parameter of its own: P5 = M3 + J3 with P1, P2, P4 less by L1^2 J3,
L2^2 J3, L1 L2 J3 gives the same torques, since M3 shows in the first two axes as a mixture of these three.

A ball screw with a spline couples axes 3 and 4, as its nut turns with both; softMC leaves that out. With `spline` one
more parameter holds it: J34, the nut's and its rotor's inertia times the nut's angle per metre of q3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from idmkit.dynamics.graph import Graph
from idmkit.dynamics.machine import STANDARD_GRAVITY, State, machine_graph, named

INERTIA = "kg m^2"
PARAMETERS = (
    ("P1", INERTIA),
    ("P2", INERTIA),
    ("P3", INERTIA),
    ("P4", INERTIA),
    ("P5", "kg"),
    ("P6", "N"),
    ("P7", INERTIA),
    ("P8", INERTIA),
)
SPLINE = (("J34", "kg m"),)
PAYLOAD = (("payload_mass", "kg"), ("payload_inertia", INERTIA))
JOINTS = ("revolute", "revolute", "prismatic", "revolute")
THREE_AXES = 6
"""Parameters that a SCARA without axis 4 has: P7 and P8 turn with it."""


def scara(L1: float, L2: float, gravity: float) -> Callable[..., Any]:
    """The equation for links of length L1, L2 (m) under `gravity` (m/s^2)."""

    def equation(state: State, P1: Any, P2: Any, P3: Any, P4: Any, P5: Any, P6: Any, *rest: Any) -> Any:
        P7, P8, J34 = [*rest, 0, 0, 0][:3]
        qd, qdd, load = state.qd, state.qdd, state.payload
        four = qdd.numel() == len(JOINTS)
        c, s = ca.cos(state.q[1]), ca.sin(state.q[1])
        h = 2 * qd[0] * qd[1] + qd[1] ** 2
        m = P5 + load["payload_mass"]
        X = L1**2 + L2**2 + 2 * L1 * L2 * c
        Y = L2**2 + L1 * L2 * c
        w = (P7 + load["payload_inertia"]) * (qdd[0] + qdd[1] + (qdd[3] if four else 0))
        tau = [
            (P1 + P2 + 2 * P4 * c) * qdd[0] + (P2 + P4 * c) * qdd[1] - P4 * s * h
            + m * (X * qdd[0] + Y * qdd[1] - L1 * L2 * s * h) + w,
            (P2 + P4 * c) * qdd[0] + (P2 + P3) * qdd[1] + P4 * s * qd[0] ** 2
            + m * (Y * qdd[0] + L2**2 * qdd[1] + L1 * L2 * s * qd[0] ** 2) + w,
            m * qdd[2] + P6 + gravity * load["payload_mass"],
        ]  # fmt: skip
        if four:
            tau[2] += J34 * qdd[3]
            tau.append(w + P8 * qdd[3] + J34 * qdd[2])
        return ca.vertcat(*tau)

    return equation


def scara_graph(
    L1: float,
    L2: float,
    axes: Sequence[str] = ("j1", "j2", "j3", "j4"),
    *,
    gravity: float = STANDARD_GRAVITY,
    spline: bool = False,
) -> Graph:
    """Graph of a SCARA with three or four axes; `spline` adds the coupling of a ball screw (four axes)."""
    joints = JOINTS[: len(axes)] if len(axes) == len(JOINTS) - 1 else JOINTS
    three = len(joints) < len(JOINTS)
    model = PARAMETERS[:THREE_AXES] if three else PARAMETERS + (SPLINE if spline else ())
    numbers = range(1, len(PARAMETERS) + 1)
    return machine_graph(named(axes, joints, "SCARA"), model, PAYLOAD, scara(L1, L2, gravity), numbers)
