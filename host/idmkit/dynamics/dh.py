"""Serial chains from Denavit-Hartenberg tables, in the standard or in the modified convention, by name.

The same table means two different arms in the two conventions, so a table without one is refused.

standard (Denavit and Hartenberg 1955; Paul, Spong): row i leads from frame i - 1 to frame i,
    Rot_z(theta) Trans_z(d) Trans_x(a) Rot_x(alpha). Joint i moves along z of frame i - 1.
modified (Craig; Khalil and Kleinfinger with gamma = b = 0): row i leads from frame i - 1 to frame i,
    Rot_x(alpha) Trans_x(a) Rot_z(theta) Trans_z(d), with alpha and a of link i - 1. Joint i moves along z of frame i.

The chain's frames have their origin on the joint's own axis, z along it. In the modified convention they are the
table's frames. In the standard convention the frame of link i is the table's frame i - 1 turned by theta and moved
by d along z, since the table's frame i sits at the far end of the link; `in_joint_frame` converts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from idmkit.dynamics.chain import Chain, Inertial, Joint, JointKind
from idmkit.dynamics.rotations import Array, distance_to_right_angle, turn_by
from idmkit.errors import ModelError

CONVENTIONS = ("standard", "modified")

_X = (1.0, 0.0, 0.0)
_Z = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Row:
    """One row: kind of the joint, a and d in m, alpha and theta in rad.

    The joint's position adds to theta (revolute) or to d (prismatic), so theta or d of the row is its offset.
    """

    joint: JointKind
    a: float
    alpha: float
    d: float
    theta: float


def chain_from_dh(
    name: str,
    rows: Sequence[Row],
    convention: str | None,
    gravity: Array,
    *,
    names: Sequence[str] | None = None,
    inertials: Sequence[Inertial | None] | None = None,
) -> Chain:
    """The chain of a table. `gravity` [3] in the base frame, m/s^2; `inertials` are in the chain's frames.

    Joints are called "1".."n" unless `names` are given. Raises ModelError without a convention.
    """
    _check_convention(name, convention)
    joints = []
    R, p = np.eye(3), np.zeros(3)
    notes = []
    for index, row in enumerate(rows, start=1):
        before_R, before_p = _along_x(row) if convention == "modified" else (np.eye(3), np.zeros(3))
        R, p = R @ before_R, p + R @ before_p
        joint_R = R @ turn_by(_Z, row.theta)
        joint_p = p + R @ np.array([0.0, 0.0, row.d])
        joints.append(Joint(names[index - 1] if names else str(index), row.joint, joint_R, joint_p, np.array(_Z)))
        R, p = _along_x(row) if convention == "standard" else (np.eye(3), np.zeros(3))
        notes += [
            f"row {index}: {what} = {angle:.9g} rad is taken as a right angle, {distance_to_right_angle(angle):.1e} off"
            for what, angle in (("alpha", row.alpha), ("theta", row.theta))
            if distance_to_right_angle(angle) > 1e-9
        ]
    bodies = tuple(inertials) if inertials is not None else (None,) * len(joints)
    return Chain(name, tuple(joints), gravity, bodies, tuple(notes))


def in_joint_frame(row: Row, inertial: Inertial, convention: str | None) -> Inertial:
    """Inertial given in the table's own frame i, expressed in the chain's frame of link i."""
    _check_convention("inertial", convention)
    if convention == "modified":
        return inertial
    return inertial.seen_from(*_along_x(row))


def _check_convention(name: str, convention: str | None) -> None:
    if convention not in CONVENTIONS:
        said = "names no convention" if convention is None else f"names the convention {convention!r}"
        raise ModelError(
            f"{name}: the DH table {said}; the same numbers are two different arms. Say 'standard' "
            "(Rz(theta) Tz(d) Tx(a) Rx(alpha), joint i moves along z of frame i-1) or 'modified' "
            "(Rx(alpha) Tx(a) Rz(theta) Tz(d), joint i moves along z of frame i)"
        )


def _along_x(row: Row) -> tuple[Array, Array]:
    """Rotation and translation of Rot_x(alpha) and Trans_x(a), which commute."""
    return turn_by(_X, row.alpha), np.array([row.a, 0.0, 0.0])
