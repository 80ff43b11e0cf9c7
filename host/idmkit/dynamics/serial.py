"""The graph of a serial arm: its links, and what its joints and motors add.

Per joint j, in this order and as far as asked for:
    Ia       rotor inertia behind the gear, Ia qdd
    Fv, Fc   viscous and Coulomb friction, Fv qd + Fc direction
    offset   a constant torque (asymmetric friction, a current sensor's zero, a spring's preload)
    k        a spring between the links of the joint, k q
Per motor k that moves several joints, u = its speed behind its own gear, c_j = its speed for a speed 1 of joint j:
    Iam, Fvm  inertia and viscous friction: on joint j the part that the other joints cause, c_j (u - c_j qd_j);
              what joint j itself causes is in its own Ia and Fv (Gautier and Janot's form for the TX40's wrist)
    Fcm       Coulomb friction of the motor, c_j sign(u)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from idmkit.dynamics.chain import INERTIAL_NAMES, Chain
from idmkit.dynamics.coupling import JointMotor
from idmkit.dynamics.friction import friction_torque
from idmkit.dynamics.graph import Graph, Parameter
from idmkit.dynamics.rigid_body import inverse_dynamics
from idmkit.errors import ModelError

TERMS = ("Ia", "Fv", "Fc", "offset")

_UNITS = {
    "revolute": {"Ia": "kg m^2", "Fv": "Nm s/rad", "Fc": "Nm", "offset": "Nm", "k": "Nm/rad"},
    "prismatic": {"Ia": "kg", "Fv": "N s/m", "Fc": "N", "offset": "N", "k": "N/m"},
}
_MOTOR_TERMS = {"Ia": "Iam", "Fv": "Fvm", "Fc": "Fcm"}
_INERTIAL_UNITS = ("kg", *["kg m"] * 3, *["kg m^2"] * 6)


def serial_graph(
    chain: Chain,
    *,
    terms: Sequence[str] = TERMS,
    springs: Sequence[str] = (),
    motors: JointMotor | None = None,
) -> Graph:
    """Graph of a serial arm with the given joint `terms` (of TERMS), `springs` (names of joints) and couplings.

    theta: ten parameters a link, base first (INERTIAL_NAMES); then the terms joint by joint; then the coupled
    motors' terms. Raises ModelError for unknown terms or joints and for a matrix of another size.
    """
    _check(chain, terms, springs, motors)
    n = len(chain.joints)
    builder = _Builder(chain, n)
    links = [
        builder.add(name, unit, "model", joint.name)
        for joint in chain.joints
        for name, unit in zip(INERTIAL_NAMES, _INERTIAL_UNITS, strict=True)
    ]
    tau = inverse_dynamics(chain, builder.q, builder.qd, builder.qdd, ca.vertcat(*links))
    tau += builder.joint_terms(terms, springs)
    if motors is not None:
        tau += builder.motor_terms(terms, motors)
    return builder.graph(tau)


class _Builder:
    """Symbols and the parameter table, filled together."""

    def __init__(self, chain: Chain, n: int) -> None:
        self.chain = chain
        self.q, self.qd, self.qdd, self.direction = (ca.SX.sym(name, n) for name in ("q", "qd", "qdd", "direction"))
        self.parameters: list[Parameter] = []
        self.symbols: list[Any] = []

    def add(self, name: str, unit: str, kind: Any, axis: str) -> Any:
        parameter = Parameter(name, unit, kind, axis)
        self.parameters.append(parameter)
        self.symbols.append(ca.SX.sym(parameter.key))
        return self.symbols[-1]

    def joint_terms(self, terms: Sequence[str], springs: Sequence[str]) -> Any:
        tau = []
        for j, joint in enumerate(self.chain.joints):
            units = _UNITS[joint.kind]
            wanted = [name for name in TERMS if name in terms] + ["k"] * (joint.name in springs)
            values = {
                name: self.add(name, units[name], "friction" if name in ("Fv", "Fc", "offset") else "model", joint.name)
                for name in wanted
            }
            torque = friction_torque(values.get("Fv", 0), values.get("Fc", 0), self.qd[j], self.direction[j])
            torque += values.get("Ia", 0) * self.qdd[j] + values.get("offset", 0) + values.get("k", 0) * self.q[j]
            tau.append(torque)
        return ca.vertcat(*tau)

    def motor_terms(self, terms: Sequence[str], motors: JointMotor) -> Any:
        n = len(self.chain.joints)
        tau = ca.SX(n, 1)
        for k in motors.coupled:
            joint = self.chain.joints[k]
            c = ca.sparsify(ca.SX(motors.speeds[k]))
            columns = {
                "Ia": c * (ca.dot(c, self.qdd) - c * self.qdd),
                "Fv": c * (ca.dot(c, self.qd) - c * self.qd),
                "Fc": c * ca.sign(ca.dot(c, self.qd)),
            }
            for term, column in columns.items():
                if term in terms:
                    kind = "model" if term == "Ia" else "friction"
                    value = self.add(_MOTOR_TERMS[term], _UNITS[joint.kind][term], kind, joint.name)
                    tau += value * column
        return tau

    def graph(self, tau: Any) -> Graph:
        return Graph(
            axes=self.chain.names,
            revolute=tuple(joint.kind == "revolute" for joint in self.chain.joints),
            parameters=tuple(self.parameters),
            q=self.q,
            qd=self.qd,
            qdd=self.qdd,
            direction=self.direction,
            theta=ca.vertcat(*self.symbols),
            tau=tau,
        )


def _check(chain: Chain, terms: Sequence[str], springs: Sequence[str], motors: JointMotor | None) -> None:
    unknown = [name for name in terms if name not in TERMS]
    if unknown:
        raise ModelError(f"{chain.name}: no joint term {', '.join(unknown)}; there are {', '.join(TERMS)}")
    strangers = [name for name in springs if name not in chain.names]
    if strangers:
        raise ModelError(
            f"{chain.name}: springs on {', '.join(strangers)}, which it lacks; joints are {', '.join(chain.names)}"
        )
    if springs and "offset" not in terms:
        raise ModelError(f"{chain.name}: a spring's preload is part of the offset; ask for the term 'offset' too")
    if motors is not None and len(motors.matrix) != len(chain.joints):
        raise ModelError(
            f"{chain.name}: the joint-motor matrix has {len(motors.matrix)} rows for {len(chain.joints)} joints"
        )


def preferred_order(chain: Chain, graph: Graph) -> tuple[str, ...]:
    """The parameters of an arm in the order in which they make readable base parameters.

    Friction and the motors' terms, then what the literature keeps of a link whose axis is z (Gautier and Khalil:
    Ixx Ixy Ixz Iyz Izz mx my), then rotor inertia; and last Iyy, mz and m, which add to the links before. On an
    axis along x or y the letters turn with it.
    """
    first: list[str] = []
    last: dict[str, list[str]] = {"across": [], "along": [], "m": []}
    for joint in chain.joints:
        axis = "xyz"[int(abs(joint.axis).argmax())]
        # Of the two moments of inertia across the axis one is kept: Ixx where the axis is z.
        across = {"z": "Iyy", "x": "Izz", "y": "Ixx"}[axis]
        for name in INERTIAL_NAMES:
            key = f"{joint.name}.{name}"
            group = {across: "across", f"m{axis}": "along", "m": "m"}.get(name)
            (first if group is None else last[group]).append(key)
    inertial = {*first, *last["across"], *last["along"], *last["m"]}
    rotors = [parameter.key for parameter in graph.parameters if parameter.name == "Ia"]
    free = [key for key in graph.keys if key not in inertial and key not in rotors]
    return (*free, *first, *rotors, *last["across"], *last["along"], *last["m"])
