"""The joint-motor matrix: gear ratios, and motors that move more than one joint (wrists, ball-screw splines)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from idmkit.dynamics.rotations import Array
from idmkit.errors import ModelError


@dataclass(frozen=True, eq=False)
class JointMotor:
    """Motor positions = matrix @ joint positions; by virtual work, joint torques = matrix.T @ motor torques.

    `matrix` [n, n], one row a motor, in motor rad per joint rad (or per m). Its diagonal holds the gear ratios,
    so motor k is the one that joint k is named after.
    """

    matrix: Array

    def __post_init__(self) -> None:
        M = self.matrix
        if M.ndim != 2 or M.shape[0] != M.shape[1] or not np.all(np.isfinite(M)):
            raise ModelError(f"the joint-motor matrix must be square and finite, has shape {M.shape}")
        if np.any(np.diag(M) == 0) or np.linalg.matrix_rank(M) < len(M):
            raise ModelError(
                "the joint-motor matrix must have an inverse and gear ratios other than 0 on its diagonal; "
                f"its diagonal is {np.diag(M).tolist()}, its rank {np.linalg.matrix_rank(M)} of {len(M)}"
            )

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[float]]) -> JointMotor:
        """From the rows of a robot file; ModelError where they are of different length."""
        if len({len(row) for row in rows}) > 1:
            raise ModelError(f"the rows of the joint-motor matrix have {[len(row) for row in rows]} numbers")
        return cls(np.array(rows, dtype=float))

    @property
    def speeds(self) -> Array:
        """[n, n]: motor motion behind its own gear = speeds @ joint motion. The diagonal is 1."""
        return np.asarray(self.matrix / np.diag(self.matrix)[:, None])

    @property
    def coupled(self) -> tuple[int, ...]:
        """Motors that move with more than their own joint."""
        return tuple(int(k) for k in np.flatnonzero((self.matrix != 0).sum(axis=1) > 1))

    def joint_motion(self, motor: ArrayLike) -> Array:
        """Joint positions (velocities, accelerations) [N, n] from those of the motors [N, n]."""
        return np.asarray(np.linalg.solve(self.matrix, np.asarray(motor, dtype=float).T).T)

    def motor_motion(self, joint: ArrayLike) -> Array:
        """Motor positions (velocities, accelerations) [N, n] from those of the joints [N, n]."""
        return np.asarray(np.asarray(joint, dtype=float) @ self.matrix.T)

    def joint_torque(self, motor: ArrayLike) -> Array:
        """Joint torques [N, n] from motor torques [N, n]."""
        return np.asarray(np.asarray(motor, dtype=float) @ self.matrix)

    def motor_torque(self, joint: ArrayLike) -> Array:
        """Motor torques [N, n] from joint torques [N, n]."""
        return np.asarray(np.linalg.solve(self.matrix.T, np.asarray(joint, dtype=float).T).T)
