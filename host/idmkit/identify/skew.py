"""The time between torque and motion, where the recorder does not take both at once.

A torque that describes the time d earlier than its row is, to first order, model(t) - d d(model)/dt. So the time
derivative of the model's torque is one more column of the regressor, and d its coefficient; all parameters are
estimated along, since viscous friction looks much the same in a motion of one frequency.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.identify.equations import equations_of
from idmkit.identify.estimate import Estimate
from idmkit.identify.least_squares import fit_least_squares
from idmkit.identify.observations import Observations

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Skew:
    """The torque of `axis` describes the time `delay_s` +- `std_s` before that of its row."""

    axis: str
    delay_s: float
    std_s: float


def time_skew(observations: Observations, estimate: Estimate) -> list[Skew]:
    """The delay of the torque of each axis, beside what the channel declares; `estimate` is of these observations."""
    n, _, p = observations.regressor.shape
    model = observations.regressor @ estimate.values
    slope = np.gradient(model, axis=1) * observations.sample_rate_hz
    # A jump between stretches is no slope.
    holes = np.flatnonzero(np.diff(observations.row) != 1)
    slope[:, np.concatenate((holes, holes + 1))] = 0.0
    equations = equations_of(observations)
    kept = np.searchsorted(observations.row, equations.row)
    columns = np.zeros((n, len(kept), n))
    for k in range(n):
        columns[k, :, k] = -slope[k, kept]
    names = tuple(f"{axis}.delay" for axis in observations.axes)
    wider = type(equations)(
        axes=equations.axes,
        names=(*equations.names, *names),
        regressor=np.concatenate((equations.regressor, columns), axis=2),
        torque=equations.torque,
        used=equations.used,
        tick=equations.tick,
        row=equations.row,
    )
    found = fit_least_squares(wider, weighted=n > 1)
    return [Skew(axis, float(found.values[p + k]), float(found.std[p + k])) for k, axis in enumerate(observations.axes)]
