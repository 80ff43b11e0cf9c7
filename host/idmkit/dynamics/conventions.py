"""The conventions of an arm's model in words and numbers: what `idm model ROBOT` shows.

Three packages give three answers for one arm when they mean different frames, reference points and signs; so all of
them are printed.
"""

from __future__ import annotations

import numpy as np

from idmkit.dynamics.base_parameters import BaseParameters
from idmkit.dynamics.chain import INERTIAL_NAMES, Chain
from idmkit.dynamics.graph import Graph
from idmkit.dynamics.load import SerialModel
from idmkit.dynamics.rotations import Array

_LINK = """\
Link i carries a frame with its origin on the axis of joint i. At position 0 it stands in the frame of link i - 1
(link 0: the base) as follows; then joint i turns it about (revolute) or slides it along (prismatic) the axis."""

_PARAMETERS = f"""\
Ten parameters a link, in its frame and about the origin of its frame (not about the centre of mass), in this order:
  {" ".join(INERTIAL_NAMES)}
m: mass, kg. mx my mz: first moment, mass times centre of mass, kg m. Ixx .. Izz: elements of the inertia matrix,
kg m^2; Ixy Ixz Iyz are the matrix' own elements, that is minus the integrals of xy, xz, yz."""

_TORQUE = """\
tau is what the motors must supply, on the joint's side of the gears: Nm, or N on a prismatic joint.
Positions in rad or m. Friction is positive where it dissipates."""

_TERMS = {
    "Ia": "rotor inertia behind the gear, Ia qdd",
    "Fv": "viscous friction, Fv qd",
    "Fc": "Coulomb friction, Fc sign(qd)",
    "offset": "constant torque",
    "k": "spring, k q; its preload is in the offset",
    "Iam": "rotor of a motor that moves several joints: what the other joints' accelerations cause",
    "Fvm": "its viscous friction: what the other joints' speeds cause",
    "Fcm": "its Coulomb friction, by the sign of the motor's speed",
}


def conventions(model: SerialModel) -> str:
    """Frames, parameter order, units and base grouping of an arm, as text of several paragraphs."""
    graph = model.graph()
    base = model.base(graph)
    parts = [
        _heading(model.chain),
        _LINK,
        _frames(model.chain),
        _PARAMETERS,
        _TORQUE,
        _terms(graph),
        _coupling(model),
        _base(graph, base),
        _notes(model.chain, base),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _heading(chain: Chain) -> str:
    kinds = "".join("R" if joint.kind == "revolute" else "P" for joint in chain.joints)
    return (
        f"{chain.name}: serial arm, {len(chain.joints)} joints ({kinds}). "
        f"Things fall along {_vector(chain.gravity)} m/s^2 in the base frame."
    )


def _frames(chain: Chain) -> str:
    width = max(len(name) for name in chain.names)
    lines = []
    for joint in chain.joints:
        rows = "  ".join(_vector(row) for row in joint.rotation)
        lines.append(
            f"  {joint.name:{width}s}  {joint.kind:9s}  axis {_vector(joint.axis)}  "
            f"origin {_vector(joint.translation)} m  rotation by rows {rows}"
        )
    return "\n".join(lines)


def _terms(graph: Graph) -> str:
    found = {parameter.name: parameter.unit for parameter in graph.parameters if parameter.name in _TERMS}
    if not found:
        return ""
    lines = [f"  {name:7s} {_TERMS[name]} ({unit})" for name, unit in found.items()]
    return "\n".join(["Beside the links, an axis has:", *lines])


def _coupling(model: SerialModel) -> str:
    if model.motors is None:
        return ""
    rows = "\n".join(f"  {_vector(row)}" for row in model.motors.matrix)
    return f"Motor positions = J @ joint positions, joint torques = J' @ motor torques, with J =\n{rows}"


def _base(graph: Graph, base: BaseParameters) -> str:
    units = {parameter.key: parameter.unit for parameter in graph.parameters}
    lines = [f"  {base.expression(name)}  [{units[name]}]" for name in base.names]
    silent = [key for key in graph.keys if key not in base.all_names or not np.any(base.grouping[:, base.index(key)])]
    text = (
        f"{len(base.names)} base parameters of {len(graph.keys)}: {len(silent)} have no influence, "
        f"{len(graph.keys) - len(silent) - len(base.names)} act only together with others.\n" + "\n".join(lines)
    )
    return text + (f"\nWithout influence: {', '.join(silent)}" if silent else "")


def _notes(chain: Chain, base: BaseParameters) -> str:
    lines = list(chain.notes)
    lines += [
        f"{name} is almost a combination of others (a share of {base.shares[name]:.1e} is its own): "
        "expect no useful value, and look for axes that are almost parallel"
        for name in base.weak
    ]
    return "\n".join(f"Note: {line}" for line in lines)


def _vector(values: Array) -> str:
    return "(" + " ".join(f"{value:.6g}" for value in np.asarray(values) + 0.0) + ")"
