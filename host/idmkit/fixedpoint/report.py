"""What the fixed-point program loses against float64, measured over states and parameters, beside what is proved."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.fixedpoint.emulator import Emulator
from idmkit.fixedpoint.limits import Limits
from idmkit.fixedpoint.program import Code, ParameterOutOfRange, Program
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
    """Errors of one axis in Nm or N.

    `quantum`: the drive's own step, 0.1 % of rated torque. `worst_state`: wire integers x[4n] of the largest error.
    """

    axis: str
    largest: float
    rms: float
    bound: float
    peak_torque: float
    quantum: float
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
            f"{self.states} states ({self.saturated_states} saturated), "
            f"{self.parameter_sets} sets of parameters with friction and payload; "
            f"{self.proved} values proved in range, "
            f"{self.saturated} limited and counted; {self.instructions} instructions, "
            f"{self.multiplications} multiplications",
            f"{'axis':<12}{'largest':>12}{'rms':>12}{'proved':>12}   {'largest':>9}{'proved':>9}  of peak torque; "
            "a drive's quantum",
        ]
        lines += [
            f"{axis.axis:<12}{axis.largest:>12.3g}{axis.rms:>12.3g}{_number(axis.bound, '.3g'):>12}   "
            f"{axis.largest_percent:>8.4f}%{_number(axis.bound_percent, '.4f'):>8}%  "
            f"{axis.peak_torque:<14.4g}{axis.quantum:.3g}"
            for axis in self.axes
        ]
        return "\n".join(lines)


def _number(bound: float, form: str) -> str:
    """A bound; "-" where nothing useful is proved."""
    return format(bound, form) if bound < 1e6 else "-"


def error_report(
    program: Program, limits: Limits, *, draws: int = 100, states: int = 20_000, seed: int = 0
) -> ErrorReport:
    """Compares emulator and float64 on random states, corners, and states found by climbing to larger errors.

    Parameters: middle and ends of their declared ranges and `draws` random sets; each state has one of them. The
    reference takes parameters as given, so rounding them to mantissas counts as error; states are integers on both
    sides.
    """
    rng = np.random.default_rng(seed)
    low, high = box = input_counts(program, limits)
    x = np.concatenate([rng.integers(low, high + 1, (states, len(low))), corner_states(low, high, rng)])
    sets = _parameter_sets(limits, draws, rng)
    theta = sets[rng.integers(0, len(sets), len(x))]
    errors = torque_errors(program, x, theta)
    limited = errors[:, 0] == SATURATED
    compared = errors[:states][~limited[:states]]
    rms = np.sqrt(np.mean(compared**2, axis=0)) if len(compared) else np.zeros(program.n_axes)
    worst, largest = _climb(program, x, theta, errors, box, rng)
    return ErrorReport(
        axes=tuple(
            AxisError(
                axis=name,
                largest=float(largest[k]),
                rms=float(rms[k]),
                bound=program.error_bounds[k],
                peak_torque=limits.peak_torque[k],
                quantum=limits.quantum[k],
                worst_state=tuple(worst[k].tolist()),
            )
            for k, name in enumerate(program.axes)
        ),
        states=len(x) + program.n_axes * _CLIMBERS * _CLIMBS,
        saturated_states=int(limited.sum()),
        parameter_sets=len(sets),
        proved=program.proved,
        saturated=program.saturated,
        multiplications=program.count(Code.MUL),
        instructions=len(program.code),
    )


def torque_errors(program: Program, x: Ints, theta: Floats) -> Floats:
    """|program - float64| [S, n], Nm or N, at wire integers x [S, 4n] and real parameters theta [p] or [S, p].

    SATURATED where the program limited a value: the two must differ there.
    """
    scales = np.array([2.0**parameter.exponent for parameter in program.parameters])
    most = np.array([parameter.limit for parameter in program.parameters])
    mantissas = np.rint(theta / scales)
    if np.any(np.abs(mantissas) > most):
        raise ParameterOutOfRange("parameters to be compared lie outside the ranges that the program is compiled for")
    y = Emulator(program).run(x, mantissas.astype(np.int64))
    torque = y[:, :-1] * 2.0**TORQUE_EXPONENT
    inputs = np.repeat([2.0**exponent for exponent in INPUT_EXPONENTS], program.n_axes)
    difference: Floats = np.abs(torque - program.formula.evaluate(x * inputs, theta))
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


def _parameter_sets(limits: Limits, draws: int, rng: np.random.Generator) -> Floats:
    """Middle, low end, high end, and `draws` random sets [3 + draws, p]."""
    low = np.array([interval.low for interval in limits.parameters])
    high = np.array([interval.high for interval in limits.parameters])
    return np.stack([(low + high) / 2, low, high, *rng.uniform(low, high, (draws, len(low)))])


def _climb(
    program: Program,
    x: Ints,
    theta: Floats,
    errors: Floats,
    box: tuple[Ints, Ints],
    rng: np.random.Generator,
) -> tuple[Ints, Floats]:
    """Random steps of all sizes from the worst states of each axis, kept where that axis's error grows.

    Parameters stay as they are. Returns the worst states [n, 4n] and their errors [n].
    """
    low, high = box
    axes = np.repeat(np.arange(program.n_axes), _CLIMBERS)
    start = np.argsort(errors, axis=0)[-_CLIMBERS:].T.ravel()
    x, theta, best = x[start], theta[start], errors[start, axes]
    for _ in range(_CLIMBS):
        size = 2.0 ** -rng.uniform(1, 24, x.shape) * (high - low)
        step = np.rint(rng.normal(size=x.shape) * size).astype(np.int64) * (rng.random(x.shape) < 0.5)
        trial = np.clip(x + step, low, high)
        found = torque_errors(program, trial, theta)[np.arange(len(axes)), axes]
        better = found > best
        x, best = np.where(better[:, None], trial, x), np.where(better, found, best)
    top = [int(np.flatnonzero(axes == axis)[best[axes == axis].argmax()]) for axis in range(program.n_axes)]
    return x[top], best[top]
