"""The picture of a proof: what the model gained, and how a collision was found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from idmkit.bench.performance import named
from idmkit.bench.prove import Proof
from idmkit.bench.stops import Collision
from idmkit.files import replacing
from idmkit.fitting import Fit
from idmkit.identify import predicted
from idmkit.report.figure import ERROR, MEASURED, MODEL
from idmkit.robot import Robot

STYLES: dict[str, dict[str, Any]] = {
    "without model": {"color": "#8a8a8a", "lw": 1.2},
    "identified": {"color": MODEL, "lw": 2.2},
    "true": {"color": "#e0a100", "lw": 1.0, "ls": "--"},
}
"""The true model lies on the identified one: a thin dashed line over a broad one."""
TORQUE_PERIODS = 2.0
AROUND_COLLISION = 150
"""Cycles shown before and after the fault."""


def save_proof(robot: Robot, fit: Fit, proofs: Mapping[str, Proof], collision: Collision | None, path: Path) -> None:
    """Panels for the first axis: torque fit, tracking error, settling, and a collision where there was one."""
    axis = robot.axes[0]
    unit = "rad" if axis.revolute else "m"
    torque_unit = "Nm" if axis.revolute else "N"
    figure = Figure(figsize=(11, 7.2), layout="constrained")
    FigureCanvasAgg(figure)
    plots = figure.subplots(2, 2)
    _torque(plots[0, 0], fit, axis.identification.frequency_hz, torque_unit)
    _tracking(plots[0, 1], proofs, axis.name, unit)
    _settling(plots[1, 0], proofs, robot, unit)
    if collision is not None:
        _collision(plots[1, 1], collision, axis.name, torque_unit, robot.cycle_time_s)
    else:
        plots[1, 1].remove()
    for plot in plots.flat:
        plot.spines[["top", "right"]].set_visible(False)
        plot.grid(alpha=0.25)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110, metadata={"Software": None})


def _torque(plot: Axes, fit: Fit, frequency_hz: float, unit: str) -> None:
    observations = fit.observations
    rows = min(observations.rows, int(TORQUE_PERIODS / frequency_hz * observations.sample_rate_hz))
    time = np.arange(rows) / observations.sample_rate_hz
    model = predicted(observations.regressor, fit.estimate.values)[0, :rows]
    plot.plot(time, observations.torque[0, :rows], color="#b0b0b0", lw=3.5, label="measured")
    plot.plot(time, model, color=MODEL, lw=1.0, label="identified model")
    plot.plot(time, observations.torque[0, :rows] - model, color=ERROR, lw=0.8, label="error")
    plot.set(title="Identification", xlabel="time, s", ylabel=f"torque, {unit}")
    plot.legend(frameon=False, fontsize=8, ncols=3, loc="upper center")
    plot.margins(y=0.2)


def _tracking(plot: Axes, proofs: Mapping[str, Proof], axis: str, unit: str) -> None:
    for label, proof in proofs.items():
        record = proof.sine.record
        error = 1e3 * named(record, axis, "position_error")
        plot.plot(record.times(), error, label=label, **STYLES[label])
    plot.set(title="Tracking a sine", xlabel="time, s", ylabel=f"position error, m{unit}")
    plot.legend(frameon=False, fontsize=8)


def _settling(plot: Axes, proofs: Mapping[str, Proof], robot: Robot, unit: str) -> None:
    axis = robot.axes[0]
    for label, proof in proofs.items():
        record = proof.moves[0].record
        command = named(record, axis.name, "position_command")
        end = int(np.flatnonzero(np.diff(command))[-1]) + 1
        error = 1e3 * (command[-1] - named(record, axis.name, "position_feedback"))
        time = 1e3 * robot.cycle_time_s * (np.arange(len(command)) - end)
        plot.plot(time, error, label=label, **STYLES[label])
    window = 1e3 * axis.settling.position_error
    plot.axhspan(-window, window, color="#2e8b57", alpha=0.15, lw=0, label="PositionErrorSettle")
    plot.set(
        title="Settling after a fast move",
        xlabel="time after the profile's end, ms",
        ylabel=f"target - actual, m{unit}",
    )
    plot.set_xlim(-20, 120)
    plot.set_ylim(-8 * window, 8 * window)
    plot.legend(frameon=False, fontsize=8)


def _collision(plot: Axes, collision: Collision, axis: str, unit: str, cycle_time_s: float) -> None:
    record = collision.run.record
    cycles = collision.run.first_cycle + np.arange(record.rows) - collision.fault.cycle
    shown = np.abs(cycles) <= AROUND_COLLISION
    time = 1e3 * cycle_time_s * cycles[shown]
    plot.plot(time, named(record, axis, "torque_feedback")[shown], color=MEASURED, lw=1.2, label="measured torque")
    plot.plot(time, named(record, axis, "torque_error")[shown], color=ERROR, lw=1.2, label="torque error (TE)")
    for sign in (-1, 1):
        plot.axhline(sign * collision.threshold, color=ERROR, lw=0.8, ls=":")
    plot.axvline(0, color="#2e8b57", lw=1.0, label="collision latched")
    if collision.delay_cycles is not None:
        plot.axvline(
            -1e3 * cycle_time_s * collision.delay_cycles, color="#2e8b57", lw=1.0, ls="--", label="first contact"
        )
    plot.set(title="Collision with a wall", xlabel="time, ms", ylabel=f"torque, {unit}")
    plot.legend(frameon=False, fontsize=8)
