"""Mechanics in MuJoCo: what all plants have in common, whatever robot they are.

Gravity, inertia, friction, elastic gears, end stops and walls go through MuJoCo's own dynamics. Its Coulomb friction is
a soft constraint: with the default time constant (0.02 s) a fit comes out percents wrong, with the stiff one below it
is exact to 1e-6, and RK4 at 0.25 ms leaves nothing else worth mentioning.

An elastic gear is a second joint behind the driven one: the drive turns rotor and friction, the spring the link.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod

import mujoco
import numpy as np
from numpy.typing import NDArray

from idmkit.errors import RigError
from idmkit.rig.pushes import Push
from idmkit.rig.spec import SUBSTEP_S, RigAxis, RigSpec
from idmkit.robot import Robot

Array = NDArray[np.float64]

STIFF = '".9999 .9999 .001 .5 2"'
FRICTION_SOLVER = f'solreffriction="0.002 1" solimpfriction={STIFF}'
TIP_RADIUS = 0.02
WALL_HALF_SIZE = 0.1
PARKED = 1000.0
"""How far below the robot a wall waits that nobody placed, m."""
_ENDLESS = 1e6
_BARELY = 1e-3
"""A tip that moves less than this, m per rad or m, meets no wall."""


class Plant(ABC):
    """The mechanics of a robot.

    `position` and `speed` are views of shape (n,): rad or m, rad/s or m/s, on the motor's side of the gears where these
    are elastic; `force` is what the motors push with in the next step, Nm or N.
    """

    def __init__(self, robot: Robot, spec: RigSpec) -> None:
        self._spec = spec
        self._axes = spec.axes
        self.model = mujoco.MjModel.from_xml_string(self._xml(robot))
        self.data = mujoco.MjData(self.model)
        self._scratch = mujoco.MjData(self.model)
        driven = self._driven()
        self._places = list(range(self.model.nv)[driven])
        self.position = self.data.qpos[driven]
        self.speed = self.data.qvel[driven]
        self.force = np.zeros(len(self._axes))
        self._applied = self.data.qfrc_applied[driven]
        self._friction = self.model.dof_frictionloss[driven]
        self._coulomb = self._friction.copy()
        self._brakes = np.array([axis.brake_torque for axis in self._axes])
        self._friction += self._brakes
        self._rise = np.array([axis.breakaway_friction - axis.coulomb_friction for axis in self._axes])
        self._stribeck_speed = np.array([axis.stribeck_speed for axis in self._axes])
        self._sticky = bool(self._rise.any())
        self._ripple = np.array([axis.torque_ripple for axis in self._axes])
        self._rippling = bool(self._ripple.any())
        turns = [axis.drive.motor_turns_per_unit for axis in robot.axes]
        self._ripple_rate = np.array(
            [2 * math.pi * axis.ripple_periods * turn for axis, turn in zip(self._axes, turns, strict=True)]
        )
        self.pushes: list[Push] = []
        """What pushes in the next steps."""
        self._walls: set[int] = set()
        self._wall_of = {self.model.geom(f"wall{index}").id: index for index in range(len(self._axes))}
        self.contacts: set[int] = set()
        """Axes that have touched their present wall."""
        self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self.position[:] = [axis.start_position for axis in self._axes]
        if spec.elastic:
            self._make_gears()
        self.close_loops()
        mujoco.mj_forward(self.model, self.data)

    # What a kind of robot says

    @abstractmethod
    def _xml(self, robot: Robot) -> str:
        """The model, as `model_xml` frames it."""

    def _tip_name(self, index: int) -> str:  # noqa: ARG002 - a machine has one tip
        """The geom that meets the wall of axis `index`, and carries the payload."""
        return "tip"

    def _tip(self, index: int) -> int:
        return int(self.model.geom(self._tip_name(index)).id)

    def _driven(self) -> slice:
        """Which of the model's coordinates the drives move."""
        stride = 1 + self._spec.elastic
        return slice(0, stride * len(self._axes), stride)

    def _complete(self, driven: Array) -> Array:
        """All coordinates for positions [n] of the driven ones, gears not wound up."""
        result = np.zeros(self.model.nq)
        result[self._driven()] = driven
        return result

    def _allowed(self, driven: Array) -> Array:  # noqa: ARG002 - a tree allows the same everywhere
        """Speeds of all coordinates for a speed 1 of each driven one, [nv, n]."""
        return np.eye(self.model.nv)[:, self._driven()]

    def _payload_bodies(self, index: int) -> tuple[int, int]:
        """Numbers of the bodies that a payload's mass and its inertia join."""
        body = self.model.body(f"payload{self._tip_name(index)}").id
        return body, body

    # The mechanism as a whole

    def close_loops(self) -> None:
        """Moves the rest of the mechanism to where the driven axes have it."""
        self.data.qpos[:] = self._complete(self.position.copy())

    def mass_matrix(self) -> Array:
        """[n, n] as the drives see it at rest, the mechanism behind them included."""
        matrix = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, matrix)
        allowed = self._allowed(self.position.copy())
        return np.asarray(allowed.T @ matrix @ allowed)

    def inertia(self, index: int) -> float:
        """What a drive's commissioning would find: inertia or mass seen by axis `index` at rest."""
        return float(self.mass_matrix()[index, index])

    def _make_gears(self) -> None:
        """Sets the stiffness of each gear for the link that hangs on it at the start position."""
        self.close_loops()
        mujoco.mj_forward(self.model, self.data)
        links = np.diag(self.mass_matrix()) - self.model.dof_armature[self._places]
        for place, axis, inertia in zip(self._places, self._axes, links, strict=True):
            rate = 2 * math.pi * axis.gear_resonance_hz
            self.model.jnt_stiffness[self.model.dof_jntid[place + 1]] = inertia * rate**2
            self.model.dof_damping[place + 1] = 2 * axis.gear_damping_ratio * inertia * rate

    def resonances(self) -> Array:
        """Frequencies (Hz, rising) at which the links swing on their gears here while all motors are held."""
        if not self._spec.elastic:
            return np.zeros(0)
        links = self.mass_matrix() - np.diag(self.model.dof_armature[self._places])
        gears = [self.model.dof_jntid[place + 1] for place in self._places]
        squares = np.linalg.eigvals(np.linalg.solve(links, np.diag(self.model.jnt_stiffness[gears])))
        return np.asarray(np.sqrt(np.sort(squares.real)) / (2 * math.pi))

    def released_copy(self) -> mujoco.MjModel:
        """A copy of the model with brakes released: the mechanics alone, for measuring them."""
        model = copy.copy(self.model)
        model.dof_frictionloss[self._driven()] = self._coulomb
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        return model

    def torques(self, model: mujoco.MjModel, q: Array, qd: Array, qdd: Array) -> Array:
        """What the drives must supply for states [N, n] (MuJoCo's inverse dynamics) in a copy of the model, [N, n]."""
        data = mujoco.MjData(model)
        driven = self._driven()
        result = np.empty(q.shape)
        for k in range(len(q)):
            data.qpos[driven], data.qvel[driven], data.qacc[driven] = q[k], qd[k], qdd[k]
            mujoco.mj_inverse(model, data)
            result[k] = data.qfrc_inverse[driven]
        return result

    def set_brake(self, index: int, engaged: bool) -> None:
        """The holding brake is more Coulomb friction at the motor."""
        self._brakes[index] = self._axes[index].brake_torque if engaged else 0.0
        self._friction[:] = self._coulomb + self._brakes

    # What happens to it

    def pick_up(self, mass: float, inertia: float, index: int) -> None:
        """A payload of `mass` kg with `inertia` kg m2 about its centre from now on, in place of the one before.

        Axis `index` carries it where axes are independent; a machine carries it at its tool.
        """
        carrier, turned = self._payload_bodies(index)
        self.model.body_mass[carrier] = mass
        self.model.body_inertia[turned] = inertia
        mujoco.mj_setConst(self.model, self._scratch)

    def place_wall(self, index: int, position: float | None) -> None:
        """Puts a wall in the way of axis `index`: its tip touches it at joint `position`, the others as they are now.

        None takes it away. A new wall forgets the contacts of the old one.
        """
        self._walls.discard(index)
        self.contacts.discard(index)
        if position is None:
            self.data.mocap_pos[index] = (0, 0, -PARKED)
        else:
            self._raise_wall(index, position)
            self._walls.add(index)
        flag = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self.model.opt.disableflags = self.model.opt.disableflags & ~flag | (0 if self._walls else flag)

    def _raise_wall(self, index: int, position: float) -> None:
        here = float(self.position[index])
        if position == here:
            raise RigError(f"axis {index} stands at {here:g}, where the wall was to be placed; move one of them")
        h = 1e-4
        before, place, behind = (self._tip_place(index, position + step) for step in (-h, 0, h))
        way = (behind - before) / (2 * h)
        speed = float(np.linalg.norm(way))
        if speed < _BARELY:
            raise RigError(
                f"axis {index} turns the robot's tip on the spot, no wall can be in its way; choose another axis, or "
                f"a [rig] tool that lies off the axis"
            )
        normal = way / math.copysign(speed, position - here)
        self.data.mocap_pos[index] = place + (TIP_RADIUS + WALL_HALF_SIZE) * normal
        mujoco.mju_quatZ2Vec(self.data.mocap_quat[index], normal)

    def _tip_place(self, index: int, position: float) -> Array:
        driven = self.position.copy()
        driven[index] = position
        self._scratch.qpos[:] = self._complete(driven)
        mujoco.mj_kinematics(self.model, self._scratch)
        return np.array(self._scratch.geom_xpos[self._tip(index)])

    def step(self) -> None:
        """One time step with the present `force`; notes which axes touch their wall."""
        self.data.qfrc_applied[:] = 0.0
        self._applied[:] = self.force
        if self._rippling:
            self._applied += self._ripple * np.sin(self._ripple_rate * self.position)
        if self._sticky:
            rise = self._rise * np.exp(-np.square(self.speed / self._stribeck_speed))
            self._friction[:] = self._coulomb + self._brakes + rise
        for push in self.pushes:
            self._apply(push)
        mujoco.mj_step(self.model, self.data)
        if self._walls and self.data.ncon:
            self.contacts.update(self._wall_of[int(g)] for c in self.data.contact for g in c.geom if g in self._wall_of)

    def _apply(self, push: Push) -> None:
        """Adds a push to the forces of the coming step."""
        forces = self.data.qfrc_applied
        if push.axis is None:
            tip = self._tip(0)
            body = int(self.model.geom_bodyid[tip])
            place = self.data.geom_xpos[tip]
            mujoco.mj_applyFT(self.model, self.data, np.array(push.force), np.zeros(3), place, body, forces)
            return
        place = self._places[push.axis]
        forces[place] += push.effort
        if self._spec.elastic:
            # Work done on the link is work done on both of its joints.
            forces[place + 1] += push.effort


