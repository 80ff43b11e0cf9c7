"""Machines in MuJoCo, built from link data alone: serial arms, and the delta with its loops closed by constraints."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from idmkit.dynamics.chain import Chain
from idmkit.errors import RigError
from idmkit.rig.axes_plant import AxesPlant
from idmkit.rig.plant import FRICTION_SOLVER, Plant, end_stops_xml, joint_xml, model_xml, tip_xml
from idmkit.rig.spec import RigSpec
from idmkit.robot import Robot

Array = NDArray[np.float64]

LOOP_SOLVER = 'solref="0.002 1" solimp=".9999 .9999 .001 .5 2"'
"""With RK4 at 0.25 ms the loops stay closed to 0.2 um, and torques are those of rigid rods to 3e-6."""
_SLIM = 1e-6
"""Moment of a rod about its own axis, relative to the one across: rods do not care how they spin."""
_TURNED = '<body name="turned"><inertial pos="0 0 0" mass="0" diaginertia="0 0 0"/></body>'
"""What a payload's inertia joins."""
_ARM_DOFS = 3
"""Of a delta's arm with its rods: the arm's own and the rods' two angles at the elbow."""


def build_plant(robot: Robot, spec: RigSpec) -> Plant:
    """The mechanics of any robot that a robot file can describe."""
    if robot.model_kind == "axes":
        return AxesPlant(robot, spec)
    return DeltaPlant(robot, spec) if robot.model_kind == "delta" else SerialPlant(robot, spec)


class SerialPlant(Plant):
    """A chain of bodies: SCARA, PUMA, two-link arm, and any arm given by its geometry."""

    def _xml(self, robot: Robot) -> str:
        text = tip_xml("tip", _numbers(self._spec.bodies.tool), (1 << len(robot.axes)) - 1)
        for index, (axis, frame) in reversed(list(enumerate(zip(robot.axes, _frames(robot), strict=True)))):
            body = self._spec.bodies.links[index]
            kind = "hinge" if axis.revolute else "slide"
            transmission = axis.drive.joint_torque_per_motor_torque
            joint = joint_xml(index, kind, _numbers(frame.axis), self._axes[index], transmission)
            text = (
                f'<body pos="{_numbers(frame.place)}" quat="{_numbers(frame.turn)}">{joint}'
                f'<inertial pos="{_numbers(body.centre)}" mass="{body.mass!r}" '
                f'diaginertia="{_numbers(body.moments)}"/>{text}</body>'
            )
        return model_xml(robot, text, end_stops_xml(self._spec) + self._screw() + self._coupled_motors(robot))

    def _screw(self) -> str:
        """The nut of a ball screw turns with both axes: its inertia couples them."""
        inertia, turns = self._spec.bodies.screw
        if not inertia:
            return ""
        return f'<fixed armature="{inertia!r}"><joint joint="j2" coef="{turns!r}"/><joint joint="j3" coef="1"/></fixed>'

    def _coupled_motors(self, robot: Robot) -> str:
        """Motors that turn with several joints: what they have beside their own joint's rotor and friction."""
        text = ""
        motors = robot.serial.motors if robot.serial is not None else None
        for index, rig in enumerate(self._axes):
            inertia, viscous, coulomb = rig.coupled
            if motors is not None and any(rig.coupled):
                joints = "".join(
                    f'<joint joint="j{k}" coef="{float(speed)!r}"/>' for k, speed in enumerate(motors.speeds[index])
                )
                text += (
                    f'<fixed armature="{inertia!r}" damping="{viscous!r}" frictionloss="{coulomb!r}" '
                    f"{FRICTION_SOLVER}>{joints}</fixed>"
                )
        return text


@dataclass(frozen=True)
class _Frame:
    """Place (m) and quaternion of a joint's frame in the frame before it, at position 0, and the joint's axis there."""

    place: tuple[float, ...]
    turn: tuple[float, ...]
    axis: tuple[float, ...] = (0.0, 0.0, 1.0)


