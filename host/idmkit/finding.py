"""A finding: one thing that was noticed about a record or an identification, with evidence and the next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["info", "warning", "refusal"]
"""info: noticed and dealt with. warning: the result may be worse for it. refusal: the result must not be used."""


@dataclass(frozen=True)
class Finding:
    """`code` is for scripts, `message` a sentence for people, `evidence` the numbers behind it.

    `axis` is "" where the finding is about the whole record. `next_step` is "" where nothing is to be done.
    """

    code: str
    severity: Severity
    axis: str
    message: str
    evidence: Mapping[str, float | int | str] = field(default_factory=dict)
    next_step: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "code": self.code,
            "severity": self.severity,
            "axis": self.axis,
            "message": self.message,
            "evidence": dict(self.evidence),
            "next_step": self.next_step,
        }

    def __str__(self) -> str:
        place = f"{self.axis}: " if self.axis else ""
        return f"{place}{self.message}" + (f" {self.next_step}" if self.next_step else "")


def worst(findings: Iterable[Finding]) -> Severity:
    """The gravest severity among the findings, "info" where there are none."""
    present = {finding.severity for finding in findings}
    return "refusal" if "refusal" in present else "warning" if "warning" in present else "info"
