"""The box a program is compiled for: limits of motion, ranges of parameters, the error budget. From the robot file."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from idmkit.axis import Axis
from idmkit.dynamics.graph import Graph
from idmkit.errors import ModelError
from idmkit.fixedpoint.ranges import Interval
from idmkit.robot import Robot

HEADROOM = 4.0
"""Parameters may grow by two bits beyond their declared range before a program must be compiled anew."""
BUDGET = 9e-4
"""Error budget as a share of the drive's peak torque; what a search finds must stay below a thousandth."""
QUANTUM = 1e-3
LARGEST = 1e30
"""Products of what is larger soon have no number."""
_CORNER_AXES = 4


@dataclass(frozen=True)
class Limits:
    """What a compiled program must hold for.

    `inputs` [4n]: intervals of q, qd, qdd, direction (SI, rad). `parameters` [p]: declared ranges, without headroom.
    `peak_torque` [n]: the drives' peak at the joint, Nm or N. `rated_torque` [n]: the same, rated; none known: ().
    """

    inputs: tuple[Interval, ...]
    parameters: tuple[Interval, ...]
    peak_torque: tuple[float, ...]
    rated_torque: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for what, intervals in (("input", self.inputs), ("parameter", self.parameters)):
            for k, interval in enumerate(intervals):
                if not -LARGEST <= interval.low <= interval.high <= LARGEST:
                    raise ModelError(
                        f"the range of {what} {k} is {interval.low:g} .. {interval.high:g}; a program needs finite "
                        f"limits within +-{LARGEST:g}, the lower one first: correct the robot file"
                    )
        if not all(math.isfinite(peak) and peak > 0 for peak in self.peak_torque):
            raise ModelError(f"peak torques {self.peak_torque} must be positive numbers; correct the robot file")

    @property
    def budget(self) -> tuple[float, ...]:
        """Allowed error of each axis, Nm or N."""
        return tuple(BUDGET * peak for peak in self.peak_torque)

    @property
    def quantum(self) -> tuple[float, ...]:
        """The drives' own step [n], a thousandth of rated torque, in which they take a torque offset (0x60B2)."""
        return tuple(QUANTUM * rated for rated in self.rated_torque or (0.0,) * len(self.peak_torque))

    def proved_parameters(self) -> tuple[Interval, ...]:
        """The ranges with headroom, both signs: an estimate of a small positive parameter may come out negative."""
        widest = [HEADROOM * interval.magnitude for interval in self.parameters]
        return tuple(Interval(-magnitude, magnitude) for magnitude in widest)


def robot_limits(robot: Robot, graph: Graph) -> Limits:
    """Limits from the robot file.

    A parameter without a declared range gets it from the axis's geometry, a payload none at all (no payload); any
    other may, with headroom, by itself use the drive's peak torque somewhere in the range of motion.
    """
    axes = robot.axes
    inputs = (
        *(Interval(axis.position_min, axis.position_max) for axis in axes),
        *(Interval(-axis.velocity_max, axis.velocity_max) for axis in axes),
        *(Interval(-axis.acceleration_max, axis.acceleration_max) for axis in axes),
        *(Interval(-1.0, 1.0) for _ in axes),
    )
    peaks = tuple(axis.drive.joint_peak_torque for axis in axes)
    declared: dict[str, Interval] = {}
    for axis in axes:
        ranges = {name: Interval(*pair) for name, pair in axis.parameter_ranges.items()}
        declared |= {f"{axis.name}.{name}": value for name, value in (_geometry(axis, robot.gravity) | ranges).items()}
    if robot.machine is not None:
        declared |= {name: Interval(value, value) for name, value in robot.machine.known.items()}
        declared |= {name: Interval(*pair) for name, pair in robot.machine.parameter_ranges.items()}
    by_torque = _ranges_by_torque(graph, inputs, peaks)
    result = []
    for parameter in graph.parameters:
        if parameter.key in declared:
            result.append(declared[parameter.key])
        elif parameter.kind == "payload":
            result.append(Interval(0.0, 0.0))
        else:
            magnitude = by_torque.get(parameter.key, 0.0) / HEADROOM
            result.append(Interval(-magnitude, magnitude))
    return Limits(inputs, tuple(result), peaks, tuple(axis.drive.joint_rated_torque for axis in axes))


def _geometry(axis: Axis, gravity: float) -> dict[str, Interval]:
    """Ranges of what only a payload shows: the arm to it, and gravity along the axis."""
    arm = axis.geometry.get("crank_length")
    result = {} if arm is None else {"L2": Interval(0.0, arm**2), "gL": Interval(-gravity * arm, gravity * arm)}
    return result if axis.revolute else {"gcos": Interval(-gravity, gravity)}


def _ranges_by_torque(graph: Graph, inputs: tuple[Interval, ...], peaks: tuple[float, ...]) -> dict[str, float]:
    """Largest magnitude of each parameter that can be seen without payload: peak torque over its largest column."""
    regressor = graph.regressor()
    n = graph.n_axes
    rng = np.random.default_rng(0)
    low = np.array([interval.low for interval in inputs])
    high = np.array([interval.high for interval in inputs])
    states = rng.uniform(low, high, (4096, 4 * n))
    if n <= _CORNER_AXES:
        corners = np.array(list(itertools.product(*zip(low[n:], high[n:], strict=True))))
        states[: len(corners), n:] = corners[: len(states)]
    rows, _ = regressor(states[:, :n], states[:, n : 2 * n], states[:, 2 * n : 3 * n], states[:, 3 * n :])
    largest = np.abs(rows).max(axis=1)
    with np.errstate(divide="ignore"):
        magnitudes = (np.array(peaks)[:, None] / largest).min(axis=0)
    return dict(zip(regressor.names, magnitudes.tolist(), strict=True))
