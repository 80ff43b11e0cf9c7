"""Capture: chosen channels of chosen axes, every n-th cycle, streamed in blocks while the board goes on.

The reader thread collects the blocks and acknowledges them, so that a board that holds its time while its ring is full
(the virtual one) goes on whatever the caller's thread does. A second thread asks again for what is missing. A block
that the board no longer has is a gap in the result: marked, never made up.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idmkit.board import units
from idmkit.errors import LinkError
from idmkit.link.blocks import BlockStore, CaptureCounts
from idmkit.link.client import Board
from idmkit.link.refusals import Refusal
from idmwire import channels, messages

ACKNOWLEDGE_EVERY = 4
QUIET_S = 0.3
"""Without a block for this long, the newest block or the last acknowledgement may have been lost."""
QUIET_LONGEST_S = 2.0


@dataclass(frozen=True)
class Gap:
    """Samples that were lost: rows `first` to `first + samples` of the result hold zeros."""

    first: int
    samples: int


@dataclass(frozen=True)
class CaptureResult:
    """A finished capture.

    `data` int32 [samples, channels] in counts, columns as in `columns` (channel name, axis); row k was taken in cycle
    `first_cycle + k * every`.
    """

    columns: tuple[tuple[str, int], ...]
    first_cycle: int
    every: int
    data: NDArray[np.int32]
    gaps: tuple[Gap, ...]
    counts: CaptureCounts
    joints: tuple[str, ...]

    @property
    def cycles(self) -> NDArray[np.int64]:
        """The cycle of every sample, [samples], counted on where the board's number begins anew."""
        return self.first_cycle + self.every * np.arange(len(self.data), dtype=np.int64)

    def column(self, channel: str, axis: int = 0) -> NDArray[np.int32]:
        """One channel of one axis in counts, [samples]."""
        return self.data[:, self.columns.index((channel, axis))]

    def si(self, channel: str, axis: int = 0) -> NDArray[np.float64]:
        """One channel of one axis in SI, [samples]; a position needs the board's `joints`."""
        quantity = channels.CHANNELS[channels.channel_number(channel)][1]
        if quantity == "position" and axis >= len(self.joints):
            raise ValueError(f"axis {axis} has no joint kind here: open the board with the robot file's joints")
        revolute = axis >= len(self.joints) or self.joints[axis] == "revolute"
        return units.values(self.column(channel, axis), quantity, revolute=revolute)


