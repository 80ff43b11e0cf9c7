"""What an estimator works on: torque and regressor of every axis, filtered alike, without edges, gaps, clipping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation

from idmkit.errors import IdentificationError
from idmkit.records import Channel, CleanRecord
from idmkit.signals import (
    FLAT,
    check_cutoff,
    edge_rows,
    highest_motion_frequency,
    low_pass,
    position_noise,
    shifted,
    spline_derivatives,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

DEFAULT_THRESHOLD = 0.1
VELOCITY_NOISE = 0.01
"""Noise of the velocity, in parts of its peak, that sines and signs of the model may see."""
MAX_POSITION_CUTOFF = 0.4
"""Cutoff of the position in parts of the sample rate, at most."""


class LinearModel(Protocol):
    """tau = Y theta + offset, as `dynamics.Regressor` evaluates it: names of the p columns, then Y and offset."""

    names: tuple[str, ...]

    def __call__(self, q: Array, qd: Array, qdd: Array, direction: Array) -> tuple[Array, Array]:
        """(Y [n, S, p], offset [n, S]) for states [S, n]."""
        ...


@dataclass(frozen=True, eq=False)
class Observations:
    """S rows of n axes and p parameters, SI, joint side.

    `row` [S] is the place of each row in the record; rows of one stretch follow each other without holes.
    `q`, `qd`, `qdd` [S, n] are low-passed as far as their noise asks for. `torque` [n, S] (what the model must
    explain: measured torque minus the model's known part `known` [n, S]) and `regressor` [n, S, p] are low-passed
    alike. `unclipped` [n, S] is True where no torque is clipped; `moving` [n, S] where, besides, the axis is faster
    than its threshold and no axis faster than its ceiling: errors are judged there. `fitted` [n, S] leaves out, too,
    what lies within the filter's reach of slower samples.
    `motion_hz` [n] is the highest frequency of motion.
    """

    axes: tuple[str, ...]
    names: tuple[str, ...]
    sample_rate_hz: float
    cutoff_hz: float
    velocity_thresholds: Array
    motion_hz: Array
    row: NDArray[np.intp]
    q: Array
    qd: Array
    qdd: Array
    torque: Array
    regressor: Array
    known: Array
    unclipped: Mask
    moving: Mask
    fitted: Mask

    @property
    def rows(self) -> int:
        """S, after trimming."""
        return len(self.row)


def observe(
    clean: CleanRecord,
    axes: Sequence[str],
    model: LinearModel,
    cutoff_hz: float,
    velocity_thresholds: Sequence[float | None],
    velocity_ceilings: Sequence[float | None] = (),
) -> Observations:
    """Low-passes motion and torque, differentiates, builds the regressor and trims the edges of every stretch.

    A velocity threshold of None stands for a tenth of the axis' top speed, a ceiling of None for none. A sample in
    which one axis is above its ceiling counts for no axis: a model without dynamic forces must not see those that a
    fast axis causes on the others.

    Raises IdentificationError where the cutoff is not above the motion and below the Nyquist frequency, or no
    stretch between gaps is longer than the filter's edges; RecordError where a channel is missing.
    """
    record, rate = clean.record, clean.record.sample_rate_hz
    stretches = clean.segments()
    longest = max(stretches, key=lambda stretch: stretch.stop - stretch.start)
    position = np.stack([record.channel(axis, "position").samples for axis in axes], axis=1)
    check_cutoff(cutoff_hz, rate, 0.0)
    edge = edge_rows(cutoff_hz, rate)
    usable = [stretch for stretch in stretches if stretch.stop - stretch.start > 2 * edge + 1]
    if not usable:
        raise _too_short(longest.stop - longest.start, edge, rate, cutoff_hz)
    motion_hz = np.array([highest_motion_frequency(column, rate) for column in position[longest].T])
    check_cutoff(cutoff_hz, rate, float(motion_hz.max()))
    position_cutoffs = [_position_cutoff(column, rate, cutoff_hz) for column in position[longest].T]
    torques = [record.channel(axis, "torque") for axis in axes]
    parts = [_filtered(stretch, position, position_cutoffs, torques, model, rate, cutoff_hz) for stretch in usable]
    row, q, qd, qdd, torque, matrix, known = (
        np.concatenate([part[k] for part in parts], axis=int(k >= 4)) for k in range(7)
    )
    top = np.abs(qd).max(axis=0)
    thresholds = np.array(
        [DEFAULT_THRESHOLD * top[k] if given is None else given for k, given in enumerate(velocity_thresholds)]
    )
    reach = round(rate / cutoff_hz)
    unclipped = np.tile(~_widened(clean.clipped, reach)[row], (len(axes), 1))
    moving = (np.abs(qd.T) > thresholds[:, None]) & unclipped & _below(qd, velocity_ceilings)
    return Observations(
        axes=tuple(axes),
        names=model.names,
        sample_rate_hz=rate,
        cutoff_hz=cutoff_hz,
        velocity_thresholds=thresholds,
        motion_hz=motion_hz,
        row=row,
        q=q,
        qd=qd,
        qdd=qdd,
        torque=torque,
        regressor=matrix,
        known=known,
        unclipped=unclipped,
        moving=moving,
        fitted=np.stack([_beyond_reach(axis, row, reach) for axis in moving]),
    )


def _too_short(rows: int, edge: int, rate: float, cutoff_hz: float) -> IdentificationError:
    return IdentificationError(
        f"the longest stretch without gaps is {rows / rate:.3g} s ({rows} samples); a cutoff of "
        f"{cutoff_hz:g} Hz loses {2 * edge / rate:.3g} s at its ends. Record longer or raise the cutoff"
    )


def _filtered(
    stretch: slice,
    position: Array,
    position_cutoffs: Sequence[float],
    torques: Sequence[Channel],
    model: LinearModel,
    rate: float,
    cutoff_hz: float,
) -> tuple[NDArray[np.intp], Array, Array, Array, Array, Array, Array]:
    """(row, q, qd, qdd, torque, regressor, known) of one stretch, its edges trimmed; shapes as in `Observations`."""
    columns = [low_pass(position[stretch, k], rate, cutoff, FLAT) for k, cutoff in enumerate(position_cutoffs)]
    q = np.stack(columns, axis=1)
    qd, qdd = spline_derivatives(q, rate)
    torque = np.stack([shifted(low_pass(c.samples[stretch], rate, cutoff_hz), rate, c.delay_s) for c in torques])
    matrix, offset = model(q, qd, qdd, mean_direction(qd, qdd, rate))
    known = low_pass(offset.T, rate, cutoff_hz).T
    torque = torque - known
    matrix = low_pass(matrix.swapaxes(0, 1), rate, cutoff_hz).swapaxes(0, 1)
    edge = edge_rows(cutoff_hz, rate)
    kept = slice(edge, stretch.stop - stretch.start - edge)
    row = np.arange(stretch.start, stretch.stop)[kept]
    return row, q[kept], qd[kept], qdd[kept], torque[:, kept], matrix[:, kept], known[:, kept]


def _below(qd: Array, ceilings: Sequence[float | None]) -> Mask:
    """True [S] where no axis is faster than its ceiling."""
    limits = np.array([np.inf if ceiling is None else ceiling for ceiling in ceilings or (None,)])
    return np.asarray((np.abs(qd) < limits).all(axis=1))


def _position_cutoff(position: Array, rate: float, cutoff_hz: float) -> float:
    """Cutoff for a position [S] before the model sees it, from the noise it carries; at least `cutoff_hz`.

    A position filtered as hard as the torque would round off the reversals and move the time at which the Coulomb
    torque changes. White position noise of variance s^2 low-passed at f makes velocity noise of variance
    (2 pi)^2 2 s^2 f^3 / (3 rate). What it lets through meets the cutoff later, when torque and regressor are
    filtered alike.
    """
    highest = MAX_POSITION_CUTOFF * rate
    if len(position) <= 2 * edge_rows(cutoff_hz, rate) + 1:
        return cutoff_hz
    noise = position_noise(position)
    allowed = VELOCITY_NOISE * float(np.abs(spline_derivatives(low_pass(position, rate, cutoff_hz), rate)[0]).max())
    if noise > 0:
        highest = min(highest, float(np.cbrt(3 * rate / 2 * (allowed / (2 * np.pi * noise)) ** 2)))
    return max(cutoff_hz, highest)


def mean_direction(qd: Array, qdd: Array, sample_rate_hz: float) -> Array:
    """Sign of the velocity, averaged over the time from half a sample before to half a sample behind each one.

    A reversal falls between two samples. Taken at the samples alone, the Coulomb torque would change at the wrong
    time by up to half a sample, always the same in periodic motion, and the inertia would pay for it.
    """
    half = np.abs(qdd) / (2 * sample_rate_hz)
    return np.divide(np.clip(qd, -half, half), half, out=np.sign(qd), where=half > 0)


def _beyond_reach(moving: Mask, row: NDArray[np.intp], reach: int) -> Mask:
    """Moving samples [S] that are farther than the filter's reach from slow ones, or half of it, or all.

    Near standstill friction is not what the model says; the filter would carry that into the samples that count.
    Where reversals follow each other so fast that more than half of the samples would go, the reach is shortened.
    """
    numbered = np.zeros(int(row[-1]) + 1, dtype=bool)
    numbered[row] = ~moving
    for rows in (reach, reach // 2):
        fitted = moving & ~_widened(numbered, rows)[row]
        if 2 * fitted.sum() >= moving.sum():
            return fitted
    return moving


def _widened(mask: Mask, rows: int) -> Mask:
    """True within `rows` of a True."""
    return binary_dilation(mask, np.ones(2 * rows + 1, dtype=bool)) if mask.any() else mask
