"""The result of an identification as it is stored: parameters, errors of each axis, verdict. JSON both ways."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from idmkit.errors import IdmError
from idmkit.files import read_json, write_text
from idmkit.finding import Finding

SCHEMA = 1


@dataclass(frozen=True)
class ParameterResult:
    """One parameter, SI. `std` and `rsd_percent` are None where it was not identified but follows from elsewhere."""

    name: str
    value: float
    std: float | None
    rsd_percent: float | None
    unit: str


@dataclass(frozen=True)
class AxisResult:
    """Friction and torque errors of one axis.

    Errors are over the samples above `velocity_threshold` (rad/s or m/s), in percent: the largest and the mean
    |measured - model| of the largest |measured|, and 100 ||measured - model|| / ||measured||.
    """

    name: str
    viscous_friction: float | None
    coulomb_friction: float | None
    velocity_threshold: float
    moving_samples: int
    max_relative_error_percent: float
    mean_relative_error_percent: float
    relative_error_percent: float


@dataclass(frozen=True)
class Verdict:
    """Whether the result may be used, and everything that was noticed."""

    accepted: bool
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Result:
    """An identification result. `samples` counts the rows after trimming; frequencies in Hz, gravity in m/s^2."""

    robot: str
    model: str
    estimator: str
    samples: int
    sample_rate_hz: float
    cutoff_hz: float
    gravity: float
    parameters: tuple[ParameterResult, ...]
    axes: tuple[AxisResult, ...]
    verdict: Verdict
    schema: int = SCHEMA

    def values(self) -> dict[str, float]:
        """Parameter values by name."""
        return {parameter.name: parameter.value for parameter in self.parameters}

    def as_dict(self) -> dict[str, Any]:
        """Plain values in the order of the stored form; numbers that are not finite become None."""
        findings = [finding.as_dict() for finding in self.verdict.findings]
        return {
            "schema": self.schema,
            "robot": self.robot,
            "model": self.model,
            "estimator": self.estimator,
            "samples": self.samples,
            "sample_rate_hz": self.sample_rate_hz,
            "cutoff_hz": self.cutoff_hz,
            "gravity": self.gravity,
            "parameters": [_finite(asdict(parameter)) for parameter in self.parameters],
            "axes": [_finite(asdict(axis)) for axis in self.axes],
            "verdict": {
                "accepted": self.verdict.accepted,
                "findings": [{**finding, "evidence": _finite(finding["evidence"])} for finding in findings],
            },
        }

    def to_json(self) -> str:
        """The stored form: JSON, indented, one line a value."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"

    def save(self, path: Path) -> None:
        """Writes the stored form, all of it or nothing."""
        write_text(path, self.to_json())


def load_result(path: Path) -> Result:
    """Reads a stored result; raises IdmError that says what is wrong with the file."""
    data = read_json(path)
    try:
        if data["schema"] != SCHEMA:
            raise IdmError(f"{path} has result schema {data['schema']!r}, this program reads {SCHEMA}")
        verdict = data["verdict"]
        return Result(
            **{name: data[name] for name in ("robot", "model", "estimator", "samples", "sample_rate_hz")},
            cutoff_hz=data["cutoff_hz"],
            gravity=data["gravity"],
            parameters=tuple(ParameterResult(**entry) for entry in data["parameters"]),
            axes=tuple(AxisResult(**entry) for entry in data["axes"]),
            verdict=Verdict(verdict["accepted"], tuple(Finding(**entry) for entry in verdict["findings"])),
        )
    except (KeyError, TypeError) as problem:
        raise IdmError(f"{path} is no identification result of this program: {problem}") from problem


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in values.items()
    }
