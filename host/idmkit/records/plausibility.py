"""Is a channel what it claims to be? Clipping, units that cannot be, velocity that is not that of the position."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from idmkit.errors import RecordError
from idmkit.finding import Finding
from idmkit.records.defects import Mask, quantum, runs
from idmkit.records.record import Channel, Samples

_FLAT_ROWS = 4
_FLAT_QUANTA = 2.5
_ROUND_SHARE = 0.05
_BEYOND = 3.0


@dataclass(frozen=True)
class AxisLimits:
    """What an axis can do, from its robot file; rad or m, Nm or N. `torque_max` is None where it is not known."""

    revolute: bool
    position_min: float
    position_max: float
    velocity_max: float
    torque_max: float | None


@dataclass(frozen=True)
class Clip:
    """Samples that stand at a limit of the measurement: mask [S], the limit, and why it is taken for one."""

    mask: Mask
    limit: float
    reason: str


def find_clipping(samples: Samples) -> list[Clip]:
    """The highest and the lowest value, where a channel stops there as if cut off.

    Two signs: the value is held over several rows although the signal ran into it with more than a step of its
    resolution; or the value is a round number (at most two digits) although nearly all others are not.
    """
    finite = np.isfinite(samples)
    if finite.sum() < 10:
        return []
    values = np.where(finite, samples, 0.0)
    step = quantum(values)
    clips = []
    for limit in (float(values[finite].max()), float(values[finite].min())):
        mask = finite & (values == limit)
        if limit == 0 or mask.all():
            continue
        flat = any(
            rows >= _FLAT_ROWS and _run_in(values, first, rows) > _FLAT_QUANTA * step for first, rows in runs(mask)
        )
        if flat:
            clips.append(Clip(mask, limit, "held"))
        elif _is_round(limit) and np.mean([_is_round(value) for value in np.unique(values)[:2000]]) < _ROUND_SHARE:
            clips.append(Clip(mask, limit, "round"))
    return clips


def clipping_finding(channel: Channel, clip: Clip, other: Samples | None = None) -> Finding:
    """What is said about a clipped channel; `other` [S] is the same quantity derived from another channel."""
    count = int(clip.mask.sum())
    evidence: dict[str, float | int | str] = {"limit": clip.limit, "samples": count, "sign": clip.reason}
    if clip.reason == "held":
        why = "and is held there, as if cut off"
    else:
        why = "a round number among values that are not: most likely a limit of the drive or the recorder"
    if other is not None and np.isfinite(other[clip.mask]).any():
        evidence["derived_from_position"] = float(np.nanmax(np.abs(other[clip.mask])))
    return Finding(
        f"{channel.quantity}_clipped",
        "warning",
        channel.axis,
        f"{channel.name} reaches exactly {clip.limit:g} {channel.unit} in {count} sample(s), {why}.",
        evidence,
        "Move slower or raise the limit, and record again."
        if channel.quantity == "velocity"
        else "Lower acceleration or frequency so that the drive stays below its limit, and record again.",
    )


def check_units(channel: Channel, limits: AxisLimits) -> None:
    """Raises RecordError where values are so far beyond the axis' limits that the unit must be wrong."""
    reach = _reach(channel, limits)
    largest = float(np.nanmax(np.abs(channel.samples)))
    if reach is None or not largest > _BEYOND * reach:
        return
    ratio = largest / reach
    guess = ""
    if limits.revolute and channel.quantity in ("position", "velocity"):
        guess = f" It looks like degrees: divided by 57.3 it is {largest * math.pi / 180:.3g}."
    elif channel.quantity == "torque":
        guess = " It looks like thousandths, counts or per mille rather than " + channel.unit + "."
    raise RecordError(
        f"{channel.axis}: {channel.name} reaches {largest:.4g} {channel.unit}, {ratio:.3g} times what the robot file "
        f"allows ({reach:.4g}).{guess} Declare the column's true unit in the mapping, or correct the robot file"
    )


def check_velocity(channel: Channel, derived: Samples) -> list[Finding]:
    """Compares a velocity channel with the derivative [S] of the position, both low-passed alike."""
    both = np.isfinite(channel.samples) & np.isfinite(derived)
    measured, expected = channel.samples[both], derived[both]
    power = float(expected @ expected)
    if power == 0 or len(measured) < 10:
        return []
    slope = float(measured @ expected) / power
    correlation = float(measured @ expected) / math.sqrt(power * float(measured @ measured) + 1e-300)
    if abs(correlation) < 0.9 or 0.8 < slope < 1.25:
        return []
    evidence: dict[str, float | int | str] = {"slope": slope, "correlation": correlation}
    if -1.25 < slope < -0.8:
        text, step = "has the opposite sign of the position's derivative", "Correct the sign of one of the two columns."
    else:
        hint = ", as degrees would" if 45 < abs(slope) < 70 else ""
        text, step = (
            f"is {slope:.3g} times the position's derivative{hint}",
            "Correct the unit of one of the two columns.",
        )
    return [Finding("velocity_differs", "warning", channel.axis, f"{channel.name} {text}.", evidence, step)]


def _reach(channel: Channel, limits: AxisLimits) -> float | None:
    if channel.quantity == "position":
        return max(abs(limits.position_min), abs(limits.position_max))
    if channel.quantity == "velocity":
        return limits.velocity_max
    return limits.torque_max if channel.quantity == "torque" else None


def _run_in(values: Samples, first: int, rows: int) -> float:
    """The larger step into or out of a run of equal values."""
    before = abs(values[first] - values[first - 1]) if first else 0.0
    after = abs(values[first] - values[first + rows]) if first + rows < len(values) else 0.0
    return float(max(before, after))


def _is_round(value: float) -> bool:
    """At most two significant digits: 15, 0.5, 120, but not 14.95."""
    return value != 0 and abs(value - float(f"{value:.1e}")) <= 1e-9 * abs(value)
