"""Where the tool is, as a CasADi expression of the axes' positions, for the machines whose geometry is known."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from idmkit.dynamics.chain import Chain
from idmkit.dynamics.delta import platform
from idmkit.dynamics.puma import PumaGeometry
from idmkit.dynamics.rotations import skew
from idmkit.errors import ModelError
from idmkit.robot import Robot

DIRECTIONS = ("x", "y", "z")


def tool_position(robot: Robot, q: Any) -> Any:
    """Tool in the base frame, SX [3], m, for positions q, SX [n].

    SCARA and two-link arm: the end of link 2, at the height of axis 3 (0 without one); delta: the platform's middle;
    PUMA: the wrist's centre; serial arm: the last joint. Raises ModelError for a robot without a geometry.
    """
    if robot.serial is not None:
        return chain_end(robot.serial.chain, q)
    if robot.machine is None:
        raise ModelError(f"{robot.name}: nobody knows where its tool is; single axes have no common geometry")
    lengths = robot.machine.geometry
    match robot.machine.kind:
        case "scara" | "two_link":
            l1, l2 = lengths.values()
            reach = (
                l1 * ca.cos(q[0]) + l2 * ca.cos(q[0] + q[1]),
                l1 * ca.sin(q[0]) + l2 * ca.sin(q[0] + q[1]),
            )
            return ca.vertcat(*reach, q[2] if q.numel() > 2 else 0)
        case "delta":
            return platform(robot.machine.delta_geometry, q)
        case "puma":
            return chain_end(PumaGeometry(**lengths).chain(), q)
    raise ModelError(f"{robot.name}: a box needs to know where the tool is; it is not known for {robot.machine.kind}")


def chain_end(chain: Chain, q: Any) -> Any:
    """Origin of the last link's frame in the base frame, SX [3], m."""
    return chain_frame(chain, q)[0]


def chain_frame(chain: Chain, q: Any) -> tuple[Any, Any]:
    """The last link's frame in the base frame: its origin, SX [3], m, and its rotation, SX [3, 3]."""
    position, rotation = ca.SX.zeros(3), ca.SX.eye(3)
    for k, joint in enumerate(chain.joints):
        position += rotation @ _sparse(joint.translation)
        rotation = rotation @ _sparse(joint.rotation)
        if joint.kind == "prismatic":
            position += rotation @ _sparse(joint.axis) * q[k]
            continue
        along = np.outer(joint.axis, joint.axis)
        turned = _sparse(along) + _sparse(np.eye(3) - along) * ca.cos(q[k]) + _sparse(skew(joint.axis)) * ca.sin(q[k])
        rotation = rotation @ turned
    return ca.densify(position), rotation


def _sparse(values: Any) -> Any:
    return ca.sparsify(ca.SX(ca.DM(np.where(np.abs(values) < 1e-12, 0.0, values))))
