"""Back and forth over the whole range at several speeds and accelerations (Axystems), each with bounded jerk.

Constant speeds show friction over speed, many accelerations show inertia. Every axis goes through all pairs of a
speed and an acceleration in an order of its own, so that the axes do not move in step; then it begins again until the
run's time is over. A move is made of pieces of constant jerk: up to the acceleration, down to constant speed, and
mirrored. Every piece lasts whole segments of the board, so that the board runs exactly what was planned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, product

import numpy as np
from numpy.typing import ArrayLike

from idmkit.axis import Axis
from idmkit.errors import IdentificationError
from idmkit.excitation.criterion import ExcitedModel
from idmkit.excitation.fourier import Array, Enclosure
from idmkit.excitation.limits import Box, Proof, plan_limits, prove
from idmkit.robot import Robot

SPEEDS = (1.0, 0.6, 0.35, 0.2)
ACCELERATIONS = (1.0, 0.6, 0.35)
"""Parts of an axis' limits; every pair is one move."""
USABLE = 0.98
"""Part of the limits that moves use, so that rounding never exceeds them."""
SEGMENT_CYCLES = 8
"""Cycles of one of the board's segments (motionboard.segments)."""
WHOLE = 1e-6
"""How near to whole a number of segments must be."""
GENTLER = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25)
"""Parts of the accelerations that are tried where torque is not enough."""


@dataclass(frozen=True)
class Move:
    """One move of an axis: to `target` (rad, m) with these peaks; all SI."""

    target: float
    speed: float
    acceleration: float
    jerk: float

    def segments(self, way: float, segment_s: float) -> tuple[int, int, int]:
        """How many segments a ramp, the constant acceleration and the constant speed last on the way `way`.

        Raises IdentificationError where one of them is not whole.
        """
        ramps, constants, cruise = _times(way, self)
        lengths = np.array([ramps / 4, constants / 2, cruise]) / segment_s
        whole = np.round(lengths)
        if np.abs(lengths - whole).max() > WHOLE * max(1.0, whole.max()):
            pieces = ", ".join(f"{1e3 * part:.6g}" for part in lengths * segment_s)
            raise IdentificationError(
                f"a move to {self.target:g} has pieces of {pieces} ms, the board runs whole segments of "
                f"{1e3 * segment_s:g} ms: plan again"
            )
        ramp, constant, cruise_segments = (int(number) for number in whole)
        return ramp, constant, cruise_segments


@dataclass(frozen=True, eq=False)
class Trapezoids:
    """Moves of n axes, each beginning at `start` [n] (rad, m) and at t = 0. After its last move an axis rests."""

    duration_s: float
    start: Array
    moves: tuple[tuple[Move, ...], ...]

    def __post_init__(self) -> None:
        pieces = [_pieces(start, moves) for start, moves in zip(self.start, self.moves, strict=True)]
        object.__setattr__(self, "_pieces", pieces)
        longest = max(float(knots[0, -1]) for knots in pieces)
        if longest > self.duration_s * (1 + 1e-12):
            raise IdentificationError(f"the moves take {longest:.6g} s, the run lasts {self.duration_s:g} s")

    def derivatives(self, t: ArrayLike, count: int = 3) -> Array:
        """Position and its derivatives up to the jerk [count, N, n] at times t [N] (s)."""
        times = np.asarray(t, dtype=float)
        out = np.zeros((4, len(times), len(self.moves)))
        for k, knots in enumerate(self._knots):
            place = np.clip(np.searchsorted(knots[0], times, side="right") - 1, 0, None)
            s, q, qd, qdd, jerk = knots[:, place]
            dt = times - s
            out[0, :, k] = q + dt * (qd + dt * (qdd / 2 + dt * jerk / 6))
            out[1, :, k] = qd + dt * (qdd + dt * jerk / 2)
            out[2, :, k] = qdd + dt * jerk
            out[3, :, k] = jerk
        return out[:count]

    def bounds(self, count: int = 4) -> tuple[Array, Array]:
        """(lowest, highest) [count, n]: moves are monotone, so every extreme is at a piece's end."""
        low = np.stack([knots[1:].min(axis=1) for knots in self._knots], axis=1)
        high = np.stack([knots[1:].max(axis=1) for knots in self._knots], axis=1)
        return low[:count], high[:count]

    def enclose(self, middle: ArrayLike, width: float) -> Enclosure:
        """What q, qd, qdd can be within width/2 (s) of the times `middle` [N]."""
        values, h = self.derivatives(middle), width / 2
        _, _, acceleration, jerk = np.abs(np.stack(self.bounds())).max(axis=0)
        reach = np.empty_like(values)
        reach[0] = np.abs(values[1]) * h + acceleration * (h * h / 2)
        reach[1] = np.abs(values[2]) * h + jerk * (h * h / 2)
        reach[2] = jerk * h
        return Enclosure(values - reach, values + reach)

    @property
    def _knots(self) -> list[Array]:
        pieces: list[Array] = self.__dict__["_pieces"]
        return pieces


