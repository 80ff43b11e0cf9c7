"""Several cutoffs compared: what the low-pass takes from the torque, and what it does to the parameters.

Below the right cutoff nothing of the motion is lost and the parameters agree within their uncertainty; above it the
noise of the acceleration, which the fit takes for motion, draws inertias towards zero. The highest cutoff that still
agrees with the lower ones uses most of the record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import IdentificationError
from idmkit.fitting import Fit, prepare
from idmkit.records import Record
from idmkit.robot import Robot
from idmkit.signals import low_pass

Array = NDArray[np.float64]

AGREE = 3.0
"""Parameters agree within so many combined standard deviations."""


@dataclass(frozen=True)
class Trial:
    """One cutoff: `taken_percent` [n] is what it takes from the raw torque (root mean square), `error_percent` [n] what
    the model leaves of the filtered torque. `furthest` is the parameter that differs most from the lower cutoffs', by
    `deviations` combined standard deviations; "" and 0 for the lowest.
    """

    cutoff_hz: float
    taken_percent: tuple[float, ...]
    error_percent: tuple[float, ...]
    values: dict[str, float]
    stds: dict[str, float]
    furthest: str
    deviations: float


@dataclass(frozen=True)
class Sweep:
    """The trials from the lowest cutoff on, and the highest cutoff up to which all agree."""

    axes: tuple[str, ...]
    trials: tuple[Trial, ...]
    advised_hz: float


def sweep_cutoffs(record: Record, robot: Robot, cutoffs: Sequence[float], fit: Callable[[float], Fit]) -> Sweep:
    """Fits the record at each of the `cutoffs` (Hz) by `fit`; raises what a single fit raises."""
    if len(set(cutoffs)) < 2:
        raise IdentificationError("comparing cutoffs needs two different ones at least")
    trials: list[Trial] = []
    for cutoff in sorted(set(cutoffs)):
        result = fit(cutoff).result
        known = [p for p in result.parameters if p.std is not None and p.std > 0]
        values = {p.name: p.value for p in known}
        stds = {p.name: float(p.std or 0.0) for p in known}
        furthest, deviations = _furthest(values, stds, trials)
        trials.append(
            Trial(
                cutoff_hz=cutoff,
                taken_percent=_taken(record, robot, cutoff),
                error_percent=tuple(axis.relative_error_percent for axis in result.axes),
                values=values,
                stds=stds,
                furthest=furthest,
                deviations=deviations,
            )
        )
    advised = trials[0].cutoff_hz
    for trial in trials[1:]:
        if trial.deviations > AGREE:
            break
        advised = trial.cutoff_hz
    return Sweep(tuple(axis.name for axis in robot.axes), tuple(trials), advised)


def _furthest(values: dict[str, float], stds: dict[str, float], before: Sequence[Trial]) -> tuple[str, float]:
    """The parameter that is farthest from its value at a lower cutoff, in combined standard deviations."""
    worst, name = 0.0, ""
    for trial in before:
        for key in values.keys() & trial.values.keys():
            distance = abs(values[key] - trial.values[key]) / np.hypot(stds[key], trial.stds[key])
            if distance > worst:
                worst, name = float(distance), key
    return name, worst


def _taken(record: Record, robot: Robot, cutoff_hz: float) -> tuple[float, ...]:
    """Root mean square of raw minus filtered torque in percent of the raw one, for each axis, outside of gaps."""
    cleaned = prepare(record, robot, None, cutoff_hz, None).cleaned
    shares = []
    for axis in robot.axes:
        samples = cleaned.record.channel(axis.name, "torque").samples
        lost = power = 0.0
        for stretch in cleaned.segments():
            try:
                filtered = low_pass(samples[stretch], cleaned.record.sample_rate_hz, cutoff_hz)
            except IdentificationError:
                continue  # too short for the filter, and so not used by the fit either
            lost += float(np.sum((samples[stretch] - filtered) ** 2))
            power += float(np.sum(samples[stretch] ** 2))
        shares.append(100 * float(np.sqrt(lost / power)) if power else 0.0)
    return tuple(shares)
