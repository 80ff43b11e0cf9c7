"""Mechanics of independent axes in MuJoCo: all in one model, brakes, and walls put in the way at run time.

Gravity, inertia and friction go through MuJoCo's own dynamics. Its Coulomb friction is a soft constraint: with the
default time constant (0.02 s) a fit comes out percents wrong, with the stiff one below it is exact to 1e-6, and
RK4 at 0.25 ms leaves nothing else worth mentioning.
"""

from __future__ import annotations

import copy
import math

import mujoco
import numpy as np
from numpy.typing import NDArray

from idmkit.errors import RigError
from idmkit.rig.spec import SUBSTEP_S, RigAxis, RigSpec
from idmkit.robot import Robot

Array = NDArray[np.float64]

FRICTION_SOLVER = 'solreffriction="0.002 1" solimpfriction=".9999 .9999 .001 .5 2"'
AXIS_SPACING = 2.0
"""Distance between neighbouring axes, m: no link meets another."""
TIP_RADIUS = 0.02
WALL_HALF_SIZE = 0.1
PARKED = 1000.0
"""How far below the robot a wall waits that nobody placed, m."""
DEFAULT_TIP_DISTANCE = 0.3
"""Where a crank meets a wall if the robot file names no crank_length, m from its axis."""


class Plant:
    """The mechanics of independent axes.

    `position`, `speed` and `force` are views of shape (n,): rad or m, rad/s or m/s, Nm or N.
    """

    def __init__(self, robot: Robot, spec: RigSpec) -> None:
        self._spec = spec
        self._revolute = tuple(axis.revolute for axis in robot.axes)
        self._reach = tuple(axis.geometry.get("crank_length", DEFAULT_TIP_DISTANCE) for axis in robot.axes)
        self.model = mujoco.MjModel.from_xml_string(self._xml(robot))
        self.data = mujoco.MjData(self.model)
        driven = self._driven()
        self._places = range(self.model.nv)[driven]
        self.position = self.data.qpos[driven]
        self.speed = self.data.qvel[driven]
        self.force = self.data.qfrc_applied[driven]
        self._friction = self.model.dof_frictionloss.copy()
        self._walls: set[int] = set()
        self.contacts: set[int] = set()
        """Axes that have touched their present wall."""
        for index, axis in enumerate(spec.axes):
            self.position[index] = axis.start_position
            self.set_brake(index, True)
        self.close_loops()
        mujoco.mj_forward(self.model, self.data)

    def _driven(self) -> slice:
        """Which of the model's coordinates the drives move."""
        return slice(None)

    def close_loops(self) -> None:
        """Moves the rest of the mechanism to where the driven axes have it; independent axes have no rest."""

    def _xml(self, robot: Robot) -> str:
        bodies = "".join(
            self._body(index, axis, robot.axes[index].drive.joint_torque_per_motor_torque)
            for index, axis in enumerate(self._spec.axes)
        )
        return (
            f'<mujoco><compiler angle="radian"/>'
            f'<option timestep="{SUBSTEP_S}" integrator="RK4" gravity="0 0 {-robot.gravity!r}"/>'
            f"<worldbody>{bodies}</worldbody></mujoco>"
        )

    def _body(self, index: int, axis: RigAxis, transmission: float) -> str:
        """One axis in a frame whose z points up, tilted about x (crank) or y (slide); its wall, parked far below."""
        revolute = self._revolute[index]
        kind = 'type="hinge" axis="0 1 0"' if revolute else 'type="slide" axis="0 0 1"'
        inertia = axis.link_inertia if revolute else 1.0
        # The two other moments do not act; a slim rod satisfies the triangle inequality.
        inertial = (
            f'<inertial pos="0 0 {axis.centre_distance!r}" mass="{axis.link_mass!r}" '
            f'diaginertia="{inertia!r} {inertia!r} {inertia / 100!r}"/>'
        )
        tip = self._reach[index] if revolute else 0.0
        place = AXIS_SPACING * index
        return (
            f'<body pos="0 {place} 0" quat="{" ".join(map(repr, self._frame(index)))}">'
            f'<joint {kind} armature="{axis.rotor_inertia * transmission**2!r}" damping="{axis.viscous_friction!r}" '
            f'frictionloss="{axis.coulomb_friction!r}" {FRICTION_SOLVER}/>{inertial}'
            f'<geom name="tip{index}" type="sphere" size="{TIP_RADIUS}" pos="0 0 {tip!r}" '
            f'contype="0" conaffinity="{1 << index}"/></body>'
            f'<body mocap="true" pos="0 {place} {-PARKED}"><geom name="wall{index}" type="box" '
            f'size="{WALL_HALF_SIZE} {WALL_HALF_SIZE} {WALL_HALF_SIZE}" '
            f'contype="{1 << index}" conaffinity="0" condim="1" solref="0.002 1"/></body>'
        )

    def _frame(self, index: int) -> tuple[float, float, float, float]:
        """Quaternion of the frame in which axis `index` moves."""
        half = math.radians(self._spec.axes[index].tilt_deg) / 2
        if self._revolute[index]:
            return math.cos(half), -math.sin(half), 0.0, 0.0
        return math.cos(half), 0.0, math.sin(half), 0.0

    def inertia(self, index: int) -> float:
        """What a drive's commissioning would find: inertia or mass seen by axis `index` at rest."""
        matrix = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, matrix)
        place = self._places[index]
        return float(matrix[place, place])

    def released_copy(self) -> mujoco.MjModel:
        """A copy of the model with brakes released: the mechanics alone, for measuring them. Its walls are parked."""
        model = copy.copy(self.model)
        model.dof_frictionloss[:] = self._friction
        return model

    def torques(self, model: mujoco.MjModel, q: Array, qd: Array, qdd: Array) -> Array:
        """What the drives must supply for states [N, n] (MuJoCo's inverse dynamics) in a copy of the model, [N, n]."""
        data = mujoco.MjData(model)
        result = np.empty(q.shape)
        for k in range(len(q)):
            data.qpos[:], data.qvel[:], data.qacc[:] = q[k], qd[k], qdd[k]
            mujoco.mj_inverse(model, data)
            result[k] = data.qfrc_inverse
        return result

    def set_brake(self, index: int, engaged: bool) -> None:
        """The holding brake is more Coulomb friction at the joint."""
        extra = self._spec.axes[index].brake_torque if engaged else 0.0
        place = self._places[index]
        self.model.dof_frictionloss[place] = self._friction[place] + extra

    def place_wall(self, index: int, position: float | None) -> None:
        """Puts a wall in the way of axis `index`: touched at joint `position`, from where the axis stands now.

        None takes it away. A new wall forgets the contacts of the old one.
        """
        self._walls.discard(index)
        self.contacts.discard(index)
        corner = np.array([0.0, AXIS_SPACING * index, 0.0])
        if position is None:
            self.data.mocap_pos[index] = corner - (0, 0, PARKED)
            return
        here = float(self.position[index])
        if position == here:
            raise RigError(f"axis {index} stands at {here:g}, where the wall was to be placed; move one of them")
        distance = math.copysign(TIP_RADIUS + WALL_HALF_SIZE, position - here)
        if self._revolute[index]:
            reach, sine, cosine = self._reach[index], math.sin(position), math.cos(position)
            place = (reach * sine + distance * cosine, 0.0, reach * cosine - distance * sine)
            turn = (math.cos(position / 2), 0.0, math.sin(position / 2), 0.0)
        else:
            place = (0.0, 0.0, position + distance)
            turn = (1.0, 0.0, 0.0, 0.0)
        frame = np.array(self._frame(index))
        moved = np.empty(3)
        mujoco.mju_rotVecQuat(moved, np.array(place), frame)
        self.data.mocap_pos[index] = corner + moved
        mujoco.mju_mulQuat(self.data.mocap_quat[index], frame, np.array(turn))
        self._walls.add(index)

    def step(self) -> None:
        """One time step with the present `force`; notes which axes touch their wall."""
        mujoco.mj_step(self.model, self.data)
        if self._walls and self.data.ncon:
            # Contacts are of one tip with its own wall: two geoms an axis, so the number tells the axis.
            self.contacts.update(int(contact.geom1) // 2 for contact in self.data.contact)
