"""A plan beside the sines of the robot file: what both tell about the parameters in the same time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from idmkit.excitation.criterion import ExcitedModel, Quality, quality
from idmkit.excitation.fourier import Array
from idmkit.excitation.limits import Trajectory
from idmkit.robot import Robot


@dataclass(frozen=True)
class Comparison:
    """Two motions of `duration_s`, sampled every cycle. `sine` may leave parameters open (then it is not complete)."""

    duration_s: float
    planned: Quality
    sine: Quality

    @property
    def factor(self) -> float:
        """Trace of the scaled covariance of the sines over that of the plan; infinite where the sines leave some."""
        return self.sine.trace / self.planned.trace


def compare(model: ExcitedModel, trajectory: Trajectory, duration_s: float) -> Comparison:
    """Both motions over `duration_s`; a trajectory that is shorter is repeated."""
    count = max(1, math.floor(duration_s / model.robot.cycle_time_s))
    t = np.arange(count, dtype=np.float64) * np.float64(model.robot.cycle_time_s)
    planned = trajectory.derivatives(np.mod(t, trajectory.duration_s))
    return Comparison(
        duration_s,
        quality(model.information(*planned), model.names),
        quality(model.information(*sines(model.robot, t)), model.names),
    )


def sines(robot: Robot, t: Array) -> Array:
    """[3, N, n]: q, qd, qdd of the identification run that the robot file describes, at times t [N]."""
    out = np.empty((3, len(t), len(robot.axes)))
    for k, axis in enumerate(robot.axes):
        run = axis.identification
        w = 2 * math.pi * run.frequency_hz
        out[0, :, k] = run.start + run.amplitude * (1 - np.cos(w * t))
        out[1, :, k] = run.amplitude * w * np.sin(w * t)
        out[2, :, k] = run.amplitude * w**2 * np.cos(w * t)
    return out
