"""The two-link arm in a horizontal plane: M1, M2, R, and friction on each axis.

    M1 = I1 + I2 + m1 r1^2 + m2 (l1^2 + r2^2)       M2 = I2 + m2 r2^2       R = m2 r2 l1
    tau1 = (M1 + 2 R c2) qdd1 + (M2 + R c2) qdd2 - R s2 (2 qd1 qd2 + qd2^2)
    tau2 = (M2 + R c2) qdd1 + M2 qdd2 + R s2 qd1^2

with the centres of mass on the links' lines. Axis 2 alone shows M2; axis 1 alone shows M1 + 2 R c2, so R is
the difference between two postures of axis 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from idmkit.dynamics.graph import Graph
from idmkit.dynamics.machine import State, machine_graph, named

PARAMETERS = (("M1", "kg m^2"), ("M2", "kg m^2"), ("R", "kg m^2"))


def two_link(state: State, M1: Any, M2: Any, R: Any) -> Any:
    """Torques [2] of the arm without friction, Nm."""
    (qd1, qd2), (qdd1, qdd2) = ca.vertsplit(state.qd), ca.vertsplit(state.qdd)
    c2, s2 = ca.cos(state.q[1]), ca.sin(state.q[1])
    return ca.vertcat(
        (M1 + 2 * R * c2) * qdd1 + (M2 + R * c2) * qdd2 - R * s2 * (2 * qd1 * qd2 + qd2**2),
        (M2 + R * c2) * qdd1 + M2 * qdd2 + R * s2 * qd1**2,
    )


def two_link_graph(axes: Sequence[str] = ("j1", "j2")) -> Graph:
    """Graph of the two-link arm, both joints revolute."""
    return machine_graph(named(axes, ("revolute",) * 2, "two-link"), PARAMETERS, (), two_link)
