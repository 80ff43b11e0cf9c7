"""Machines in MuJoCo, built from link data alone: serial arms, and the delta with its loops closed by constraints."""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

from idmkit.errors import RigError
from idmkit.machine import Machine
from idmkit.rig.plant import FRICTION_SOLVER, Plant
from idmkit.rig.spec import SUBSTEP_S, RigAxis, RigSpec
from idmkit.robot import Robot

Array = NDArray[np.float64]

LOOP_SOLVER = 'solref="0.002 1" solimp=".9999 .9999 .001 .5 2"'
"""With RK4 at 0.25 ms the loops stay closed to 0.2 um, and torques are those of rigid rods to 3e-6."""
_SLIM = 1e-6
"""Moment of a rod about its own axis, relative to the one across: rods do not care how they spin."""
_ARM_DOFS = 3
"""Of a delta's arm with its rods: the arm's own and the rods' two angles at the elbow."""


def build_plant(robot: Robot, spec: RigSpec) -> Plant:
    """The mechanics of any robot that a robot file can describe."""
    if robot.machine is None:
        return Plant(robot, spec)
    return DeltaPlant(robot, spec) if robot.machine.kind == "delta" else SerialPlant(robot, spec)


class MachinePlant(Plant):
    """What machines have in common: one mechanism, and no walls."""

    def place_wall(self, index: int, position: float | None) -> None:
        """Refuses a wall: only single axes meet walls."""
        if position is not None:
            raise RigError(f"the virtual rig puts walls in the way of single axes; axis {index} is part of a machine")

    def _frame_of(self, robot: Robot, bodies: str, rest: str) -> str:
        return (
            f'<mujoco><compiler angle="radian"/>'
            f'<option timestep="{SUBSTEP_S}" integrator="RK4" gravity="0 0 {-robot.gravity!r}">'
            f'<flag contact="disable"/></option><worldbody>{bodies}</worldbody>{rest}</mujoco>'
        )

    @staticmethod
    def _machine(robot: Robot) -> Machine:
        assert robot.machine is not None
        return robot.machine


def _joint(name: str, kind: str, axis: str, rig: RigAxis, transmission: float) -> str:
    """A driven joint."""
    return (
        f'<joint name="{name}" type="{kind}" axis="{axis}" armature="{rig.rotor_inertia * transmission**2!r}" '
        f'damping="{rig.viscous_friction!r}" frictionloss="{rig.coulomb_friction!r}" {FRICTION_SOLVER}/>'
    )


class SerialPlant(MachinePlant):
    """SCARA, PUMA and two-link arm: a chain of bodies, each joint along the z of its frame."""

    def _xml(self, robot: Robot) -> str:
        machine = self._machine(robot)
        text = ""
        frames = _frames(machine, len(robot.axes))
        for index, (axis, (place, twist)) in reversed(list(enumerate(zip(robot.axes, frames, strict=True)))):
            body = self._spec.bodies.links[index]
            joint = _joint(
                f"j{index}",
                "hinge" if axis.revolute else "slide",
                "0 0 1",
                self._spec.axes[index],
                axis.drive.joint_torque_per_motor_torque,
            )
            half = twist / 2
            text = (
                f'<body pos="{_numbers(place)}" quat="{math.cos(half)!r} {math.sin(half)!r} 0 0">{joint}'
                f'<inertial pos="{_numbers(body.centre)}" mass="{body.mass!r}" '
                f'diaginertia="{_numbers(body.moments)}"/>{text}</body>'
            )
        return self._frame_of(robot, text, self._screw())

    def _screw(self) -> str:
        """The nut of a ball screw turns with both axes: its inertia couples them."""
        inertia, turns = self._spec.bodies.screw
        if not inertia:
            return ""
        return (
            f'<tendon><fixed armature="{inertia!r}"><joint joint="j2" coef="{turns!r}"/>'
            f'<joint joint="j3" coef="1"/></fixed></tendon>'
        )


