"""Two links one after the other: axis 2 alone gives M2, axis 1 alone at several postures of axis 2 gives M1 and R.

While axis 2 stands at q2, axis 1 is a plain rotary axis with inertia M1 + 2 R cos q2; a line through the inertias of
two and more postures, weighted by their deviations, gives both. While axis 1 stands, axis 2 is one with inertia M2.
Each step is small and easy to look at; fitting all parameters at once from one record needs less time on the robot.
The two must agree within what they report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.dynamics.axes import axes_graph
from idmkit.errors import IdentificationError
from idmkit.fitting import Fit, prepare
from idmkit.identify import equations_of, fit_least_squares, observe
from idmkit.records import Record
from idmkit.robot import Robot

Array = NDArray[np.float64]

STILL = 0.02
"""Share of an axis' range of motion within which it counts as held."""
LEAST_SPREAD = 0.2
"""Of cos q2, for R to be told from M1."""


@dataclass(frozen=True)
class Step:
    """One record: the axis that moved, where the other stood (rad), and I, Fv, Fc with standard deviations, SI."""

    axis: int
    posture: float
    values: tuple[float, float, float]
    stds: tuple[float, float, float]


@dataclass(frozen=True)
class Sequential:
    """Values and standard deviations (SI) by parameter, and the steps behind them.

    `scatter` compares the postures' inertias with the line through them, in standard deviations (root mean square,
    0 for two postures): above 3 the postures disagree.
    """

    steps: tuple[Step, ...]
    values: dict[str, float]
    stds: dict[str, float]
    scatter: float

    def against(self, fit: Fit) -> dict[str, float]:
        """Differences to a simultaneous fit in standard deviations of the difference, by parameter."""
        estimate = fit.estimate
        return {
            name: (self.values[name] - float(value)) / math.hypot(self.stds[name], float(std))
            for name, value, std in zip(estimate.names, estimate.values, estimate.std, strict=True)
        }


def fit_sequential(records: Sequence[Record], robot: Robot, *, cutoff_hz: float | None = None) -> Sequential:
    """Identifies a two-link arm from records in which one axis moves each.

    Raises IdentificationError where both or none move, where axis 2 never moves alone, or where the postures are too
    alike.
    """
    if robot.machine is None or robot.machine.kind != "two_link":
        raise IdentificationError(f"robot {robot.name!r} is no two-link arm; only these are identified link by link")
    steps = tuple(_step(record, robot, cutoff_hz, k) for k, record in enumerate(records, start=1))
    first, second = ([step for step in steps if step.axis == axis] for axis in (0, 1))
    one, two = (axis.name for axis in robot.axes)
    cosines = np.array([math.cos(step.posture) for step in first])
    if not second or len(first) < 2 or np.ptp(cosines) < LEAST_SPREAD:
        spread = f"cos {two} from {cosines.min():.2g} to {cosines.max():.2g}" if first else "none"
        raise IdentificationError(
            f"{len(second)} record(s) of axis {two!r} alone and {len(first)} of axis {one!r} alone ({spread}); record "
            f"axis {two!r} once, and axis {one!r} with axis {two!r} held straight and at a right angle"
        )
    line = np.stack([np.ones(len(first)), 2 * cosines], axis=1)
    inertia, weight = np.array([s.values[0] for s in first]), 1 / np.array([s.stds[0] for s in first])
    covariance = np.linalg.inv((line * weight[:, None] ** 2).T @ line)
    M1, R = covariance @ (line.T @ (weight**2 * inertia))
    left = weight * (inertia - line @ np.array([M1, R]))
    scatter = float(np.sqrt(np.sum(left**2) / (len(first) - 2))) if len(first) > 2 else 0.0
    values = {"M1": float(M1), "R": float(R)}
    stds = {"M1": float(np.sqrt(covariance[0, 0])), "R": float(np.sqrt(covariance[1, 1]))}
    for name, own, k in (
        ("M2", second, 0),
        *((f"{axis}.{friction}", own, k) for axis, own in ((one, first), (two, second)) for friction, k in _FRICTION),
    ):
        values[name], stds[name] = _mean(own, k)
    return Sequential(steps, values, stds, scatter)


_FRICTION = (("Fv", 1), ("Fc", 2))


def _mean(steps: list[Step], k: int) -> tuple[float, float]:
    """Mean of value number `k` weighted by the steps' deviations, and its standard deviation."""
    weight = np.array([1 / step.stds[k] ** 2 for step in steps])
    values = np.array([step.values[k] for step in steps])
    return float(weight @ values / weight.sum()), float(1 / np.sqrt(weight.sum()))


def _step(record: Record, robot: Robot, cutoff_hz: float | None, number: int) -> Step:
    prepared = prepare(record, robot, None, cutoff_hz, None)
    positions = [record.channel(axis.name, "position").samples for axis in robot.axes]
    spans = [
        float(np.nanmax(position) - np.nanmin(position)) / (axis.position_max - axis.position_min)
        for position, axis in zip(positions, robot.axes, strict=True)
    ]
    moving = [k for k, span in enumerate(spans) if span > STILL]
    if len(moving) != 1:
        shares = ", ".join(f"{axis.name} {100 * s:.2g} %" for axis, s in zip(robot.axes, spans, strict=True))
        raise IdentificationError(
            f"record {number}: {'both axes move' if moving else 'no axis moves'} ({shares} of their range); "
            "one axis must move and the other be held"
        )
    [k] = moving
    axis = robot.axes[k]
    regressor = axes_graph([(axis.name, "revolute", 1)]).regressor()
    observations = observe(prepared.cleaned, [axis.name], regressor, prepared.cutoff_hz, [prepared.thresholds[k]])
    estimate = fit_least_squares(equations_of(observations))
    I, Fv, Fc = map(float, estimate.values)  # noqa: E741
    return Step(k, float(np.nanmean(positions[1 - k])), (I, Fv, Fc), _three(estimate.std))


def _three(values: Array) -> tuple[float, float, float]:
    a, b, c = map(float, values)
    return a, b, c
