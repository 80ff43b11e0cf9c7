"""What a motion must not exceed, and the proof that it does not, between samples too.

Position, speed, acceleration and jerk are bounded by the trajectory itself (a series by Ehlich and Zeller's theorem,
trapezoids in closed form). Torque and tool position are evaluated over spans of time: intervals that enclose q, qd,
qdd within a span go through the model's operations, and Coulomb friction takes either sign where the speed may pass
zero. A span whose interval leaves the limit, or is much wider than what is reached, is cut into shorter ones; what is
beyond a limit when no cut helps counts as a violation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from idmkit.errors import ModelError
from idmkit.excitation.criterion import ExcitedModel
from idmkit.excitation.fourier import Array, Enclosure
from idmkit.excitation.intervals import IntervalTape
from idmkit.excitation.kinematics import DIRECTIONS, tool_position
from idmkit.robot import Robot

STATE_KINDS = ("position", "speed", "acceleration", "jerk")
PEAK_SHARE = 0.95
"""Part of a drive's peak torque that a plan may use: near the peak a drive no longer does what it is told."""

FIRST_SPANS = 2000
CUT = 8
CUTS = 4
"""A motion is first cut into FIRST_SPANS spans; spans that are not proved are cut into CUT, CUTS times."""
TIGHT = 0.02
"""Part of a limit by which a proved bound may be above what the motion reaches."""

Box = Sequence[tuple[float, float]]


class Trajectory(Protocol):
    """A motion whose states are known and bounded."""

    @property
    def duration_s(self) -> float:
        """Length in s."""

    def derivatives(self, t: Array, count: int = 3) -> Array:
        """Position and its derivatives [count, N, n]."""

    def bounds(self, count: int = 4) -> tuple[Array, Array]:
        """(lowest, highest) [count, n] of position, speed, acceleration, jerk over all time."""

    def enclose(self, middle: Array, width: float) -> Enclosure:
        """Intervals of q, qd, qdd within `width`/2 of the times `middle`."""


@dataclass(frozen=True)
class Limit:
    """`low` <= value <= `high` for one of STATE_KINDS or "torque" of an axis, or "box" in a direction."""

    kind: str
    name: str
    low: float
    high: float
    unit: str

    def __str__(self) -> str:
        what = f"the box in {self.name}" if self.kind == "box" else f"the {self.kind} of {self.name}"
        return f"{what} ({self.low:.4g} .. {self.high:.4g} {self.unit})"


