"""A straight line of the tool with bounded jerk, as points for the board's spline, within the limits of all axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from idmkit.cartesian.pose import LEAST_SINGULAR, Tool, describe
from idmkit.cartesian.spline import control_points, derivatives
from idmkit.dynamics.rotations import Array
from idmkit.errors import IdmError
from idmkit.excitation.trapezoid import SEGMENT_CYCLES, Move, Trapezoids, duration, jerk_limited, slowed
from idmkit.robot import Robot
from idmkit.stiffness import soft_delta
from idmkit.stiffness.resonance import acceleration_time_of_move

RAMP_S = 0.1
"""Ramps of the path's speed are tried this short first; then they give way to the limits of the axes."""
USED = 0.98
"""Part of an axis' limits that a line may use: points are rounded to counts."""
ROUNDS = 60
LEAST_WAY = 1e-6
PLACES = 200
"""Where the way is looked at for singular places, before a time law is found."""


@dataclass(frozen=True, eq=False)
class Line:
    """Points [N, n] (rad, m) for the board's spline from `start` [n]; `knots` [N+3, n] are what it goes through.

    `speed`, `acceleration`, `jerk`: the largest along the path, m/s and so on. `limit`: the axis and quantity that
    keeps the speed below what was asked for, or "".
    """

    start: Array
    points: Array
    knots: Array
    speed: float
    acceleration: float
    jerk: float
    duration_s: float
    limit: str


def plan_line(robot: Robot, start: Array, goal: Array, speed: float) -> Line:
    """The line from where the tool is at the axes `start` [n] to `goal` [3] (m), at `speed` (m/s) or what is possible.

    The tool keeps its orientation; a delta with a [model.stiffness] table accelerates for T_AccMin at least. Raises
    IdmError that names the place where the tool cannot go, or not reliably.
    """
    tool = Tool(robot)
    start, goal = np.asarray(start, dtype=float), np.asarray(goal, dtype=float)
    begin = tool.position(start)
    way = float(np.linalg.norm(goal - begin))
    if not speed > 0 or not math.isfinite(speed):
        raise IdmError(f"the tool cannot move at {speed:g} m/s; give a speed above 0")
    if not np.isfinite(goal).all() or way < LEAST_WAY:
        raise IdmError(f"the tool is at {describe(begin)} already; give another goal than {describe(goal)}")
    _follow(tool, start, begin, goal, np.linspace(0, 1, PLACES + 1))
    least_s = 0.0
    if robot.machine is not None and robot.machine.stiffness is not None:
        delta = soft_delta(robot)
        least_s = acceleration_time_of_move(delta.robot, begin, goal, delta.excitation_ratio)
    ramp_s = max(RAMP_S, least_s)
    acceleration = speed / ramp_s
    jerk, limit = 2 * acceleration / ramp_s, ""
    for _ in range(ROUNDS):
        move = slowed(jerk_limited(way, way, speed, acceleration, jerk), least_s)
        path = _samples(robot, way, move)
        knots = _follow(tool, start, begin, goal, path[0] / way)
        points = control_points(knots)
        worst, what, at = _worst(robot, derivatives(points, start, SEGMENT_CYCLES * robot.cycle_time_s))
        if worst <= 1:
            time = duration(way, move)
            return Line(start, points, knots, move.speed, move.acceleration, move.jerk, time, limit)
        # What the path does where the limit is met must give way: its ramps, or else its speed.
        limit = what
        kind = ("speed", "acceleration", "jerk").index(what.split()[0])
        near = slice(max(0, at - 2), at + 3)
        worst = min(worst, 2.0) * 1.005
        if kind == 2 and np.abs(path[3, near]).max() > 0.1 * move.jerk:
            jerk = move.jerk / worst
        elif kind and np.abs(path[2, near]).max() > 0.1 * move.acceleration:
            acceleration = move.acceleration / worst
        else:
            speed = move.speed / worst ** (1 / (kind + 1))
    raise IdmError(f"no time law was found for the line to {describe(goal)}: {limit} stays above its limit; go slower")


def _samples(robot: Robot, way: float, move: Move) -> Array:
    """Way, speed, acceleration and jerk along the path [4, K] at the knots; at rest at the first and last two."""
    segment_s = SEGMENT_CYCLES * robot.cycle_time_s
    time = duration(way, move)
    count = max(2, math.ceil(time / segment_s))
    # The law is stretched by less than a segment, so that it ends on a knot.
    times = np.clip((np.arange(count + 3) - 1) * time / count, 0, time)
    states = Trapezoids(time * (1 + 1e-9), np.zeros(1), ((move,),)).derivatives(times, 4)[:, :, 0]
    states[0, -2:], states[1:, -2:] = way, 0.0
    return states


def _follow(tool: Tool, start: Array, begin: Array, goal: Array, shares: Array) -> Array:
    """Axes [K, n] with the tool at these shares of the way; raises IdmError that names where it cannot be."""
    axes = tool.robot.axes
    low = np.array([axis.position_min for axis in axes])
    high = np.array([axis.position_max for axis in axes])
    found, q = np.empty((len(shares), len(start))), start
    for k, share in enumerate(shares):
        point = begin + share * (goal - begin)
        place = f"at {describe(point)}, {100 * share:.0f} % of the way"
        near = tool.solve(point, q, start)
        if near is None:
            raise IdmError(f"the tool cannot go straight to {describe(goal)}: {place}, it is out of reach. {_ADVICE}")
        if tool.singular_value(near) < LEAST_SINGULAR:
            raise IdmError(
                f"the tool cannot go straight to {describe(goal)}: {place}, the arm is in a singular pose, where the "
                f"tool cannot move in every direction. {_ADVICE}"
            )
        beyond = np.flatnonzero((near < low) | (near > high))
        if len(beyond):
            axis = axes[beyond[0]]
            raise IdmError(
                f"the tool cannot go straight to {describe(goal)}: {place}, {axis.name} would be at "
                f"{near[beyond[0]]:.4g}, outside {axis.position_min:g} .. {axis.position_max:g}. {_ADVICE}"
            )
        found[k] = q = near
    return found


_ADVICE = "Choose another goal, or go by way of a point between"


def _worst(robot: Robot, states: tuple[Array, Array, Array]) -> tuple[float, str, int]:
    """(largest part of a limit, "speed of j1" and so on, its knot)."""
    worst = (0.0, "", 0)
    for name, values in zip(("speed", "acceleration", "jerk"), states, strict=True):
        stem = "velocity" if name == "speed" else name
        most = np.array([getattr(axis, f"{stem}_max") for axis in robot.axes])
        part = np.abs(values) / (USED * most)
        at, k = np.unravel_index(int(np.argmax(part)), part.shape)
        if part[at, k] > worst[0]:
            worst = (float(part[at, k]), f"{name} of {robot.axes[k].name}", int(at))
    return worst
