"""Resonance over the workspace: one horizontal and one vertical section."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idmkit.errors import ModelError
from idmkit.stiffness.delta import SoftDelta
from idmkit.stiffness.geometry import pose
from idmkit.stiffness.resonance import Form

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Section:
    """A plane cut: `across` [N] and `along` [M] in m, `resonance_hz` [M, N], NaN outside of the workspace."""

    title: str
    labels: tuple[str, str]
    across: Array
    along: Array
    resonance_hz: Array


def sections(
    delta: SoftDelta,
    *,
    height: float | None = None,
    direction: ArrayLike | None = None,
    form: Form = "consistent",
    points: int = 121,
) -> tuple[Section, Section]:
    """A horizontal section at `height` (default: the middle) and the vertical one through the axis, x to the right.

    The resonance in `direction`, or the lowest of the three where none is given. Raises ModelError where the workspace
    holds no point that the arms reach.
    """
    space = delta.workspace
    z = (space.z_min + space.z_max) / 2 if height is None else height
    x = np.linspace(-space.radius, space.radius, points)
    heights = np.linspace(space.z_min, space.z_max, points)
    flat = np.stack([*np.meshgrid(x, x), np.full((points, points), z)], axis=-1)
    X, Z = np.meshgrid(x, heights)
    upright = np.stack([X, np.zeros_like(X), Z], axis=-1)
    result = (
        Section(f"z = {z:g} m", ("x, m", "y, m"), x, x, _resonance(delta, flat, direction, form)),
        Section("y = 0", ("x, m", "z, m"), x, heights, _resonance(delta, upright, direction, form)),
    )
    if not any(np.isfinite(section.resonance_hz).any() for section in result):
        raise ModelError(
            f"within {space.radius:g} m and z = {space.z_min:g} .. {space.z_max:g} m there is no point that the arms "
            f"reach between {space.angle_min:g} and {space.angle_max:g} rad; check them in [model.stiffness], and the "
            "axes' position limits"
        )
    return result


def _resonance(delta: SoftDelta, points: Array, direction: ArrayLike | None, form: Form) -> Array:
    robot, space = delta.robot, delta.workspace
    if direction is None:
        values = robot.eigenfrequencies(points)[..., 0]
    else:
        values = robot.resonances(points, direction, form)
    angles = pose(robot.geometry, points).angles
    with np.errstate(invalid="ignore"):
        inside = ((angles >= space.angle_min) & (angles <= space.angle_max)).all(axis=-1)
    inside &= np.hypot(points[..., 0], points[..., 1]) <= space.radius * (1 + 1e-9)
    return np.asarray(np.where(inside, values, np.nan))
