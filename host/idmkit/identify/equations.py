"""The linear equations of an estimator: low-passed rows, thinned out to as many as carry information of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import IdentificationError
from idmkit.identify.observations import Observations
from idmkit.signals import decimation_factor

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Equations:
    """torque = regressor @ theta + error, for K rows of n axes and p parameters `names`.

    `regressor` [n, K, p], `torque` [n, K]; `used` [n, K] says which rows count. `tick` [K] numbers the rows in
    steps of the decimation; a hole between stretches is a jump. `row` [K] is their place in the record.
    """

    axes: tuple[str, ...]
    names: tuple[str, ...]
    regressor: Array
    torque: Array
    used: Mask
    tick: NDArray[np.intp]
    row: NDArray[np.intp]

    @property
    def counts(self) -> NDArray[np.intp]:
        """Rows used of each axis, [n]."""
        return np.asarray(self.used.sum(axis=1))

    def residual(self, values: Array) -> Array:
        """Torque minus regressor @ values, [n, K]; 0 where a row is not used."""
        return np.where(self.used, self.torque - self.regressor @ values, 0.0)

    def columns(self, names: Sequence[str]) -> Equations:
        """The same rows for some of the parameters, in this order."""
        places = [self.names.index(name) for name in names]
        return replace(self, names=tuple(names), regressor=np.ascontiguousarray(self.regressor[:, :, places]))

    def stacked(self, weights: Array) -> tuple[Array, Array]:
        """(rows [N, p], torques [N]) of all axes, each multiplied by `weights` [n] or [n, K]."""
        scale = np.broadcast_to(np.asarray(weights).reshape(len(self.axes), -1), self.torque.shape)[self.used]
        return self.regressor[self.used] * scale[:, None], self.torque[self.used] * scale


def equations_of(observations: Observations, *, with_slow: bool = False) -> Equations:
    """Every n-th row of each stretch, n by the cutoff; `with_slow` keeps rows below the velocity threshold.

    Raises IdentificationError where an axis has fewer usable rows than its share of the parameters.
    """
    factor = decimation_factor(observations.sample_rate_hz, observations.cutoff_hz)
    starts = np.flatnonzero(np.concatenate(([True], np.diff(observations.row) != 1)))
    since = np.arange(observations.rows) - np.repeat(starts, np.diff(np.append(starts, observations.rows)))
    kept = since % factor == 0
    row = observations.row[kept]
    # A hole is wider than the correlation of the residuals: one empty step keeps stretches apart.
    steps = np.where(np.diff(row) == factor, 1, np.maximum(2, np.diff(row) // factor))
    used = (observations.unclipped if with_slow else observations.fitted)[:, kept]
    _check_counts(observations, used)
    return Equations(
        axes=observations.axes,
        names=observations.names,
        regressor=observations.regressor[:, kept],
        torque=observations.torque[:, kept],
        used=used,
        tick=np.concatenate(([0], np.cumsum(steps))),
        row=row,
    )


def _check_counts(observations: Observations, used: Mask) -> None:
    speeds = np.abs(observations.qd).max(axis=0)
    for k, (axis, count) in enumerate(zip(observations.axes, used.sum(axis=1), strict=True)):
        if count * len(observations.axes) <= len(observations.names):
            raise IdentificationError(
                f"axis {axis!r} moves faster than its velocity threshold {observations.velocity_thresholds[k]:.4g} "
                f"in {count} independent samples only (top speed {speeds[k]:.4g}); move faster or longer, or lower "
                "the threshold"
            )
