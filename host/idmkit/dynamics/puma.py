"""PUMA, softMC's models 1 and 2, after Armstrong, Khatib and Burdick (ICRA 1986), in modified DH frames.

Zero pose: upper arm horizontal along x0, forearm up. Model 1 has 23 inertial constants I1..I23; the published list
lacks what a real arm needs besides, so here follow the motors' inertias Im3..Im6 (Im1 and Im2 add to I1 and I2) and
the gravity constants g1..g5, of which g2, g4, g5 follow from I5, I12, I16 and the geometry. Model 2 is gravity and
friction alone, for slow motion: P1..P4 are -g1, -g4, -g2, -g5. softMC leaves out g3, the upper arm's centre of mass
beside its line; it would be taken for P3, so it is here too, without a number.

A payload needs the geometry. In model 1 it is a rigid body on link 6 with the ten parameters of every link: mass,
first moment and inertia about the origin of frame 6, the wrist's centre. In model 2 it has a mass, and the first
moment times gravity along the tool (softMC's PayloadMassRMassG).

The torques of model 1 follow from the kinetic energy (energy.py). Written over velocities in the links' frames it has
a term for each constant, and Armstrong's mass matrix and Coriolis terms to the last digit, in a third of the products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from idmkit.dynamics.chain import INERTIAL_NAMES, Chain, gravity_vector
from idmkit.dynamics.dh import Row, chain_from_dh
from idmkit.dynamics.energy import Energy, Velocity, turn
from idmkit.dynamics.graph import Graph
from idmkit.dynamics.machine import STANDARD_GRAVITY, State, machine_graph, named
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


def inertial_torques(state: State, I: Mapping[str, Any]) -> Any:  # noqa: E741
    """What the masses ask of the joints [6], Nm, for Armstrong's I1..I23, Im3..Im6 and the payload's moments.

    w, v, r, u, n, m are the joints' velocities, s that of joints 2 and 3 together. Seen in link 2, w is (C, S); in
    link 3 it is (Y, X), and v is (D, A). The wrist turns with (P, s) to (P, Q) in link 4; with R along the forearm
    and V about joint 5 that makes (W, U) in link 5. (Tx, Tz, L) is how the tool's direction moves, seen in link 3.
    """
    q = state.q
    e = Energy()
    w, v, r, u, n, m = joints = [Velocity(state.qd[k], state.qdd[k]) for k in range(6)]
    s = e.sum(v, r)
    shoulder, upper, elbow = turn(q[1], v), turn(q[1] + q[2], s), turn(q[2], r)
    forearm, wrist, flange = turn(q[3], u), turn(q[4], n), turn(q[5], m)
    C, S = e.turn(shoulder, w)
    Y, X = e.turn(upper, w)
    D, A = e.turn(elbow, v)
    F, _ = e.turn(forearm, X)
    _, G = e.turn(forearm, s)
    P, Q = e.turn(forearm, X, s)
    R, V = e.sum(Y, u), e.sum(Q, n)
    W, U = e.turn(wrist, R, P)
    K, L = e.turn(wrist, V)
    Tz, Tx = e.turn(forearm, K, U)
    terms = (
        (I["I1"], w, w), (I["I2"], v, v), (I["I3"], C, C), (I["I11"] / 2, C, S), (I["I4"], S, v), (I["I9"], C, v),
        (I["I6"], s, s), (I["I7"], X, X), (I["I10"] / 2, X, Y), (I["I8"], Y, s), (I["I13"], X, s),
        (I["I5"], C, X), (I["I5"], A, s), (I["I12"], C, Y), (I["I12"], D, s), (I["Im3"], r, r),
        (I["Im4"] + I["I14"], u, u), (I["I14"], Y, u), (I["Im5"] + I["I17"], n, n), (I["I17"], Q, n),
        (I["I20"] + I["I21"], P, P), (I["I19"] + I["I20"] + I["I21"], F, G), (-I["I20"], U, U),
        (I["Im6"] + I["I23"], m, m), (I["I23"], W, m),
        (I["I15"], X, Tx), (I["I15"], s, Tz), (I["I16"], C, Tx), (I["I16"], A, Tz), (I["I16"], D, L),
        (I["I22"], Y, Tx), (I["I22"], s, L), (I["I18"], X, L), (-I["I18"], Y, Tz),
    )  # fmt: skip
    for term in terms:
        e.add(*term)
    # How link 6 turns about its own axes, against x, with y and z.
    x, y = e.turn(flange, U, V)
    z = e.sum(W, m)
    load = state.payload
    for term in (
        (load["payload_Iyy"] - load["payload_Ixx"], y, y),
        (-load["payload_Ixy"], x, y), (-load["payload_Ixz"], x, z), (load["payload_Iyz"], y, z),
    ):  # fmt: skip
        e.add(*term)
    return ca.vertcat(*e.forces(joints))


def with_payload(I: dict[str, Any], load: Mapping[str, Any], lengths: PumaGeometry, gravity: float) -> dict[str, Any]:  # noqa: E741
    """The constants with what of a payload is like link 6: mass, first moment along the tool, Ixx about both, Izz."""
    a2, a3, d4, D = lengths.a2, lengths.a3, lengths.d4, lengths.d2 + lengths.d3
    mass, mz, xx, zz = (load[f"payload_{name}"] for name in ("m", "mz", "Ixx", "Izz"))
    more = {
        "I1": (a3**2 + D**2) * mass + zz,
        "I2": a2**2 * mass,
        "I3": a2**2 * mass,
        "I4": a2 * D * mass,
        "I5": a2 * d4 * mass,
        "I6": (a3**2 + d4**2) * mass + xx,
        "I7": (d4**2 - a3**2) * mass + xx - zz,
        "I8": -D * d4 * mass,
        "I10": 2 * a3 * d4 * mass,
        "I12": a2 * a3 * mass,
        "I13": a3 * D * mass,
        "I14": zz,
        "I15": d4 * mz,
        "I16": a2 * mz,
        "I17": xx,
        "I18": D * mz,
        "I19": xx - zz,
        "I20": zz - xx,
        "I22": a3 * mz,
        "I23": zz,
        "g1": -gravity * a2 * mass,
        "g2": -gravity * d4 * mass,
        "g4": -gravity * a3 * mass,
        "g5": -gravity * mz,
    }
    return {name: value + more.get(name, 0) for name, value in I.items()}


def gravity_torques(q: Any, g1: Any, g2: Any, g3: Any, g4: Any, g5: Any) -> Any:
    """Gravity [6], Nm, for Armstrong's five constants."""
    S2, C2, S4, C4, S5, C5 = ca.sin(q[1]), ca.cos(q[1]), ca.sin(q[3]), ca.cos(q[3]), ca.sin(q[4]), ca.cos(q[4])
    S23, C23 = ca.sin(q[1] + q[2]), ca.cos(q[1] + q[2])
    third = g2 * S23 + g4 * C23 + g5 * (S23 * C5 + C23 * C4 * S5)
    return ca.vertcat(0, g1 * C2 + g3 * S2 + third, third, -g5 * S23 * S4 * S5, g5 * (C23 * S5 + S23 * C4 * C5), 0)


def puma_1(geometry: PumaGeometry, gravity: float) -> Callable[..., Any]:
    """The equation of the full model: torques [6], Nm."""
    chain = geometry.chain(gravity)
    names = [name for name, _ in INERTIAS + MOTORS + GRAVITY]

    def equation(state: State, *theta: Any) -> Any:
        load = state.payload
        I = with_payload(dict(zip(names, theta, strict=True)), load, geometry, gravity)  # noqa: E741
        across = ca.vertcat(*[0] * 51, load["payload_mx"], load["payload_my"], *[0] * 7)
        lopsided = inverse_dynamics(chain, state.q, state.qd, state.qdd, across)
        weights = [I[name] for name, _ in GRAVITY]
        return inertial_torques(state, I) + gravity_torques(state.q, *weights) + lopsided

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
