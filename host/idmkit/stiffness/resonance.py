"""Stiffness and resonance of a delta's platform, at a point and in a direction.

Joints give way by c_q (Nm/rad), pairs of rods by c_r (N/m). With the rows n_i of N along the rods and the levers d_i of
the arms, the platform's displacement under a force F is

    dP = N^-1 diag(d_i^2/c_q + 1/c_r) N^-T F = (K_q^-1 + K_r^-1) F

Two formulas for the stiffness in a direction u:
- "consistent": k = 1/(u^T (K_q^-1 + K_r^-1) u), force over the displacement along it, for both parts alike
- "series": the Axystems page's: k_q = |F|/|dP| with the whole displacement (its eq. 6), k_r = c_r F^2/sum F_c^2
  (eq. 10), k = k_q k_r/(k_q + k_r) (eq. 11). Eq. 10 is the consistent form; eq. 6 is softer wherever the platform gives
  way sideways, so these frequencies are lower (by up to 12 % in the poses that were tried), and safe.

f = sqrt(k/m)/(2 pi) with m = M_P + M_BC: the platform and a third of three pairs of rods. Excitation is kept below
F_exc = R_ext f, so an acceleration phase lasts at least T_AccMin = 1/(2 F_exc).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idmkit.dynamics.delta import DeltaGeometry
from idmkit.errors import ModelError
from idmkit.stiffness.geometry import FLAT, Pose, pose, pose_at

Array = NDArray[np.float64]
Form = Literal["consistent", "series"]
FORMS: tuple[Form, Form] = ("consistent", "series")


@dataclass(frozen=True)
class Stiffness:
    """N/m at one point in one direction: by the joints alone, by the rods alone, both; and the resonance in Hz."""

    joints: float
    rods: float
    total: float
    resonance_hz: float


@dataclass(frozen=True)
class Compliant:
    """A delta that gives way: c_q in Nm/rad of each joint, c_r in N/m of each pair of rods, moved mass in kg."""

    geometry: DeltaGeometry
    c_q: float
    c_r: float
    mass: float

    def __post_init__(self) -> None:
        for name in ("c_q", "c_r", "mass"):
            if not getattr(self, name) > 0:
                raise ModelError(f"{name} must be positive, is {getattr(self, name):g}")

    def at(self, point: ArrayLike, direction: ArrayLike, form: Form = "consistent") -> Stiffness:
        """Stiffness at a point [3] m in a direction [3]; raises ModelError where the point is out of reach."""
        joints, rods = unit_compliances(pose_at(self.geometry, point), unit_vector(direction), form)
        k_q, k_r = self.c_q / float(joints), self.c_r / float(rods)
        total = k_q * k_r / (k_q + k_r)
        return Stiffness(k_q, k_r, total, float(np.sqrt(total / self.mass)) / (2 * np.pi))

    def resonances(self, points: ArrayLike, direction: ArrayLike, form: Form = "consistent") -> Array:
        """Resonance in Hz at points [..., 3] in one direction; NaN out of reach."""
        joints, rods = unit_compliances(pose(self.geometry, points), unit_vector(direction), form)
        return np.asarray(1 / (2 * np.pi * np.sqrt(self.mass * (joints / self.c_q + rods / self.c_r))))

    def eigenfrequencies(self, points: ArrayLike) -> Array:
        """The three resonances in Hz at points [..., 3], lowest first; NaN out of reach."""
        joints, rods = compliance_matrices(pose(self.geometry, points))
        matrix = joints / self.c_q + rods / self.c_r
        known = np.asarray(np.isfinite(matrix).all(axis=(-2, -1)))
        values = np.linalg.eigvalsh(np.where(known[..., None, None], matrix, np.eye(3)))
        frequencies = 1 / (2 * np.pi * np.sqrt(self.mass * values[..., ::-1]))
        return np.asarray(np.where(known[..., None], frequencies, np.nan))


def minimal_acceleration_time(resonance_hz: float, excitation_ratio: float) -> float:
    """T_AccMin = 1/(2 R_ext f), s."""
    if not (resonance_hz > 0 and 0 < excitation_ratio <= 1):
        raise ModelError(
            f"resonance and R_ext must be positive and R_ext at most 1, are {resonance_hz:g} Hz and "
            f"{excitation_ratio:g}"
        )
    return 1 / (2 * excitation_ratio * resonance_hz)


def acceleration_time_of_move(
    robot: Compliant, start: ArrayLike, end: ArrayLike, excitation_ratio: float, form: Form = "consistent"
) -> float:
    """T_AccMin, s, of a straight move: by the lower of the resonances at its ends, along the move."""
    along = np.asarray(end, dtype=float) - np.asarray(start, dtype=float)
    if not along.any():
        raise ModelError("start and end of the move are the same point: it has no direction")
    lowest = min(robot.at(point, along, form).resonance_hz for point in (start, end))
    return minimal_acceleration_time(lowest, excitation_ratio)


def unit_vector(direction: ArrayLike) -> Array:
    """The direction [3] with length 1; raises ModelError for a zero one."""
    u = np.asarray(direction, dtype=float)
    length = float(np.linalg.norm(u))
    if u.shape != (3,) or not (length > 0 and np.isfinite(length)):
        raise ModelError(f"a direction is three numbers, not all 0; is {np.array2string(u)}")
    return np.asarray(u / length)


def compliance_matrices(found: Pose) -> tuple[Array, Array]:
    """(c_q K_q^-1 [..., 3, 3] in m^2, c_r K_r^-1 [..., 3, 3]); NaN out of reach and where the rods are in one plane."""
    rods = found.rods
    reached = np.asarray(np.isfinite(rods).all(axis=(-2, -1)))[..., None, None]
    good = reached & np.asarray(np.abs(np.linalg.det(np.where(reached, rods, 0.0))) >= FLAT)[..., None, None]
    inverse = np.where(good, np.linalg.inv(np.where(good, rods, np.eye(3))), np.nan)
    moved = inverse * found.levers[..., None, :]
    return moved @ np.swapaxes(moved, -1, -2), inverse @ np.swapaxes(inverse, -1, -2)


def unit_compliances(found: Pose, u: Array, form: Form) -> tuple[Array, Array]:
    """(c_q/k_q in m^2, c_r/k_r) [...] along the unit vector u [3]."""
    joints, rods = compliance_matrices(found)
    given_way = joints @ u
    by_joints = np.linalg.norm(given_way, axis=-1) if form == "series" else given_way @ u
    return np.asarray(by_joints), np.asarray((rods @ u) @ u)
