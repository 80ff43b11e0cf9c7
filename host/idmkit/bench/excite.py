"""The identification run: to the start, a sine on every axis, settle, record, stop (softMC's IdentificationStart)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from idmkit.bench.bench import Bench
from idmkit.bench.moves import COMFORT, move_to
from idmkit.bench.run import IDENTIFICATION, Run, capture_while
from idmkit.link import motion


def identification_run(bench: Bench, *, date: str = "", progress: Callable[[int], None] | None = None) -> Run:
    """Excites all axes as their [axes.identification] tables say and records motion and torque.

    The first whole period of the slowest axis settles and is not recorded. Raises RobotFileError where a table is
    missing, and what the link and the board raise.
    """
    runs = [axis.identification for axis in bench.robot.axes]
    skip = bench.cycles(1 / min(run.frequency_hz for run in runs))
    cycles = bench.cycles(max(run.duration_s for run in runs))
    with bench.armed():
        move_to(bench, [run.start for run in runs])

        def start(cycle: int) -> None:
            motion.sine(
                bench.board,
                [run.target for run in runs],
                [run.frequency_hz for run in runs],
                skip + cycles,
                start_cycle=cycle,
            )

        run = capture_while(bench, IDENTIFICATION, cycles, start, skip=skip, date=date, progress=progress)
        bench.settle()
    return run


def identification_cycles(bench: Bench) -> int:
    """Cycles that the recorded part and its settling take, for a progress bar."""
    runs = [axis.identification for axis in bench.robot.axes]
    return bench.cycles(1 / min(run.frequency_hz for run in runs)) + bench.cycles(max(run.duration_s for run in runs))


def sine_run(
    bench: Bench,
    channels: Sequence[str],
    cycles: int,
    *,
    scale: float = 1.0,
    comfort: float = COMFORT,
    after: int = 0,
    every: int = 1,
    begun: Callable[[int], None] | None = None,
) -> Run:
    """Records the identification's sines from their first cycle on, at `scale` times their frequencies.

    They go on for `cycles` and end in a stop wherever they are; `after` cycles of that are recorded, too. `comfort` is
    that of the move to the start; `begun` hears the first cycle before anything moves.
    """
    runs = [axis.identification for axis in bench.robot.axes]

    def start(cycle: int) -> None:
        if begun is not None:
            begun(cycle)
        frequencies = [scale * run.frequency_hz for run in runs]
        motion.sine(bench.board, [run.target for run in runs], frequencies, cycles, start_cycle=cycle)

    with bench.armed():
        move_to(bench, [run.start for run in runs], comfort)
        found = capture_while(bench, channels, cycles + after, start, every=every)
        bench.settle()
    return found
