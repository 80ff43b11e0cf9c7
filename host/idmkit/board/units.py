"""SI values and the counts of the wire (idmwire.scales), both ways.

The wire counts a revolute position in turns, the host in radians; everything else has the same unit on both
sides. A value that the wire cannot hold raises ValueError here, before anything is packed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from idmwire import scales


def counts(value: float, quantity: str, *, revolute: bool) -> int:
    """The counts nearest to an SI value; raises ValueError outside the range of the wire, or for no number."""
    if not math.isfinite(value):
        raise ValueError(f"{quantity} of {value} is no number that a board could hold")
    return scales.to_counts(value / _factor(quantity, revolute), quantity)


def value(number: int, quantity: str, *, revolute: bool) -> float:
    """The SI value of a number of counts."""
    return scales.from_counts(number, quantity) * _factor(quantity, revolute)


def values(numbers: NDArray[np.int32], quantity: str, *, revolute: bool) -> NDArray[np.float64]:
    """The SI values of an array of counts, same shape."""
    scale = 2.0 ** scales.SCALES[quantity][0] * _factor(quantity, revolute)
    return np.asarray(numbers, dtype=np.float64) * scale


def unit(quantity: str, *, revolute: bool) -> str:
    """The SI unit of a quantity: rad for a revolute position, "" for a plain count or ratio."""
    if quantity == "position" and revolute:
        return "rad"
    name = str(scales.SCALES[quantity][1 if revolute else 2])
    return "" if name == "1" else name


def _factor(quantity: str, revolute: bool) -> float:
    """SI units in one unit of the scale table."""
    return 2 * math.pi if quantity == "position" and revolute else 1.0