def joint_xml(index: int, kind: str, axis: str, rig: RigAxis, transmission: float) -> str:
    """A driven joint, and the spring of an elastic gear behind it."""
    text = (
        f'<joint name="j{index}" type="{kind}" axis="{axis}" armature="{rig.rotor_inertia * transmission**2!r}" '
        f'damping="{rig.viscous_friction!r}" frictionloss="{rig.coulomb_friction!r}" {FRICTION_SOLVER}/>'
    )
    if rig.gear_resonance_hz:
        # Stiffness and damping follow from the link's inertia when the model stands.
        text += f'<joint name="g{index}" type="{kind}" axis="{axis}" stiffness="1" damping="1"/>'
    return text


def end_stops_xml(spec: RigSpec) -> str:
    """A limit for each link that has end stops."""
    text = ""
    for index, axis in enumerate(spec.axes):
        low, high = axis.end_stops
        if math.isfinite(low):
            gear = f'<joint joint="g{index}" coef="1"/>' if spec.elastic else ""
            text += (
                f'<fixed limited="true" range="{low!r} {high!r}" solreflimit="0.002 1" solimplimit={STIFF}>'
                f'<joint joint="j{index}" coef="1"/>{gear}</fixed>'
            )
    return text


def walls_xml(count: int) -> str:
    """A wall for each axis, parked far below; it meets the geoms whose conaffinity has the bit of the axis."""
    return "".join(
        f'<body mocap="true" pos="0 0 {-PARKED}"><geom name="wall{index}" type="box" '
        f'size="{WALL_HALF_SIZE} {WALL_HALF_SIZE} {WALL_HALF_SIZE}" '
        f'contype="{1 << index}" conaffinity="0" condim="1" solref="0.002 1"/></body>'
        for index in range(count)
    )


def tip_xml(name: str, place: str, walls: int) -> str:
    """What meets walls (a mask of their bits), and the body of a payload that is not there yet."""
    return (
        f'<geom name="{name}" type="sphere" size="{TIP_RADIUS}" pos="{place}" contype="0" conaffinity="{walls}"/>'
        f'<body name="payload{name}" pos="{place}"><inertial pos="0 0 0" mass="0" diaginertia="0 0 0"/></body>'
    )


def model_xml(robot: Robot, bodies: str, tendons: str = "", rest: str = "") -> str:
    """The whole model."""
    tendons = f"<tendon>{tendons}</tendon>" if tendons else ""
    gravity = [0.0, 0.0, -robot.gravity] if robot.serial is None else robot.serial.chain.gravity.tolist()
    return (
        f'<mujoco><compiler angle="radian"/>'
        f'<option timestep="{SUBSTEP_S}" integrator="RK4" gravity="{" ".join(map(repr, gravity))}"/>'
        f"<worldbody>{bodies}{walls_xml(len(robot.axes))}</worldbody>{tendons}{rest}</mujoco>"
    )
