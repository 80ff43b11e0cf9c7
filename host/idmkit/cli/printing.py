"""What verbs print: results and findings, for people."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from idmkit.finding import Finding
from idmkit.verdict import Result

MARKS = {"info": "i", "warning": "!", "refusal": "X"}
WIDTH = 100


def print_result(result: Result) -> None:
    """Parameters with standard deviations, errors of each axis, findings, verdict."""
    print(
        f"{result.robot}: {result.model}, {result.estimator}, {result.samples} samples at "
        f"{result.sample_rate_hz:.4g} Hz, cutoff {result.cutoff_hz:g} Hz"
    )
    width = max(len(parameter.name) for parameter in result.parameters)
    print(f"\n  {'parameter':<{width}}  {'value':>12}  {'std':>10}  {'rsd %':>7}  unit")
    for parameter in result.parameters:
        std = "-" if parameter.std is None else f"{parameter.std:.3g}"
        rsd = "-" if parameter.rsd_percent is None else f"{parameter.rsd_percent:.2f}"
        print(f"  {parameter.name:<{width}}  {parameter.value:>12.6g}  {std:>10}  {rsd:>7}  {parameter.unit}")
    width = max(len("torque error of"), *(len(axis.name) for axis in result.axes))
    print(f"\n  {'torque error of':<{width}}  {'max %':>7}  {'mean %':>7}  {'|e|/|t| %':>9}  samples above threshold")
    for axis in result.axes:
        print(
            f"  {axis.name:<{width}}  {axis.max_relative_error_percent:>7.2f}  {axis.mean_relative_error_percent:>7.2f}"
            f"  {axis.relative_error_percent:>9.2f}  {axis.moving_samples} above {axis.velocity_threshold:.4g}"
        )
    if result.verdict.findings:
        print()
        print_findings(result.verdict.findings)
    print(f"\n{'accepted' if result.verdict.accepted else 'REFUSED: do not use these parameters'}")


def print_findings(findings: Iterable[Finding]) -> None:
    """One finding a paragraph: i noticed, ! warning, X refusal."""
    for finding in findings:
        print(
            textwrap.fill(f"{MARKS[finding.severity]} {finding}", WIDTH, initial_indent="  ", subsequent_indent="    ")
        )
