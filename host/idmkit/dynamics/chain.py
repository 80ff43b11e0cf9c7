"""A serial chain: joints, their placement, gravity, and what is known of the links' masses.

Frames. Link i carries a frame whose origin lies on the axis of joint i. At q = 0 it stands in the frame of link
i - 1 (link 0: the base) as `Joint.rotation` and `Joint.translation` say; joint i then turns it about, or slides
it along, `Joint.axis`. Everything about a link is expressed in its frame and taken about the origin of its frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from idmkit.dynamics.rotations import Array, skew, turn, turn_by, unit_vector
from idmkit.errors import ModelError

JointKind = Literal["revolute", "prismatic"]

INERTIAL_NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Order of a link's ten parameters: mass, first moment m c, inertia about the frame's origin."""


@dataclass(frozen=True, eq=False)
class Inertial:
    """Mass (kg), first moment m c [3] (kg m) and inertia [3, 3] (kg m^2) about the origin of a frame, in that frame."""

    mass: float
    first_moment: Array
    inertia: Array

    @classmethod
    def from_centre(cls, mass: float, centre: ArrayLike, inertia: ArrayLike) -> Inertial:
        """From the centre of mass [3] (m) and the inertia [3, 3] about it, in the frame's orientation."""
        c = np.asarray(centre, dtype=float)
        shift = skew(c)
        return cls(float(mass), mass * c, np.asarray(inertia, dtype=float) - mass * shift @ shift)

    @classmethod
    def from_parameters(cls, parameters: ArrayLike) -> Inertial:
        """From the ten numbers in the order of INERTIAL_NAMES."""
        m, mx, my, mz, xx, xy, yy, xz, yz, zz = np.asarray(parameters, dtype=float)
        return cls(float(m), np.array([mx, my, mz]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))

    @property
    def parameters(self) -> Array:
        """[10] in the order of INERTIAL_NAMES."""
        J = self.inertia
        return np.array([self.mass, *self.first_moment, J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]])

    @property
    def centre(self) -> Array:
        """Centre of mass [3], m; ModelError where the mass is not positive."""
        if not self.mass > 0:
            raise ModelError(f"a mass of {self.mass:g} kg has no centre; use a physically consistent estimate")
        return self.first_moment / self.mass

    @property
    def inertia_about_centre(self) -> Array:
        """Inertia [3, 3] about the centre of mass, kg m^2, in the frame's orientation."""
        shift = skew(self.centre)
        return self.inertia + self.mass * shift @ shift

    def seen_from(self, rotation: Array, translation: Array) -> Inertial:
        """The same body in another frame, in which this one stands at `rotation` [3, 3] and `translation` [3]."""
        moment = rotation @ self.first_moment
        p, s = skew(translation), skew(moment)
        inertia = rotation @ self.inertia @ rotation.T - p @ s - s @ p - self.mass * p @ p
        return Inertial(self.mass, moment + self.mass * translation, inertia)

    def __add__(self, other: Inertial) -> Inertial:
        return Inertial(self.mass + other.mass, self.first_moment + other.first_moment, self.inertia + other.inertia)


@dataclass(frozen=True, eq=False)
class Joint:
    """One joint: `rotation` [3, 3] and `translation` [3] (m) of its link's frame at q = 0, unit `axis` [3] in it."""

    name: str
    kind: JointKind
    rotation: Array
    translation: Array
    axis: Array


@dataclass(frozen=True, eq=False)
class Chain:
    """A serial arm. `gravity` [3]: acceleration of a falling body in the base frame, m/s^2.

    `inertials`: what the robot's description says of each link, None where it says nothing. `notes`: sentences
    on what was assumed while the description was read.
    """

    name: str
    joints: tuple[Joint, ...]
    gravity: Array
    inertials: tuple[Inertial | None, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.joints:
            raise ModelError(f"{self.name}: no moving joint; a chain needs at least one")
        names = self.names
        if len(set(names)) != len(names):
            raise ModelError(f"{self.name}: joints {', '.join(names)}: every joint needs a name of its own")
        if len(self.inertials) != len(self.joints):
            raise ModelError(f"{self.name}: {len(self.inertials)} inertials for {len(self.joints)} links")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints, base first."""
        return tuple(joint.name for joint in self.joints)

    def known_inertials(self) -> tuple[Inertial, ...]:
        """The inertials of all links; ModelError names the links without."""
        missing = [joint.name for joint, body in zip(self.joints, self.inertials, strict=True) if body is None]
        if missing:
            raise ModelError(
                f"{self.name}: no mass and inertia is given for the link behind {', '.join(missing)}; "
                "add them, or use an estimator without CAD values"
            )
        return tuple(body for body in self.inertials if body is not None)

    def with_zero(self, offsets: Sequence[float]) -> Chain:
        """The chain in joint positions of another zero: position here = position there + offset (rad or m)."""
        if len(offsets) != len(self.joints):
            raise ModelError(f"{self.name}: {len(offsets)} position offsets for {len(self.joints)} joints")
        joints = []
        for joint, offset in zip(self.joints, offsets, strict=True):
            if joint.kind == "revolute":
                joints.append(replace(joint, rotation=joint.rotation @ turn_by(joint.axis, offset)))
            else:
                slide = joint.rotation @ joint.axis * offset
                joints.append(replace(joint, translation=joint.translation + slide))
        return replace(self, joints=tuple(joints))

    def renamed(self, names: Sequence[str]) -> Chain:
        """The chain with other names of its joints, base first."""
        if len(names) != len(self.joints):
            raise ModelError(
                f"{self.name}: {len(names)} axes for {len(self.joints)} joints ({', '.join(self.names)}); "
                "give one axis a joint, base first"
            )
        joints = tuple(replace(joint, name=name) for joint, name in zip(self.joints, names, strict=True))
        return replace(self, joints=joints)

    def placement(self, positions: ArrayLike) -> tuple[Array, Array]:
        """(rotation [3, 3], translation [3]) of the last link's frame in the base frame at `positions` [n]."""
        R, p = np.eye(3), np.zeros(3)
        for joint, q in zip(self.joints, np.asarray(positions, dtype=float), strict=True):
            p = p + R @ joint.translation
            R = R @ joint.rotation
            if joint.kind == "revolute":
                R = R @ turn(joint.axis, math.cos(q), math.sin(q))
            else:
                p = p + R @ joint.axis * q
        return R, p


def gravity_vector(falls_towards: ArrayLike, magnitude: float) -> Array:
    """Gravity [3] in the base frame, m/s^2: the direction in which things fall, and its magnitude.

    (0, 0, -1) is an arm on the floor, (0, 0, 1) one under the ceiling. There is no default: the mounting decides
    which parameters can be told apart, and a description of an arm does not say how it is mounted.
    """
    return magnitude * unit_vector(falls_towards, "gravity_direction, in which things fall in the base frame,")
