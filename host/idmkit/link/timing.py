"""The board's clock beside the host's: how late its cycles begin, and how far the two clocks drift apart."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from idmkit.link.client import Board

TICKS = 2**30
"""The board's microseconds begin anew after so many; between two looks at them less may pass."""


@dataclass(frozen=True)
class Timing:
    """What the board counts of its time. `lateness` [16] counts cycles by how late they began, see `latest_in_bin`."""

    cycle: int
    ticks_us: int
    missed: int
    latest_us: int
    lateness: tuple[int, ...]


@dataclass(frozen=True)
class ClockFit:
    """The straight line through the board's time over the host's. `drift_ppm` is positive where the board is fast."""

    looks: int
    span_s: float
    drift_ppm: float
    residual_rms_us: float
    residual_max_us: float


def latest_in_bin(index: int) -> int:
    """How late, in us, a cycle in this bin of `lateness` began at most; the last bin has no limit of its own."""
    return (1 << index) - 1


def read_timing(board: Board) -> Timing:
    """Asks the board."""
    answer = board.request("read_timing")
    return Timing(
        answer["cycle"],
        answer["ticks_us"],
        answer["missed"],
        answer["latest_us"],
        struct.unpack("<16I", answer["lateness"]),
    )


class ClockComparison:
    """Looks at both clocks, and the line through them.

    A look counts half-way between question and answer, so what one is wrong by is below half its round trip.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._host_us: list[float] = []
        self._board_us: list[int] = []

    def look(self, board: Board) -> Timing:
        """Asks the board and keeps both times."""
        asked = self._now()
        timing = read_timing(board)
        self.add((asked + self._now()) / 2, timing.ticks_us)
        return timing

    def add(self, host_s: float, ticks_us: int) -> None:
        """Keeps a look at `host_s` that found `ticks_us`."""
        turns = 0
        if self._board_us:
            before = self._board_us[-1]
            turns = before + (ticks_us - before) % TICKS - ticks_us
        self._host_us.append(1e6 * host_s)
        self._board_us.append(ticks_us + turns)

    def fit(self) -> ClockFit:
        """The line through all looks so far; raises ValueError for fewer than three, which would fit any line."""
        if len(self._host_us) < 3:
            raise ValueError(f"{len(self._host_us)} looks at the clocks are too few for a line: three or more")
        host = np.array(self._host_us) - self._host_us[0]
        board = np.array(self._board_us, dtype=float) - self._board_us[0]
        # The difference is fitted: it is small, so that nothing is lost to rounding.
        slope, offset = np.polyfit(host, board - host, 1)
        residuals = board - host - slope * host - offset
        return ClockFit(
            looks=len(host),
            span_s=float(host[-1]) * 1e-6,
            drift_ppm=float(slope) * 1e6,
            residual_rms_us=float(np.sqrt(np.mean(residuals**2))),
            residual_max_us=float(np.abs(residuals).max()),
        )
