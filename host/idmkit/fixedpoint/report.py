"""What the fixed-point program loses against float64, measured over states and parameters, beside what is proved."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.fixedpoint.emulator import Emulator
from idmkit.fixedpoint.limits import Limits
from idmkit.fixedpoint.program import Code, Program
from idmkit.fixedpoint.scaling import INPUT_EXPONENTS, TORQUE_EXPONENT

_CORNERS = 1024
_CLIMBERS = 64
_CLIMBS = 60
SATURATED = -1.0
"""Stands for the error of a state that the program does not compute but limits."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AxisError:
    """Errors of one axis in Nm or N; `worst_state` holds the wire integers x[4n] of the largest error found."""

    axis: str
    largest: float
    rms: float
    bound: float
    peak_torque: float
    worst_state: tuple[int, ...]

    @property
    def largest_percent(self) -> float:
        """Largest error found, in % of the drive's peak torque."""
        return 100 * self.largest / self.peak_torque

    @property
    def bound_percent(self) -> float:
        """Proved bound, in % of the drive's peak torque."""
        return 100 * self.bound / self.peak_torque


@dataclass(frozen=True)
class ErrorReport:
    """Errors an axis, and what the compiler proved.

    `states`: how many were tried, the search's included; in `saturated_states` of them a value was limited, so
    they are counted and not compared.
    """

    axes: tuple[AxisError, ...]
    states: int
    saturated_states: int
    parameter_sets: int
    proved: int
    saturated: int
    multiplications: int
    instructions: int

    def text(self) -> str:
        """A table, ready to print."""
        lines = [
            f"{self.states} states ({self.saturated_states} saturated), {self.parameter_sets} sets of parameters; "
            f"{self.proved} values proved in range, "
            f"{self.saturated} limited and counted; {self.instructions} instructions, "
            f"{self.multiplications} multiplications",
            f"{'axis':<12}{'largest':>12}{'rms':>12}{'proved':>12}   {'largest':>9}{'proved':>9}  of peak torque",
        ]
        lines += [
            f"{axis.axis:<12}{axis.largest:>12.3g}{axis.rms:>12.3g}{axis.bound:>12.3g}   "
            f"{axis.largest_percent:>8.4f}%{axis.bound_percent:>8.4f}%  {axis.peak_torque:.4g}"
            for axis in self.axes
        ]
        return "\n".join(lines)


def error_report(
    program: Program, limits: Limits, *, draws: int = 100, states: int = 2000, seed: int = 0
) -> ErrorReport:
    """Compares emulator and float64 on random states, corners, and states found by climbing to larger errors.

    Parameters: middle and ends of their declared ranges and `draws` random sets. The reference takes parameters
    as given, so rounding them to mantissas counts as error; states are integers on both sides.
    """
    rng = np.random.default_rng(seed)
    low, high = input_counts(program, limits)
    x = np.concatenate([rng.integers(low, high + 1, (states, len(low))), corner_states(low, high, rng)])
    thetas = _parameter_sets(limits, draws, rng)
    tally = _Tally(program.n_axes, x)
    for theta in thetas:
        tally.add(x, theta, torque_errors(program, x, theta), states)
    axes = []
    for axis, name in enumerate(program.axes):
        state, found = _climb(program, axis, tally.climbers[axis], tally.theta[axis], (low, high), rng)
        bound, peak = program.error_bounds[axis], limits.peak_torque[axis]
        axes.append(AxisError(name, found, tally.rms[axis], bound, peak, tuple(state.tolist())))
    return ErrorReport(
        axes=tuple(axes),
        states=len(x) * len(thetas) + program.n_axes * _CLIMBERS * _CLIMBS,
        saturated_states=tally.saturated,
        parameter_sets=len(thetas),
        proved=program.proved,
        saturated=program.saturated,
        multiplications=program.count(Code.MUL),
        instructions=len(program.code),
    )


