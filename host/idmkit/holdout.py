"""Truth by hold-out: what an identification predicts of a record that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.finding import Finding
from idmkit.fitting import Fit, prepare
from idmkit.identify import Observations, predicted
from idmkit.records import Record
from idmkit.robot import Robot

Array = NDArray[np.float64]

COLLAPSE_RATIO, COLLAPSE_PERCENT = 2.0, 10.0
"""A hold-out has collapsed where its error is twice that of the training record, and 10 % above it."""
BEYOND = 1.3
"""Motion is beyond the training record's where it is so many times as fast, or reaches so much farther."""


@dataclass(frozen=True)
class HoldOut:
    """`percent` [n]: 100 ||measured - predicted|| / ||measured|| of an axis; `findings` say where and why it fails."""

    axes: tuple[str, ...]
    samples: int
    percent: tuple[float, ...]
    findings: tuple[Finding, ...]


def hold_out(fit: Fit, record: Record, robot: Robot, name: str) -> HoldOut:
    """Predicts the torques of another record with a fit's values, through the same filter; `name` is the record's."""
    prepared = prepare(record, robot, None, fit.result.cutoff_hz, None)
    seen = prepared.observe(fit.model)
    errors = _relative(seen, fit.estimate.values)
    trained = _relative(fit.observations, fit.estimate.values)
    listed = ", ".join(f"{axis} {error:.1f} %" for axis, error in zip(seen.axes, errors, strict=True))
    evidence: dict[str, float | int | str] = {axis: float(e) for axis, e in zip(seen.axes, errors, strict=True)}
    findings = [Finding("hold_out", "info", "", f"torque error on {name}: {listed}.", evidence)]
    for k, axis in enumerate(seen.axes):
        if errors[k] > max(COLLAPSE_RATIO * trained[k], trained[k] + COLLAPSE_PERCENT):
            findings.append(_collapse(fit, seen, k, axis, name, float(errors[k]), float(trained[k])))
    return HoldOut(seen.axes, seen.rows, tuple(float(error) for error in errors), tuple(findings))


def _relative(observations: Observations, values: Array) -> Array:
    """Relative error [n] in percent over all samples without clipped torque."""
    error = observations.torque - predicted(observations.regressor, values)
    used = observations.unclipped
    power = np.sum(observations.torque**2 * used, axis=1)
    return np.asarray(100 * np.sqrt(np.sum(error**2 * used, axis=1) / np.where(power > 0, power, np.nan)))


def _collapse(fit: Fit, seen: Observations, k: int, axis: str, name: str, error: float, trained: float) -> Finding:
    """What is said where parameters do not carry over, with the likely reason first."""
    evidence: dict[str, float | int | str] = {"error_percent": error, "training_percent": trained}
    reasons = []
    units = ("rad/s", "rad/s^2", "rad") if fit.revolute[k] else ("m/s", "m/s^2", "m")
    before = fit.observations
    for what, unit, here, there in (
        ("speed", units[0], np.abs(seen.qd[:, k]).max(), np.abs(before.qd[:, k]).max()),
        ("acceleration", units[1], np.abs(seen.qdd[:, k]).max(), np.abs(before.qdd[:, k]).max()),
    ):
        evidence[f"{what}_ratio"] = float(here / there)
        if here > BEYOND * there:
            reasons.append(f"its {what} reaches {here:.3g} {unit}, the training record's {there:.3g} {unit}")
    low, high = before.q[:, k].min(), before.q[:, k].max()
    outside = max(low - seen.q[:, k].min(), seen.q[:, k].max() - high)
    evidence["outside"] = float(outside)
    if outside > (BEYOND - 1) * (high - low):
        reasons.append(f"it goes {outside:.3g} {units[2]} beyond the training record's range")
    text = f"on {name} the error is {error:.1f} %, on the training record {trained:.1f} %"
    if not reasons:
        return Finding(
            "hold_out_collapse", "warning", axis, f"{text}, although the motion is of the same kind.", evidence,
            "The model is too rich for the record, or the machine has changed (load, temperature): record longer.",
        )  # fmt: skip
    return Finding(
        "hold_out_collapse", "warning", axis, f"{text}: {'; '.join(reasons)}.", evidence,
        "Identify from motion as fast and as wide as that of the application.",
    )  # fmt: skip
