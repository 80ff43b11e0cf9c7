"""Was the motion good enough to identify from? Speed, length, region, saturation, with the numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from idmkit.finding import Finding
from idmkit.identify import Observations

MIN_PERIODS = 3.0
MIN_REGION = 0.1
MIN_SPEED = 0.1
MIN_MOVING = 0.2
SATURATED = 0.98


@dataclass(frozen=True)
class AxisFacts:
    """What the verdict needs to know of an axis, from the robot file: rad or m, Nm or N; None where not known."""

    name: str
    revolute: bool
    position_min: float
    position_max: float
    velocity_max: float
    torque_max: float | None
    frequency_hz: float | None
    parameter_ranges: dict[str, tuple[float, float]]

    @property
    def units(self) -> tuple[str, str, str]:
        """Units of position, velocity and torque."""
        return ("rad", "rad/s", "Nm") if self.revolute else ("m", "m/s", "N")


def excitation_findings(observations: Observations, facts: AxisFacts, k: int) -> list[Finding]:
    """Findings about the motion of axis number `k`."""
    return [
        *_speed(observations, facts, k),
        *_length(observations, facts, k),
        *_region(observations, facts, k),
        *_saturation(observations, facts, k),
    ]


def _speed(observations: Observations, facts: AxisFacts, k: int) -> list[Finding]:
    speed = np.abs(observations.qd[:, k])
    threshold = float(observations.velocity_thresholds[k])
    top, moving = float(speed.max()), float((speed > threshold).mean())
    unit = facts.units[1]
    if top >= MIN_SPEED * facts.velocity_max and moving >= MIN_MOVING:
        return []
    evidence = {"top_speed": top, "velocity_max": facts.velocity_max, "moving_percent": 100 * moving}
    text = (
        f"the motion is slow: at most {top:.3g} {unit} of the axis' {facts.velocity_max:g} {unit}, "
        f"{100 * moving:.0f} % of the samples above the threshold of {threshold:.3g} {unit}."
    )
    step = "Raise the frequency or the amplitude: inertia and viscous friction only show at speed."
    return [Finding("too_slow", "warning", facts.name, text, evidence, step)]


def _length(observations: Observations, facts: AxisFacts, k: int) -> list[Finding]:
    frequency = facts.frequency_hz or _fundamental(observations.q[:, k], observations.sample_rate_hz)
    periods = observations.rows / observations.sample_rate_hz * frequency
    if frequency == 0 or periods >= MIN_PERIODS:
        return []
    text = f"the record holds {periods:.2g} periods of the motion at {frequency:.3g} Hz; three are the least."
    evidence = {"periods": periods, "frequency_hz": frequency}
    return [Finding("too_short", "warning", facts.name, text, evidence, "Record longer.")]


def _fundamental(position: np.ndarray, rate: float) -> float:
    """Frequency of the strongest line of the position, Hz."""
    spectrum = np.abs(np.fft.rfft(position - position.mean()))
    spectrum[0] = 0
    return float(np.argmax(spectrum) * rate / len(position)) if spectrum.any() else 0.0


def _region(observations: Observations, facts: AxisFacts, k: int) -> list[Finding]:
    span = float(np.ptp(observations.q[:, k]))
    available = facts.position_max - facts.position_min
    unit = facts.units[0]
    if span >= MIN_REGION * available:
        return []
    text = f"the motion covers {span:.3g} {unit} of the axis' {available:.3g} {unit}."
    evidence = {"span": span, "available": available}
    step = "Move over more of the range: what the model does elsewhere is a guess."
    return [Finding("region_small", "warning", facts.name, text, evidence, step)]


def _saturation(observations: Observations, facts: AxisFacts, k: int) -> list[Finding]:
    if facts.torque_max is None:
        return []
    torque = np.abs(observations.torque[k] + observations.known[k])
    count = int(np.sum(torque > SATURATED * facts.torque_max))
    if not count:
        return []
    unit = facts.units[2]
    text = f"{count} sample(s) reach the drive's peak torque of {facts.torque_max:.4g} {unit}."
    evidence = {"samples": count, "torque_max": facts.torque_max, "largest": float(torque.max())}
    step = "Lower acceleration or frequency: a saturated drive does not do what it is told."
    return [Finding("saturation", "warning", facts.name, text, evidence, step)]
