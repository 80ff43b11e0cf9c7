"""Defects of single channels: cells that hold no number, wraps, spikes, stale rows. Found here, with counts.

Functions take samples [S] that may hold NaN and know nothing of records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from idmkit.records.record import Samples

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

SPIKE_SIGMAS = 12.0
"""A spike stands out of its neighbours by so many robust standard deviations. Heavy-tailed (Laplace) noise reaches
8 once in 4,000 samples and 12 once in 200,000."""
_SPIKE_WINDOW = 5
_SPIKE_RANGE = {True: 1e-3, False: 0.2}
"""Least height of a spike in parts of the channel's range: a position cannot jump, a torque can."""
_SPIKE_QUANTA = 4
_STALE_QUANTA = 6
_JUMP_RATIO = 20.0


def quantum(samples: Samples) -> float:
    """Smallest step between distinct values, 0 where there is only one; the resolution of a quantised channel."""
    values = np.unique(samples[np.isfinite(samples)][:200_000])
    if len(values) < 2:
        return 0.0
    steps = np.diff(values)
    return float(steps[steps > 1e-9 * (values[-1] - values[0])].min())


@dataclass(frozen=True)
class Wraps:
    """Jumps by a whole period: `rows` after which they happen, and the `period` (rad or m)."""

    rows: Rows
    period: float


def find_wraps(position: Samples, revolute: bool) -> Wraps | None:
    """Jumps of one size out of line with the motion around them; None where there are none.

    One jump alone counts only as a whole number of turns; two or more of equal size show the period themselves
    (an encoder behind a gear wraps at a fraction of a joint turn).
    """
    finite = np.flatnonzero(np.isfinite(position))
    steps = np.diff(position[finite])
    if len(steps) < 3:
        return None
    usual = float(np.quantile(np.abs(steps), 0.99))
    jumps = np.flatnonzero(np.abs(steps) > max(_JUMP_RATIO * usual, 1e-9))
    if not len(jumps):
        return None
    sizes = np.abs(steps[jumps])
    period = float(np.median(sizes))
    turns = period / (2 * math.pi)
    whole_turns = revolute and turns > 0.5 and abs(turns - round(turns)) < 0.05
    if whole_turns:
        period = 2 * math.pi
    elif len(jumps) < 2:
        return None
    residual = np.abs(sizes - period * np.round(sizes / period))
    if residual.max() > max(0.05 * period, 2 * usual):
        return None
    after = position[finite[jumps] + 1] - position[np.maximum(finite[jumps] - 1, 0)]
    lone = np.abs(after) < 0.5 * period
    return None if lone.all() else Wraps(finite[jumps], period)


def unwrapped(position: Samples, wraps: Wraps) -> Samples:
    """Position with the jumps taken out; the first sample keeps its value."""
    result = position.copy()
    for row in wraps.rows:
        before = position[: row + 1][np.isfinite(position[: row + 1])][-1]
        after = position[row + 1 :][np.isfinite(position[row + 1 :])][0]
        turns = round((after - before) / wraps.period)
        result[row + 1 :] -= turns * wraps.period
    return result


def find_spikes(samples: Samples, *, continuous: bool) -> Rows:
    """Rows of one or two samples that stand far out of the median of their neighbours, shape [K].

    `continuous` says that the quantity cannot jump by itself (a position), so that little is suspicious.
    """
    finite = np.flatnonzero(np.isfinite(samples))
    values = samples[finite]
    if len(values) < 2 * _SPIKE_WINDOW:
        return finite[:0]
    residual = np.abs(values - median_filter(values, _SPIKE_WINDOW, mode="nearest"))
    usual = residual[residual > 0]
    if not len(usual):
        return finite[:0]
    low, high = np.quantile(values, (0.01, 0.99))
    limit = max(
        SPIKE_SIGMAS * 1.4826 * float(np.median(usual)),
        _SPIKE_QUANTA * quantum(values),
        _SPIKE_RANGE[continuous] * float(high - low),
    )
    return finite[residual > limit]


def find_stale(channels: list[Samples], position: Samples) -> Mask:
    """Rows in which every channel repeats the row before although the axis moves on, shape [S].

    A row at standstill repeats by right; so "moves on" asks for several encoder steps between the fresh rows
    on both sides.
    """
    rows = len(position)
    same = np.zeros(rows, dtype=bool)
    if rows < 3:
        return same
    same[1:] = True
    for samples in channels:
        same[1:] &= (samples[1:] == samples[:-1]) | (np.isnan(samples[1:]) & np.isnan(samples[:-1]))
    fresh = np.flatnonzero(~same)
    following = fresh[np.minimum(np.searchsorted(fresh, np.arange(rows)), len(fresh) - 1)]
    leading = fresh[np.searchsorted(fresh, np.arange(rows), side="right") - 1]
    moved = np.abs(position[following] - position[leading])
    return same & (moved > _STALE_QUANTA * quantum(position))


def runs(mask: Mask) -> list[tuple[int, int]]:
    """(first row, rows) of each run of True in `mask` [S]."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return [(int(first), int(last - first)) for first, last in zip(edges[::2], edges[1::2], strict=True)]