@dataclass(frozen=True)
class Proof:
    """A limit with what the motion was proved to stay between."""

    limit: Limit
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the limit is kept at all times."""
        return self.limit.low <= self.low and self.high <= self.limit.high

    @property
    def used(self) -> float:
        """1 at the limit, 0 in its middle."""
        middle, half = (self.limit.low + self.limit.high) / 2, (self.limit.high - self.limit.low) / 2
        return max(abs(self.low - middle), abs(self.high - middle)) / half


@dataclass(frozen=True)
class Limits:
    """All limits of a plan, each kind in the order of the axes; `torque` and `box` may be empty."""

    states: tuple[tuple[Limit, ...], ...]
    torque: tuple[Limit, ...]
    box: tuple[Limit, ...]


def plan_limits(model: ExcitedModel, box: Box | None = None) -> Limits:
    """The limits of a robot file; torque where nominal parameters are known; `box` [3]: (low, high) of x, y, z, m.

    Torque keeps below TorqueThreshold and PEAK_SHARE of the drive's peak. Raises ModelError for an empty box.
    """
    robot = model.robot
    torque = []
    for axis in robot.axes if model.nominal is not None else ():
        most = PEAK_SHARE * axis.drive.joint_peak_torque
        if axis.guards_or_none is not None:
            most = min(most, axis.guards.torque_threshold)
        torque.append(Limit("torque", axis.name, -most, most, "Nm" if axis.revolute else "N"))
    edges = []
    for name, (low, high) in zip(DIRECTIONS, box or (), strict=bool(box)):
        if not low < high:
            raise ModelError(f"the box in {name} is {low:g} to {high:g} m; the first must be below the second")
        edges.append(Limit("box", name, low, high, "m"))
    return Limits(state_limits(robot), tuple(torque), tuple(edges))


def state_limits(robot: Robot) -> tuple[tuple[Limit, ...], ...]:
    """Limits of position, speed, acceleration and jerk, one row each in the order of the axes."""
    return tuple(tuple(_state_limit(robot, k, kind) for k in range(len(robot.axes))) for kind in STATE_KINDS)


def _state_limit(robot: Robot, index: int, kind: str) -> Limit:
    axis = robot.axes[index]
    unit = "rad" if axis.revolute else "m"
    if kind == "position":
        return Limit(kind, axis.name, axis.position_min, axis.position_max, unit)
    most = {"speed": axis.velocity_max, "acceleration": axis.acceleration_max, "jerk": axis.jerk_max}[kind]
    return Limit(kind, axis.name, -most, most, unit + {"speed": "/s", "acceleration": "/s^2", "jerk": "/s^3"}[kind])


def prove(trajectory: Trajectory, model: ExcitedModel, limits: Limits) -> tuple[Proof, ...]:
    """One proof a limit, those that do not hold included."""
    low, high = trajectory.bounds(len(limits.states))
    proofs = [
        Proof(limit, float(low[k, j]), float(high[k, j]))
        for k, row in enumerate(limits.states)
        for j, limit in enumerate(row)
    ]
    graph = model.graph
    inputs = [graph.q, graph.qd, graph.qdd, graph.direction]
    if limits.torque:
        proofs += _proved(trajectory, IntervalTape(inputs, model.torque_expression()), limits.torque)
    if limits.box:
        proofs += _proved(trajectory, IntervalTape(inputs, tool_position(model.robot, graph.q)), limits.box)
    return tuple(proofs)


def _proved(trajectory: Trajectory, tape: IntervalTape, limits: Sequence[Limit]) -> list[Proof]:
    allowed_low = np.array([[limit.low] for limit in limits])
    allowed_high = np.array([[limit.high] for limit in limits])
    width = trajectory.duration_s / FIRST_SPANS
    middle: Any = (np.arange(FIRST_SPANS) + 0.5) * width
    low, high = np.full(len(limits), np.inf), np.full(len(limits), -np.inf)
    slack = TIGHT * (allowed_high - allowed_low) / 2
    reached_low, reached_high = np.full_like(slack, np.inf), np.full_like(slack, -np.inf)
    for cut in range(CUTS + 1):
        found_low, found_high = tape(*_inputs(trajectory.enclose(middle, width)))
        point_low, point_high = tape(*_inputs(trajectory.enclose(middle, 0.0)))
        reached_low = np.minimum(reached_low, point_low.min(axis=1, keepdims=True))
        reached_high = np.maximum(reached_high, point_high.max(axis=1, keepdims=True))
        # Beyond a limit, or so wide that it would hide what the motion reaches.
        lowest = np.maximum(allowed_low, reached_low - slack)
        highest = np.minimum(allowed_high, reached_high + slack)
        open_ = ((found_low < lowest) | (found_high > highest)).any(axis=0)
        done = ~open_ if cut < CUTS else np.ones_like(open_)
        low = np.minimum(low, found_low[:, done].min(axis=1, initial=np.inf))
        high = np.maximum(high, found_high[:, done].max(axis=1, initial=-np.inf))
        if done.all():
            break
        width /= CUT
        middle = (middle[~done, None] + (np.arange(CUT) - (CUT - 1) / 2) * width).ravel()
    return [Proof(limit, float(a), float(b)) for limit, a, b in zip(limits, low, high, strict=True)]


def _inputs(states: Enclosure) -> tuple[Array, Array]:
    """(low, high) [4 n, N] of q, qd, qdd and the direction of motion."""
    direction = (np.sign(states.low[1]), np.sign(states.high[1]))
    low = np.concatenate([*states.low, direction[0]], axis=1)
    high = np.concatenate([*states.high, direction[1]], axis=1)
    return low.T, high.T