def _frames(robot: Robot) -> list[_Frame]:
    if robot.serial is not None:
        return _chain_frames(robot.serial.chain)
    assert robot.machine is not None
    lengths, kind = robot.machine.geometry, robot.machine.kind
    rows: tuple[tuple[float, float, float], ...]
    if kind == "puma":
        quarter = math.pi / 2
        rows = (
            (0.0, 0.0, 0.0),
            (0.0, -quarter, lengths["d2"]),
            (lengths["a2"], 0.0, lengths["d3"]),
            (lengths["a3"], quarter, lengths["d4"]),
            (0.0, -quarter, 0.0),
            (0.0, quarter, 0.0),
        )
    elif kind == "scara":
        rows = ((0.0, 0.0, 0.0), (lengths["L1"], 0.0, 0.0), (lengths["L2"], 0.0, 0.0), (0.0, 0.0, 0.0))
    else:
        rows = ((0.0, 0.0, 0.0), (lengths["l1"], 0.0, 0.0))
    return [
        _Frame((a, -math.sin(twist) * d, math.cos(twist) * d), (math.cos(twist / 2), math.sin(twist / 2), 0.0, 0.0))
        for a, twist, d in rows[: len(robot.axes)]
    ]


def _chain_frames(chain: Chain) -> list[_Frame]:
    frames = []
    for joint in chain.joints:
        turn = np.empty(4)
        mujoco.mju_mat2Quat(turn, joint.rotation.ravel())
        frames.append(_Frame(tuple(joint.translation.tolist()), tuple(turn.tolist()), tuple(joint.axis.tolist())))
    return frames