@dataclass(frozen=True, eq=False)
class TrapezoidPlan:
    """`accelerations_used`: part of the acceleration limits that torque allowed."""

    robot: str
    axes: tuple[str, ...]
    motion: Trapezoids
    accelerations_used: float
    proofs: tuple[Proof, ...]

    @property
    def duration_s(self) -> float:
        """Length of the run, s."""
        return self.motion.duration_s


def plan_trapezoids(
    model: ExcitedModel, *, box: Box | None = None, highest_hz: float = math.inf, duration_s: float | None = None
) -> TrapezoidPlan:
    """Moves for a run of `duration_s` (default: the longest identification run), with every limit proved.

    No acceleration lasts less than T_AccMin = 1/(2 highest_hz), `highest_hz` being R_ext times the resonance.
    Raises IdentificationError that names the limits which are exceeded even by gentle moves.
    """
    robot = model.robot
    run_s = max(axis.identification.duration_s for axis in robot.axes) if duration_s is None else duration_s
    limits = plan_limits(model, box)
    proofs: tuple[Proof, ...] = ()
    for part in GENTLER:
        motion = trapezoids(robot, run_s, part, 1 / (2 * highest_hz))
        proofs = prove(motion, model, limits)
        if all(proof.holds for proof in proofs):
            return TrapezoidPlan(robot.name, tuple(axis.name for axis in robot.axes), motion, part, proofs)
    failed = "; ".join(f"{p.limit} reaches {p.low:.4g} .. {p.high:.4g}" for p in proofs if not p.holds)
    raise IdentificationError(
        f"moves over the whole range do not keep all limits even at {100 * GENTLER[-1]:.0f} % of the accelerations: "
        f"{failed}. Narrow the axes' ranges, or plan a series, which finds its way within the limits"
    )


def trapezoids(robot: Robot, duration_s: float, accelerations: float = 1.0, least_s: float = 0.0) -> Trapezoids:
    """The moves, `accelerations` times the accelerations of ACCELERATIONS, each of which lasts `least_s` at least.

    Raises IdentificationError where the time is not enough for a move of every axis.
    """
    pairs = list(product(SPEEDS, ACCELERATIONS))
    starts, moves = [], []
    for k, axis in enumerate(robot.axes):
        # A stride without a common divisor visits every pair; another first pair and stride for each axis.
        stride = (5, 7, 11)[k % 3]
        order = [pairs[(stride * i + 2 * k) % len(pairs)] for i in range(len(pairs))]
        middle, half = (axis.position_min + axis.position_max) / 2, (axis.position_max - axis.position_min) / 2
        ends = (middle - USABLE * half, middle + USABLE * half)
        parts = [(v, a * accelerations) for v, a in order]
        own = _fill(axis, ends, parts, duration_s, least_s, SEGMENT_CYCLES * robot.cycle_time_s)
        if not own:
            raise IdentificationError(
                f"{axis.name} cannot move over its range within {duration_s:g} s; give the run more time"
            )
        starts.append(ends[0])
        moves.append(own)
    return Trapezoids(duration_s, np.array(starts), tuple(moves))


