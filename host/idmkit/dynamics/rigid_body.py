"""Inverse dynamics of a serial chain: one Newton-Euler recursion over CasADi symbols.

Outwards, each link's angular velocity w, angular acceleration dw and the acceleration a of its frame's origin
(with gravity as an acceleration of the base, Luh, Walker and Paul 1980), all in the link's frame. Then the force
and moment that a link needs, in a form that is linear in its parameters about that origin (Atkeson, An and
Hollerbach 1986):

    f = m a + B mc                      B = [dw]x + [w]x[w]x
    n = mc x a + I dw + w x (I w)

and inwards their sums; a joint's motor carries the component along its axis. Differentiating the result in
reverse, as `Graph.regressor` does, carries each joint's axis outwards through the links and dots it with the 6 x 10
matrix of a link; so the regressor needs no second formulation.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from idmkit.dynamics.chain import Chain, Joint
from idmkit.dynamics.rotations import Array, skew


def inverse_dynamics(chain: Chain, q: Any, qd: Any, qdd: Any, theta: Any) -> Any:
    """Torque or force [n] at the joints for SX positions, velocities, accelerations [n] and theta [10 n].

    `theta` holds the ten parameters of each link, base first, in the order of INERTIAL_NAMES.
    """
    n = len(chain.joints)
    placements = [_placement(joint, q[i]) for i, joint in enumerate(chain.joints)]
    wrenches = []
    w, dw, a, B = ca.SX(3, 1), ca.SX(3, 1), _sparse(-chain.gravity), ca.SX(3, 3)
    for i, (joint, (R, p)) in enumerate(zip(chain.joints, placements, strict=True)):
        motion = R.T @ ca.horzcat(w, dw, a + B @ p)
        w, dw, a = _add_joint_motion(joint, motion, qd[i], qdd[i])
        B, C = _link_matrices(w, dw)
        m, mc, inertia = theta[10 * i], theta[10 * i + 1 : 10 * i + 4], theta[10 * i + 4 : 10 * i + 10]
        wrenches.append(ca.horzcat(m * a + B @ mc, ca.cross(mc, a) + C @ inertia))
    tau = [ca.SX(0)] * n
    total = ca.SX(3, 2)
    for i in reversed(range(n)):
        joint, (R, p) = chain.joints[i], placements[i]
        total = total + wrenches[i]
        tau[i] = ca.dot(_sparse(joint.axis), total[:, 1 if joint.kind == "revolute" else 0])
        total = R @ total
        total = ca.horzcat(total[:, 0], total[:, 1] + ca.cross(p, total[:, 0]))
    return ca.vertcat(*tau)


def _sparse(values: Array) -> Any:
    """Constants whose zeros are structural, so that no operation is spent on them."""
    return ca.sparsify(ca.SX(values))


def _placement(joint: Joint, q: Any) -> tuple[Any, Any]:
    """(rotation [3, 3], translation [3]) of the link's frame in the frame before the joint."""
    fixed = joint.rotation
    if joint.kind == "prismatic":
        return _sparse(fixed), _sparse(joint.translation) + _sparse(fixed @ joint.axis) * q
    along = np.outer(joint.axis, joint.axis)
    # Rodrigues' formula, its constant factors multiplied out.
    parts = [fixed @ part for part in (along, np.eye(3) - along, skew(joint.axis))]
    return _sparse(parts[0]) + _sparse(parts[1]) * ca.cos(q) + _sparse(parts[2]) * ca.sin(q), _sparse(joint.translation)


def _add_joint_motion(joint: Joint, motion: Any, qd: Any, qdd: Any) -> tuple[Any, Any, Any]:
    """(w, dw, a) of the link from the columns of `motion`: those of a body in its place that does not move in it."""
    w, dw, a = ca.horzsplit(motion)
    axis = _sparse(joint.axis)
    sideways = ca.cross(w, axis) * qd
    if joint.kind == "revolute":
        return w + axis * qd, dw + sideways + axis * qdd, a
    return w, dw, a + 2 * sideways + axis * qdd


def _link_matrices(w: Any, dw: Any) -> tuple[Any, Any]:
    """(B [3, 3], C [3, 6]) of a link that turns with w and dw.

    B takes a body's point to its acceleration relative to the origin; C the elements Ixx, Ixy, Iyy, Ixz, Iyz, Izz
    to I dw + w x (I w). Both are made of the same products.
    """
    x, y, z = ca.vertsplit(w)
    dx, dy, dz = ca.vertsplit(dw)
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    xy_m, xy_p, xz_m, xz_p, yz_m, yz_p = xy - dz, xy + dz, xz - dy, xz + dy, yz - dx, yz + dx
    B = ca.vertcat(
        ca.horzcat(-(yy + zz), xy_m, xz_p), ca.horzcat(xy_p, -(xx + zz), yz_m), ca.horzcat(xz_m, yz_p, -(xx + yy))
    )
    C = ca.vertcat(
        ca.horzcat(dx, -xz_m, -yz, xy_p, yy - zz, yz),
        ca.horzcat(xz, yz_p, dy, zz - xx, -xy_m, -xz),
        ca.horzcat(-xy, xx - yy, xy, -yz_m, xz_p, dz),
    )
    return ca.sparsify(B), ca.sparsify(C)
