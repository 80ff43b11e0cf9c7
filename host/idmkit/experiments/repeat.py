"""Repeatability: the identification again and again, with other noise, against the truth (R17, R44)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from idmkit.bench import RobotModel
from idmkit.experiments.outcome import Curve, Outcome, Panel, Table
from idmkit.experiments.stage import stage
from idmkit.robot import Robot

RUNS = 5
SOURCE = "Axystems' ten runs of one joint, range over mean: inertia 0.13 %, viscous 5.3 %, Coulomb 3.9 %, gravity 1.5 %"


def run(robot: Robot, seed: int, say: Callable[[str], None]) -> Outcome:
    """RUNS identifications, seeds `seed` and following."""
    # Base parameters of a serial arm are sums of what the plant is made of: they have no true value of their own.
    model = RobotModel.of(robot) if robot.serial is None else None
    found, reported = [], []
    true: dict[str, float] = {}
    for k in range(RUNS):
        say(f"run {k + 1} of {RUNS}")
        with stage(robot, seed + k, model) as here:
            fit = here.identify()
            true = here.true() if model is not None else {}
        found.append(fit.estimate.values)
        reported.append(fit.estimate.std)
    names, values, std = fit.estimate.names, np.array(found), np.mean(reported, axis=0)
    mean, spread, width = values.mean(axis=0), values.std(axis=0, ddof=1), np.ptp(values, axis=0)
    known = bool(true)
    rows, figures = [], {}
    for k, name in enumerate(names):
        off = (mean[k] - true[name]) / std[k] if known else np.nan
        rows.append(
            [name, f"{mean[k]:.6g}", f"{true[name]:.6g}" if known else "-",
             f"{100 * width[k] / abs(mean[k]):.3f}", f"{100 * spread[k] / abs(mean[k]):.3f}",
             f"{spread[k] / std[k]:.2f}", f"{off:.2f}" if known else "-"]
        )  # fmt: skip
        figures[name] = {"values": values[:, k].tolist(), "mean": mean[k], "std": spread[k], "reported_std": std[k]}
    table = Table(
        f"{robot.name}: {RUNS} identifications in the loop, torque noise of seeds {seed} to {seed + RUNS - 1}",
        ["", "mean", "true", "range / mean, %", "std / mean, %", "std / reported", "(mean - true) / reported"],
        rows,
        [f"for information: {SOURCE}"],
    )
    order = np.arange(len(names), dtype=float)
    panel = Panel(
        "deviation from the mean", "parameter, in the order of the table", "in reported standard deviations",
        [Curve(f"run {k + 1}", order, (values[k] - mean) / std, marked=True) for k in range(RUNS)], (-1.96, 1.96),
    )  # fmt: skip
    return Outcome("repeat", robot.name, [table], [panel], {"parameters": figures})
