"""A run: something moves while chosen channels are captured, and becomes a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from idmkit.bench.bench import Bench
from idmkit.board import units
from idmkit.link.blocks import CYCLES, CaptureCounts
from idmkit.link.capture import CaptureResult, start_capture
from idmkit.records import Channel, Provenance, Record
from idmwire import channels as wire_channels

IDENTIFICATION = ("position_feedback", "torque_feedback", "position_command", "torque_command")
TRACKING = ("position_feedback", "position_command", "position_error", "torque_feedback", "torque_command")
COLLISION = ("position_feedback", "position_command", "torque_error", "torque_feedback")

FEED_CYCLES = 50
"""Between two times that a stream is fed: a board holds points for ten times as many."""


@dataclass(frozen=True, eq=False)
class Run:
    """A captured run: the record, the cycle of its first row, and what became of the blocks."""

    record: Record
    first_cycle: int
    counts: CaptureCounts


def capture_while(
    bench: Bench,
    names: Sequence[str],
    cycles: int,
    start: Callable[[int], object],
    *,
    skip: int = 0,
    every: int = 1,
    date: str = "",
    progress: Callable[[int], None] | None = None,
    feed: Callable[[], bool] | None = None,
) -> Run:
    """Captures channels `names` of all axes for `cycles` while what `start(cycle)` began goes on.

    `feed`, where it is given, is called every FEED_CYCLES of that time, until it returns False.
    `start` is told the cycle at which to begin; the capture begins `skip` cycles later. The bench must be armed.
    """
    board = bench.board
    columns = [(name, axis) for axis in range(board.axes) for name in names]
    samples = -(-cycles // every)

    def run(first: int) -> CaptureResult:
        begin = (first + skip) % CYCLES
        with start_capture(board, columns, every=every, samples=samples, start_cycle=begin) as capture:
            start(first)
            while feed is not None and feed():
                bench.run(FEED_CYCLES)
            bench.run_until(begin + cycles, progress)
            return capture.finish()

    result = bench.begin(run)
    return Run(_record(bench, result, date), result.first_cycle, result.counts)


def _record(bench: Bench, result: CaptureResult, date: str) -> Record:
    hello = bench.board.hello
    lost = np.zeros(len(result.data), dtype=bool)
    for gap in result.gaps:
        lost[gap.first : gap.first + gap.samples] = True
    found = []
    for name, axis in result.columns:
        samples = result.si(name, axis)
        samples[lost] = np.nan
        quantity = wire_channels.CHANNELS[wire_channels.channel_number(name)][1]
        unit = units.unit(quantity, revolute=bench.robot.axes[axis].revolute)
        described = bench.robot.axes[axis]
        lag = described.drive.torque_feedback_lag_cycles if name == "torque_feedback" else 0.0
        found.append(Channel(name, quantity, unit, described.name, samples, lag * bench.robot.cycle_time_s))
    return Record(
        1 / (bench.robot.cycle_time_s * result.every),
        tuple(found),
        gaps=tuple((gap.first, gap.samples) for gap in result.gaps),
        provenance=Provenance(
            robot=bench.robot.name,
            source=f"board {hello.board}",
            firmware=".".join(str(part) for part in hello.firmware_version),
            date=date,
            first_cycle=result.first_cycle,
            cycles_per_row=result.every,
        ),
    )