def _frames(machine: Machine, axes: int) -> list[tuple[tuple[float, float, float], float]]:
    """(place, twist about x) of each joint's frame in the frame before it, at position 0; m and rad."""
    lengths = machine.geometry
    if machine.kind == "scara":
        return [((0.0, 0.0, 0.0), 0.0), *(((x, 0.0, 0.0), 0.0) for x in (lengths["L1"], lengths["L2"], 0.0))][:axes]
    if machine.kind == "two_link":
        return [((0.0, 0.0, 0.0), 0.0), ((lengths["l1"], 0.0, 0.0), 0.0)]
    quarter = math.pi / 2
    rows = (
        (0.0, 0.0, 0.0),
        (0.0, -quarter, lengths["d2"]),
        (lengths["a2"], 0.0, lengths["d3"]),
        (lengths["a3"], quarter, lengths["d4"]),
        (0.0, -quarter, 0.0),
        (0.0, quarter, 0.0),
    )
    return [((a, -math.sin(twist) * d, math.cos(twist) * d), twist) for a, twist, d in rows]


class DeltaPlant(MachinePlant):
    """A delta: three arms with their rods on universal joints, a platform that cannot turn, loops closed by force.

    Coordinates: arm, rods about two axes, three times; then the tool's angle (four axes); then the platform's
    place. So the driven ones are every third.
    """

    def _xml(self, robot: Robot) -> str:
        lengths, bodies = self._machine(robot).geometry, self._spec.bodies.delta
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
                f"{_joint(f'j{index}', 'hinge', '0 1 0', self._spec.axes[index], transmission)}"
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
            tool = _joint("j3", "hinge", "0 0 1", self._spec.axes[3], robot.axes[3].drive.joint_torque_per_motor_torque)
            text += (
                f'<body>{tool}<inertial pos="0 0 0" mass="1" '
                f'diaginertia="{bodies.shaft!r} {bodies.shaft!r} {bodies.shaft!r}"/></body>'
            )
        slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
        text += f'<body>{slides}<inertial pos="0 0 0" mass="{bodies.platform!r}" diaginertia="1 1 1"/>{ends}</body>'
        self._lengths = lengths
        return self._frame_of(robot, text, f"<equality>{loops}</equality>")

    def _driven(self) -> slice:
        return slice(0, _ARM_DOFS * len(self._spec.axes), _ARM_DOFS)

    def close_loops(self) -> None:
        """Places rods and platform where the arms have them."""
        self.data.qpos[:] = self._closed(self.position.copy())

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
            path = np.array([self._closed(q[k] + t * qd[k] + t * t / 2 * qdd[k]) for t in h * np.arange(-2, 3)])
            data.qpos[:] = path[2]
            data.qvel[:] = np.array([1, -8, 0, 8, -1]) @ path / (12 * h)
            data.qacc[:] = np.array([-1, 16, -30, 16, -1]) @ path / (12 * h * h)
            mujoco.mj_inverse(model, data)
            result[k] = self._allowed(q[k]).T @ data.qfrc_inverse
        return result

    def _allowed(self, driven: Array) -> Array:
        """Speeds of all coordinates for a speed 1 of each driven one, [nv, n]."""
        h = 1e-3
        steps = h * np.eye(len(driven))
        return np.stack(
            [
                (8 * (self._closed(driven + s) - self._closed(driven - s))
                 - self._closed(driven + 2 * s) + self._closed(driven - 2 * s)) / (12 * h)
                for s in steps
            ],
            axis=1,
        )  # fmt: skip

    def inertia(self, index: int) -> float:
        """Inertia seen by axis `index` at rest, with what hangs on the loops."""
        matrix = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, matrix)
        moved = self._allowed(self.position.copy())[:, index]
        return float(moved @ matrix @ moved)

    def _closed(self, driven: Array) -> Array:
        """All coordinates with closed loops, from geometry alone: three spheres meet at the platform."""
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
        result = [np.zeros(0)]
        for i in range(3):
            rod = (platform - centres[i]) / l_B
            c, s = outwards[i, :2]
            x, y, z = c * rod[0] + s * rod[1], -s * rod[0] + c * rod[1], rod[2]
            result.append(np.array([th[i], math.atan2(-z, x) - th[i], math.asin(y)]))
        return np.concatenate([*result, driven[3:], platform])


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(map(repr, values))
