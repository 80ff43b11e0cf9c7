"""Torque errors of an axis, and softMC's success rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from idmkit.identify import Estimate, Observations, predicted

SUCCESS_PERCENT = 50.0
"""An identification succeeds where the largest relative torque error of every axis is below this."""


@dataclass(frozen=True)
class TorqueErrors:
    """Errors over the moving samples of one axis, percent; NaN where there is none."""

    samples: int
    max_percent: float
    mean_percent: float
    relative_percent: float


def torque_errors(observations: Observations, estimate: Estimate) -> list[TorqueErrors]:
    """Largest and mean |tau - model| / max|tau|, and ||tau - model|| / ||tau||, an axis, over its moving samples.

    tau is all that was measured, the model what it gives with its known part.
    """
    model = predicted(observations.regressor, estimate.values)
    result = []
    for torque, known, modelled, moving in zip(
        observations.torque, observations.known, model, observations.moving, strict=True
    ):
        measured, error = (torque + known)[moving], (torque - modelled)[moving]
        if not len(measured) or not measured.any():
            result.append(TorqueErrors(len(measured), float("nan"), float("nan"), float("nan")))
            continue
        peak = float(np.abs(measured).max())
        result.append(
            TorqueErrors(
                samples=len(measured),
                max_percent=100 * float(np.abs(error).max()) / peak,
                mean_percent=100 * float(np.abs(error).mean()) / peak,
                relative_percent=100 * float(np.sqrt(np.sum(error**2) / np.sum(measured**2))),
            )
        )
    return result
