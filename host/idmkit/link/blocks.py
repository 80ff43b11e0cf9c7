"""The blocks of one capture as they come in: what is here, what is missing, what is lost, counted exactly.

No port and no protocol: numbers and bytes go in, an array comes out. Thread-safe.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import LinkError

CYCLES = 2**30
"""A board's cycle numbers begin anew after this many, so that they stay small integers."""
ASK_AGAIN_S = 0.3
MOST_REQUESTS = 6
"""A block that was asked for this often and never came means that the line, not the block, is broken."""


@dataclass
class CaptureCounts:
    """What happened to the blocks of a capture."""

    channels: int
    blocks: int = 0
    """Different blocks received."""
    samples: int = 0
    """Samples in them."""
    missing: int = 0
    """Different blocks that did not come by themselves."""
    requested: int = 0
    """Times that the board was asked for one of those."""
    repeated: int = 0
    """Blocks that came when they were here already."""
    lost: int = 0
    """Blocks that the board no longer had."""
    stale: int = 0
    """Blocks that belong to no cycle of this capture."""
    stream_bytes: int = 0
    """Bytes on the wire of all block frames, delimiters and repeats included."""

    @property
    def payload_share(self) -> float:
        """Sample bytes, each counted once, in the bytes on the wire of the block frames; 0 before the first."""
        return 4 * self.channels * self.samples / self.stream_bytes if self.stream_bytes else 0.0


