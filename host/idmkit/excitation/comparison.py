"""A plan beside the sines of the robot file: what both tell about the parameters in the same time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from idmkit.excitation.criterion import ExcitedModel, Quality, quality
from idmkit.excitation.fourier import Array
from idmkit.excitation.limits import Trajectory
from idmkit.robot import Robot
from idmkit.sine_advice import advise


@dataclass(frozen=True)
class Comparison:
    """Motions of `duration_s`, sampled every cycle. Sines may leave parameters open (then they are not complete).

    `fast_sine`: the sines with all frequencies times `factor_to_limit`, where the first axis is at its speed or
    acceleration limit; whether torque and drives allow that is not asked.
    """

    duration_s: float
    planned: Quality
    sine: Quality
    fast_sine: Quality
    factor_to_limit: float

    @property
    def factor(self) -> float:
        """Trace of the scaled covariance of the sines over that of the plan; infinite where the sines leave some."""
        return self.sine.trace / self.planned.trace

    @property
    def fast_factor(self) -> float:
        """The same for the fast sines."""
        return self.fast_sine.trace / self.planned.trace


def compare(model: ExcitedModel, trajectory: Trajectory, duration_s: float) -> Comparison:
    """Both motions over `duration_s`; a trajectory that is shorter is repeated."""
    count = max(1, math.floor(duration_s / model.robot.cycle_time_s))
    t = np.arange(count, dtype=np.float64) * np.float64(model.robot.cycle_time_s)
    planned = trajectory.derivatives(np.mod(t, trajectory.duration_s))
    to_limit = advise(model.robot).factor
    return Comparison(
        duration_s,
        quality(model.information(*planned), model.names),
        quality(model.information(*sines(model.robot, t)), model.names),
        quality(model.information(*sines(model.robot, t, to_limit)), model.names),
        to_limit,
    )


def sines(robot: Robot, t: Array, factor: float = 1.0) -> Array:
    """[3, N, n]: q, qd, qdd of the robot file's identification run at times t [N], its frequencies times `factor`."""
    out = np.empty((3, len(t), len(robot.axes)))
    for k, axis in enumerate(robot.axes):
        run = axis.identification
        w = 2 * math.pi * factor * run.frequency_hz
        out[0, :, k] = run.start + run.amplitude * (1 - np.cos(w * t))
        out[1, :, k] = run.amplitude * w * np.sin(w * t)
        out[2, :, k] = run.amplitude * w**2 * np.cos(w * t)
    return out
