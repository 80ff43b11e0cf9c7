"""Why an identification failed, or succeeded and is not to be trusted: the causes that softMC's page lists, with
evidence.

Speed, length, region and the drive's peak torque are looked at in `excitation`; here are the causes that only show in
what the model leaves: saturation below the known peak, noise, a wrong type of model, a wrong TorqueFactor, parameters
that hold for one part of the record only; and motion that succeeds although it stays far from the axis' limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from idmkit.finding import Finding
from idmkit.identify import Equations, Estimate, Observations, equations_of, predicted
from idmkit.records.defects import runs
from idmkit.robot import Axis
from idmkit.verdict.excitation import MIN_REGION, MIN_SPEED, AxisFacts
from idmkit.verdict.leftover import HINTS, Leftover, leftover_of
from idmkit.verdict.torque_errors import SUCCESS_PERCENT, TorqueErrors
from idmkit.verdict.torque_scale import Scale, torque_scales

Array = NDArray[np.float64]

NEAR_LIMIT = 0.4
NOISY = 0.15
NOT_SYSTEMATIC, SYSTEMATIC = 0.3, 0.5
NOTICEABLE = 0.03
PLATEAU, BEYOND, PLATEAU_ROWS = 0.03, 0.06, 10
PLATEAUS, PLATEAU_LONGER = 3, 2.0
"""Stretches that make a plateau; how many times longer the torque stays at its highest than the model at its own."""
ABOVE_PEAK, BELOW_PEAK = 1.2, 0.02
SCALE_OFF, SCALE_SIGNIFICANT = 0.05, 5.0
HALVES_RATIO, HALVES_PERCENT = 1.5, 5.0


def cause_findings(
    observations: Observations, estimate: Estimate, errors: Sequence[TorqueErrors], facts: Sequence[AxisFacts]
) -> list[Finding]:
    """All causes that show, axis by axis; `errors` and `facts` one an axis."""
    equations = equations_of(observations)
    findings = _scales(observations, equations, estimate, facts)
    fits_together = all(finding.code != "torque_factor" for finding in findings)
    first_half = _fit_to_first_half(equations, estimate)
    for k, axis in enumerate(facts):
        left = leftover_of(observations, equations, estimate, k)
        findings += [
            *_far_from_limits(observations, axis, k),
            *_peak(observations, axis, k),
            *_plateau(observations, estimate, axis, k),
            *_noise(left, errors[k], axis),
            *_model_type(left, axis, fits_together),
            *_halves(equations, estimate, first_half, axis, k, left.torque_rms),
        ]
    return findings


def facts_of(axis: Axis) -> AxisFacts:
    """What the verdict needs to know of an axis, from its robot file."""
    run = axis.identification_or_none
    return AxisFacts(
        name=axis.name,
        revolute=axis.revolute,
        position_min=axis.position_min,
        position_max=axis.position_max,
        velocity_max=axis.velocity_max,
        torque_max=axis.peak_torque,
        frequency_hz=None if run is None else run.frequency_hz,
        parameter_ranges=axis.parameter_ranges,
    )


def _far_from_limits(observations: Observations, facts: AxisFacts, k: int) -> list[Finding]:
    """Success in a small region at low speed says nothing about the rest."""
    position, _, _ = facts.units
    findings = []
    top, limit = float(np.abs(observations.qd[:, k]).max()), facts.velocity_max
    if MIN_SPEED * limit <= top < NEAR_LIMIT * limit:
        text = (
            f"the motion reaches {100 * top / limit:.0f} % of the axis' speed; what the model says beyond is a guess."
        )
        evidence = {"top_speed": top, "velocity_max": limit}
        step = "Raise the frequencies by a common factor (idm advise says which) for a model that holds at full speed."
        findings.append(Finding("speed_unproven", "info", facts.name, text, evidence, step))
    low, high = float(observations.q[:, k].min()), float(observations.q[:, k].max())
    available = facts.position_max - facts.position_min
    if MIN_REGION * available <= high - low < NEAR_LIMIT * available:
        text = (
            f"the motion stays between {low:.3g} and {high:.3g} {position}, the axis goes from "
            f"{facts.position_min:g} to {facts.position_max:g}; what the model says outside is a guess."
        )
        evidence = {"low": low, "high": high, "position_min": facts.position_min, "position_max": facts.position_max}
        step = "Move closely to both limits."
        findings.append(Finding("region_unproven", "info", facts.name, text, evidence, step))
    return findings


def _peak(observations: Observations, facts: AxisFacts, k: int) -> list[Finding]:
    """Torques that the motor cannot make, or that are next to nothing for it: a wrong scale."""
    if facts.torque_max is None:
        return []
    largest, unit = float(np.abs(observations.torque[k] + observations.known[k]).max()), facts.units[2]
    ratio = largest / facts.torque_max
    if BELOW_PEAK <= ratio <= ABOVE_PEAK:
        return []
    evidence = {"largest_torque": largest, "torque_max": facts.torque_max, "ratio": ratio}
    step = "Check TorqueFactor: rated torque or current, gear ratio, lead of a screw (idm torque-factor explains it)."
    if ratio > ABOVE_PEAK:
        text = f"the torque reaches {largest:.4g} {unit}, {ratio:.3g} times what the drive can make at its peak."
        return [Finding("torque_factor", "refusal", facts.name, text, evidence, step)]
    text = f"the torque stays below {largest:.3g} {unit}, {100 * ratio:.2g} % of the drive's peak."
    return [Finding("torque_factor", "warning", facts.name, text, evidence, step)]


def _scales(
    observations: Observations, equations: Equations, estimate: Estimate, facts: Sequence[AxisFacts]
) -> list[Finding]:
    known = observations.known[:, np.searchsorted(observations.row, equations.row)]
    scales = torque_scales(equations, known, estimate)
    findings = _scales_unseen(scales, facts)
    for scale in scales:
        off = abs(scale.value - 1)
        if off < SCALE_OFF or off < SCALE_SIGNIFICANT * scale.std:
            continue
        name, others = facts[scale.axis].name, ", ".join(facts[k].name for k in scale.against)
        text = f"the torque is {scale.value:.2g} times what the torque of {others} asks for"
        text += ": one of the two has a wrong scale." if len(scale.against) == 1 else ": its scale is wrong."
        evidence: dict[str, float | int | str] = {"scale": scale.value, "std": scale.std, "against": others}
        step = (
            "Check TorqueFactor: rated torque or current, gear ratio, lead of a screw (idm torque-factor explains it)."
        )
        findings.append(Finding("torque_factor", "warning", name, text, evidence, step))
    return findings


def _scales_unseen(scales: Sequence[Scale], facts: Sequence[AxisFacts]) -> list[Finding]:
    """Axes of a machine whose torque scale could be anything: their parameters, too small or too large, take it up."""
    seen = {scale.axis for scale in scales} | {k for scale in scales for k in scale.against}
    unseen = [axis.name for k, axis in enumerate(facts) if k not in seen]
    if not unseen or len(facts) < 2:
        return []
    names = ", ".join(unseen)
    text = f"a wrong TorqueFactor of {names} would not show in this record: no other torque shares their parameters."
    step = "Compare with a known load, or with masses from the drawings."
    return [Finding("torque_factor_unseen", "info", "", text, {"axes": names}, step)]


def _plateau(observations: Observations, estimate: Estimate, facts: AxisFacts, k: int) -> list[Finding]:
    """The measured torque stops at a level while the model goes on: softMC's sign of saturation."""
    torque = observations.torque[k] + observations.known[k]
    if facts.torque_max is not None and np.abs(torque).max() > (1 - PLATEAU) * facts.torque_max:
        return []  # The drive's known peak; reported as such.
    model = predicted(observations.regressor[k], estimate.values) + observations.known[k]
    for sign, side in ((1, "highest"), (-1, "lowest")):
        flat = _flat(sign * torque, sign * model)
        inside = np.zeros(len(torque), dtype=bool)
        for part in flat:
            inside[part] = True
        peaks = int(np.sum(sign * model > (1 - PLATEAU) * (sign * model).max()))
        if len(flat) < PLATEAUS or inside.sum() < PLATEAU_LONGER * peaks:
            continue
        level, beyond = float((sign * torque).max()), float((sign * model)[inside].max())
        unit, count = facts.units[2], int(inside.sum())
        text = (
            f"the torque stands at its {side}, {sign * level:.4g} {unit}, for {count} samples in {len(flat)} stretches "
            f"while the model goes on to {sign * beyond:.4g}: the drive saturates."
        )
        evidence = {"level": sign * level, "model": sign * beyond, "samples": count, "stretches": len(flat)}
        step = "Lower acceleration or frequency, or raise the drive's current limit."
        return [Finding("plateau", "warning", facts.name, text, evidence, step)]
    return []


