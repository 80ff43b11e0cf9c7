"""The identification run as every way to it does it: without the model's torque, and with nothing left changed."""

from __future__ import annotations

from collections.abc import Callable

from idmkit.bench.bench import Bench
from idmkit.bench.excite import identification_cycles, identification_run
from idmkit.bench.planned import planned_motion, planned_run
from idmkit.bench.write import put_back, write_settings
from idmkit.excitation.plan import Plan
from idmkit.excitation.trapezoid import TrapezoidPlan
from idmkit.link.images import read_image
from idmkit.records import Record
from idmkit.robot import Robot

AnyPlan = Plan | TrapezoidPlan


def identification_record(
    bench: Bench, plan: AnyPlan | None = None, *, date: str = "", progress: Callable[[int], None] | None = None
) -> Record:
    """Excites by `plan`, or by the sines of the robot file without one, and records.

    The robot moves without its model's feed-forward; afterwards what the board had before is in force again.
    """
    before = read_image(bench.board, "applied")
    write_settings(bench)
    if plan is None:
        run = identification_run(bench, date=date, progress=progress)
    else:
        run = planned_run(bench, plan, date=date, progress=progress)
    put_back(bench, before)
    return run.record


def record_cycles(bench: Bench, plan: AnyPlan | None) -> int:
    """Cycles that the recorded motion takes, for a progress bar."""
    return identification_cycles(bench) if plan is None else bench.cycles(plan.duration_s)


def reach_of_identification(robot: Robot, plan: AnyPlan | None) -> str:
    """Where each axis goes, and how fast, for people."""
    if plan is None:
        ends = [(a.identification.start, a.identification.target, a.identification.peak_velocity) for a in robot.axes]
    else:
        low, high = planned_motion(plan, robot)[1].bounds(2)
        ends = [(low[0, k], high[0, k], max(-low[1, k], high[1, k])) for k in range(len(robot.axes))]
    return "; ".join(
        f"{axis.name} from {first:.4g} to {last:.4g} {'rad' if axis.revolute else 'm'} at up to {speed:.3g} "
        f"{'rad/s' if axis.revolute else 'm/s'}"
        for axis, (first, last, speed) in zip(robot.axes, ends, strict=True)
    )
