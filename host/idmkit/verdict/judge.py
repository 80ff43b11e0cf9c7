"""The verdict: every check in one place, and whether the result may be used."""

from __future__ import annotations

from collections.abc import Sequence

from idmkit.finding import Finding, worst
from idmkit.identify import Estimate, Observations
from idmkit.verdict.causes import cause_findings
from idmkit.verdict.excitation import AxisFacts, excitation_findings
from idmkit.verdict.parameters import parameter_findings, rank_findings
from idmkit.verdict.result import Verdict
from idmkit.verdict.torque_errors import SUCCESS_PERCENT, TorqueErrors

NOISY_PERCENT = 20.0


def judge(
    observations: Observations,
    estimate: Estimate,
    errors: Sequence[TorqueErrors],
    facts: Sequence[AxisFacts],
    noticed: Sequence[Finding],
) -> Verdict:
    """Findings about the record (`noticed`), motion, parameters and fit, and causes behind them that have no name yet.

    Accepted where none refuses.
    """
    findings = [*noticed, *rank_findings(estimate)]
    for k, axis in enumerate(facts):
        findings += excitation_findings(observations, axis, k)
        findings += parameter_findings(estimate, axis)
        findings += error_findings(errors[k], axis)
    named = {(finding.code, finding.axis) for finding in findings}
    causes = cause_findings(observations, estimate, errors, facts)
    findings += [cause for cause in causes if (cause.code, cause.axis) not in named]
    return Verdict(worst(findings) != "refusal", tuple(findings))


def error_findings(errors: TorqueErrors, facts: AxisFacts) -> list[Finding]:
    """The success rule, and a warning where the model leaves much unexplained."""
    evidence = {
        "max_relative_error_percent": errors.max_percent,
        "relative_error_percent": errors.relative_percent,
        "samples": errors.samples,
    }
    step = "Check the model number and the torque scale; look at the figure for where the error is."
    if not errors.max_percent < SUCCESS_PERCENT:
        text = f"the largest torque error is {errors.max_percent:.3g} % of the largest torque; 50 % is the limit."
        return [Finding("torque_error", "refusal", facts.name, text, evidence, step)]
    if errors.relative_percent > NOISY_PERCENT:
        text = f"the model leaves {errors.relative_percent:.3g} % of the torque unexplained (root mean square)."
        return [Finding("unexplained", "warning", facts.name, text, evidence, step)]
    return []
