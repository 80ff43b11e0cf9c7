"""What a board is sent for a plan: whole numbers, from which it makes the motion (motionboard.fourier, .trapezoid).

The board computes one knot (position, speed, acceleration) of each axis every SEGMENT_CYCLES cycles and follows a
quintic between them; see docs/excitation.md for what that and the rounding cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from idmkit.errors import IdentificationError
from idmkit.excitation.fourier import Array, FourierSeries
from idmkit.excitation.trapezoid import SEGMENT_CYCLES, Move, Trapezoids
from idmkit.robot import Robot
from idmwire import scales

MOST_HARMONICS = 8
MOST_MOVES = 13
"""What the board has room for; MOST_MOVES in the table of an axis, which it goes through again and again."""
AXIS_WORDS = 96
"""Words of a board's motion_data for each axis."""
WIDEST_ANGLE = 0.5
"""Angle (rad) of the last harmonic in a segment at most: the quintic then misses 1e-4 of its acceleration."""

_MOST_SPEED, _MOST_TURN, _MOST_COEFFICIENT = 0xFF00000, 0x3FF00000, 0x8000000
_MOST_V, _MOST_A = 0x3F000000, 2**28
_MOST_FRACTION = 15
_KNOT = 2**9
"""Speeds and accelerations of knots count 2**-9 counts of position a segment and a segment squared."""
_ROOM = 0.99


@dataclass(frozen=True)
class BoardMotion:
    """`words` for motion_data, beginning at `offsets`; `start` [n] and the motion's `cycles`; both in counts.

    A series has `harmonics` and `period_cycles`, moves have none of them.
    """

    start: tuple[int, ...]
    cycles: int
    words: tuple[tuple[int, tuple[int, ...]], ...]
    harmonics: int = 0
    period_cycles: int = 0


def counts_per_unit(robot: Robot) -> Array:
    """Counts of position in a rad or m of each axis [n]."""
    per_unit = 2.0 ** -scales.SCALES["position"][0]
    return np.array([per_unit / (2 * math.pi) if axis.revolute else per_unit for axis in robot.axes])


def board_series(series: FourierSeries, robot: Robot, periods: int) -> tuple[BoardMotion, FourierSeries]:
    """What the board is sent, and the series that it runs: `series` with rounded coefficients, exactly at rest.

    Raises IdentificationError where the board cannot run it.
    """
    cycle_s = robot.cycle_time_s
    period = round(series.period_s / cycle_s)
    if abs(period * cycle_s - series.period_s) > 1e-6 * cycle_s or period < 1:
        raise IdentificationError(
            f"a period of {series.period_s:.9g} s is {series.period_s / cycle_s:.6g} cycles of the board; it runs "
            "whole cycles: plan again"
        )
    if not 2 <= series.harmonics <= MOST_HARMONICS:
        raise IdentificationError(
            f"the series has {series.harmonics} harmonics, the board runs 2 to {MOST_HARMONICS}; plan with fewer"
        )
    angle = 2 * math.pi * series.harmonics * SEGMENT_CYCLES / period
    if angle > WIDEST_ANGLE:
        raise IdentificationError(
            f"the last harmonic, {series.highest_hz:.4g} Hz, is too fast for the board: it computes a knot every "
            f"{SEGMENT_CYCLES * cycle_s * 1e3:g} ms and runs up to {WIDEST_ANGLE / angle * series.highest_hz:.4g} Hz; "
            "plan with a lower --resonance"
        )
    order = np.arange(1.0, series.harmonics + 1)
    size = counts_per_unit(robot)
    # From amplitudes of speed to counts of position.
    scale = size[:, None] / (2 * np.pi / series.period_s * order)
    A, B = series.a * scale, series.b * scale
    step = 2 * math.pi * SEGMENT_CYCLES / period
    speed, turn = mantissa(step * _KNOT, 27), mantissa(step * step * _KNOT, 30)
    fractions = [_fraction(robot.axes[k].name, A[k], B[k], step, speed[1], turn[1]) for k in range(len(A))]
    words: list[tuple[int, tuple[int, ...]]] = [(0, (*speed, *turn))]
    stride = 1 + 2 * series.harmonics
    for k, fraction in enumerate(fractions):
        A[k], B[k] = _at_rest(A[k] * 2**fraction, order), _at_rest(B[k] * 2**fraction, order**2)
        pairs = np.stack([A[k], B[k]], axis=1).ravel()
        words.append((4 + stride * k, (fraction, *(int(value) for value in pairs))))
        A[k], B[k] = A[k] / 2**fraction, B[k] / 2**fraction
    start = np.round(size * series.offset - B.sum(axis=1))
    run = FourierSeries(period * cycle_s, (start + B.sum(axis=1)) / size, A / scale, B / scale)
    motion = BoardMotion(_whole(start, robot), periods * period, tuple(words), series.harmonics, period)
    return motion, run


