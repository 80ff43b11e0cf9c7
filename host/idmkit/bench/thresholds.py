"""Collision thresholds of a board: free motion with the model on, what its torque error reaches, written as limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from idmkit.bench.bench import Bench
from idmkit.bench.excite import sine_run
from idmkit.bench.moves import COMFORT, move_time, move_to, positions
from idmkit.bench.performance import named
from idmkit.bench.prove import reach
from idmkit.bench.run import Run, capture_while
from idmkit.collision import Thresholds, filter_memory, suggest
from idmkit.collision.thresholds import SLOW
from idmkit.errors import IdentificationError, LinkError

CHANNELS = ("torque_error", "velocity_command")
FREE_SCALE = 0.8
"""Of the identification's frequencies: another motion than the one the model was made from."""
PERIODS = 5
REST_S, STOP_S = 0.5, 1.0
FASTEST, GENTLE = 1.1, 2.0
"""Times of moves against what the limits of the axes ask for. From anywhere all axes together may need more torque."""
TIMES = 2
"""Each arms anew."""


@contextmanager
def no_collision(bench: Bench, hint: str) -> Iterator[None]:
    """Runs free motion; raises IdentificationError, the fault cleared and `hint` at the end, for a collision in it."""
    try:
        yield
    except LinkError as problem:
        status = bench.board.status()
        if status.fault != "collision":
            raise
        text = bench.board.describe_fault(status)
        bench.settle("stopped_by_fault", "disarmed")
        bench.board.clear_fault()
        raise IdentificationError(
            f"free motion was taken for a collision. {text} If nothing was touched: {hint}"
        ) from problem


def free_motion(bench: Bench, channels: Sequence[str] = CHANNELS) -> list[Run]:
    """Records `channels` of sines, then of moves between the ends and the middle of a proof's moves, with rests.

    Friction holds in many ways. Some moves are the fastest that the limits allow: what is learned from gentle motion
    takes fast motion for a collision, since a delay in whole cycles is off by the more, the faster the torque changes.
    The model must be on.
    """
    return [_sines(bench, channels), *(moves_and_rests(bench, channels) for _ in range(TIMES))]


def suggest_thresholds(bench: Bench, runs: Sequence[Run], coulomb: Sequence[float]) -> list[Thresholds]:
    """Levels of all axes from free motion; `coulomb` (Nm, N) is the friction of each axis.

    At standstill the model says one of its ends and the axis may hold at the other one. Raises IdentificationError
    where a level is beyond what the drive can do, so that it would see no collision.
    """
    levels = []
    for k, (axis, friction) in enumerate(zip(bench.robot.axes, coulomb, strict=True)):
        memory = filter_memory(axis.guards.torque_error_filter, int(bench.board.read("torque_error_delay", k)))
        error, speed = (np.concatenate([named(run.record, axis.name, name) for run in runs]) for name in CHANNELS)
        found = suggest(error, speed, SLOW * axis.velocity_max, memory, 2 * friction)
        unit, peak = "Nm" if axis.revolute else "N", axis.drive.joint_peak_torque
        if found.fast >= peak:
            raise IdentificationError(
                f"{axis.name}: free motion has torque errors that ask for a threshold of {found.fast:.3g} {unit}, "
                f"the drive's peak is {peak:.3g} {unit}: no collision would be seen. Identify again, or look at the "
                f"delays"
            )
        levels.append(found)
    return levels


def write_thresholds(bench: Bench, levels: Sequence[Thresholds]) -> None:
    """Puts the levels in force, not yet stored; the board must be disarmed."""
    for k, level in enumerate(levels):
        for name, value in level.for_board.items():
            bench.board.write(name, value, k)


def _sines(bench: Bench, channels: Sequence[str]) -> Run:
    """With the stop at their end: axes that are in the middle of their ways brake there."""
    slowest = FREE_SCALE * min(axis.identification.frequency_hz for axis in bench.robot.axes)
    cycles, after = bench.cycles(PERIODS / slowest), bench.cycles(STOP_S)
    return sine_run(bench, channels, cycles, scale=FREE_SCALE, comfort=GENTLE, after=after)


def moves_and_rests(bench: Bench, channels: Sequence[str]) -> Run:
    """From where the axes were armed: friction and loops need a moment there, which no later start shows."""
    low, high = reach(bench.robot)
    middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    ways = [(low, GENTLE), (high, FASTEST), (middle, COMFORT), (low, COMFORT), (high, FASTEST)]
    rest = bench.cycles(REST_S)

    def go(_: int) -> None:
        for goal, comfort in ways:
            move_to(bench, goal, comfort)
            bench.run(rest)

    with bench.armed():
        starts = [positions(bench), *(goal for goal, _ in ways)]
        seconds = sum(
            comfort * move_time(bench.robot, start, goal) + REST_S
            for start, (goal, comfort) in zip(starts, ways, strict=False)
        )
        found = capture_while(bench, channels, bench.cycles(seconds), go)
        bench.settle()
    return found
