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
    forces, moments = [], []
    w, dw = ca.SX(3, 1), ca.SX(3, 1)
    a = ca.sparsify(ca.SX(-chain.gravity))
    B = ca.SX(3, 3)
    for i, joint in enumerate(chain.joints):
        a = a + B @ _sparse(joint.translation)
        w, dw, a = (_into_link(joint, q[i], vector) for vector in (w, dw, a))
        w, dw, a = _add_joint_motion(joint, (w, dw, a), q[i], qd[i], qdd[i])
        B = _rigid_acceleration(w, dw)
        own = theta[10 * i : 10 * i + 10]
        forces.append(own[0] * a + B @ own[1:4])
        moments.append(ca.cross(own[1:4], a) + _moment_matrix(w, dw) @ own[4:10])
    tau = ca.SX(len(chain.joints), 1)
    f, n = ca.SX(3, 1), ca.SX(3, 1)
    for i in reversed(range(len(chain.joints))):
        joint = chain.joints[i]
        f, n = f + forces[i], n + moments[i]
        tau[i] = ca.dot(_sparse(joint.axis), n if joint.kind == "revolute" else f)
        if joint.kind == "prismatic":
            n = n + ca.cross(_sparse(joint.axis) * q[i], f)
        f, n = _out_of_link(joint, q[i], f), _out_of_link(joint, q[i], n)
        n = n + ca.cross(_sparse(joint.translation), f)
    return tau


def _sparse(values: Array) -> Any:
    """Constants whose zeros are structural, so that no operation is spent on them."""
    return ca.sparsify(ca.SX(values))


def _into_link(joint: Joint, q: Any, vector: Any) -> Any:
    """Components in the link's frame of a vector given in the frame before the joint."""
    vector = _sparse(joint.rotation.T) @ vector
    return _turned(joint.axis, ca.cos(q), -ca.sin(q), vector) if joint.kind == "revolute" else vector


def _out_of_link(joint: Joint, q: Any, vector: Any) -> Any:
    """Components in the frame before the joint of a vector given in the link's frame."""
    if joint.kind == "revolute":
        vector = _turned(joint.axis, ca.cos(q), ca.sin(q), vector)
    return _sparse(joint.rotation) @ vector


def _turned(axis: Array, cosine: Any, sine: Any, vector: Any) -> Any:
    """A vector turned about a unit axis. Split so that an axis along a coordinate costs four products."""
    along = np.outer(axis, axis)
    across = _sparse(np.eye(3) - along) @ vector
    return _sparse(along) @ vector + cosine * across + sine * (_sparse(skew(axis)) @ vector)


def _add_joint_motion(joint: Joint, motion: tuple[Any, Any, Any], q: Any, qd: Any, qdd: Any) -> tuple[Any, Any, Any]:
    """(w, dw, a) of the link from those of a body that stands where the link is but does not move in the joint."""
    w, dw, a = motion
    axis = _sparse(joint.axis)
    if joint.kind == "revolute":
        return w + axis * qd, dw + ca.cross(w, axis) * qd + axis * qdd, a
    a = a + _rigid_acceleration(w, dw) @ (axis * q) + 2 * ca.cross(w, axis) * qd + axis * qdd
    return w, dw, a


def _rigid_acceleration(w: Any, dw: Any) -> Any:
    """B [3, 3]: acceleration of a body's point relative to the origin, by its position. Products are shared."""
    x, y, z = (w[k] for k in range(3))
    dx, dy, dz = (dw[k] for k in range(3))
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return ca.sparsify(
        ca.vertcat(
            ca.horzcat(-(yy + zz), xy - dz, xz + dy),
            ca.horzcat(xy + dz, -(xx + zz), yz - dx),
            ca.horzcat(xz - dy, yz + dx, -(xx + yy)),
        )
    )


def _moment_matrix(w: Any, dw: Any) -> Any:
    """[3, 6]: I dw + w x (I w) by the elements Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""
    x, y, z = (w[k] for k in range(3))
    dx, dy, dz = (dw[k] for k in range(3))
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return ca.sparsify(
        ca.vertcat(
            ca.horzcat(dx, dy - xz, -yz, dz + xy, yy - zz, yz),
            ca.horzcat(xz, dx + yz, dy, zz - xx, dz - xy, -xz),
            ca.horzcat(-xy, xx - yy, xy, dx - yz, dy + xz, dz),
        )
    )
