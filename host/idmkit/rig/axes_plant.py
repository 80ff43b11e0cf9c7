"""Independent axes in MuJoCo: cranks and slides side by side in one model, each with a tip of its own."""

from __future__ import annotations

import math

from idmkit.errors import RigError
from idmkit.rig.plant import Plant, end_stops_xml, joint_xml, model_xml, tip_xml
from idmkit.rig.pushes import Push
from idmkit.rig.spec import RigAxis
from idmkit.robot import Axis, Robot

AXIS_SPACING = 2.0
"""Distance between neighbouring axes, m: no link meets another."""
DEFAULT_TIP_DISTANCE = 0.3
"""Where a crank meets a wall if the robot file names no crank_length, m from its axis."""


class AxesPlant(Plant):
    """The mechanics of independent axes."""

    def _xml(self, robot: Robot) -> str:
        bodies = "".join(_body(index, *pair) for index, pair in enumerate(zip(robot.axes, self._axes, strict=True)))
        return model_xml(robot, bodies, end_stops_xml(self._spec))

    def _tip_name(self, index: int) -> str:
        return f"tip{index}"

    def _apply(self, push: Push) -> None:
        if push.axis is None:
            raise RigError("independent axes have no tool to push at; push one of the axes")
        super()._apply(push)


def _body(index: int, axis: Axis, rig: RigAxis) -> str:
    """One axis in a frame whose z points up, tilted about x (crank) or y (slide)."""
    half = math.radians(rig.tilt_deg) / 2
    c, s = math.cos(half), math.sin(half)
    if axis.revolute:
        kind, direction, frame, inertia = "hinge", "0 1 0", f"{c!r} {-s!r} 0 0", rig.link_inertia
        tip = axis.geometry.get("crank_length", DEFAULT_TIP_DISTANCE)
    else:
        kind, direction, frame, inertia = "slide", "0 0 1", f"{c!r} 0 {s!r} 0", 1.0
        tip = 0.0
    joint = joint_xml(index, kind, direction, rig, axis.drive.joint_torque_per_motor_torque)
    # The two other moments do not act; a slim rod satisfies the triangle inequality.
    return (
        f'<body pos="0 {AXIS_SPACING * index} 0" quat="{frame}">{joint}'
        f'<inertial pos="0 0 {rig.centre_distance!r}" mass="{rig.link_mass!r}" '
        f'diaginertia="{inertia!r} {inertia!r} {inertia / 100!r}"/>'
        f"{tip_xml(f'tip{index}', f'0 0 {tip!r}', 1 << index)}</body>"
    )
