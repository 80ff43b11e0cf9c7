"""Identification from periodic motion: periods averaged, their scatter as the noise, derivatives from the series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import IdentificationError
from idmkit.finding import Finding
from idmkit.fitting import Fit, Prepared, prepare
from idmkit.identify import LinearModel, Observations
from idmkit.identify.likelihood import Period, fit_maximum_likelihood
from idmkit.identify.observations import mean_direction
from idmkit.records import Record
from idmkit.robot import Robot
from idmkit.signals import average_periods, fourier_derivatives, shifted
from idmkit.unknowns import unknowns_of

Array = NDArray[np.float64]

WHOLE_ROWS = 0.02
"""A period must be a whole number of rows within so many rows for each of its periods."""


def fit_periodic(
    record: Record,
    robot: Robot,
    period_s: float,
    harmonics: int,
    *,
    maximum_likelihood: bool = False,
    model: int | None = None,
    noticed: Sequence[Finding] = (),
) -> Fit:
    """Identifies from the whole periods at the end of a record whose motion is a Fourier series of `harmonics`.

    Weighted least squares with the noise that the periods show, or maximum likelihood, for which the positions are
    noisy, too. Where three periods or more are recorded the first is left out: it holds the start. Raises RecordError
    and IdentificationError like `fit_record`.
    """
    prepared = prepare(record, robot, model, harmonics / period_s, None, every_row=True)
    period, findings = _averaged(prepared, period_s, harmonics)
    unknowns = unknowns_of(robot, prepared.graph)
    estimate = fit_maximum_likelihood(period, unknowns.regressor, exact_positions=not maximum_likelihood)
    observations = _observations(prepared, period, unknowns.regressor)
    return prepared.judged(unknowns, observations, estimate, [*noticed, *findings])


def _averaged(prepared: Prepared, period_s: float, harmonics: int) -> tuple[Period, list[Finding]]:
    record = prepared.cleaned.record
    rate = record.sample_rate_hz
    rows = round(period_s * rate)
    axes = tuple(axis.name for axis in prepared.robot.axes)
    stretch = max(prepared.cleaned.segments(), key=lambda part: part.stop - part.start)
    count = (stretch.stop - stretch.start) // rows if rows else 0
    if rows == 0 or abs(period_s * rate - rows) * max(count, 1) > WHOLE_ROWS:
        raise IdentificationError(
            f"a period of {period_s:g} s is {period_s * rate:.4f} rows at {rate:.6g} Hz, and periods are averaged row "
            "by row; excite with a period of a whole number of samples"
        )
    used = count - 1 if count > 2 else count
    part = slice(stretch.stop - max(used, 0) * rows, stretch.stop)
    position = np.stack([record.channel(axis, "position").samples[part] for axis in axes], axis=1)
    torques = [record.channel(axis, "torque") for axis in axes]
    torque = np.stack([shifted(c.samples[stretch], rate, c.delay_s)[-len(position) :] for c in torques], axis=1)
    positions, torques_averaged = average_periods(position, rows), average_periods(torque, rows)
    noise = ", ".join(
        f"{axis} {np.sqrt(p):.2g} and {np.sqrt(t):.2g}"
        for axis, p, t in zip(axes, positions.variance, torques_averaged.variance, strict=True)
    )
    text = f"{used} periods of {period_s:g} s are averaged; noise of position and torque: {noise} (SI, one sample)."
    deviations = {
        f"{axis}_torque_noise": float(np.sqrt(t)) for axis, t in zip(axes, torques_averaged.variance, strict=True)
    }
    finding = Finding("periods", "info", "", text, {"periods": used, "rows": rows, **deviations})
    floor = np.finfo(float).tiny
    return Period(
        axes=axes,
        sample_rate_hz=rate,
        harmonics=harmonics,
        position=positions.mean,
        torque=torques_averaged.mean,
        position_variance=np.maximum(positions.mean_variance, floor),
        torque_variance=np.maximum(torques_averaged.mean_variance, floor),
    ), [finding]


def _observations(prepared: Prepared, period: Period, model: LinearModel) -> Observations:
    """The averaged period in the form that verdict and figures read."""
    q, qd, qdd = fourier_derivatives(period.position, period.sample_rate_hz, period.harmonics)
    matrix, known = model(q, qd, qdd, mean_direction(qd, qdd, period.sample_rate_hz))
    top = np.abs(qd).max(axis=0)
    thresholds = np.array(
        [0.1 * top[k] if given is None else given for k, given in enumerate(prepared.thresholds)], dtype=np.float64
    )
    everything = np.ones(period.torque.T.shape, dtype=bool)
    moving = np.abs(qd.T) > thresholds[:, None]
    return Observations(
        axes=period.axes,
        names=model.names,
        sample_rate_hz=period.sample_rate_hz,
        cutoff_hz=prepared.cutoff_hz,
        velocity_thresholds=thresholds,
        motion_hz=np.full(len(period.axes), prepared.cutoff_hz),
        row=np.arange(len(period.position)),
        q=q,
        qd=qd,
        qdd=qdd,
        torque=period.torque.T - known,
        regressor=matrix,
        known=known,
        unclipped=everything,
        moving=moving,
        fitted=moving,
    )
