"""Delays and lead of a robot's drives, measured on the board: fast moves without and with the model (R2, R43, R45).

Position follows its command late by the drives' transport, torque by another one. Sent at the right time, the model's
torque takes most of the tracking error away, so that time is what is looked for, whatever it is made of:
1. Moves without the model: PositionErrorDelay, and the tracking error that the model has to take away, n(t).
2. The same with the model, sent after a known delay D: it takes away c(t). The right delay is D + (delay from c to n).
3. The same half a cycle before and behind it. What is not linear in drives and friction pulls 2. towards D; from both
   sides the mean of the two is to the point.
4. The result on the board, whole cycles an axis (AdditiveTorqueDelay) less one lead for all, and the same moves again:
   torque_error_delay, from the model's torque to the measured one.

All axes move at once, each as far as it may in the time: the delay shows by jerk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from idmkit.axis import MAX_DELAY_CYCLES, MAX_ERROR_DELAY_CYCLES
from idmkit.bench.bench import Bench
from idmkit.bench.moves import farthest, move_to
from idmkit.bench.performance import Tracking, named, position_delay, settling_cycles
from idmkit.bench.prove import reach, switch_model
from idmkit.bench.run import Run, capture_while
from idmkit.errors import IdentificationError, LinkError
from idmkit.link import motion
from idmkit.link.images import Written, store_applied
from idmkit.signals.delay import Delay, delay_between

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

CHANNELS = ("position_command", "position_feedback", "torque_model", "torque_feedback")
REST_S = 0.3
TIMES_S = (0.45, 0.55)
"""Of a move. Two of them, since what is rounded on the way to the drives is rounded otherwise in each."""
SHARES = (0.7, 0.5, 0.35, 0.25)
"""Of the way that an axis may go in that time, tried in turn until no torque passes its threshold."""
GENTLE = 3.0
"""Times the fastest move takes that only has to get somewhere."""
STEP = 0.5
"""Cycles before and behind the first result at which the second one looks."""
FORGOTTEN_S = 0.12
"""After a start, when friction's sign has changed in whole cycles and the loops have got over it."""
MOVING = 0.2
"""Of its top speed, above which an axis' error counts."""
CLOSE = 1.0
"""Cycles from the delay that a record was made with, within which its result is trusted; else another one is made."""
ATTEMPTS = 4
_EARLIEST = -0.99
FITS_S = 0.35e-3
"""How exact a lead has to be, s."""


@dataclass(frozen=True)
class AxisDelays:
    """What was found on one axis, in cycles; `torque`: how long after its command the model's torque is best sent."""

    name: str
    torque: Delay
    position: Delay
    torque_error: Delay
    additive_torque_delay: int

    def robot_file(self) -> dict[str, int]:
        """Fields of the robot file's [axes.drive] that say the same."""
        return {
            "additive_torque_delay_cycles": self.additive_torque_delay,
            "torque_error_delay_cycles": max(0, round(self.torque_error.samples)),
            "position_error_delay_cycles": round(self.position.samples),
        }


@dataclass(frozen=True)
class Way:
    """How the axes follow: tracking error (rad or m), cycles to settle after a move, None for more than REST_S."""

    tracking: tuple[Tracking, ...]
    settling: tuple[int | None, ...]


@dataclass(frozen=True)
class Delays:
    """Delays of all axes and the one lead, in cycles; `ways`: without model, with whole cycles only, with the lead."""

    axes: tuple[AxisDelays, ...]
    torque_lead: float
    ways: dict[str, Way]

    def misfit(self, axis: AxisDelays) -> float:
        """Cycles by which an axis' torque comes early, since all axes share one lead."""
        return axis.torque.samples - (axis.additive_torque_delay - self.torque_lead)


WITHOUT, WHOLE, LEAD = "without model", "whole cycles only", "with the lead"