class Capture:
    """A capture under way; a context manager that stops it. Made by `start_capture`."""

    def __init__(
        self, board: Board, columns: tuple[tuple[str, int], ...], every: int, samples: int, start_cycle: int
    ) -> None:
        self.columns = columns
        self.every = every
        self._board = board
        self._finished = False
        self._failure: LinkError | None = None
        self._blocks = BlockStore(len(columns), every, samples)
        code = messages.CODES["capture_block"]
        if code in board.connection.handlers:
            raise LinkError("A capture is under way already. Finish it before the next one.")
        pairs = bytes(number for name, axis in columns for number in (channels.channel_number(name), axis))
        board.connection.handlers[code] = self._take
        try:
            answer = board.request("capture", start_cycle=start_cycle, samples=samples, every=every, channels=pairs)
        except BaseException:
            self._detach()
            raise
        self.start_cycle: int = answer["start_cycle"]
        self._blocks.begin(self.start_cycle, answer["samples_per_block"])
        self._stop = threading.Event()
        self._mender = threading.Thread(target=self._mend, name="capture mender", daemon=True)
        self._mender.start()

    @property
    def counts(self) -> CaptureCounts:
        """The counts so far."""
        return self._blocks.counts

    @property
    def received_samples(self) -> int:
        """Samples that are here so far, as for a progress bar."""
        return self._blocks.counts.samples

    def finish(self) -> CaptureResult:
        """Stops the capture if it still runs, fetches what is missing, and returns what was captured.

        Raises LinkError when the board does not answer or its blocks contradict each other.
        """
        totals = self._board.request("capture_stop")
        self._blocks.end(totals["blocks"], totals["samples"])
        self._mender.join()
        self._close()
        if self._failure is not None:
            raise self._failure
        data, gaps = self._blocks.assemble()
        return CaptureResult(
            self.columns,
            self.start_cycle,
            self.every,
            data,
            tuple(Gap(first, samples) for first, samples in gaps),
            self._blocks.counts,
            self._board.joints,
        )

    def __enter__(self) -> Capture:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._finished:
            self._close()
            # After an error the link may be gone; the first error is the one to show.
            try:
                self._board.request("capture_stop")
            except LinkError:
                if error is None:
                    raise

    def _close(self) -> None:
        self._finished = True
        self._stop.set()
        self._blocks.wake()
        self._mender.join()
        self._detach()

    def _detach(self) -> None:
        self._board.connection.handlers.pop(messages.CODES["capture_block"], None)

    def _take(self, payload: bytes, wire_bytes: int) -> None:
        """In the reader thread: keeps a block and acknowledges now and then."""
        size = messages.payload_size("capture_block", 0)
        if len(payload) < size:
            self._board.statistics.format_errors += 1
            return
        block: dict[str, Any] = messages.unpack_payload("capture_block", 0, payload)
        self._blocks.add(block["block"], block["first_cycle"], block["samples"], wire_bytes)
        due = self._blocks.acknowledgement(ACKNOWLEDGE_EVERY)
        if due is not None:
            self._acknowledge(due)

    def _acknowledge(self, block: int) -> None:
        try:
            self._board.send("capture_received", block=block)
        except LinkError as error:
            self._failure = error
            self._blocks.wake()

    def _mend(self) -> None:
        """In the mender's thread: asks again for missing blocks, and looks for lost ones when all is quiet."""
        quiet_s = QUIET_S
        seen = 0
        try:
            while not self._stop.is_set() and not self._blocks.complete():
                for number in self._blocks.to_ask_for():
                    self._ask(number)
                now = self._blocks.wait_for_change(seen, quiet_s)
                if now != seen:
                    seen, quiet_s = now, QUIET_S
                elif not self._blocks.miss_the_rest():
                    quiet_s = min(2 * quiet_s, QUIET_LONGEST_S)
                    self._probe()
        except LinkError as error:
            self._failure = error
            self._blocks.wake()

    def _ask(self, number: int) -> None:
        self._blocks.count_request(number)
        try:
            self._board.request("capture_again", block=number)
        except Refusal as refusal:
            if refusal.reason != "gone":
                raise
            self._blocks.mark_lost(number)
            self._acknowledge(self._blocks.next_needed())

    def _probe(self) -> None:
        """A ring that filled up behind a lost block or a lost acknowledgement would stand still for ever."""
        number = self._blocks.next_needed()
        self._acknowledge(number)
        try:
            self._board.request("capture_again", block=number)
        except Refusal as refusal:
            # The board has not made this block yet; or it is gone, which the next block to come will show.
            if refusal.reason not in ("gone", "out_of_range"):
                raise
            return
        self._blocks.count_request(number)


def start_capture(
    board: Board,
    columns: Sequence[tuple[str, int]],
    *,
    every: int = 1,
    samples: int = 0,
    start_cycle: int = 0,
) -> Capture:
    """Starts to capture `columns` (channel name, axis) every `every` cycles; `samples` 0 until finished.

    `start_cycle` 0 is at once. Raises ValueError for a column that the board does not have.
    """
    if not columns:
        raise ValueError("a capture needs at least one channel")
    for name, axis in columns:
        channels.channel_number(name)
        if not 0 <= axis < board.axes:
            raise ValueError(f"there is no axis {axis}; the board has {board.axes}, counted from 0")
    return Capture(board, tuple(columns), every, samples, start_cycle)
