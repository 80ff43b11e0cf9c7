"""Where a delta's rods point, at many platform positions at once: inverse kinematics, Jacobian, rod forces.

Geometry and angles are those of the dynamic model (`idmkit.dynamics.delta`): s_i = C_i - B_i from elbow to platform,
b_i the direction in which elbow i moves for a growing angle. From |s_i| = l_B follows s_i . dP = l_A (s_i . b_i) dq_i,
which is all that the stiffness needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idmkit.dynamics.delta import DeltaGeometry, arm_angles, arm_directions
from idmkit.errors import ModelError

Array = NDArray[np.float64]

FLAT = 1e-6
"""Volume spanned by the three rod directions below which the platform can be moved without any rod's changing."""


@dataclass(frozen=True, eq=False)
class Pose:
    """Arms and rods at platform positions [..., 3]; NaN where no arm position reaches.

    `angles` [..., 3] rad, `rods` [..., 3, 3] unit vectors in rows, elbow to platform, `levers` [..., 3] m: how far the
    platform moves along rod i for a radian of arm i.
    """

    angles: Array
    rods: Array
    levers: Array


def pose(geometry: DeltaGeometry, points: ArrayLike) -> Pose:
    """Arms and rods for the platform at `points` [..., 3], m, elbows out."""
    P = np.asarray(points, dtype=float)
    radial = np.array([(c, s, 0.0) for c, s in arm_directions()])
    D = P[..., None, :] + (geometry.R_P - geometry.R_A) * radial
    E = 2 * geometry.l_A * np.einsum("...ij,ij->...i", D, radial)
    F = -2 * geometry.l_A * D[..., 2]
    G = np.sum(D**2, axis=-1) + geometry.l_A**2 - geometry.l_B**2
    with np.errstate(invalid="ignore", divide="ignore"):
        angles = np.arctan2(F, E) - np.arccos(G / np.hypot(E, F))
    angles = np.where(np.isfinite(angles).all(axis=-1, keepdims=True), angles, np.nan)
    cos, sin = np.cos(angles)[..., None], np.sin(angles)[..., None]
    up = np.array([0.0, 0.0, 1.0])
    rods = (D - geometry.l_A * (cos * radial - sin * up)) / geometry.l_B
    b = -sin * radial - cos * up
    return Pose(angles, rods, geometry.l_A * np.sum(rods * b, axis=-1))


def platform_position(geometry: DeltaGeometry, angles: ArrayLike) -> Array:
    """Forward kinematics: platform [..., 3] m for arm angles [..., 3] rad; NaN where the rods cannot meet.

    The lower point where three spheres of radius l_B about B_i - R_P e_r meet.
    """
    q = np.asarray(angles, dtype=float)
    radial = np.array([(c, s, 0.0) for c, s in arm_directions()])
    centres = (geometry.R_A - geometry.R_P + geometry.l_A * np.cos(q))[..., None] * radial
    centres[..., 2] -= geometry.l_A * np.sin(q)
    d1, d2 = centres[..., 1, :] - centres[..., 0, :], centres[..., 2, :] - centres[..., 0, :]
    normal = np.cross(d1, d2)
    area = np.sum(normal**2, axis=-1, keepdims=True)
    half1, half2 = (np.sum(d**2, axis=-1, keepdims=True) / 2 for d in (d1, d2))
    # The circumcentre of the three, from the first: d1 . w = |d1|^2/2, d2 . w = |d2|^2/2, normal . w = 0.
    w = (half1 * np.cross(d2, normal) + half2 * np.cross(normal, d1)) / area
    with np.errstate(invalid="ignore"):
        drop = np.sqrt((geometry.l_B**2 - np.sum(w**2, axis=-1, keepdims=True)) / area)
    return np.asarray(centres[..., 0, :] + w - drop * normal)


def pose_at(geometry: DeltaGeometry, point: ArrayLike) -> Pose:
    """The pose at one point [3]; raises ModelError that says which arm does not reach, or that the pose is singular."""
    arm_angles(geometry, point)
    found = pose(geometry, point)
    if abs(float(np.linalg.det(found.rods))) < FLAT:
        x, y, z = np.asarray(point, dtype=float)
        raise ModelError(
            f"at ({x:g}, {y:g}, {z:g}) m the delta's three rods lie in one plane: nothing holds the platform across "
            "it; choose a point farther inside"
        )
    return found


def jacobian(geometry: DeltaGeometry, point: ArrayLike) -> Array:
    """J [3, 3] rad/m with dq = J dP at one point; rods' forces and joint torques: F = J^T M_q."""
    found = pose_at(geometry, point)
    return np.asarray(found.rods / found.levers[:, None])


def rod_forces(geometry: DeltaGeometry, point: ArrayLike, force: ArrayLike) -> Array:
    """Force [3] N in each pair of rods, positive in pressure, that together push the platform with `force` [3] N.

    F = sum F_c,i s_i/|s_i|; in motion F = m (a + g e_z).
    """
    return np.asarray(np.linalg.solve(pose_at(geometry, point).rods.T, np.asarray(force, dtype=float)))