def measure_delays(bench: Bench, progress: Callable[[str], None] = lambda _: None) -> Delays:
    """Moves the robot, which must have its model and good parameters on the board, and writes what it finds there.

    Raises IdentificationError where no delay within the board's reach fits, or every move asks for too much torque.
    """
    switch_model(bench, True)
    moves, first = _bearable(bench, progress)
    progress(WITHOUT)
    switch_model(bench, False)
    without = moves.record(0.0, [0] * len(first))
    switch_model(bench, True)
    late = [position_delay(runs[0].record, runs.axis) for runs in without]
    sent = _sent(bench)
    rough = [delay.samples for delay in _contrasts(bench, without, first, late, sent)]
    for _ in range(ATTEMPTS):
        if all(abs(delay - at) <= CLOSE for delay, at in zip(rough, sent, strict=True)):
            break
        progress("with the model")
        sent = [min(MAX_DELAY_CYCLES, max(0, round(delay))) for delay in rough]
        rough = [delay.samples for delay in _contrasts(bench, without, moves.record(0.0, sent), late, sent)]
    sides = []
    for step in (-STEP, STEP):
        progress(f"with the torque {'before' if step < 0 else 'behind'} its time")
        lead, whole = common_lead([min(MAX_DELAY_CYCLES, max(_EARLIEST, delay + step)) for delay in rough])
        sides.append(_contrasts(bench, without, moves.record(lead, whole), late, [each - lead for each in whole]))
    torque = [_mean(*pair) for pair in zip(*sides, strict=True)]
    lead, whole = common_lead([delay.samples for delay in torque])
    progress(WHOLE)
    rounded = moves.record(0.0, [min(MAX_DELAY_CYCLES, max(0, round(delay.samples))) for delay in torque])
    progress(LEAD)
    final = moves.record(lead, whole)
    axes = []
    for k, runs in enumerate(final):
        position = _between(runs, "position_command", "position_feedback")
        effort = _between(runs, "torque_model", "torque_feedback")
        axes.append(AxisDelays(runs.axis, torque[k], position, effort, whole[k]))
        bench.board.write("position_error_delay", round(position.samples), k)
        bench.board.write("torque_error_delay", max(0, round(effort.samples)), k)
    ways = {WITHOUT: without, WHOLE: rounded, LEAD: final}
    delays = [round(axis.position.samples) for axis in axes]
    return Delays(tuple(axes), lead, {way: _way(bench, moved, delays) for way, moved in ways.items()})


def _sent(bench: Bench) -> list[int]:
    return [axis.drive.additive_torque_delay_cycles for axis in bench.robot.axes]


def _bearable(bench: Bench, progress: Callable[[str], None]) -> tuple[_Moves, list[_Runs]]:
    """Moves that keep every TorqueThreshold, and the record that shows it."""
    for share in SHARES:
        progress(f"with the model, {100 * share:.0f} % of the fastest moves")
        moves = _Moves(bench, share)
        try:
            return moves, moves.record(0.0, _sent(bench))
        except LinkError:
            if bench.board.status().fault != "torque_threshold":
                raise
            bench.settle("stopped_by_fault", "disarmed")
            bench.board.clear_fault()
    raise IdentificationError(
        f"moves of {SHARES[-1]:g} of the fastest ones need more torque than TorqueThreshold allows; lower the axes' "
        f"acceleration_max in the robot file"
    )


def store_delays(bench: Bench) -> Written:
    """Keeps what `measure_delays` has written over a restart."""
    return store_applied(bench.board)


def common_lead(delays: Sequence[float]) -> tuple[float, list[int]]:
    """One lead in [0, 1) and whole cycles for each axis that together come nearest to `delays` (cycles).

    Raises IdentificationError where a delay is out of the board's reach.
    """
    for delay in delays:
        if not -1 < delay <= MAX_DELAY_CYCLES:
            raise IdentificationError(
                f"the model's torque would have to be sent {delay:.1f} cycles after its command; the board can from -1 "
                f"to {MAX_DELAY_CYCLES}. Change the drive's set-point buffer, or check the model's parameters"
            )
    leads = np.arange(0, 1, 1 / 256)
    wholes = np.clip(np.round(np.asarray(delays)[:, None] + leads), 0, MAX_DELAY_CYCLES)
    best = int(np.argmin(((wholes - leads - np.asarray(delays)[:, None]) ** 2).sum(axis=0)))
    # Within one step of the grid the best lead is the mean of what the axes want.
    lead = float(np.mean(wholes[:, best] - np.asarray(delays)))
    return min(1.0, max(0.0, lead)), [int(whole) for whole in wholes[:, best]]


class _Runs(list[Run]):
    """The moves as one axis has made them."""

    def __init__(self, axis: str, runs: Iterable[Run]) -> None:
        super().__init__(runs)
        self.axis = axis


