"""c_q and c_r from measured resonances, with confidence.

The compliance along a direction is linear in 1/c_q and 1/c_r:

    1/(m (2 pi f)^2) = a_q(P, u)/c_q + a_r(P, u)/c_r

Frequencies are taken to be measured with one relative accuracy, so each equation is divided by its left side; least
squares then gives both compliances, and the scatter of the equations their confidence.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from idmkit.dynamics.delta import DeltaGeometry
from idmkit.errors import IdentificationError
from idmkit.stiffness.geometry import pose_at
from idmkit.stiffness.resonance import Compliant, Form, unit_compliances, unit_vector

LEAST = 3
LEVEL = 0.95
MAX_CONDITION = 1e4
COLUMNS = ("x", "y", "z", "ux", "uy", "uz", "f_hz")


@dataclass(frozen=True)
class Measurement:
    """A resonance in Hz, measured with the platform at `point` (m) in `direction`."""

    point: tuple[float, float, float]
    direction: tuple[float, float, float]
    frequency_hz: float


@dataclass(frozen=True)
class Constant:
    """A stiffness constant, its standard deviation and 95 % interval; the upper end is infinite where it is open."""

    value: float
    std: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class StiffnessFit:
    """c_q in Nm/rad, c_r in N/m; `frequencies_hz` of the fitted model at the measurements, and the scatter.

    `scatter_percent`: standard deviation of measured from fitted frequencies.
    """

    form: Form
    c_q: Constant
    c_r: Constant
    frequencies_hz: NDArray[np.float64]
    scatter_percent: float


def fit_stiffness(
    geometry: DeltaGeometry, mass: float, measurements: Sequence[Measurement], form: Form = "consistent"
) -> StiffnessFit:
    """Fits both constants; IdentificationError where the measurements say too little, ModelError out of reach."""
    if len(measurements) < LEAST:
        raise IdentificationError(
            f"{len(measurements)} measured resonance(s) for two constants and their confidence; measure at least "
            f"{LEAST}, better ten, at different points and in different directions"
        )
    frequency = np.array([m.frequency_hz for m in measurements])
    if not (frequency > 0).all():
        raise IdentificationError("a measured resonance must be positive, in Hz")
    compliance = 1 / (mass * (2 * math.pi * frequency) ** 2)
    columns = np.array(
        [
            [float(c) for c in unit_compliances(pose_at(geometry, m.point), unit_vector(m.direction), form)]
            for m in measurements
        ]
    )
    A = columns / compliance[:, None]
    scale = np.linalg.norm(A, axis=0)
    condition = float(np.linalg.cond(A / scale))
    if condition > MAX_CONDITION:
        raise IdentificationError(
            f"these measurements cannot tell joints from rods (condition {condition:.3g}): everywhere both give way in "
            "the same proportion. Measure at the edge of the workspace and in its middle, vertically and horizontally"
        )
    x, *_ = np.linalg.lstsq(A, np.ones(len(A)), rcond=None)
    spread = float(np.sum((A @ x - 1) ** 2)) / (len(A) - 2)
    std = np.sqrt(spread * np.diag(np.linalg.inv(A.T @ A)))
    for name, value, deviation in zip(("joints (1/c_q)", "rods (1/c_r)"), x, std, strict=True):
        if value <= 0:
            raise IdentificationError(
                f"the compliance of the {name} comes out as {value:.3g} +- {deviation:.2g}: it cannot be told from "
                "rigid. Measure where it matters more, or more often; check the mass"
            )
    factor = float(student.ppf((1 + LEVEL) / 2, len(A) - 2))
    c_q, c_r = (_constant(float(v), float(s), factor) for v, s in zip(x, std, strict=True))
    fitted = Compliant(geometry, c_q.value, c_r.value, mass)
    predicted = np.array([fitted.at(m.point, m.direction, form).resonance_hz for m in measurements])
    scatter = float(np.sqrt(np.sum((frequency / predicted - 1) ** 2) / (len(A) - 2)))
    return StiffnessFit(form, c_q, c_r, predicted, 100 * scatter)


def load_measurements(path: Path) -> list[Measurement]:
    """Reads a table x, y, z, ux, uy, uz, f_hz (m, Hz), with these names in its first line."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(line for line in file if line.strip() and not line.startswith("#")))
    except OSError as problem:
        raise IdentificationError(f"{path} cannot be read: {problem.strerror or problem}") from problem
    names = [cell.strip() for cell in rows[0]] if rows else []
    if missing := [name for name in COLUMNS if name not in names]:
        raise IdentificationError(f"{path} lacks the column(s) {', '.join(missing)}; it needs {', '.join(COLUMNS)}")
    place = [names.index(name) for name in COLUMNS]
    measurements = []
    for number, row in enumerate(rows[1:], start=1):
        try:
            x, y, z, ux, uy, uz, frequency = (float(row[k]) for k in place)
        except (ValueError, IndexError) as problem:
            raise IdentificationError(f"{path}, measurement {number}: {','.join(row)!r} is not 7 numbers") from problem
        measurements.append(Measurement((x, y, z), (ux, uy, uz), frequency))
    return measurements


def _constant(compliance: float, std: float, factor: float) -> Constant:
    """The inverse of a compliance; its interval is that of the compliance, turned round."""
    least = compliance - factor * std
    high = 1 / least if least > 0 else math.inf
    return Constant(1 / compliance, std / compliance**2, 1 / (compliance + factor * std), high)
