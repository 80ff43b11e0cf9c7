"""Instrumental variables: consistent where the position is noisy, if the commanded motion is known.

Noise on the measured motion sits in the regressor Y, is multiplied with itself in Y'Y and pulls least squares towards
zero. The regressor Z of the commanded motion is as good a witness of the motion and knows nothing of the noise:

    theta = (Z' W Y)^-1 Z' W tau
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import IdentificationError
from idmkit.identify.covariance import long_run_covariance
from idmkit.identify.equations import Equations
from idmkit.identify.estimate import Estimate
from idmkit.identify.least_squares import Solution, axis_weights, estimate_of, solve
from idmkit.records import Channel, CleanRecord

Array = NDArray[np.float64]

MAX_LAG = 64
"""Rows by which the motion may follow its command."""
_PASSES = 3
_LEAST_ALIKE = 0.9


def fit_instrumental(equations: Equations, instruments: Equations) -> Estimate:
    """The estimate from measured `equations` and those of the commanded motion, which have the same rows.

    Weighted by axis; standard deviations from the scores of the instruments, coloured residuals included. Raises
    IdentificationError where the commanded motion does not follow the measured one in all parameters.
    """
    weights = axis_weights(equations, solve(equations, np.ones(len(equations.axes))).values)
    target, measured = equations.torque, equations.regressor
    used = (equations.used & instruments.used).astype(float)
    for _ in range(_PASSES):
        Z = instruments.regressor * (used * weights[:, None] ** 2)[:, :, None]
        cross = np.einsum("nkp,nkq->pq", Z, measured)
        moment = np.einsum("nkp,nk->p", Z, target)
        scale = np.sqrt(np.abs(np.diag(cross)))
        scaled = cross / np.outer(scale, scale)
        if not np.isfinite(scaled).all() or np.linalg.matrix_rank(scaled) < len(scale):
            raise IdentificationError(
                "the commanded motion does not show all parameters that the measured one shows; use another estimator"
            )
        values = np.linalg.solve(scaled, moment / scale) / scale
        before, weights = weights, axis_weights(equations, values)
    inverse = np.linalg.inv(scaled) / np.outer(scale, scale)
    condition = float(np.linalg.cond(scaled))
    empty = np.empty((0, len(values)))
    estimate = estimate_of("instrumental variables", equations, Solution(values, inverse, empty, condition), before)
    scores = np.zeros((int(equations.tick[-1]) + 1, len(values)))
    scores[equations.tick] = np.einsum("nkp,nk->kp", Z, equations.residual(values))
    return replace(estimate, covariance=inverse @ long_run_covariance(scores) @ inverse.T)


def commanded(clean: CleanRecord, axes: Sequence[str]) -> CleanRecord:
    """The record with each measured position replaced by its command, delayed as the motion follows it.

    Raises IdentificationError where a command is not recorded, or is not what the axis does.
    """
    channels = list(clean.record.channels)
    for axis in axes:
        measured = clean.record.channel(axis, "position")
        command = next((c for c in channels if c.axis == axis and c.name == "position_command"), None)
        if command is None:
            raise IdentificationError(
                f"instrumental variables need the commanded motion, and the record has no position_command of axis "
                f"{axis!r}; record it, or use another estimator"
            )
        channels[channels.index(measured)] = replace(measured, samples=_delayed(command, measured))
    return replace(clean, record=replace(clean.record, channels=tuple(channels)))


def _delayed(command: Channel, measured: Channel) -> Array:
    """Samples of the command, later by the rows [0, MAX_LAG] at which it looks most like the measured motion."""
    both = np.isfinite(command.samples) & np.isfinite(measured.samples)
    speeds = [np.diff(np.where(both, samples, 0.0)) for samples in (command.samples, measured.samples)]
    alike = []
    for lag in range(min(MAX_LAG, len(speeds[0]) // 2)):
        ahead, behind = speeds[0][: len(speeds[0]) - lag], speeds[1][lag:]
        alike.append(float(ahead @ behind) / np.sqrt(float(ahead @ ahead) * float(behind @ behind) + 1e-300))
    lag = int(np.argmax(alike))
    if alike[lag] < _LEAST_ALIKE:
        raise IdentificationError(
            f"axis {measured.axis!r} does not follow its command (correlation {alike[lag]:.2f} at best); "
            "use another estimator"
        )
    return np.concatenate((np.full(lag, command.samples[0]), command.samples[: len(command.samples) - lag]))
