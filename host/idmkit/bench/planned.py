"""A planned excitation on the board: to its start, the series or the moves from coefficients, recorded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from idmkit.bench.bench import Bench
from idmkit.bench.moves import move_to
from idmkit.bench.run import IDENTIFICATION, Run, capture_while
from idmkit.errors import IdentificationError
from idmkit.excitation.coefficients import BoardMotion, board_moves, board_series, counts_per_unit
from idmkit.excitation.limits import Trajectory, state_limits
from idmkit.excitation.plan import Plan
from idmkit.excitation.trapezoid import TrapezoidPlan
from idmkit.link import long_motion
from idmkit.robot import Robot


def planned_motion(plan: Plan | TrapezoidPlan, robot: Robot) -> tuple[BoardMotion, Trajectory]:
    """What the board is sent, and the motion that it makes of it.

    Raises IdentificationError where the plan is for another robot, exceeds a limit of the robot file as it is now, or
    is nothing that the board can run.
    """
    names = tuple(axis.name for axis in robot.axes)
    if plan.robot != robot.name or plan.axes != names:
        raise IdentificationError(
            f"the plan is for {plan.robot} with the axes {', '.join(plan.axes)}, the robot is {robot.name} with "
            f"{', '.join(names)}; plan again"
        )
    made: Trajectory
    if isinstance(plan, Plan):
        motion, made = board_series(plan.series, robot, plan.periods)
    else:
        motion, made = board_moves(plan.motion, robot), plan.motion
    low, high = made.bounds(4)
    for row, lowest, highest in zip(state_limits(robot), low, high, strict=True):
        for limit, least, most in zip(row, lowest, highest, strict=True):
            if least < limit.low or most > limit.high:
                raise IdentificationError(
                    f"the plan exceeds {limit}: it reaches {least:.6g} .. {most:.6g}. The robot file has changed, or "
                    "the plan was edited; plan again"
                )
    return motion, made


def planned_run(
    bench: Bench, plan: Plan | TrapezoidPlan, *, date: str = "", progress: Callable[[int], None] | None = None
) -> Run:
    """Runs a plan once and records motion and torque from its first cycle to its last.

    Raises IdentificationError as `planned_motion` does, and what the link and the board raise.
    """
    motion, _ = planned_motion(plan, bench.robot)
    start = list(motion.start)
    with bench.armed():
        move_to(bench, list(np.array(start) / counts_per_unit(bench.robot)))
        long_motion.write_words(bench.board, motion.words)

        def begin(cycle: int) -> None:
            if motion.harmonics:
                long_motion.fourier(
                    bench.board,
                    start,
                    harmonics=motion.harmonics,
                    period_cycles=motion.period_cycles,
                    cycles=motion.cycles,
                    start_cycle=cycle,
                )
            else:
                long_motion.trapezoid(bench.board, start, cycles=motion.cycles, start_cycle=cycle)

        run = capture_while(bench, IDENTIFICATION, motion.cycles, begin, date=date, progress=progress)
        bench.settle()
    return run
