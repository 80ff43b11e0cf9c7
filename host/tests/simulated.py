"""Motions of the ready robots for tests: a noise-free run of plant and servo, and measurements drawn from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.signal import lfilter

from idmkit.fitting import fit_record
from idmkit.records import Channel, Record
from idmkit.rig.axes_plant import AxesPlant
from idmkit.rig.servo import Servo
from idmkit.rig.spec import read_rig_spec
from idmkit.rig.truth import measure
from idmkit.robot import Robot, load_robot

TWO_SIGMA = 1.959964
SETTLING_ROWS = 500
REST_CYCLES = 500
"""Cycles at the start point, for the loops to settle before the sine begins."""


@dataclass(frozen=True)
class Motion:
    """What the axis did at each cycle: position and torque [K] without noise, and what the plant was measured to be."""

    robot: Robot
    position: np.ndarray
    torque: np.ndarray
    torque_noise: float
    truth: dict[str, float]


@cache
def identification_run(name: str) -> Motion:
    """The identification run of a ready one-axis robot, torque averaged over the cycle around each sample.

    An average, as a drive's current sensing makes it: the control loop runs four times a cycle, and a torque taken
    at one instant of the cycle would carry its ripple as a constant error.
    """
    robot = load_robot(name)
    axis, spec = robot.axes[0], read_rig_spec(robot)
    run, drive = axis.identification, axis.drive
    plant = AxesPlant(robot, spec)
    servo = Servo(drive, spec.axes[0], plant.inertia(0))
    plant.position[0] = run.start
    plant.set_brake(0, False)
    servo.switch_on(run.start)
    servo.set_interpolation_time(robot.cycle_time_s)
    cycles = REST_CYCLES + round(run.duration_s / robot.cycle_time_s)
    positions, torques = [], []
    for cycle in range(cycles):
        phase = 2 * math.pi * run.frequency_hz * max(0, cycle - REST_CYCLES) * robot.cycle_time_s
        target = (run.start + run.target) / 2 - run.amplitude * math.cos(phase)
        servo.set_target(math.floor(target * drive.counts_per_unit), 0)
        for _ in range(spec.substeps):
            positions.append(float(plant.position[0]))
            torques.append(servo.step(positions[-1]))
            plant.force[0] = torques[-1]
            plant.step()
    half = spec.substeps // 2
    summed = np.concatenate(([0.0], np.cumsum(torques)))
    samples = np.arange(REST_CYCLES, cycles - 1) * spec.substeps
    mean = (summed[samples + half] - summed[samples - half]) / spec.substeps
    return Motion(
        robot, np.array(positions)[samples], mean, spec.axes[0].torque_noise, measure(robot, plant)[axis.name]
    )


def measured(motion: Motion, seed: int, rho: float = 0.0) -> Record:
    """One measurement of a motion: encoder counts at a random phase, torque with noise in steps of per mille.

    The noise is white, or coloured: each sample is rho times the one before plus something new, of equal variance.
    """
    rng = np.random.default_rng(seed)
    axis = motion.robot.axes[0]
    drive = axis.drive
    counts = np.floor(motion.position * drive.counts_per_unit + rng.uniform())
    noise = rng.standard_normal(len(motion.torque) + SETTLING_ROWS)
    noise = np.sqrt(1 - rho**2) * lfilter([1.0], [1.0, -rho], noise)[SETTLING_ROWS:]
    noisy = motion.torque + motion.torque_noise * noise
    step = drive.joint_rated_torque / 1000
    return record_of(motion.robot, counts / drive.counts_per_unit, step * np.round(noisy / step))


def record_of(robot: Robot, position: np.ndarray, torque: np.ndarray, **changes) -> Record:
    """A record of a one-axis robot at its cycle time."""
    axis = robot.axes[0]
    units = ("rad", "Nm") if axis.revolute else ("m", "N")
    channels = (
        Channel("position_feedback", "position", units[0], axis.name, np.asarray(position, dtype=float)),
        Channel("torque_feedback", "torque", units[1], axis.name, np.asarray(torque, dtype=float)),
    )
    return Record(**{"sample_rate_hz": 1 / robot.cycle_time_s, "channels": channels, **changes})


def coverage(name: str, seeds: range, rho: float = 0.0) -> dict[str, int]:
    """How often the 95 % interval holds the parameter that the plant was measured to have, by parameter."""
    motion = identification_run(name)
    inside: dict[str, int] = {}
    for seed in seeds:
        estimate = fit_record(measured(motion, seed, rho), motion.robot).estimate
        for key, value, std in zip(estimate.names, estimate.values, estimate.std, strict=True):
            parameter = key.split(".")[1]
            hit = bool(abs(value - motion.truth[parameter]) < TWO_SIGMA * std)
            inside[parameter] = inside.get(parameter, 0) + hit
    return inside
