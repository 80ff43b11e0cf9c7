"""The two-link arm in a horizontal plane: M1, M2, R, and friction on each axis.

    M1 = I1 + I2 + m1 r1^2 + m2 (l1^2 + r2^2)       M2 = I2 + m2 r2^2       R = m2 r2 l1
    tau1 = (M1 + 2 R c2) qdd1 + (M2 + R c2) qdd2 - R s2 (2 qd1 qd2 + qd2^2)
    tau2 = (M2 + R c2) qdd1 + M2 qdd2 + R s2 qd1^2

with the centres of mass on the links' lines. Axis 2 alone shows M2; axis 1 alone shows M1 + 2 R c2, so R is
the difference between two postures of axis 2.

A payload at the end of link 2, payload_mass with inertia payload_inertia about its own centre, needs the links'
lengths: M1 += m (l1^2 + l2^2) + I, M2 += m l2^2 + I, R += m l1 l2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from idmkit.dynamics.graph import Graph
from idmkit.dynamics.machine import State, machine_graph, named

PARAMETERS = (("M1", "kg m^2"), ("M2", "kg m^2"), ("R", "kg m^2"))
PAYLOAD = (("payload_mass", "kg"), ("payload_inertia", "kg m^2"))


def two_link(l1: float, l2: float) -> Callable[..., Any]:
    """The equation for links of length l1, l2 (m): torques [2] without friction, Nm."""

    def equation(state: State, M1: Any, M2: Any, R: Any) -> Any:
        mass, inertia = state.payload["payload_mass"], state.payload["payload_inertia"]
        M1 = M1 + mass * (l1**2 + l2**2) + inertia
        M2 = M2 + mass * l2**2 + inertia
        R = R + mass * l1 * l2
        (qd1, qd2), (qdd1, qdd2) = ca.vertsplit(state.qd), ca.vertsplit(state.qdd)
        c2, s2 = ca.cos(state.q[1]), ca.sin(state.q[1])
        return ca.vertcat(
            (M1 + 2 * R * c2) * qdd1 + (M2 + R * c2) * qdd2 - R * s2 * (2 * qd1 * qd2 + qd2**2),
            (M2 + R * c2) * qdd1 + M2 * qdd2 + R * s2 * qd1**2,
        )

    return equation


def two_link_graph(l1: float, l2: float, axes: Sequence[str] = ("j1", "j2")) -> Graph:
    """Graph of the two-link arm, both joints revolute; softMC has no such model, so no numbers."""
    joints = named(axes, ("revolute",) * 2, "two-link")
    return machine_graph(joints, PARAMETERS, PAYLOAD, two_link(l1, l2), ())