def _flat(torque: Array, model: Array) -> list[slice]:
    """Stretches in which the torque stands at its highest and the model rises beyond it."""
    level = float(torque.max())
    stretches = [slice(first, first + rows) for first, rows in runs(torque > (1 - PLATEAU) * level) if level > 0]
    return [
        part
        for part in stretches
        if part.stop - part.start >= PLATEAU_ROWS
        and np.ptp(model[part]) > BEYOND * level
        and model[part].max() > (1 + BEYOND) * level
    ]


def _noise(left: Leftover, errors: TorqueErrors, facts: AxisFacts) -> list[Finding]:
    """An error that does not follow the motion is noise, and no reason to doubt the model."""
    failed = not errors.max_percent < SUCCESS_PERCENT
    if left.systematic > NOT_SYSTEMATIC or not (failed or left.relative > NOISY):
        return []
    unit = facts.units[2]
    expected = 100 * left.largest_by_noise / left.largest_torque
    text = (
        f"the torque's noise of {left.noise:.3g} {unit} is of the order of the torque itself ({left.torque_rms:.3g} "
        f"{unit} root mean square): {100 * left.systematic:.0f} % of the error follows the motion, and noise alone "
        f"makes a largest error of about {expected:.0f} %."
    )
    evidence = {
        "noise": left.noise,
        "torque_rms": left.torque_rms,
        "systematic_percent": 100 * left.systematic,
        "expected_max_percent": expected,
    }
    step = (
        "Judge the parameters by their standard deviations. To lower them: average several periods, lower the cutoff "
        "towards the motion, accelerate more, record longer, weight the axes by their noise."
    )
    return [Finding("noise", "warning", facts.name, text, evidence, step)]


