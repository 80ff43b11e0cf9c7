"""Motions in SI, made into the counts of move and sine.

The board holds no division and no pi: the host sends it products that it would otherwise have to compute.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from idmkit.board import units
from idmkit.link.client import Board

PHASE_TURN = 2**32
"""The board's phase of a sine, counts in a turn."""
MOST_PHASE_STEP = 2**30 - 1


def move(board: Board, target: Sequence[float], cycles: int, *, start_cycle: int = 0) -> int:
    """Starts a point-to-point motion with bounded jerk from where the axes are commanded to be; returns its start.

    `target` in rad or m for each axis, `cycles` the duration; `start_cycle` 0 is at once.
    """
    start = board.status().position_command
    duration_s = cycles * board.hello.cycle_time_s
    distance, velocity, acceleration = [], [], []
    for axis, goal in enumerate(target):
        revolute = _revolute(board, axis)
        way = units.counts(goal, "position", revolute=revolute) - start[axis]
        way_si = units.value(way, "position", revolute=revolute)
        distance.append(way)
        velocity.append(units.counts(way_si / duration_s, "velocity", revolute=revolute))
        acceleration.append(units.counts(way_si / duration_s**2, "acceleration", revolute=revolute))
    answer = board.request(
        "move",
        start_cycle=start_cycle,
        cycles=cycles,
        start=start,
        distance=distance,
        velocity=velocity,
        acceleration=acceleration,
    )
    return int(answer["start_cycle"])


def sine(
    board: Board, target: Sequence[float], frequency_hz: Sequence[float], cycles: int, *, start_cycle: int = 0
) -> int:
    """Starts q(t) = start + A (1 - cos 2 pi f t) on every axis, with A half the way to `target`; returns its start.

    `target` in rad or m; frequencies are rounded to the board's 2^-32 turn a cycle; `cycles` is the duration. The
    motion is at rest at its start, and at its end if the duration is a whole number of periods.
    """
    start = board.status().position_command
    cycle_time_s = board.hello.cycle_time_s
    amplitude, velocity, acceleration, phase_step = [], [], [], []
    for axis, (goal, frequency) in enumerate(zip(target, frequency_hz, strict=True)):
        revolute = _revolute(board, axis)
        step = round(frequency * cycle_time_s * PHASE_TURN)
        if not 0 <= step <= MOST_PHASE_STEP:
            raise ValueError(f"a sine of {frequency:g} Hz on axis {axis} is outside 0 to {0.25 / cycle_time_s:g} Hz")
        half = round((units.counts(goal, "position", revolute=revolute) - start[axis]) / 2)
        half_si = units.value(half, "position", revolute=revolute)
        speed = 2 * math.pi * step / PHASE_TURN / cycle_time_s
        amplitude.append(half)
        velocity.append(units.counts(half_si * speed, "velocity", revolute=revolute))
        acceleration.append(units.counts(half_si * speed**2, "acceleration", revolute=revolute))
        phase_step.append(step)
    answer = board.request(
        "sine",
        start_cycle=start_cycle,
        cycles=cycles,
        start=start,
        amplitude=amplitude,
        velocity=velocity,
        acceleration=acceleration,
        phase_step=phase_step,
    )
    return int(answer["start_cycle"])


def _revolute(board: Board, axis: int) -> bool:
    if axis >= len(board.joints):
        raise ValueError(f"axis {axis} has no joint kind here: open the board with the robot file's joints")
    return board.joints[axis] == "revolute"
