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
_STALE_STEPS, _STEP_QUANTILE = 6, 0.01
_JUMP_RATIO = 5.0
_JUMP_QUANTA = 20


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
    (an encoder behind a gear wraps at a fraction of a joint turn). A jump and its return at once are a spike.
    """
    finite = np.flatnonzero(np.isfinite(position))
    steps = np.diff(position[finite])
    jumps, usual = _jumps(steps, quantum(position))
    if not len(jumps):
        return None
    period = float(np.median(np.abs(steps[jumps])))
    turns = period / (2 * math.pi)
    if revolute and turns > 0.5 and abs(turns - round(turns)) < 0.05:
        period = 2 * math.pi
    else:
        jumps = _without_returns(jumps, steps)
        if len(jumps) < 2:
            return None
        period = float(np.median(np.abs(steps[jumps])))
    sizes = np.abs(steps[jumps])
    residual = np.abs(sizes - period * np.round(sizes / period))
    return Wraps(finite[jumps], period) if residual.max() <= max(0.05 * period, 2 * usual) else None


def _jumps(steps: Samples, resolution: float) -> tuple[Rows, float]:
    """(places of the steps that are a class of their own, largest of the others): they differ by a wide margin."""
    sizes = np.sort(np.abs(steps))
    moving = sizes[sizes > 0]
    if len(moving) < 4:
        return np.flatnonzero(steps < -np.inf), 0.0
    # Jumps are rare: the gap between the classes lies in the upper half.
    upper = np.maximum(moving[len(moving) // 2 :], resolution)
    ratios = upper[1:] / upper[:-1]
    widest = int(np.argmax(ratios))
    usual = float(upper[widest])
    if ratios[widest] < _JUMP_RATIO or upper[widest + 1] < _JUMP_QUANTA * resolution:
        return np.flatnonzero(steps < -np.inf), usual
    return np.flatnonzero(np.abs(steps) > 1.5 * usual), usual


def _without_returns(jumps: Rows, steps: Samples) -> Rows:
    """Jumps that are not undone by the next one within two rows."""
    kept = np.ones(len(jumps), dtype=bool)
    for index in range(len(jumps) - 1):
        close = jumps[index + 1] - jumps[index] <= 2
        if kept[index] and close and steps[jumps[index]] * steps[jumps[index + 1]] < 0:
            kept[index : index + 2] = False
    return jumps[kept]


def unwrapped(position: Samples, wraps: Wraps) -> Samples:
    """Position with the jumps taken out; the first sample keeps its value."""
    finite = np.flatnonzero(np.isfinite(position))
    after = finite[np.searchsorted(finite, wraps.rows) + 1]
    jumps = np.zeros(len(position))
    jumps[after] = wraps.period * np.round((position[after] - position[wraps.rows]) / wraps.period)
    return np.asarray(position - np.cumsum(jumps))


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
    same = _repeats(channels)
    rows = np.arange(len(position))
    fresh = np.flatnonzero(~same)
    following = fresh[np.minimum(np.searchsorted(fresh, rows), len(fresh) - 1)]
    leading = fresh[np.searchsorted(fresh, rows, side="right") - 1]
    moved = np.abs(position[following] - position[leading])
    # Between neighbours in time, since sums of two encoders take finer values than either of them steps by.
    steps = np.abs(np.diff(position))
    steps = steps[steps > 0]
    step = float(np.quantile(steps, _STEP_QUANTILE)) if len(steps) else 0.0
    return same & (moved > _STALE_STEPS * step)


def find_slow_source(channels: list[Samples], stale: Mask) -> tuple[Mask, int]:
    """(rows to leave out [S], rows for one fresh one) where a source is sampled again and again.

    At standstill, too, where rows repeat by right, one row is kept for each time the source was read.
    """
    same = _repeats(channels)
    fresh = np.flatnonzero(~same)
    moving = np.diff(fresh)[stale[np.minimum(fresh[:-1] + 1, len(stale) - 1)]]
    factor = int(np.median(moving)) if len(moving) else 1
    age = np.arange(len(same)) - fresh[np.searchsorted(fresh, np.arange(len(same)), side="right") - 1]
    return same & (age % factor != 0), factor


def _repeats(channels: list[Samples]) -> Mask:
    """Rows that equal the row before in every channel, shape [S]; the first never does."""
    same = np.ones(len(channels[0]), dtype=bool)
    same[:1] = False
    for samples in channels:
        same[1:] &= (samples[1:] == samples[:-1]) | (np.isnan(samples[1:]) & np.isnan(samples[:-1]))
    return same


def runs(mask: Mask) -> list[tuple[int, int]]:
    """(first row, rows) of each run of True in `mask` [S]."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return [(int(first), int(last - first)) for first, last in zip(edges[::2], edges[1::2], strict=True)]