def _model_type(left: Leftover, facts: AxisFacts, fits_together: bool) -> list[Finding]:
    """An error that follows the motion is a term that the model lacks; or a wrong scale, where torques do not fit."""
    if left.relative < NOTICEABLE or left.systematic < SYSTEMATIC:
        return []
    unit = facts.units[2]
    evidence: dict[str, float | int | str] = {
        "error_rms": left.rms,
        "systematic_percent": 100 * left.systematic,
        "term": left.term,
        "term_percent": 100 * left.term_share,
    }
    text = (
        f"the model leaves {left.rms:.3g} {unit}, {100 * left.relative:.2g} % of the torque, and "
        f"{100 * left.systematic:.0f} % of that follows the motion"
    )
    if left.term_share < SYSTEMATIC and not fits_together:
        return []
    if left.term_share < SYSTEMATIC:
        step = "Try another dynamic model, and look at the figure for where the error is."
        return [Finding("model_type", "warning", facts.name, text + "; no single term explains it.", evidence, step)]
    text += f"; {left.term} alone would explain {100 * left.term_share:.0f} %."
    hint = HINTS.get(left.term, "a coupling between the axes")
    step = f"Try a dynamic model with such a term: it points to {hint}."
    return [Finding("model_type", "warning", facts.name, text, evidence, step)]


def _fit_to_first_half(equations: Equations, estimate: Estimate) -> Array | None:
    """Parameters from the first half of the record, None where it has too few rows."""
    weights = np.where(estimate.sigma > 0, 1 / np.where(estimate.sigma > 0, estimate.sigma, 1.0), 1.0)
    first = equations.used & (equations.row < _middle(equations))
    if first.sum(axis=1).min() <= len(equations.names):
        return None
    A, b = replace(equations, used=first).stacked(weights)
    # The triangular factor has the same solution in fewer rows.
    triangular = np.asarray(np.linalg.qr(np.column_stack([A, b]), mode="r"))
    A, b = triangular[:, :-1], triangular[:, -1]
    norms = np.linalg.norm(A, axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    return np.asarray(np.linalg.lstsq(A / norms, b, rcond=1e-8)[0] / norms)


def _halves(
    equations: Equations, estimate: Estimate, values: Array | None, facts: AxisFacts, k: int, size: float
) -> list[Finding]:
    """Parameters of the first half of the record, tried on the second: what an overfit cannot do.

    `size`: root mean square of the axis' torque.
    """
    second = equations.used[k] & (equations.row >= _middle(equations))
    if values is None or not second.any():
        return []
    torque, matrix = equations.torque[k, second], equations.regressor[k, second]
    tried, fitted = (
        100 * float(np.sqrt(np.mean((torque - matrix @ found) ** 2))) / size for found in (values, estimate.values)
    )
    if tried < HALVES_PERCENT or tried < HALVES_RATIO * fitted:
        return []
    text = (
        f"parameters from the first half of the record leave {tried:.3g} % of the torque in the second half, those "
        f"from all of it {fitted:.3g} %: they hold where they were found and not elsewhere."
    )
    evidence = {"held_out_percent": tried, "fitted_percent": fitted}
    step = (
        "Record longer, over more of the range, with frequencies that do not repeat (idm advise), at one temperature."
    )
    return [Finding("halves_differ", "warning", facts.name, text, evidence, step)]


def _middle(equations: Equations) -> int:
    """The row of the record at which its second half begins."""
    return int(equations.row[len(equations.row) // 2])
