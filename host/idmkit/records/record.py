"""A record: channels sampled together, with units, axis, gaps and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import RecordError
from idmkit.records.quantities import UNITS

Samples = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Channel:
    """One quantity of one axis, joint side, SI.

    `name` tells channels of one quantity apart ("position_feedback", "position_command"); `samples` has shape
    [S], NaN where nothing was measured. Sample k describes the time of row k minus `delay_s`: a torque that is
    held for a cycle describes, at the end of that cycle, the time half a cycle before.
    """

    name: str
    quantity: str
    unit: str
    axis: str
    samples: Samples
    delay_s: float = 0.0

    def __post_init__(self) -> None:
        if self.quantity not in UNITS or self.unit not in UNITS[self.quantity]:
            raise RecordError(
                f"channel {self.axis}.{self.name}: {self.quantity!r} in {self.unit!r} is not a quantity in its SI unit"
            )
        if self.samples.ndim != 1 or self.samples.dtype != np.float64:
            raise RecordError(
                f"channel {self.axis}.{self.name}: samples must be one row of float64, "
                f"are {self.samples.dtype} of shape {self.samples.shape}"
            )

    @property
    def measured(self) -> bool:
        """Whether this is the measured channel of its quantity, and not a command, a model's torque or an error."""
        return self.name in (self.quantity, f"{self.quantity}_feedback")


@dataclass(frozen=True)
class Provenance:
    """Where a record comes from. `date` is given by who made it: nothing here reads the clock."""

    robot: str = ""
    source: str = ""
    firmware: str = ""
    date: str = ""
    first_cycle: int | None = None
    cycles_per_row: int = 1


@dataclass(frozen=True, eq=False)
class Record:
    """Channels of equal length S, at a fixed rate or at the times `time` (s, shape [S]).

    `sample_rate_hz` is the nominal rate where `time` is given. `gaps` lists (first row, rows) that were not
    measured; their samples are NaN.
    """

    sample_rate_hz: float
    channels: tuple[Channel, ...]
    time: Samples | None = None
    gaps: tuple[tuple[int, int], ...] = ()
    provenance: Provenance = field(default_factory=Provenance)

    def __post_init__(self) -> None:
        if not self.channels:
            raise RecordError("a record needs at least one channel")
        rows = {f"{channel.axis}.{channel.name}": len(channel.samples) for channel in self.channels}
        if len(rows) != len(self.channels):
            raise RecordError(f"channels of one axis need different names, are {', '.join(rows)}")
        if self.time is not None:
            rows["time"] = len(self.time)
        if len(set(rows.values())) != 1:
            raise RecordError("channels differ in length: " + ", ".join(f"{k} {v}" for k, v in rows.items()))
        if not self.sample_rate_hz > 0:
            raise RecordError(f"the sample rate must be positive, is {self.sample_rate_hz:g} Hz")

    @property
    def rows(self) -> int:
        """Number of samples S of each channel."""
        return len(self.channels[0].samples)

    @property
    def duration_s(self) -> float:
        """From the first to the last row, in seconds."""
        if self.time is not None and self.rows:
            return float(self.time[-1] - self.time[0])
        return max(self.rows - 1, 0) / self.sample_rate_hz

    @property
    def axes(self) -> tuple[str, ...]:
        """Axis names in the order of their first channels."""
        return tuple(dict.fromkeys(channel.axis for channel in self.channels))

    def times(self) -> Samples:
        """Time of each row in seconds, shape [S]; from 0 where the record has a fixed rate."""
        return np.arange(self.rows) / self.sample_rate_hz if self.time is None else self.time

    def find(self, axis: str, quantity: str) -> Channel | None:
        """The measured channel of a quantity: the one called like the quantity or "<quantity>_feedback"."""
        names = (f"{quantity}_feedback", quantity)
        for name in names:
            for channel in self.channels:
                if channel.axis == axis and channel.name == name and channel.quantity == quantity:
                    return channel
        return None

    def channel(self, axis: str, quantity: str) -> Channel:
        """Like `find`, but raises RecordError that lists what the record has of this axis."""
        found = self.find(axis, quantity)
        if found is None:
            if axis not in self.axes:
                raise RecordError(
                    f"the record has no channel of axis {axis!r}; it has axes {', '.join(self.axes)}. "
                    "Give the axes of the robot file and of the record the same names"
                )
            present = ", ".join(channel.name for channel in self.channels if channel.axis == axis)
            raise RecordError(f"the record has no measured {quantity} of axis {axis!r}; it has {present}")
        return found

    def part(self, first: int, stop: int) -> Record:
        """The rows from `first` to before `stop`, by themselves."""
        gaps = tuple(
            (max(start, first) - first, min(start + rows, stop) - max(start, first))
            for start, rows in self.gaps
            if start < stop and start + rows > first
        )
        channels = tuple(replace(channel, samples=channel.samples[first:stop]) for channel in self.channels)
        time = None if self.time is None else self.time[first:stop]
        cycle = self.provenance.first_cycle
        if cycle is not None:
            cycle += first * self.provenance.cycles_per_row
        provenance = replace(self.provenance, first_cycle=cycle)
        return replace(self, channels=channels, time=time, gaps=gaps, provenance=provenance)

    def replaced(self, samples: dict[int, Samples]) -> Record:
        """A copy in which the channels of these indices have other samples."""
        channels = tuple(
            replace(channel, samples=samples[index]) if index in samples else channel
            for index, channel in enumerate(self.channels)
        )
        return replace(self, channels=channels)
