"""Is a sine on every axis a good excitation? What softMC's page asks for, computed before anything moves.

Two sines whose frequencies stand as p : q (no common divisor) repeat their common figure after p periods of the one and
q of the other. Equal frequencies and multiples (q = 1) keep the axes in step: bad. A figure that repeats before each
axis has made three periods (q = 2) brings little that is new: medium. Otherwise good. Frequencies that are only nearly
p : q count as such while the record is too short for the figure to move away from itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from idmkit.errors import IdentificationError
from idmkit.robot import Axis, Robot

MIN_PERIODS = 3
SAME_FIGURE = 0.2
"""Periods of the faster axis by which a figure may have moved at the end of the record and still count as the same."""
LARGEST_DENOMINATOR = 1000
GOOD_RANGE = 0.7
"""Share of the range that the page's "close to the whole range" is taken to mean; the same for the speed."""
WORST = {"good": 0, "medium": 1, "bad": 2}
SEARCH = 0.25
STEP = 0.01
"""How far, in parts of it, a frequency is moved in search of a better one, and in which steps."""


@dataclass(frozen=True)
class Pair:
    """Two axes: after `periods` of each, (first, second), their figure repeats; `slip` is by how much it misses.

    `slip` is in periods of the faster axis, 0 where the frequencies are exactly in this ratio.
    """

    axes: tuple[str, str]
    periods: tuple[int, int]
    slip: float
    quality: str

    def __str__(self) -> str:
        first, second = self.axes
        nearly = f", up to {self.slip:.2g} of a period" if self.slip > 1e-9 else ""
        return f"{first} and {second} repeat after {self.periods[0]} and {self.periods[1]} of their periods{nearly}"


@dataclass(frozen=True)
class AxisAdvice:
    """One axis. Ratios are shares of the limit that are used; `factors` take the peak to the limit.

    `range_used`: span of the motion over the axis' range; `to_limits`: distance of the motion's ends from the lower and
    the upper limit, rad or m; `speed_used`, `acceleration_used`; `periods` within the record.
    """

    name: str
    unit: str
    frequency_hz: float
    range_used: float
    to_limits: tuple[float, float]
    speed_used: float
    acceleration_used: float
    periods: float

    @property
    def speed_factor(self) -> float:
        """Factor on the frequency at which the peak speed is at its limit."""
        return 1 / self.speed_used

    @property
    def acceleration_factor(self) -> float:
        """Factor on the frequency at which the peak acceleration is at its limit."""
        return 1 / math.sqrt(self.acceleration_used)


@dataclass(frozen=True)
class Advice:
    """What to think of an excitation, and what to change.

    `repeats_s`: time after which the whole motion repeats, `repeats_periods` of each axis then. `factor`: common factor
    on all frequencies at which the first axis is at a limit, named by `factor_limit`; ratios of frequencies stay.
    `needed_s`: least time of a record, three periods of the slowest axis. `suggested_hz`: near frequencies without bad
    and medium pairs, where there are any such pairs and a better choice was found. `remarks`: sentences.
    """

    quality: str
    pairs: tuple[Pair, ...]
    axes: tuple[AxisAdvice, ...]
    repeats_s: float
    repeats_periods: tuple[int, ...]
    duration_s: float
    needed_s: float
    factor: float
    factor_limit: str
    suggested_hz: tuple[float, ...] | None
    remarks: tuple[str, ...]


def advise(
    robot: Robot, *, frequencies: Sequence[float] | None = None, factor: float = 1.0, duration_s: float | None = None
) -> Advice:
    """Judges the identification tables of a robot file, or other frequencies (Hz, one an axis) and duration.

    Raises RobotFileError where an axis has no table, IdentificationError for frequencies that cannot be.
    """
    runs = [axis.identification for axis in robot.axes]
    given = [run.frequency_hz for run in runs] if frequencies is None else list(frequencies)
    if len(given) != len(runs):
        raise IdentificationError(f"{len(given)} frequencies for {len(runs)} axes; give one for each")
    if not all(value > 0 and math.isfinite(value) for value in [*given, factor]):
        raise IdentificationError("frequencies and factor must be positive numbers")
    used = [factor * value for value in given]
    duration = max(run.duration_s for run in runs) if duration_s is None else duration_s
    names = [axis.name for axis in robot.axes]
    pairs = frequency_pairs(names, used, duration)
    axes = tuple(_axis_advice(axis, value, duration) for axis, value in zip(robot.axes, used, strict=True))
    limits = {f"the speed of {axis.name}": axis.speed_factor for axis in axes}
    limits |= {f"the acceleration of {axis.name}": axis.acceleration_factor for axis in axes}
    first = min(limits, key=limits.__getitem__)
    quality = max((pair.quality for pair in pairs), key=WORST.__getitem__, default="good")
    repeats_s, repeats = repetition(used)
    return Advice(
        quality=quality,
        pairs=pairs,
        axes=axes,
        repeats_s=repeats_s,
        repeats_periods=repeats,
        duration_s=duration,
        needed_s=MIN_PERIODS / min(used),
        factor=limits[first],
        factor_limit=first,
        suggested_hz=None if quality == "good" else suggest(used, duration),
        remarks=tuple(_remarks(pairs, axes, duration, limits[first], first)),
    )