class DeltaPlant(Plant):
    """A delta: three arms with their rods on universal joints, a platform that cannot turn, loops closed by force.

    Coordinates: arm (and its gear, where that gives way), rods about two axes, three times; then the tool's angle
    (four axes); then the platform's place. So the driven ones stand at equal distances.
    """

    def _xml(self, robot: Robot) -> str:
        assert robot.machine is not None
        lengths, bodies = robot.machine.geometry, self._spec.bodies.delta
        assert bodies is not None
        mass, centre, inertia = bodies.arm
        rods, across = bodies.rods
        text = ends = loops = ""
        for index in range(3):
            phi = index * 2 * math.pi / 3
            c, s = math.cos(phi), math.sin(phi)
            place = f"{lengths['R_A'] * c!r} {lengths['R_A'] * s!r} 0"
            transmission = robot.axes[index].drive.joint_torque_per_motor_torque
            text += (
                f'<body pos="{place}" quat="{math.cos(phi / 2)!r} 0 0 {math.sin(phi / 2)!r}">'
                f"{joint_xml(index, 'hinge', '0 1 0', self._axes[index], transmission)}"
                f'<inertial pos="{centre!r} 0 0" mass="{mass!r}" '
                f'diaginertia="{inertia!r} {inertia!r} {inertia!r}"/>'
                f'<body pos="{lengths["l_A"]!r} 0 0">'
                f'<joint type="hinge" axis="0 1 0"/><joint type="hinge" axis="0 0 1"/>'
                f'<inertial pos="{lengths["l_B"] / 2!r} 0 0" mass="{rods!r}" '
                f'diaginertia="{across * _SLIM!r} {across!r} {across!r}"/>'
                f'<site name="rod{index}" pos="{lengths["l_B"]!r} 0 0"/></body></body>'
            )
            ends += f'<site name="end{index}" pos="{lengths["R_P"] * c!r} {lengths["R_P"] * s!r} 0"/>'
            loops += f'<connect site1="rod{index}" site2="end{index}" {LOOP_SOLVER}/>'
        if len(robot.axes) == 4:
            tool = joint_xml(3, "hinge", "0 0 1", self._axes[3], robot.axes[3].drive.joint_torque_per_motor_torque)
            text += (
                f'<body name="shaft">{tool}<inertial pos="0 0 0" mass="1" '
                f'diaginertia="{bodies.shaft!r} {bodies.shaft!r} {bodies.shaft!r}"/>{_TURNED}</body>'
            )
        slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
        text += (
            f'<body>{slides}<inertial pos="0 0 0" mass="{bodies.platform!r}" diaginertia="1 1 1"/>{ends}'
            f"{tip_xml('tip', '0 0 0', (1 << len(robot.axes)) - 1)}</body>"
        )
        self._lengths = lengths
        return model_xml(robot, text, end_stops_xml(self._spec), f"<equality>{loops}</equality>")

    def _driven(self) -> slice:
        stride = _ARM_DOFS + self._spec.elastic
        return slice(0, stride * len(self._axes), stride)

    def _payload_bodies(self, index: int) -> tuple[int, int]:  # noqa: ARG002 - a machine has one tool
        platform = self.model.body("payloadtip").id
        # Without a fourth axis nothing turns, and an inertia does not show.
        return platform, self.model.body("turned").id if len(self._axes) == 4 else platform

    def torques(self, model: mujoco.MjModel, q: Array, qd: Array, qdd: Array) -> Array:
        """Inverse dynamics of the tree that is left when the loops are cut, projected onto the motions they allow.

        MuJoCo's own loops give way a little and would put 1e-4 of their forces into the result.
        """
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EQUALITY)
        data = mujoco.MjData(model)
        h = 1e-3
        result = np.empty(q.shape)
        for k in range(len(q)):
            # The motion before, at and after the instant: central differences of fourth order.
            path = np.array([self._complete(q[k] + t * qd[k] + t * t / 2 * qdd[k]) for t in h * np.arange(-2, 3)])
            data.qpos[:] = path[2]
            data.qvel[:] = np.array([1, -8, 0, 8, -1]) @ path / (12 * h)
            data.qacc[:] = np.array([-1, 16, -30, 16, -1]) @ path / (12 * h * h)
            mujoco.mj_inverse(model, data)
            result[k] = self._allowed(q[k]).T @ data.qfrc_inverse
        return result

    def _allowed(self, driven: Array) -> Array:
        h = 1e-3
        steps = h * np.eye(len(driven))
        return np.stack(
            [
                (8 * (self._complete(driven + s) - self._complete(driven - s))
                 - self._complete(driven + 2 * s) + self._complete(driven - 2 * s)) / (12 * h)
                for s in steps
            ],
            axis=1,
        )  # fmt: skip

    def _complete(self, driven: Array) -> Array:
        """Closes the loops from geometry alone: three spheres meet at the platform."""
        R_A, R_P, l_A, l_B = (self._lengths[name] for name in ("R_A", "R_P", "l_A", "l_B"))
        phi = np.arange(3) * 2 * math.pi / 3
        outwards = np.stack([np.cos(phi), np.sin(phi), np.zeros(3)], axis=1)
        th = driven[:3]
        elbows = (R_A + l_A * np.cos(th))[:, None] * outwards
        elbows[:, 2] = -l_A * np.sin(th)
        centres = elbows - R_P * outwards
        a, b = centres[1] - centres[0], centres[2] - centres[0]
        normal = np.cross(a, b)
        area = normal @ normal
        foot = (a @ a * np.cross(b, normal) + b @ b * np.cross(normal, a)) / (2 * area)
        rest = l_B**2 - foot @ foot
        if rest <= 0:
            raise RigError(f"the delta's rods do not meet at arm angles {np.round(th, 4).tolist()} rad")
        platform = centres[0] + foot - normal * math.sqrt(rest / area)
        gear = [0.0] * self._spec.elastic
        result = []
        for i in range(3):
            rod = (platform - centres[i]) / l_B
            c, s = outwards[i, :2]
            x, y, z = c * rod[0] + s * rod[1], -s * rod[0] + c * rod[1], rod[2]
            result += [th[i], *gear, math.atan2(-z, x) - th[i], math.asin(y)]
        for angle in driven[3:]:
            result += [angle, *gear]
        return np.array([*result, *platform])


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(map(repr, values))
