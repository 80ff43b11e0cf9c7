"""A planned excitation: a Fourier series that tells most about the parameters within all limits of the robot."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from idmkit.errors import IdentificationError
from idmkit.excitation.coefficients import MOST_HARMONICS, WIDEST_ANGLE
from idmkit.excitation.criterion import ExcitedModel
from idmkit.excitation.fourier import FourierSeries
from idmkit.excitation.limits import Box, Proof, plan_limits, prove
from idmkit.excitation.problem import Problem, build_problem
from idmkit.excitation.solve import MAX_ITERATIONS, optimise, random_start, within_limits
from idmkit.excitation.trapezoid import SEGMENT_CYCLES
from idmkit.robot import Robot

HARMONICS = 6
LEAST_HARMONICS = 2
"""One harmonic alone cannot be at rest."""
PERIODS = 3
"""Periods of a run where the frequencies allow them: means of periods and their scatter need some."""
CUTOFF_RATIO = 5.0
"""The fit's low-pass must be this much above the motion, or it bends what is to be measured."""
CORNER_SHARE = 1.25
"""Highest harmonic over the frequency at which a sine meets speed and acceleration limit at once; more gains little."""
TORQUE_MARGINS = (0.03, 0.08, 0.15)
"""Part of the torque and box limits kept free on the samples; the next one where a proof between them fails."""


@dataclass(frozen=True, eq=False)
class Plan:
    """`periods` of `series`, one after the other, at rest between them. `outcomes`: objective of each start or None."""

    robot: str
    axes: tuple[str, ...]
    series: FourierSeries
    periods: int
    criterion: str
    seed: int
    outcomes: tuple[float | None, ...]
    proofs: tuple[Proof, ...]

    @property
    def duration_s(self) -> float:
        """Length of the run, s."""
        return self.periods * self.series.period_s


def plan_excitation(
    model: ExcitedModel,
    *,
    criterion: str = "trace",
    box: Box | None = None,
    highest_hz: float = math.inf,
    duration_s: float | None = None,
    harmonics: int = HARMONICS,
    starts: int = 3,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """The best of `starts` optimisations, with every limit proved.

    `highest_hz`: highest frequency that may be excited, R_ext times the resonance; `duration_s` defaults to the
    longest identification run of the robot file. `progress(done, total)` is called as it goes. Equal arguments give
    equal plans. Raises IdentificationError that names the limits which leave no motion.
    """
    robot = model.robot
    _check_thresholds(robot)
    duration = max(axis.identification.duration_s for axis in robot.axes) if duration_s is None else duration_s
    periods, degree = choose_period(robot, duration, highest_hz, harmonics)
    # The board runs whole cycles.
    period_s = math.floor(duration / periods / robot.cycle_time_s * (1 + 1e-12)) * robot.cycle_time_s
    limits = plan_limits(model, box)

    def problem_with(margin: float) -> Problem:
        return build_problem(
            model, limits, criterion=criterion, period_s=period_s, harmonics=degree, torque_margin=margin
        )

    problems = [problem_with(TORQUE_MARGINS[0])]
    rng = np.random.default_rng(seed)
    found: list[tuple[float, FourierSeries, tuple[Proof, ...]]] = []
    outcomes: list[float | None] = []
    failed: tuple[Proof, ...] = ()
    for number in range(starts):
        x = within_limits(problems[0], random_start(problems[0], len(robot.axes), rng))
        outcome = None
        for attempt in range(len(TORQUE_MARGINS)):
            if attempt == len(problems):
                problems.append(problem_with(TORQUE_MARGINS[attempt]))
            solved = optimise(problems[attempt], x, _step(progress, number, starts))
            if solved is None:
                break
            x, objective = solved
            series = problems[attempt].series(x, model)
            proofs = prove(series, model, limits)
            if all(proof.holds for proof in proofs):
                outcome = objective
                found.append((objective, series, proofs))
                break
            failed = tuple(proof for proof in proofs if not proof.holds)
        outcomes.append(outcome)
    if not found:
        raise IdentificationError(_none_found(failed, starts))
    _, series, proofs = min(found, key=lambda entry: entry[0])
    names = tuple(axis.name for axis in robot.axes)
    return Plan(robot.name, names, series, periods, criterion, seed, tuple(outcomes), proofs)


def choose_period(robot: Robot, duration_s: float, highest_hz: float, harmonics: int) -> tuple[int, int]:
    """(periods in the run, harmonics): the highest harmonic comes near to where the axes' acceleration limits speed.

    It stays below `highest_hz`, below a fifth of every cutoff frequency, and below what the board's segments can
    follow. Raises IdentificationError where not even two harmonics fit, or more are asked for than the board runs.
    """
    if harmonics > MOST_HARMONICS:
        raise IdentificationError(f"{harmonics} harmonics are more than the board runs; {MOST_HARMONICS} are the most")
    board = WIDEST_ANGLE / (2 * math.pi * SEGMENT_CYCLES * robot.cycle_time_s)
    cutoff = min(axis.identification.cutoff_hz for axis in robot.axes) / CUTOFF_RATIO
    corner = max(axis.acceleration_max / axis.velocity_max for axis in robot.axes) / (2 * math.pi)
    # "Below" is meant: the last harmonic may not stand on the limit itself.
    wanted = max(CORNER_SHARE * corner, PERIODS * harmonics / duration_s)
    caps = {
        f"1/{CUTOFF_RATIO:g} of the cutoff frequency": cutoff,
        "R_ext times the resonance": highest_hz,
        "what the board follows": board,
    }
    limit = min(caps, key=lambda name: caps[name])
    top = min(wanted, math.nextafter(caps[limit], 0))
    slots = duration_s * top
    if slots < LEAST_HARMONICS:
        raise IdentificationError(
            f"no motion keeps all limits: the highest frequency, {top:.3g} Hz ({limit}), leaves {slots:.2g} harmonics "
            f"in {duration_s:g} s, and {LEAST_HARMONICS} are the least. Record for {LEAST_HARMONICS / top:.3g} s at "
            "least, or raise the limit"
        )
    periods = max(int(slots / harmonics), min(PERIODS, int(slots / LEAST_HARMONICS)))
    return periods, min(harmonics, int(slots / periods))


def _check_thresholds(robot: Robot) -> None:
    for axis in robot.axes:
        threshold = axis.identification.velocity_threshold
        if not threshold < axis.velocity_max:
            raise IdentificationError(
                f"no motion of {axis.name} can be used: its speed limit, {axis.velocity_max:g}, is not above its "
                f"velocity_threshold, {threshold:g}; lower the threshold"
            )


def _none_found(failed: tuple[Proof, ...], starts: int) -> str:
    if failed:
        reached = "; ".join(f"{proof.limit} may reach {proof.low:.4g} .. {proof.high:.4g}" for proof in failed)
        return f"no motion was proved to keep all limits: {reached}. Widen what is named"
    return (
        f"none of {starts} starts led to a motion within all limits after {MAX_ITERATIONS} iterations; try more "
        "starts, another seed, a longer run, or wider limits"
    )


def _step(progress: Callable[[int, int], None] | None, number: int, starts: int) -> Callable[[int], None] | None:
    if progress is None:
        return None
    return lambda done: progress(number * MAX_ITERATIONS + min(done, MAX_ITERATIONS), starts * MAX_ITERATIONS)
