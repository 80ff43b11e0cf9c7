"""Can the parameters of a machine as a whole be trusted? Those of each axis are judged axis by axis."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from idmkit.finding import Finding
from idmkit.identify import Estimate
from idmkit.verdict.parameters import SIGNIFICANT, UNCERTAIN_PERCENT

LISTED = 6


def machine_findings(estimate: Estimate, ranges: Mapping[str, tuple[float, float]]) -> list[Finding]:
    """Uncertain parameters in one finding, since a large model has many that hardly matter; and ranges.

    `ranges` are the robot file's, by key. A payload's parameters are judged where they are identified.
    """
    entangled = {name for group in estimate.entangled for name in group}
    own = [
        k
        for k, name in enumerate(estimate.names)
        if "." not in name and not name.startswith("payload_") and name not in entangled
    ]
    return [*_uncertain(estimate, own), *_outside(estimate, own, ranges)]


def _uncertain(estimate: Estimate, own: list[int]) -> list[Finding]:
    values, stds = np.abs(estimate.values), estimate.std
    vague = [k for k in own if 100 * stds[k] > UNCERTAIN_PERCENT * values[k]]
    if not vague:
        return []
    # What an uncertain parameter may do to the torque: its share for the value it has, times its relative deviation.
    weight = {k: float(estimate.shares[k] * stds[k] / values[k]) if values[k] else 0.0 for k in vague}
    vague.sort(key=lambda k: -weight[k])
    named = ", ".join(f"{estimate.names[k]} ({100 * stds[k] / values[k]:.0f} %)" for k in vague[:LISTED] if values[k])
    more = f" and {len(vague) - LISTED} more" if len(vague) > LISTED else ""
    text = (
        f"{len(vague)} of {len(own)} parameters are uncertain by more than {UNCERTAIN_PERCENT:g} %: {named}{more}. "
        f"Each makes the torque of this motion uncertain by {100 * max(weight.values()):.2g} % at most."
    )
    step = "The torque is known as well as its errors say; do not read these parameters by themselves. "
    step += "Faster motions over more of the range show more of them."
    evidence: dict[str, float | int | str] = {
        "uncertain": len(vague),
        "parameters": len(own),
        "names": ", ".join(estimate.names[k] for k in vague),
        "torque_percent": 100 * max(weight.values()),
    }
    return [Finding("uncertain", "info", "", text, evidence, step)]


def _outside(estimate: Estimate, own: list[int], ranges: Mapping[str, tuple[float, float]]) -> list[Finding]:
    findings = []
    for k in own:
        name, value, std = estimate.names[k], float(estimate.values[k]), float(estimate.std[k])
        low, high = ranges.get(name, (-np.inf, np.inf))
        if low - SIGNIFICANT * std <= value <= high + SIGNIFICANT * std:
            continue
        text = f"{name} = {value:.4g} lies outside of the robot file's range [{low:g}, {high:g}]."
        evidence: dict[str, float | int | str] = {"value": value, "std": std, "low": low, "high": high}
        step = (
            "Check the torque scale (rated torque, gear ratio), geometry and model, or widen [model.parameter_ranges]."
        )
        findings.append(Finding("out_of_range", "refusal", "", text, evidence, step))
    return findings
