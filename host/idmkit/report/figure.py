"""The figure of a fit: measured torque, model torque and error of each axis, over time and over speed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from idmkit.errors import IdmError
from idmkit.files import replacing
from idmkit.fitting import Fit
from idmkit.identify import predicted

Array = NDArray[np.float64]

MEASURED, MODEL, ERROR, SHADE = "#4d4d4d", "#0b6fb8", "#c8402f", "#eeeeee"
SHOWN_PERIODS = 16
"""Length of the time axis in periods of the fastest axis, from the first motion on; all where there are fewer."""
MAX_POINTS = 4000
METADATA: dict[str, dict[str, Any]] = {"png": {"Software": None}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
"""No date and no version in the file: equal fits give equal pictures."""


def save_figure(fit: Fit, path: Path) -> None:
    """Draws the fit into `path` (.png, .pdf or .svg by its suffix), all of it or nothing.

    Raises IdmError for another suffix or where the file cannot be written.
    """
    kind = path.suffix.lower().lstrip(".") or "png"
    if kind not in METADATA:
        raise IdmError(
            f"{path}: figures are drawn as {', '.join(METADATA)}, not as {kind}; choose one of these suffixes"
        )
    observations, result = fit.observations, fit.result
    model = predicted(observations.regressor, fit.estimate.values)
    count = len(observations.axes)
    figure = Figure(figsize=(11, 1.0 + 4.4 * count), layout="constrained")
    FigureCanvasAgg(figure)
    state = "accepted" if result.verdict.accepted else "refused"
    figure.suptitle(
        f"{result.robot}: {result.model}, {result.estimator}, {result.samples} samples at "
        f"{result.sample_rate_hz:.4g} Hz, cutoff {result.cutoff_hz:g} Hz, {state}",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    grid = figure.add_gridspec(count, 2, width_ratios=(2.6, 1))
    for k in range(count):
        left, right = (grid[k, side].subgridspec(2, 1, height_ratios=(2, 1)) for side in (0, 1))
        torque_plot = figure.add_subplot(left[0])
        error_plot = figure.add_subplot(left[1], sharex=torque_plot)
        speed_plot = figure.add_subplot(right[0])
        text_plot = figure.add_subplot(right[1])
        _over_time(torque_plot, error_plot, fit, k, model[k])
        _over(speed_plot, fit, k, model[k], "speed")
        _numbers(text_plot, fit, k)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110, format=kind, metadata=METADATA[kind])


def axis_figure(fit: Fit, k: int) -> Figure:
    """One axis for a page: torque and error over time, error over speed and over position."""
    model = predicted(fit.observations.regressor, fit.estimate.values)[k]
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(1, 2, width_ratios=(2.2, 1))
    left = grid[0, 0].subgridspec(2, 1, height_ratios=(2, 1))
    right = grid[0, 1].subgridspec(2, 1)
    torque_plot = figure.add_subplot(left[0])
    _over_time(torque_plot, figure.add_subplot(left[1], sharex=torque_plot), fit, k, model)
    _over(figure.add_subplot(right[0]), fit, k, model, "speed")
    _over(figure.add_subplot(right[1]), fit, k, model, "position")
    return figure


def _over_time(torque_plot: Axes, error_plot: Axes, fit: Fit, k: int, model: Array) -> None:
    observations = fit.observations
    unit, speed_unit = _units(fit, k)
    shown = _shown_rows(fit)
    time = observations.row[shown] / observations.sample_rate_hz
    measured, modelled = observations.torque[k, shown], model[shown]
    slow = ~observations.moving[k, shown]
    torque_plot.plot(time, measured, color=MEASURED, lw=3.5, alpha=0.45, label="measured")
    torque_plot.plot(time, modelled, color=MODEL, lw=1.2, label="model")
    error_plot.plot(time, measured - modelled, color=ERROR, lw=0.9, label="measured - model")
    for plot in (torque_plot, error_plot):
        plot.fill_between(time, 0, 1, where=slow, transform=plot.get_xaxis_transform(), color=SHADE, lw=0, zorder=0)
        plot.axhline(0, color="#aaaaaa", lw=0.6, zorder=1)
        plot.margins(x=0)
        _tidy(plot)
    threshold = observations.velocity_thresholds[k]
    torque_plot.set_title(
        f"{observations.axes[k]}   (grey: slower than {threshold:.3g} {speed_unit} or clipped, not judged)",
        loc="left",
        fontsize=10,
    )
    torque_plot.set_ylabel(f"torque, {unit}" if unit == "Nm" else f"force, {unit}")
    low, high = torque_plot.get_ylim()
    torque_plot.set_ylim(low, high + 0.15 * (high - low))  # room for the legend
    torque_plot.legend(loc="upper right", frameon=False, ncols=2, fontsize=9)
    torque_plot.tick_params(labelbottom=False)
    error_plot.set_ylabel(f"error, {unit}")
    error_plot.set_xlabel("time, s")


def _over(plot: Axes, fit: Fit, k: int, model: Array, what: str) -> None:
    """The error over the speed, where wrong friction shows, or over the position, where wrong gravity does."""
    observations = fit.observations
    unit, speed_unit = _units(fit, k)
    used = np.flatnonzero(observations.moving[k])
    used = used[:: max(1, len(used) // MAX_POINTS)]
    error = observations.torque[k, used] - model[used]
    over = observations.qd if what == "speed" else observations.q
    plot.plot(over[used, k], error, ".", color=ERROR, ms=1.5, alpha=0.4, rasterized=True)
    plot.axhline(0, color="#aaaaaa", lw=0.6)
    plot.set_xlabel(f"{what}, {speed_unit if what == 'speed' else speed_unit.removesuffix('/s')}")
    plot.set_ylabel(f"error, {unit}")
    plot.set_title(f"error over {what}", loc="left", fontsize=10)
    _tidy(plot)


def _numbers(plot: Axes, fit: Fit, k: int) -> None:
    """Parameters with standard deviations, and the errors of the axis."""
    plot.axis("off")
    result, axis = fit.result, fit.result.axes[k]
    lines = []
    for parameter in result.parameters:
        owner, _, name = parameter.name.rpartition(".")
        if owner != axis.name or parameter.std is None:
            continue
        lines.append(f"{name:<6}{with_uncertainty(parameter.value, parameter.std)} {parameter.unit}")
    lines.append(f"error  max {axis.max_relative_error_percent:.2f} %  mean {axis.mean_relative_error_percent:.2f} %")
    lines.append(f"       ‖e‖/‖τ‖ {axis.relative_error_percent:.2f} %")
    # Units must not reach over the edge, nor an arm's fifteen parameters a link into the next axis' plots.
    size, left = (7.5, -0.2) if len(lines) < 9 else (6.5, -0.2)
    plot.text(left, 1, "\n".join(lines), family="monospace", fontsize=size, va="top", transform=plot.transAxes)


def _shown_rows(fit: Fit) -> NDArray[np.intp]:
    """The rows on the time axis: from shortly before the first motion on."""
    observations = fit.observations
    fastest = float(observations.motion_hz.max())
    rows = observations.rows
    if fastest > 0:
        rows = min(rows, round(SHOWN_PERIODS / fastest * observations.sample_rate_hz))
    moving = np.flatnonzero(observations.moving.any(axis=0))
    first = max(0, int(moving[0]) - rows // 20) if len(moving) else 0
    first = min(first, observations.rows - rows)
    return np.arange(first, first + rows)


def with_uncertainty(value: float, std: float) -> str:
    """Value and standard deviation with two digits of the latter: "0.12003 ± 0.00031"."""
    if not (std > 0 and 1e-6 < std < 1e6):
        return f"{value:>10.4g} ± {std:<8.2g}"
    digits = max(0, 1 - math.floor(math.log10(std)))
    return f"{value:>10.{digits}f} ± {std:<8.{digits}f}"


def _units(fit: Fit, k: int) -> tuple[str, str]:
    """Units of torque and speed of axis `k`."""
    return ("Nm", "rad/s") if fit.revolute[k] else ("N", "m/s")


def _tidy(plot: Axes) -> None:
    plot.spines[["top", "right"]].set_visible(False)
    plot.tick_params(labelsize=9)