class _Moves:
    """The moves that every step repeats: there and back, from rest to rest."""

    def __init__(self, bench: Bench, share: float) -> None:
        self.bench = bench
        self._share = share
        self._low, high = reach(bench.robot)
        self._moves = [(seconds, self._far(seconds, high)) for seconds in TIMES_S]

    def _far(self, seconds: float, high: Sequence[float]) -> list[float]:
        """Where the axes get to from low in `seconds`."""
        return [
            low + math.copysign(min(abs(end - low), self._share * farthest(axis, seconds)), end - low)
            for axis, low, end in zip(self.bench.robot.axes, self._low, high, strict=True)
        ]

    def record(self, lead: float, delays: Sequence[int]) -> list[_Runs]:
        """The moves with these settings, as seen by each axis."""
        bench = self.bench
        bench.board.write("torque_lead", lead)
        for index, delay in enumerate(delays):
            bench.board.write("additive_torque_delay", delay, index)
        with bench.armed():
            # Friction remembers where a motion came from: every record comes the same way.
            move_to(bench, self._moves[0][1], GENTLE)
            move_to(bench, self._low, GENTLE)
            runs = [self._move(t, bench.cycles(s)) for s, far in self._moves for t in (far, self._low)]
        return [_Runs(axis.name, runs) for axis in bench.robot.axes]

    def _move(self, target: list[float], cycles: int) -> Run:
        bench = self.bench
        run = capture_while(
            bench,
            CHANNELS,
            cycles + bench.cycles(REST_S),
            lambda cycle: motion.move(bench.board, target, cycles, start_cycle=cycle),
        )
        bench.settle()
        return run


def _before(samples: Array, late: int) -> Array:
    """Samples as they were `late` rows before; a run begins at rest."""
    return np.concatenate((np.full(late, samples[0]), samples[: len(samples) - late]))


def _errors(runs: _Runs, late: int) -> list[Array]:
    """Tracking error of each run against the command of `late` cycles ago."""
    pairs = [(named(run.record, runs.axis, "position_command"), named(run.record, runs.axis, "position_feedback"))
             for run in runs]  # fmt: skip
    return [_before(command, late) - actual for command, actual in pairs]


def _moving(bench: Bench, runs: _Runs, late: int) -> list[Mask]:
    """Where the axis is faster than MOVING of its top speed, FORGOTTEN_S after its start."""
    masks = []
    for run in runs:
        speed = np.abs(np.gradient(_before(named(run.record, runs.axis, "position_command"), late)))
        mask = speed > MOVING * speed.max()
        mask[: int(np.argmax(speed > 0)) + bench.cycles(FORGOTTEN_S)] = False
        masks.append(mask)
    return masks


def _contrasts(
    bench: Bench, without: Sequence[_Runs], with_model: Sequence[_Runs], late: Sequence[int], sent: Sequence[float]
) -> list[Delay]:
    """Best torque delay of each axis, from what the model has taken away when it was sent after `sent` cycles."""
    result = []
    for before, after, delay, at in zip(without, with_model, late, sent, strict=True):
        needed = _errors(before, delay)
        taken = [n - rest for n, rest in zip(needed, _errors(after, delay), strict=True)]
        found = delay_between(taken, needed, _moving(bench, before, delay), MAX_DELAY_CYCLES, -MAX_DELAY_CYCLES)
        if not 0.5 < found.gain < 2:
            raise IdentificationError(
                f"the model takes {100 / found.gain:.0f} % of the tracking error of {before.axis!r} away: its torque "
                f"is not the one that is needed. Identify the robot and write the parameters first"
            )
        result.append(replace(found, samples=at + found.samples))
    return result


def _mean(one: Delay, other: Delay) -> Delay:
    interval = math.hypot(one.interval, other.interval) / 2
    return Delay((one.samples + other.samples) / 2, interval, (one.gain + other.gain) / 2)


def _between(runs: _Runs, first: str, second: str) -> Delay:
    earlier, later = ([named(run.record, runs.axis, channel) for run in runs] for channel in (first, second))
    return delay_between(earlier, later, [np.ones(len(x), dtype=bool) for x in later], MAX_ERROR_DELAY_CYCLES)


def _way(bench: Bench, moved: Sequence[_Runs], late: Sequence[int]) -> Way:
    tracked, settled = [], []
    for axis, runs, delay in zip(bench.robot.axes, moved, late, strict=True):
        error = np.concatenate(_errors(runs, delay))
        tracked.append(Tracking(float(np.abs(error).max()), float(math.sqrt(np.mean(error**2)))))
        dwell = bench.cycles(axis.settling.time_s)
        times = [settling_cycles(run.record, axis.name, axis.settling.position_error, dwell) for run in runs]
        known = [time for time in times if time is not None]
        settled.append(max(known) if len(known) == len(times) else None)
    return Way(tuple(tracked), tuple(settled))
