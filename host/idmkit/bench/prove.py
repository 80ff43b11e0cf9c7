"""What a model gains: the same motions without it and with it, tracking error and settling time side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from idmkit.bench.bench import Bench
from idmkit.bench.moves import move_time, move_to
from idmkit.bench.performance import Tracking, settling_cycles, tracking
from idmkit.bench.run import TRACKING, Run, capture_while
from idmkit.link import motion
from idmkit.robot import Robot

DWELL_S = 0.4
"""Recorded after each point-to-point motion, for the settling."""
FASTER = 1.2
"""The proof's sine against the identification's: another motion than the one the model was made from."""
PERIODS = 3


@dataclass(frozen=True, eq=False)
class Proof:
    """Performance of one way of feeding forward, axis by axis. `settling` is the slower of the two moves, in cycles,
    None where an axis did not settle in DWELL_S.
    """

    tracking: tuple[Tracking, ...]
    settling: tuple[int | None, ...]
    sine: Run
    moves: tuple[Run, Run]


def switch_model(bench: Bench, on: bool) -> None:
    """DynamicModel of every axis: the robot file's number, or 0 for no feed-forward. Only while disarmed."""
    for index in range(len(bench.robot.axes)):
        bench.board.write("dynamic_model", bench.robot.dynamic_model(index) if on else 0, index)


def proof_cycles(bench: Bench) -> int:
    """Cycles that the sine of a proof takes, for a progress bar."""
    return _plan(bench)[3]


def prove(bench: Bench, progress: Callable[[int], None] | None = None) -> Proof:
    """Runs a sine and two fast moves with what is on the board now; leaves the robot disarmed."""
    axes = bench.robot.axes
    low, high, frequencies, cycles = _plan(bench)
    with bench.armed():
        # Friction remembers where a motion came from: every proof comes the same way.
        move_to(bench, high)
        move_to(bench, low)
        sine = capture_while(
            bench,
            TRACKING,
            cycles,
            lambda cycle: motion.sine(bench.board, high, frequencies, cycles, start_cycle=cycle),
            progress=progress,
        )
        bench.settle()
        move_to(bench, low)
        there = fast_move(bench, low, high, DWELL_S)
        back = fast_move(bench, high, low, DWELL_S)
    dwell = [bench.cycles(axis.settling.time_s) for axis in axes]
    settled = []
    for axis, cycles_inside in zip(axes, dwell, strict=True):
        times = [
            settling_cycles(r.record, axis.name, axis.settling.position_error, cycles_inside) for r in (there, back)
        ]
        known = [time for time in times if time is not None]
        settled.append(max(known) if len(known) == len(times) else None)
    return Proof(tuple(tracking(sine.record, axis.name) for axis in axes), tuple(settled), sine, (there, back))


def fast_move(bench: Bench, start: list[float], target: list[float], dwell_s: float) -> Run:
    """The fastest point-to-point motion that the limits allow, recorded with `dwell_s` after its end."""
    cycles = -(-move_time(bench.robot, start, target) // bench.robot.cycle_time_s)
    run = capture_while(
        bench,
        TRACKING,
        int(cycles) + bench.cycles(dwell_s),
        lambda cycle: motion.move(bench.board, target, int(cycles), start_cycle=cycle),
    )
    bench.settle()
    return run


def _plan(bench: Bench) -> tuple[list[float], list[float], list[float], int]:
    """Where the motions turn, low and high, the frequencies of the sine, and its cycles."""
    low, high = reach(bench.robot)
    frequencies = [_frequency(bench, index, high[index] - low[index]) for index in range(len(low))]
    return low, high, frequencies, bench.cycles(PERIODS / min(frequencies))


def reach(robot: Robot) -> tuple[list[float], list[float]]:
    """The two ends of the shown motions: another way than the identification's, inside of it."""
    runs = [axis.identification for axis in robot.axes]
    return (
        [run.start + 0.1 * (run.target - run.start) for run in runs],
        [run.start + 0.8 * (run.target - run.start) for run in runs],
    )


def _frequency(bench: Bench, index: int, reach: float) -> float:
    """FASTER than the identification's sine, but within the axis's limits of speed and acceleration."""
    axis = bench.robot.axes[index]
    amplitude = abs(reach) / 2
    return min(
        FASTER * axis.identification.frequency_hz,
        0.95 * axis.velocity_max / (2 * math.pi * amplitude),
        0.95 * math.sqrt(axis.acceleration_max / amplitude) / (2 * math.pi),
    )
