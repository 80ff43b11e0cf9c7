"""Identification in the loop: what the model says of a motion that it was not made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idmkit.bench.bench import Bench
from idmkit.bench.moves import move_to
from idmkit.bench.prove import FASTER, reach
from idmkit.bench.run import IDENTIFICATION, Run, capture_while
from idmkit.experiments.outcome import Curve, Outcome, Panel, Table
from idmkit.experiments.stage import stage
from idmkit.fitting import fit_record
from idmkit.identify import Observations, predicted
from idmkit.link import motion
from idmkit.rig.machine_plant import build_plant
from idmkit.rig.spec import read_rig_spec
from idmkit.robot import Robot
from idmkit.signals import edge_rows, low_pass

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

PERIODS = 4
MAX_PERCENT = 2.0


def run(robot: Robot, seed: int, say: Callable[[str], None]) -> Outcome:
    """The identification run, then sines between other points at other frequencies, without the model on."""
    with stage(robot, seed, None) as here:
        say("identification")
        fit = here.identify()
        say("another motion")
        other = _other_motion(here.bench)
    seen = fit_record(other.record, robot).observations
    measured = seen.torque + seen.known
    model = predicted(seen.regressor, fit.estimate.values) + seen.known
    plant = _plants_torque(robot, seen)
    edge = edge_rows(seen.cutoff_hz, seen.sample_rate_hz)
    away = _motors_away_from_reversal(robot, seen)
    rows, panels = [], []
    figures: dict[str, Any] = {}
    for k, axis in enumerate(robot.axes):
        unit = "Nm" if axis.revolute else "N"
        moving = seen.moving[k] & away
        moving[:edge] = moving[-edge:] = False
        peak = float(np.abs(plant[k]).max())
        percent = {
            "measured": 100 * float(np.abs(measured[k] - model[k])[moving].max()) / peak,
            "noise": 100 * float(np.abs(measured[k] - plant[k])[moving].max()) / peak,
            "plant": 100 * float(np.abs(plant[k] - model[k])[moving].max()) / peak,
        }
        rows.append([axis.name, f"{peak:.4g} {unit}", *(f"{value:.2f}" for value in percent.values())])
        figures[axis.name] = {"peak": peak, "max_percent": percent}
        time = seen.row / seen.sample_rate_hz
        curves = [
            Curve("measured", time, measured[k]),
            Curve("the plant's own", time, plant[k]),
            Curve("model", time, model[k]),
            Curve("plant - model", time, plant[k] - model[k]),
        ]
        panels.append(Panel(axis.name, "s", f"torque, {unit}", curves))
    worst = max(each["max_percent"]["plant"] for each in figures.values())
    table = Table(
        f"{robot.name}: torque of a motion that was not used, largest errors in percent of its peak",
        ["", "peak", "measured - model", "measured - plant", "plant - model"],
        rows,
        [
            f"{fit.result.samples} samples fitted, {len(fit.estimate.names)} parameters, {fit.result.estimator}, "
            f"cutoff {seen.cutoff_hz:g} Hz",
            "the plant's own torque is MuJoCo's inverse dynamics of the measured motion: it has no noise and no model "
            "of this project",
            f"the model is off by {worst:.2f} % at most, {'within' if worst <= MAX_PERCENT else 'above'} "
            f"{MAX_PERCENT:g} %",
        ],
    )
    return Outcome("identify", robot.name, [table], panels, {"axes": figures, "worst_percent": worst})


def _plants_torque(robot: Robot, seen: Observations) -> Array:
    """[n, S]: what MuJoCo says that the motion needs, low-passed as the measured torque is."""
    plant = build_plant(robot, read_rig_spec(robot))
    torque = plant.torques(plant.released_copy(), seen.q, seen.qd, seen.qdd)
    return low_pass(torque, seen.sample_rate_hz, seen.cutoff_hz).T


def _motors_away_from_reversal(robot: Robot, seen: Observations) -> Mask:
    """[S]: where motors that turn several joints are as fast as their own joints have to be to count."""
    motors = None if robot.serial is None else robot.serial.motors
    kept = np.ones(seen.rows, dtype=bool)
    if motors is not None:
        for k in motors.coupled:
            kept &= np.abs(seen.qd @ motors.speeds[k]) > seen.velocity_thresholds[k]
    return kept


def _other_motion(bench: Bench) -> Run:
    """Sines inside of the identification's, each axis at another frequency: its order among the axes reversed."""
    axes = bench.robot.axes
    low, high = reach(bench.robot)
    spans = [abs(b - a) / 2 for a, b in zip(low, high, strict=True)]
    wanted = [FASTER * axis.identification.frequency_hz for axis in axes][::-1]
    frequencies = [
        min(hz, 0.9 * axis.velocity_max / (2 * np.pi * span), 0.9 * np.sqrt(axis.acceleration_max / span) / (2 * np.pi))
        for hz, axis, span in zip(wanted, axes, spans, strict=True)
    ]
    skip, cycles = bench.cycles(1 / min(frequencies)), bench.cycles(PERIODS / min(frequencies))
    with bench.armed():
        move_to(bench, high)
        run = capture_while(
            bench,
            IDENTIFICATION,
            cycles,
            lambda cycle: motion.sine(bench.board, low, frequencies, skip + cycles, start_cycle=cycle),
            skip=skip,
        )
        bench.settle()
    return run