class BlockStore:
    """Blocks of `channels` int32 a sample, a sample every `every` cycles; `samples` 0 means until it is stopped."""

    def __init__(self, channels: int, every: int, samples: int) -> None:
        self._channels = channels
        self._every = every
        self._samples = samples
        self._start_cycle = 0
        self._per_block = 0
        self._total: int | None = None
        self._early: list[tuple[int, int, bytes, int]] = []
        """What came before `begin`: blocks of this capture behind its answer, or the last ones of an earlier."""
        self._data: dict[int, bytes] = {}
        self._missing: dict[int, tuple[int, float]] = {}
        """Number -> (times asked, when last); moved to `_lost` when the board has it no more."""
        self._lost: set[int] = set()
        self._ended = False
        self._next_new = 0
        self._frontier = 0
        self._acknowledged = 0
        self._counts = CaptureCounts(channels)
        self._change = threading.Condition()
        self._version = 0

    @property
    def counts(self) -> CaptureCounts:
        """A copy of the counts so far."""
        with self._change:
            return replace(self._counts)

    def begin(self, start_cycle: int, samples_per_block: int) -> None:
        """Sets what the board answered, and sorts out the blocks that came before."""
        with self._change:
            self._start_cycle = start_cycle
            self._per_block = samples_per_block
            if self._samples:
                self._total = -(-self._samples // samples_per_block)
            for block in self._early:
                self._add(*block)
            self._early = []

    def end(self, blocks: int, samples: int) -> None:
        """Sets how many blocks and samples the board made in all."""
        with self._change:
            self._total = blocks
            self._samples = samples
            self._ended = True
            self._changed()

    def add(self, number: int, first_cycle: int, samples: bytes, wire_bytes: int) -> None:
        """Takes a block as it arrived, `wire_bytes` long on the wire."""
        with self._change:
            if not self._per_block:
                self._early.append((number, first_cycle, samples, wire_bytes))
                return
            self._add(number, first_cycle, samples, wire_bytes)
            self._changed()

    def _add(self, number: int, first_cycle: int, samples: bytes, wire_bytes: int) -> None:
        counts = self._counts
        sample_bytes = 4 * self._channels
        expected = (self._start_cycle + number * self._per_block * self._every) % CYCLES
        whole = samples and len(samples) % sample_bytes == 0 and len(samples) <= self._per_block * sample_bytes
        if first_cycle != expected or not whole:
            counts.stale += 1
            return
        counts.stream_bytes += wire_bytes
        if number in self._data:
            counts.repeated += 1
            return
        self._data[number] = samples
        counts.blocks += 1
        counts.samples += len(samples) // sample_bytes
        self._missing.pop(number, None)
        if number in self._lost:
            self._lost.remove(number)
            counts.lost -= 1
        self._expect_up_to(number)
        self._next_new = max(self._next_new, number + 1)
        self._advance()

    def _expect_up_to(self, number: int) -> None:
        """Blocks come in order, so whatever is below `number` and not here did not make it."""
        for late in range(self._next_new, number):
            self._missing[late] = (0, 0.0)
            self._counts.missing += 1
        self._next_new = max(self._next_new, number)

    def _advance(self) -> None:
        while self._frontier in self._data or self._frontier in self._lost:
            self._frontier += 1

    def next_needed(self) -> int:
        """The lowest number that is neither here nor lost: all before it can be acknowledged."""
        with self._change:
            return self._frontier

    def acknowledgement(self, every: int) -> int | None:
        """`next_needed` when it is `every` blocks past the last acknowledgement, or at the end; else None."""
        with self._change:
            ahead = self._frontier - self._acknowledged
            if ahead >= every or (ahead and self._frontier == self._total):
                self._acknowledged = self._frontier
                return self._frontier
            return None

    def complete(self) -> bool:
        """True when every block that the board made is here or lost."""
        with self._change:
            return self._total is not None and self._frontier >= self._total

    def miss_the_rest(self) -> bool:
        """After a quiet while: what the stopped board made and has not come will not come by itself.

        Returns False while the board still captures, so that nobody knows how many blocks there are.
        """
        with self._change:
            if self._ended:
                self._expect_up_to(self._total or 0)
            return self._ended

    def to_ask_for(self) -> list[int]:
        """Missing blocks that were not asked for lately; raises LinkError when one was asked for too often."""
        with self._change:
            now = time.monotonic()
            due = [number for number, (_, asked) in self._missing.items() if now - asked > ASK_AGAIN_S]
            for number in due:
                if self._missing[number][0] >= MOST_REQUESTS:
                    raise LinkError(
                        f"Block {number} of the capture was asked for {MOST_REQUESTS} times and did not come whole. "
                        f"Check the cable, then capture again."
                    )
            return sorted(due)

    def count_request(self, number: int) -> None:
        """Counts that the board is asked for block `number`."""
        with self._change:
            if number not in self._data and number not in self._missing:
                self._expect_up_to(number + 1)
            if number in self._missing:
                self._missing[number] = (self._missing[number][0] + 1, time.monotonic())
            self._counts.requested += 1

    def mark_lost(self, number: int) -> None:
        """Marks a block that the board no longer has."""
        with self._change:
            if number in self._data or number in self._lost:
                return
            self._expect_up_to(number + 1)
            self._missing.pop(number, None)
            self._lost.add(number)
            self._counts.lost += 1
            self._advance()
            self._changed()

    def wait_for_change(self, seen: int, timeout_s: float) -> int:
        """Waits until something changed since version `seen`, at most `timeout_s`; returns the version then."""
        with self._change:
            self._change.wait_for(lambda: self._version != seen, timeout=timeout_s)
            return self._version

    def wake(self) -> None:
        """Wakes every thread that waits for a change."""
        with self._change:
            self._changed()

    def _changed(self) -> None:
        self._version += 1
        self._change.notify_all()

    def assemble(self) -> tuple[NDArray[np.int32], list[tuple[int, int]]]:
        """The samples, int32 [samples, channels], zeros where they are lost, and the gaps (first row, rows)."""
        with self._change:
            data = np.zeros((self._samples, self._channels), dtype=np.int32)
            here = np.zeros(self._samples, dtype=bool)
            for number, samples in self._data.items():
                rows = np.frombuffer(samples, dtype="<i4").reshape(-1, self._channels)
                first = number * self._per_block
                if first + len(rows) > self._samples:
                    raise LinkError(
                        f"Block {number} ends at sample {first + len(rows)}, the board says it took {self._samples}. "
                        f"Update the board's firmware or this package."
                    )
                data[first : first + len(rows)] = rows
                here[first : first + len(rows)] = True
            edges = np.flatnonzero(np.diff(np.concatenate(([False], ~here, [False]))))
            gaps = [(int(first), int(last - first)) for first, last in zip(edges[::2], edges[1::2], strict=True)]
            return data, gaps
