"""The delay of one signal behind another, to a fraction of a sample, with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import shift

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

DEGREE: Final = 5
CONFIDENCE = 1.959964
"""Standard deviations in half of a 95 % interval."""
_STEPS = 30
_CLOSE = 1e-4
"""Samples: where Gauss-Newton's steps end."""


@dataclass(frozen=True)
class Delay:
    """`samples` +- `interval` (95 %); `gain` of the later signal over the earlier one."""

    samples: float
    interval: float
    gain: float = 1.0


def delay_between(
    first: Sequence[Array], second: Sequence[Array], used: Sequence[Mask], longest: int, shortest: int = 0
) -> Delay:
    """How much later than `first` `second` says the same: second(k) = gain first(k - delay) + constant.

    Both are lists of stretches [S] that begin and end at rest, `used` says which samples count; the constant is each
    stretch's own. The delay lies from `shortest` to `longest`.
    """
    stretches = list(zip(first, second, used, strict=True))
    whole = range(shortest, longest + 1)
    delay = float(whole[int(np.argmin([_misfit(stretches, d) for d in whole]))])
    for _ in range(_STEPS):
        now, slope, target = _columns(stretches, delay)
        gain, change = np.linalg.lstsq(np.stack([now, slope], axis=1), target, rcond=None)[0]
        # A step of more than a sample would leave the valley that the scan has found.
        step = float(np.clip(change / gain, -1.0, 1.0)) if gain else 0.0
        delay += step
        if abs(step) < _CLOSE:
            break
    across = slope - now * (now @ slope) / (now @ now)
    return Delay(delay, _interval(gain * across, target - gain * now), float(gain))


def _interval(slope: Array, rest: Array) -> float:
    """Half the 95 % interval of a coefficient whose column is `slope`, `rest` left over: Newey and West's estimate.

    What is left over of a motion is not white; its neighbours count with weights that fall to 0 over 3 S^(1/3).
    """
    pull = slope * rest
    count = len(pull)
    reach = int(3 * np.cbrt(count))
    variance = float(pull @ pull)
    for lag in range(1, reach):
        variance += 2 * (1 - lag / reach) * float(pull[lag:] @ pull[:-lag])
    return CONFIDENCE * float(np.sqrt(max(variance, 0.0))) / float(slope @ slope)


def _columns(stretches: Sequence[tuple[Array, Array, Mask]], delay: float) -> tuple[Array, Array, Array]:
    """(first delayed, its change with the delay, second), stretches behind each other, each without its mean."""
    h = 0.05
    parts = []
    for first, second, used in stretches:
        now, less, more = (_late(first, d) for d in (delay, delay - h, delay + h))
        parts.append([x[used] - x[used].mean() for x in (now, (more - less) / (2 * h), second)])
    now, slope, target = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return now, slope, target


def _late(samples: Array, delay: float) -> Array:
    return np.asarray(shift(samples, delay, order=DEGREE, mode="nearest"))


def _misfit(stretches: Sequence[tuple[Array, Array, Mask]], delay: int) -> float:
    now, _, target = _columns(stretches, delay)
    size = float(now @ now)
    return float(target @ target) if size == 0 else float(target @ target - (now @ target) ** 2 / size)
