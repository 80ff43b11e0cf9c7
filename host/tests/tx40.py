"""The TX40's record: its halves, and the score of a prediction as the reference measured it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import interp1d
from scipy.signal import decimate

from idmkit.fitting import Fit, fit_record
from idmkit.identify.observations import mean_direction
from idmkit.records import Record, import_tables, load_mapping
from idmkit.robot import load_robot
from idmkit.signals import FLAT, low_pass, spline_derivatives

FOLDER = Path(__file__).parent / "data" / "staubli_tx40"
HALVES = {"A": slice(500, 19000), "B": slice(19000, 37500)}
"""Rows of the two halves of the motion; before and behind it the arm stands still."""
REFERENCE = {
    "A": (5.68, 5.49, 10.46, 9.65, 12.43, 10.71),
    "B": (6.69, 7.14, 12.76, 11.05, 14.68, 13.17),
}
"""Error on each half, in percent an axis, of the other half's physically consistent fit with viscous and Coulomb
friction and offset: the best that was known."""
GOAL = {"A": 8.1, "B": 9.8}
CUTOFF_HZ = 40.0
PREDICTION_HZ = 100.0


@cache
def record() -> Record:
    """The whole record, joint side."""
    tables = [FOLDER / "pos_read_data.csv.gz", FOLDER / "curr_data.csv.gz"]
    return import_tables(tables, load_mapping(FOLDER / "mapping.toml"))[0]


def fit_half(name: str, **options: Any) -> Fit:
    """A fit to one half; everything is chosen inside of it."""
    rows = HALVES[name]
    return fit_record(record().part(rows.start, rows.stop), load_robot("tx40"), cutoff_hz=CUTOFF_HZ, **options)


def prediction(fit: Fit) -> np.ndarray:
    """Torque [rows, 6] that a fit predicts for the motion of the whole record, at the rate of the fit, interpolated."""
    whole = record()
    position = np.stack([whole.channel(axis, "position").samples for axis in whole.axes], axis=1)
    q = low_pass(position, whole.sample_rate_hz, PREDICTION_HZ, FLAT)
    factor = round(whole.sample_rate_hz / fit.observations.sample_rate_hz)
    qd, qdd = (values[::factor] for values in spline_derivatives(q, whole.sample_rate_hz))
    matrix, offset = fit.model(q[::factor], qd, qdd, mean_direction(qd, qdd, fit.observations.sample_rate_hz))
    torque = (matrix @ fit.estimate.values + offset).T
    return interp1d(np.arange(0, whole.rows, factor), torque, axis=0, fill_value="extrapolate")(np.arange(whole.rows))


def score(predicted: np.ndarray, half: str) -> np.ndarray:
    """100 |tau - predicted| / |tau| an axis over one half, both thinned out 100:1 by scipy's zero-phase filter."""
    whole, rows = record(), HALVES[half]
    torque = np.stack([whole.channel(axis, "torque").samples for axis in whole.axes], axis=1)[rows]
    measured, model = (_thinned(values) for values in (torque, predicted[rows]))
    return np.asarray(100 * np.linalg.norm(measured - model, axis=0) / np.linalg.norm(measured, axis=0))


def _thinned(values: np.ndarray) -> np.ndarray:
    for _ in range(2):
        values = decimate(values, 10, axis=0, zero_phase=True)
    return values