def _fill(
    axis: Axis,
    ends: tuple[float, float],
    order: Sequence[tuple[float, float]],
    duration_s: float,
    least_s: float,
    segment_s: float,
) -> tuple[Move, ...]:
    """Moves between the ends, one pair of parts (speed, acceleration) after the other, until the time is over."""
    moves: list[Move] = []
    time = 0.0
    for speed, acceleration in cycle(order):
        target, way = ends[(len(moves) + 1) % 2], ends[1] - ends[0]
        move = slowed(_move(axis, target, way, USABLE * speed, USABLE * acceleration), least_s)
        move = _in_segments(move, way, segment_s)
        time += duration(way, move)
        if time > duration_s:
            return tuple(moves)
        moves.append(move)
    return tuple(moves)


def _move(axis: Axis, target: float, way: float, speed: float, acceleration: float) -> Move:
    """A move over `way` with these parts of the limits, less where the way is too short for them."""
    return jerk_limited(
        target, way, speed * axis.velocity_max, acceleration * axis.acceleration_max, USABLE * axis.jerk_max
    )


def jerk_limited(target: float, way: float, speed: float, acceleration: float, jerk: float) -> Move:
    """The fastest move over `way` > 0 within these peaks, which it does not reach where the way is too short."""
    v, j = speed, jerk
    a = min(acceleration, math.sqrt(v * j))
    # Ramps take v (v/a + a/j); for the way to hold them, v falls, and a with it where it is no longer reached.
    if v * (v / a + a / j) > way:
        v = a / 2 * (math.sqrt((a / j) ** 2 + 4 * way / a) - a / j)
        if v * j < a * a:
            a = (way * j * j / 2) ** (1 / 3)
            v = a * a / j
    return Move(target, v, a, j)


def slowed(move: Move, least_s: float) -> Move:
    """The move stretched in time until its acceleration lasts `least_s`."""
    stretch = max(1.0, least_s / (move.speed / move.acceleration + move.acceleration / move.jerk))
    return replace(
        move, speed=move.speed / stretch, acceleration=move.acceleration / stretch**2, jerk=move.jerk / stretch**3
    )


def _in_segments(move: Move, way: float, segment_s: float) -> Move:
    """The move with every piece lengthened to whole segments: gentler in all its peaks."""
    ramps, constants, cruise = _times(way, move)
    r = max(1, math.ceil(ramps / 4 / segment_s - WHOLE))
    c = math.ceil(constants / 2 / segment_s - WHOLE)
    m = math.ceil(cruise / segment_s - WHOLE)
    speed = way / ((2 * r + c + m) * segment_s)
    acceleration = speed / ((r + c) * segment_s)
    return replace(move, speed=speed, acceleration=acceleration, jerk=acceleration / (r * segment_s))


def duration(way: float, move: Move) -> float:
    """How long a move over `way` takes, s."""
    return sum(_times(way, move))


def _times(way: float, move: Move) -> tuple[float, float, float]:
    """(ramps of the acceleration, constant acceleration, constant speed), s in all: 4, 2 and 1 pieces."""
    v, a, j = move.speed, move.acceleration, move.jerk
    ramp, constant = a / j, max(0.0, v / a - a / j)
    return 4 * ramp, 2 * constant, max(0.0, way / v - v / a - a / j)


def _pieces(start: float, moves: Sequence[Move]) -> Array:
    """[5, pieces + 1]: time, position, speed, acceleration and jerk at the beginning of each piece, at rest at last."""
    rows: list[tuple[float, float, float, float, float]] = []
    time, q = 0.0, float(start)
    for move in moves:
        way, sign = abs(move.target - q), math.copysign(1.0, move.target - q)
        ramps, constants, cruise = _times(way, move)
        r, c, j = ramps / 4, constants / 2, sign * move.jerk
        qd = qdd = 0.0
        for length, jerk in ((r, j), (c, 0.0), (r, -j), (cruise, 0.0), (r, -j), (c, 0.0), (r, j)):
            rows.append((time, q, qd, qdd, jerk))
            q += length * (qd + length * (qdd / 2 + length * jerk / 6))
            qd += length * (qdd + length * jerk / 2)
            qdd += length * jerk
            time += length
        # What rounding left of speed and acceleration ends with the move.
        q = move.target
    rows.append((time, q, 0.0, 0.0, 0.0))
    return np.array(rows).T
