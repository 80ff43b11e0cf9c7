"""Can the parameters be trusted? Rank, condition, signs, uncertainty, ranges, with the numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from idmkit.finding import Finding
from idmkit.identify import Estimate
from idmkit.verdict.excitation import AxisFacts

MAX_CONDITION = 100.0
UNCERTAIN_PERCENT = 30.0
ZERO_PERCENT = 50.0
MANY = 3
"""Uncertain parameters of one axis up to which each gets a finding of its own."""
NEGLIGIBLE = 0.02
"""Share of the torque below which a parameter of the wrong sign does no harm."""
SIGNIFICANT = 3.0
DISSIPATIVE = ("Fv", "Fc")
INERTIAL = ("I", "M")

_REMEDY = {
    "I": "Accelerate more: a higher frequency or a larger amplitude.",
    "M": "Accelerate more: a higher frequency or a larger amplitude.",
    "Fv": "Move faster, and at several speeds.",
    "Fc": "Record longer, and lower the velocity threshold if many samples lie below it.",
    "MgA": "Move over a larger angle, through the horizontal.",
    "Mgcos": "Record longer, the same way in both directions.",
}


@dataclass(frozen=True)
class _Known:
    """An identified parameter: value and standard deviation (SI), share of the torque."""

    value: float
    std: float
    share: float


def rank_findings(estimate: Estimate) -> list[Finding]:
    """Parameters that the samples cannot tell apart, or hardly."""
    findings = []
    for group in estimate.entangled:
        text = f"the samples cannot tell {', '.join(group)} apart (rank {estimate.rank} of {len(estimate.names)})."
        if len(group) == 1:
            text = f"the motion does not show {group[0]} (rank {estimate.rank} of {len(estimate.names)})."
        evidence: dict[str, float | int | str] = {
            "rank": estimate.rank,
            "parameters": len(estimate.names),
            "entangled": ", ".join(group),
        }
        step = "Choose a motion with varied speed, acceleration and position, or a smaller model."
        findings.append(Finding("rank", "refusal", _axis_of(group[0]), text, evidence, step))
    if not estimate.entangled and estimate.condition > MAX_CONDITION:
        text = f"the scaled regressor's condition number is {estimate.condition:.3g}; below {MAX_CONDITION:g} is good."
        evidence = {"condition": estimate.condition, "limit": MAX_CONDITION}
        step = "Choose a motion with varied speed, acceleration and position."
        findings.append(Finding("condition", "warning", "", text, evidence, step))
    return findings


def parameter_findings(estimate: Estimate, facts: AxisFacts) -> list[Finding]:
    """Signs, uncertainty and ranges of the parameters of one axis."""
    entangled = {name for group in estimate.entangled for name in group}
    own = {
        name.split(".")[-1]: _Known(float(value), float(std), float(share))
        for name, value, std, share in zip(estimate.names, estimate.values, estimate.std, estimate.shares, strict=True)
        if _axis_of(name) == facts.name and name not in entangled
    }
    return [*_signs(own, facts), *_uncertain(own, facts), *_ranges(own, facts)]


def _signs(own: dict[str, _Known], facts: AxisFacts) -> list[Finding]:
    positive = [name for name in (*INERTIAL, *DISSIPATIVE) if name in own]
    negative = [name for name in positive if own[name].value < -SIGNIFICANT * own[name].std]
    if not negative:
        return []
    listed = ", ".join(f"{name} = {own[name].value:.4g} +- {own[name].std:.2g}" for name in negative)
    evidence: dict[str, float | int | str] = {name: own[name].value for name in negative}
    share = max(own[name].share for name in negative)
    evidence["share_percent"] = 100 * share
    if len(negative) == len(positive) and len(positive) > 1:
        text = f"everything that must be positive is negative ({listed}): torque and motion have opposite signs."
        step = "Turn the sign of the torque (or of the position) in the mapping or the drive."
        return [Finding("sign", "refusal", facts.name, text, evidence, step)]
    text = f"{listed}: negative, beyond three standard deviations, which no machine can be"
    step = "Check torque scale and sign, and whether the torque is that of this motion; try another motion."
    if share < NEGLIGIBLE:
        text += f", but it makes only {100 * share:.2g} % of the torque."
        return [Finding("not_physical", "warning", facts.name, text, evidence, step)]
    return [Finding("not_physical", "refusal", facts.name, text + ".", evidence, step)]


def _uncertain(own: dict[str, _Known], facts: AxisFacts) -> list[Finding]:
    percents = {name: 100 * known.std / abs(known.value) if known.value else math.inf for name, known in own.items()}
    uncertain = {name: percent for name, percent in percents.items() if percent > UNCERTAIN_PERCENT}
    if len(uncertain) > MANY:
        return [_many_uncertain(uncertain, facts)]
    findings = []
    for name, percent in uncertain.items():
        known = own[name]
        text = f"{name} = {known.value:.4g} is uncertain by {percent:.0f} % (one standard deviation {known.std:.3g})."
        if percent > ZERO_PERCENT:
            text = f"{name} = {known.value:.4g} +- {known.std:.3g} cannot be told from zero."
        evidence = {"value": known.value, "std": known.std, "rsd_percent": percent}
        findings.append(Finding("uncertain", "warning", facts.name, text, evidence, _REMEDY.get(name, "")))
    return findings


def _many_uncertain(uncertain: dict[str, float], facts: AxisFacts) -> Finding:
    """One finding where an arm's link has many parameters that hardly show."""
    zero = [name for name, percent in uncertain.items() if percent > ZERO_PERCENT]
    others = [f"{name} by {percent:.0f} %" for name, percent in uncertain.items() if name not in zero]
    parts = [f"{', '.join(zero)} cannot be told from zero"] * bool(zero) + [f"{', '.join(others)}"] * bool(others)
    text = f"uncertain parameters: {'; '.join(parts)}."
    step = "Leave them out (--estimator essential), or move faster and over more of the range."
    return Finding("uncertain", "warning", facts.name, text, dict(uncertain), step)


def _ranges(own: dict[str, _Known], facts: AxisFacts) -> list[Finding]:
    findings = []
    for name, (low, high) in facts.parameter_ranges.items():
        if name not in own:
            continue
        value, std = own[name].value, own[name].std
        if low - SIGNIFICANT * std <= value <= high + SIGNIFICANT * std:
            continue
        text = f"{name} = {value:.4g} lies outside of the robot file's range [{low:g}, {high:g}]."
        evidence = {"value": value, "std": std, "low": low, "high": high}
        step = "Check the torque scale (rated torque, gear ratio) and the model, or widen parameter_ranges."
        findings.append(Finding("out_of_range", "refusal", facts.name, text, evidence, step))
    return findings


def _axis_of(name: str) -> str:
    return name.rpartition(".")[0]