def _at_rest(values: Array, weight: Array) -> Array:
    """Whole numbers near `values` whose sum weighted by `weight` (1, ...) is 0: the first takes what is left."""
    whole = np.round(values)
    whole[0] = -np.sum(weight[1:] * whole[1:])
    return whole


def _fraction(name: str, a: Array, b: Array, step: float, speed_shift: int, turn_shift: int) -> int:
    """Bits behind the point with which every number of the board stays in its range; raises IdentificationError."""
    order, size = np.arange(1, len(a) + 1), np.abs(a) + np.abs(b)
    speed, turn = float(order @ size), float(order**2 @ size)
    fits = max(speed * step * _KNOT / _MOST_V, turn * step**2 * _KNOT / _MOST_A) < _ROOM
    for fraction in range(_MOST_FRACTION, -1, -1):
        scale = 2.0**fraction / _ROOM
        inside = speed * scale < _MOST_SPEED and turn * scale < _MOST_TURN and size.max() * scale < _MOST_COEFFICIENT
        if fits and inside and 0 <= speed_shift + fraction <= 30 and 0 <= turn_shift + fraction <= 30:
            return fraction
    raise IdentificationError(f"{name} moves further or faster than the board's numbers reach; plan a smaller motion")


def mantissa(factor: float, bits: int) -> tuple[int, int]:
    """(mantissa, shift) with mantissa / 2**(bits + shift) = `factor` > 0, mantissa in [2**29, 2**30)."""
    shift = 30 - bits - math.frexp(factor)[1]
    number = round(math.ldexp(factor, bits + shift))
    return (number // 2, shift - 1) if number == 2**30 else (number, shift)


def board_moves(motion: Trapezoids, robot: Robot) -> BoardMotion:
    """What the board is sent for moves made of whole segments; raises IdentificationError where it cannot run them."""
    size = counts_per_unit(robot)
    start = _whole(size * motion.start, robot)
    words = []
    for k, moves in enumerate(motion.moves):
        name = robot.axes[k].name
        table = _table(name, motion.start[k], moves)
        row = [len(table), len(moves)]
        here, before = float(motion.start[k]), start[k]
        for move in table:
            target = round(size[k] * move.target)
            pieces = move.segments(abs(move.target - here), SEGMENT_CYCLES * robot.cycle_time_s)
            row += _move_words(name, pieces, target, target - before)
            here, before = move.target, target
        words.append((AXIS_WORDS * k, tuple(row)))
    cycles = SEGMENT_CYCLES * max(2, round(motion.duration_s / robot.cycle_time_s / SEGMENT_CYCLES))
    return BoardMotion(start, cycles, tuple(words))


def _table(name: str, start: float, moves: Sequence[Move]) -> Sequence[Move]:
    """The moves after which all others repeat them."""
    for count in range(1, min(len(moves), MOST_MOVES) + 1):
        repeats = all(move == moves[i % count] for i, move in enumerate(moves))
        if repeats and (count == len(moves) or moves[count - 1].target == start):
            return moves[:count]
    if not moves:
        return moves
    raise IdentificationError(
        f"{name} has {len(moves)} moves that do not repeat; the board has room for {MOST_MOVES}: plan a shorter run"
    )


def _move_words(name: str, pieces: tuple[int, int, int], target: int, way: int) -> list[int]:
    ramp, constant, cruise = pieces
    total = 6 * ramp * (ramp + constant) * (2 * ramp + constant + cruise)
    if total >= 2**29:
        raise IdentificationError(f"a move of {name} takes too many cycles for the board's numbers; plan faster moves")
    unit = 2 ** (29 - total.bit_length())
    number, shift = mantissa(max(abs(way), 1) / (total * unit), 30)
    if not 0 <= shift <= 20:
        raise IdentificationError(f"a move of {name} over {abs(way)} counts is too short or too long for the board")
    return [unit if way >= 0 else -unit, ramp, constant, cruise, target, number, shift]


def _whole(values: Array, robot: Robot) -> tuple[int, ...]:
    for axis, value in zip(robot.axes, values, strict=True):
        if abs(value) > scales.INT32_MAX:
            raise IdentificationError(f"{axis.name} would start outside the board's range of positions")
    return tuple(round(value) for value in values)
