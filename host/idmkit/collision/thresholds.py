"""Thresholds from free motion: how large a signal of an axis gets without a collision, by speed range.

At rest friction may be anything up to Coulomb's, and what a filter keeps of that lasts on; near a reversal friction
turns, and a model turns it a moment early or late. So there are three levels: at rest and shortly after, slow, fast. An
alarm asks for DURATION samples in a row beyond the level. A level is MARGIN times a high quantile of what lasts so long
in a free record, and ABOVE_ALL times the largest of it: starts are rare, and count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

QUANTILE = 0.999
MARGIN, ABOVE_ALL = 2.0, 2.0
"""A motion that was not tried may be twice as bad as those that were."""
HELD = 1.25
"""Friction is not the same every day."""
DURATION = 2
SLOW = 0.01
"""Of velocity_max: about a reversal."""
MOST_REST_CYCLES = 30
"""The board looks no further back."""


@dataclass(frozen=True)
class Thresholds:
    """Levels of one axis (Nm or N) and where they hold, by the commanded speed (rad/s, m/s).

    `rest` where it is 0 or has been in the last `rest_cycles`; `slow` up to `slow_speed`; `fast` beyond.
    """

    rest_cycles: int
    slow_speed: float
    rest: float
    slow: float
    fast: float

    def at(self, speed: Array) -> Array:
        """The level for each speed [S]."""
        resting, slow, _ = _ranges(speed, self.slow_speed, self.rest_cycles)
        return np.where(resting, self.rest, np.where(slow, self.slow, self.fast))

    def or_higher(self, other: Thresholds) -> Thresholds:
        """The higher of both levels everywhere: for what may happen with or without a payload."""
        return Thresholds(
            max(self.rest_cycles, other.rest_cycles),
            max(self.slow_speed, other.slow_speed),
            max(self.rest, other.rest),
            max(self.slow, other.slow),
            max(self.fast, other.fast),
        )

    @property
    def for_board(self) -> dict[str, float]:
        """The board's properties, for a torque error as signal: it knows rest and motion."""
        return {
            "torque_error_max": max(self.slow, self.fast),
            "torque_error_max_rest": self.rest,
            "torque_error_rest_cycles": self.rest_cycles,
            "torque_error_duration": DURATION,
        }

    @property
    def for_robot_file(self) -> dict[str, float]:
        """The same under the names of a robot file's [axes.guards]."""
        named = self.for_board
        return {("torque_error_duration_cycles" if k == "torque_error_duration" else k): v for k, v in named.items()}


def filter_memory(torque_error_filter: float, torque_error_delay_cycles: int) -> int:
    """Cycles until the board's filtered torque error has forgotten 98 % of a step: 4 time constants and its delay."""
    return min(MOST_REST_CYCLES, math.ceil(4 / torque_error_filter) + torque_error_delay_cycles)


def suggest(signal: Array, speed: Array, slow_speed: float, rest_cycles: int, held: float = 0.0) -> Thresholds:
    """Thresholds from free motion: `signal` [S] (torque error or residual) and commanded `speed` [S] of one axis.

    `held` (Nm, N) is what Coulomb friction may hide at rest, whatever the record happens to show: Fc where the model
    takes it for 0 there, 2 Fc where the model says one of its ends. A range that the record lacks gets the level of the
    whole.
    """
    lasting = _lasting(np.abs(signal))
    levels = []
    for part in _ranges(speed, slow_speed, rest_cycles):
        seen = lasting[part] if part.any() else lasting
        levels.append(max(MARGIN * float(np.quantile(seen, QUANTILE)), ABOVE_ALL * float(seen.max())))
    return Thresholds(rest_cycles, slow_speed, max(levels[0], levels[2] + HELD * held), max(levels[1:]), levels[2])


def _ranges(speed: Array, slow_speed: float, rest_cycles: int) -> tuple[Mask, Mask, Mask]:
    """At rest or shortly after it, slow, fast: [S] each, one of them True."""
    still = speed == 0
    # A reversal may touch 0 for a sample.
    still[1:-1] &= still[:-2] | still[2:]
    since = np.arange(len(speed)) - np.maximum.accumulate(np.where(still, np.arange(len(speed)), -rest_cycles - 1))
    resting = since <= rest_cycles
    slow = ~resting & (np.abs(speed) <= slow_speed)
    return resting, slow, ~resting & ~slow


def _lasting(size: Array) -> Array:
    """What each of the last DURATION samples reaches, [S]."""
    lasting = size.copy()
    for k in range(1, DURATION):
        lasting[k:] = np.minimum(lasting[k:], size[:-k])
        lasting[:k] = 0.0
    return lasting


def alarms(signal: Array, speed: Array, thresholds: Thresholds) -> Mask:
    """[S]: True where the signal has been beyond its level for DURATION samples."""
    return np.asarray(_lasting((np.abs(signal) > thresholds.at(speed)).astype(float)) > 0)


def first_alarm(signal: Array, speed: Array, thresholds: Thresholds, since: int) -> int | None:
    """Samples from `since` to the first alarm that begins after it; None where there is none, or one stands already."""
    found = np.flatnonzero(alarms(signal, speed, thresholds)[since:])
    return int(found[0]) if len(found) and found[0] > 0 else None
