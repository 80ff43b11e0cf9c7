"""How well a motion was followed: tracking error and settling time, from records of the board."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.records import Record


@dataclass(frozen=True)
class Tracking:
    """Error against the command of the right cycle (PositionErrorDelay), rad or m."""

    largest: float
    rms: float


def tracking(record: Record, axis: str) -> Tracking:
    """Tracking error of one axis over a whole record with its channel position_error."""
    error = named(record, axis, "position_error")
    return Tracking(float(np.abs(error).max()), float(np.sqrt(np.mean(error**2))))


def settling_cycles(record: Record, axis: str, window: float, dwell: int) -> int | None:
    """Cycles from the end of the profile until |target - actual| <= `window` holds for `dwell` cycles (R14).

    The profile ends with the last change of the command; `window` is PositionErrorSettle (rad or m), `dwell`
    TimeSettle in cycles. None where the axis does not settle within the record.
    """
    command = named(record, axis, "position_command")
    actual = named(record, axis, "position_feedback")
    changes = np.flatnonzero(np.diff(command))
    end = int(changes[-1]) + 1 if len(changes) else 0
    inside = np.abs(command[-1] - actual[end:]) <= window
    outside = np.flatnonzero(~inside)
    # The first cycle from which `dwell` cycles in a row are inside.
    starts = np.concatenate(([0], outside + 1))
    ends = np.concatenate((outside, [len(inside)]))
    long_enough = np.flatnonzero(ends - starts >= dwell)
    return int(starts[long_enough[0]]) if len(long_enough) else None


def position_delay(record: Record, axis: str, longest: int = 31) -> int:
    """PositionErrorDelay measured: the whole cycles, up to `longest`, that leave the least error between command and
    feedback. The record has a row a cycle, and more rows than that.
    """
    command = named(record, axis, "position_command")
    actual = named(record, axis, "position_feedback")
    rows = len(command) - longest
    errors = [
        float(np.sum((actual[longest:] - command[longest - d : longest - d + rows]) ** 2)) for d in range(longest + 1)
    ]
    return int(np.argmin(errors))


def named(record: Record, axis: str, name: str) -> NDArray[np.float64]:
    """The samples of a channel by its name; raises KeyError where the record lacks it."""
    for channel in record.channels:
        if channel.axis == axis and channel.name == name:
            return channel.samples
    raise KeyError(f"{axis}.{name}")