def frequency_pairs(names: Sequence[str], frequencies: Sequence[float], duration_s: float) -> tuple[Pair, ...]:
    """Every two axes with what their frequencies (Hz) do to each other within `duration_s`."""
    return tuple(
        _pair((names[i], names[j]), (frequencies[i], frequencies[j]), duration_s)
        for i, j in combinations(range(len(names)), 2)
    )


def repetition(frequencies: Sequence[float]) -> tuple[float, tuple[int, ...]]:
    """(seconds, periods of each axis) after which all sines together repeat, by rational approximation."""
    ratios = [Fraction(value / frequencies[0]).limit_denominator(LARGEST_DENOMINATOR) for value in frequencies]
    common = math.lcm(*(ratio.denominator for ratio in ratios))
    periods = [int(ratio * common) for ratio in ratios]
    shared = math.gcd(*periods)
    return periods[0] // shared / frequencies[0], tuple(count // shared for count in periods)


def suggest(frequencies: Sequence[float], duration_s: float) -> tuple[float, ...] | None:
    """Frequencies near the given ones whose pairs are all good, or None; the first stays.

    Those lowered come before those raised, so that limits of speed are kept where possible.
    """
    chosen: list[float] = [frequencies[0]]
    steps = sorted((sign * k for k in range(round(SEARCH / STEP) + 1) for sign in (-1, 1)), key=abs)
    for value in frequencies[1:]:
        for step in steps:
            candidate = round(value * (1 + STEP * step), 6)
            others = [_pair(("", ""), (other, candidate), duration_s).quality for other in chosen]
            if all(quality == "good" for quality in others):
                chosen.append(candidate)
                break
        else:
            return None
    return tuple(chosen)


def _pair(axes: tuple[str, str], frequencies: tuple[float, float], duration_s: float) -> Pair:
    slow, fast = sorted(frequencies)
    ratio = fast / slow
    slow_periods = max(slow * duration_s, MIN_PERIODS)
    exact = Fraction(ratio).limit_denominator(LARGEST_DENOMINATOR)
    q, p = exact.denominator, exact.numerator
    for near in range(1, MIN_PERIODS):
        slip = abs(near * ratio - round(near * ratio))
        # The figure has come round slow_periods / near times by the end, each time by `slip` further on.
        if slip * slow_periods / near < SAME_FIGURE:
            q, p = near, round(near * ratio)
            break
    quality = "bad" if q == 1 else "medium" if q < MIN_PERIODS else "good"
    periods = (q, p) if frequencies[0] <= frequencies[1] else (p, q)
    return Pair(axes, periods, abs(q * ratio - p), quality)


def _axis_advice(axis: Axis, frequency_hz: float, duration_s: float) -> AxisAdvice:
    run = axis.identification
    omega = 2 * math.pi * frequency_hz
    low, high = sorted((run.start, run.target))
    return AxisAdvice(
        name=axis.name,
        unit="rad" if axis.revolute else "m",
        frequency_hz=frequency_hz,
        range_used=(high - low) / (axis.position_max - axis.position_min),
        to_limits=(low - axis.position_min, axis.position_max - high),
        speed_used=abs(run.amplitude) * omega / axis.velocity_max,
        acceleration_used=abs(run.amplitude) * omega**2 / axis.acceleration_max,
        periods=duration_s * frequency_hz,
    )


def _remarks(
    pairs: Sequence[Pair], axes: Sequence[AxisAdvice], duration_s: float, factor: float, limit: str
) -> list[str]:
    remarks = [
        f"{pair}: {'they stay in step' if pair.quality == 'bad' else 'before each has made three'}; choose other "
        "frequencies."
        for pair in pairs
        if pair.quality != "good"
    ]
    for axis in axes:
        if axis.periods < MIN_PERIODS:
            remarks.append(
                f"{axis.name} makes {axis.periods:.2g} periods in {duration_s:g} s; record at least "
                f"{MIN_PERIODS / axis.frequency_hz:.3g} s for three."
            )
        if axis.range_used < GOOD_RANGE:
            remarks.append(
                f"{axis.name} uses {100 * axis.range_used:.0f} % of its range; {axis.to_limits[0]:.3g} and "
                f"{axis.to_limits[1]:.3g} {axis.unit} are left towards its limits."
            )
    if factor < 1:
        remarks.append(f"{limit} goes beyond its limit; multiply all frequencies by {factor:.3g} at most.")
    elif max(axis.speed_used for axis in axes) < GOOD_RANGE:
        remarks.append(
            f"the fastest axis reaches {100 * max(axis.speed_used for axis in axes):.0f} % of its speed; all "
            f"frequencies can be multiplied by {factor:.3g}, then {limit} is at its limit."
        )
    return remarks