def torque_errors(program: Program, x: Ints, theta: Floats) -> Floats:
    """|program - float64| [S, n], Nm or N, at wire integers x [S, 4n] and real parameters theta [p].

    SATURATED where the program limited a value: the two must differ there.
    """
    keys = [parameter.key for parameter in program.parameters]
    p = program.mantissas(dict(zip(keys, theta.tolist(), strict=True)))
    y = Emulator(program).run(x, p)
    torque = y[:, :-1] * 2.0**TORQUE_EXPONENT
    scale = np.repeat([2.0**exponent for exponent in INPUT_EXPONENTS], program.n_axes)
    difference: Floats = np.abs(torque - program.formula.evaluate(x * scale, theta))
    difference[y[:, -1] > 0] = SATURATED
    return difference


def input_counts(program: Program, limits: Limits) -> tuple[Ints, Ints]:
    """Lowest and highest wire integer [4n] of each input within the limits."""
    n = program.n_axes
    units = [1.0] * (4 * n)
    units[:n] = [2 * math.pi if turns else 1.0 for turns in program.revolute]
    ones = np.repeat([2.0**-exponent for exponent in INPUT_EXPONENTS], n) / units
    low = np.ceil([interval.low * one for interval, one in zip(limits.inputs, ones, strict=True)])
    high = np.floor([interval.high * one for interval, one in zip(limits.inputs, ones, strict=True)])
    return low.astype(np.int64), high.astype(np.int64)


def corner_states(low: Ints, high: Ints, rng: np.random.Generator) -> Ints:
    """States with every input at its lowest, zero or highest value: all of them, or 1024 drawn."""
    levels = np.stack([low, np.clip(0, low, high), high])
    if 3 ** len(low) <= _CORNERS:
        picks = np.array(list(itertools.product(range(3), repeat=len(low))))
    else:
        picks = rng.integers(0, 3, (_CORNERS, len(low)))
    corners: Ints = np.take_along_axis(levels, picks, axis=0)
    return corners


class _Tally:
    """Errors over all sets of parameters: rms of the random states, and per axis where to climb from."""

    def __init__(self, n_axes: int, x: Ints) -> None:
        self.saturated = 0
        self.climbers = [x[:_CLIMBERS]] * n_axes
        self.theta = [np.empty(0)] * n_axes
        self._worst = np.full(n_axes, -math.inf)
        self._squares = np.zeros(n_axes)
        self._compared = 0

    @property
    def rms(self) -> list[float]:
        """Root of the mean square error of each axis."""
        return [math.sqrt(square / max(self._compared, 1)) for square in self._squares.tolist()]

    def add(self, x: Ints, theta: Floats, errors: Floats, random: int) -> None:
        """Takes the errors [S, n] of one set of parameters; the first `random` states are random ones."""
        limited = errors[:, 0] == SATURATED
        self.saturated += int(limited.sum())
        self._compared += int((~limited[:random]).sum())
        self._squares += np.sum(errors[:random][~limited[:random]] ** 2, axis=0)
        for axis, error in enumerate(errors.max(axis=0)):
            if error > self._worst[axis]:
                self._worst[axis], self.theta[axis] = error, theta
                self.climbers[axis] = x[np.argsort(errors[:, axis])[-_CLIMBERS:]]


def _parameter_sets(limits: Limits, draws: int, rng: np.random.Generator) -> list[Floats]:
    low = np.array([interval.low for interval in limits.parameters])
    high = np.array([interval.high for interval in limits.parameters])
    return [(low + high) / 2, low, high, *rng.uniform(low, high, (draws, len(low)))]


def _climb(
    program: Program, axis: int, x: Ints, theta: Floats, box: tuple[Ints, Ints], rng: np.random.Generator
) -> tuple[Ints, float]:
    """Random steps of all sizes, kept where the error grows; the worst state and its error."""
    low, high = box
    errors = torque_errors(program, x, theta)[:, axis]
    for _ in range(_CLIMBS):
        size = 2.0 ** -rng.uniform(1, 24, x.shape) * (high - low)
        step = np.rint(rng.normal(size=x.shape) * size).astype(np.int64) * (rng.random(x.shape) < 0.5)
        trial = np.clip(x + step, low, high)
        found = torque_errors(program, trial, theta)[:, axis]
        better = found > errors
        x, errors = np.where(better[:, None], trial, x), np.where(better, found, errors)
    best = int(np.argmax(errors))
    return x[best], float(errors[best])
