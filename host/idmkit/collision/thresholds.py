"""Thresholds from free motion: how large a signal of an axis gets without a collision, by speed range.

At standstill friction may be anything up to Coulomb's; near a reversal it turns, and a model turns it a moment early or
late. So there are three levels: standing, slow, moving. A level is MARGIN times a high quantile of the free record, and
an alarm asks for DURATION samples in a row beyond it: normal noise at MARGIN times its 99.9 % quantile is seen once in
a million samples, twice in a row never.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

QUANTILE = 0.999
MARGIN = 1.5
DURATION = 2


@dataclass(frozen=True)
class Thresholds:
    """Levels of one axis (Nm or N): `standing`, `slow` up to the speed `slow_speed` (rad/s, m/s), `moving` beyond."""

    slow_speed: float
    standing: float
    slow: float
    moving: float

    def at(self, speed: Array) -> Array:
        """The level for each speed."""
        size = np.abs(speed)
        return np.where(size > self.slow_speed, self.moving, np.where(size > 0, self.slow, self.standing))


def suggest(signal: Array, speed: Array, slow_speed: float, held: float = 0.0) -> Thresholds:
    """Thresholds from free motion: `signal` [S] (torque error or residual) and commanded `speed` [S] of one axis.

    `held` (Nm, N) is what Coulomb friction may hide at standstill, whatever the record happens to show: Fc where the
    model takes it for 0 there, 2 Fc where the model says one of its ends. A range that the record lacks gets the level
    of the whole.
    """
    size, at = np.abs(signal), np.abs(speed)
    ranges = [at == 0, (at > 0) & (at <= slow_speed), at > slow_speed]
    levels = [MARGIN * float(np.quantile(size[part] if part.any() else size, QUANTILE)) for part in ranges]
    return Thresholds(slow_speed, max(levels[0], levels[2] + held), max(levels[1:]), levels[2])


def alarms(signal: Array, speed: Array, thresholds: Thresholds) -> Mask:
    """[S]: True where the signal has been beyond its level for DURATION samples."""
    beyond = np.abs(signal) > thresholds.at(speed)
    lasting = beyond.copy()
    for k in range(1, DURATION):
        lasting[k:] &= beyond[:-k]
        lasting[:k] = False
    return lasting


def first_alarm(signal: Array, speed: Array, thresholds: Thresholds, since: int) -> int | None:
    """Samples from `since` to the first alarm that begins after it; None where there is none, or one stands already."""
    found = np.flatnonzero(alarms(signal, speed, thresholds)[since:])
    return int(found[0]) if len(found) and found[0] > 0 else None
