"""Excitation: the robot file's sines against a planned motion of equal time, both on the board, both fitted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from idmkit.bench import RobotModel, write_settings
from idmkit.bench.planned import planned_run
from idmkit.errors import IdentificationError
from idmkit.excitation.comparison import compare
from idmkit.excitation.criterion import excited_model
from idmkit.excitation.plan import plan_excitation
from idmkit.experiments.outcome import Curve, Outcome, Panel, Table
from idmkit.experiments.stage import stage
from idmkit.fitting import Fit, fit_record
from idmkit.rig.spec import read_rig_spec
from idmkit.robot import Robot
from idmkit.stiffness.delta import soft_delta
from idmkit.stiffness.workspace import sections

SINES, PLANNED = "sines", "planned"
STARTS = 2


def run(robot: Robot, seed: int, say: Callable[[str], None]) -> Outcome:
    """Sines, a plan from what they have given, the plan on the same rig; the model is off in both."""
    if robot.serial is not None:
        raise IdentificationError(
            f"{robot.name} is a serial arm, whose base parameters have no true values of their own to compare with; "
            f"choose a robot of another kind, or `idm experiment identify {robot.name}`"
        )
    with stage(robot, seed, RobotModel.of(robot)) as here:
        say(SINES)
        fits = {SINES: here.identify()}
        true = here.true()
        noise = [axis.torque_noise for axis in read_rig_spec(robot).axes]
        model = excited_model(robot, nominal=here.identified(fits[SINES]), noise=noise if all(noise) else None)
        say("planning")
        plan = plan_excitation(model, highest_hz=_highest_hz(robot), starts=STARTS, seed=seed)
        say(PLANNED)
        write_settings(here.bench)
        fits[PLANNED] = fit_record(planned_run(here.bench, plan).record, robot)
    found = compare(model, plan.series, plan.duration_s)
    return _outcome(robot, fits, true, {"trace": found.factor, "faster_sines": found.fast_factor}, plan.duration_s)


def _outcome(
    robot: Robot, fits: dict[str, Fit], true: dict[str, float], factors: dict[str, float], time: float
) -> Outcome:
    names = fits[SINES].estimate.names
    std = {way: np.array(fit.estimate.std) for way, fit in fits.items()}
    off = {way: fit.estimate.values - np.array([true[name] for name in names]) for way, fit in fits.items()}
    ratio = std[SINES] / std[PLANNED]
    scaled = {way: float(np.sum((std[way] / np.array([true[name] for name in names])) ** 2)) for way in fits}
    rows = [
        [
            name,
            f"{true[name]:.6g}",
            *(f"{off[way][k]:.2g} +- {1.96 * std[way][k]:.2g}" for way in fits),
            f"{ratio[k]:.1f}",
        ]
        for k, name in enumerate(names)
    ]
    table = Table(
        f"{robot.name}: errors of the parameters from {time:.3g} s of motion, and their 95 % intervals",
        ["", "true", *fits, "std ratio"],
        rows,
        [
            f"median of the ratios {float(np.median(ratio)):.2f}; relative variances sum up to "
            f"{scaled[SINES] / scaled[PLANNED]:.1f} times less",
            f"expected before: trace of the scaled covariance {factors['trace']:.1f} times smaller than the sines', "
            f"{factors['faster_sines']:.1f} times smaller than that of sines at the limits",
        ],
    )
    order = np.arange(len(names), dtype=float)
    panel = Panel(
        "standard deviations, planned over sines", "parameter, in the order of the table", "ratio",
        [Curve("planned / sines", order, 1 / ratio, marked=True)], (0.0, 1.0),
    )  # fmt: skip
    errors = Panel(
        "errors in standard deviations of the sines", "parameter, in the order of the table", "error / std",
        [Curve(way, order, off[way] / std[SINES], marked=True) for way in fits],
    )  # fmt: skip
    data: dict[str, Any] = {
        "duration_s": time,
        "expected_factors": factors,
        "parameters": {
            name: {"true": true[name]} | {way: {"error": off[way][k], "std": std[way][k]} for way in fits}
            for k, name in enumerate(names)
        },
    }
    return Outcome("excitation", robot.name, [table], [panel, errors], data)


def _highest_hz(robot: Robot) -> float:
    """Below the resonance of a delta that has a stiffness; no bound where the file knows none."""
    if robot.machine is None or robot.machine.stiffness is None:
        return math.inf
    delta = soft_delta(robot)
    return delta.excitation_ratio * min(float(np.nanmin(section.resonance_hz)) for section in sections(delta))
