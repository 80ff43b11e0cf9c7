"""Motions of machines for tests: noise-free runs of MuJoCo and servos in closed loop, measurements drawn from them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from idmkit.dynamics.chain import INERTIAL_NAMES, Inertial
from idmkit.estimators import estimate
from idmkit.fitting import prepare
from idmkit.records import Channel, Record
from idmkit.rig.machine_plant import build_plant
from idmkit.rig.servo import Servo
from idmkit.rig.spec import read_rig_spec
from idmkit.rig.truth import measure
from idmkit.robot import Robot, load_robot
from idmkit.robot_graph import robot_graph
from idmkit.unknowns import unknowns_of

REST_S = 0.5
"""At the start point, for the loops to settle before the motion begins."""
Path = Callable[[float], list[float]]


@dataclass(frozen=True)
class Motion:
    """What the axes did at each cycle: position and torque [K, n] without noise; noise [n]; measured parameters."""

    robot: Robot
    position: np.ndarray
    torque: np.ndarray
    noise: np.ndarray
    truth: dict[str, float]


def sines(robot: Robot, *, scale: float = 1.0, late: float = 0.0, held: Mapping[int, float] | None = None) -> Path:
    """The axes' identification runs, `scale` times as fast, as they are `late` seconds after their begin.

    Axes in `held` stay where it says.
    """
    runs = [axis.identification for axis in robot.axes]
    still = held or {}

    def path(t: float) -> list[float]:
        angles = [2 * math.pi * scale * run.frequency_hz * (t + late) for run in runs]
        return [
            still.get(k, (run.start + run.target) / 2 - run.amplitude * math.cos(angle))
            for k, (run, angle) in enumerate(zip(runs, angles, strict=True))
        ]

    return path


def run(robot: Robot, path: Path, seconds: float) -> Motion:
    """Follows `path` from its first point; torque averaged over the cycle around each sample, as drives measure it."""
    spec = read_rig_spec(robot)
    plant = build_plant(robot, spec)
    truth = measure(robot, plant)
    plant.position[:] = path(0.0)
    plant.close_loops()
    servos = []
    for k, (axis, loops) in enumerate(zip(robot.axes, spec.axes, strict=True)):
        servos.append(Servo(axis.drive, loops, plant.inertia(k)))
        plant.set_brake(k, False)
        servos[k].switch_on(float(plant.position[k]))
        servos[k].set_interpolation_time(robot.cycle_time_s)
    rest = round(REST_S / robot.cycle_time_s)
    cycles = rest + round(seconds / robot.cycle_time_s)
    n, m = len(servos), spec.substeps
    positions, torques = np.empty((cycles * m, n)), np.empty((cycles * m, n))
    place, force = plant.position, plant.force
    for cycle in range(cycles):
        for servo, axis, target in zip(
            servos, robot.axes, path(max(0, cycle - rest) * robot.cycle_time_s), strict=True
        ):
            servo.set_target(math.floor(target * axis.drive.counts_per_unit), 0)
        for step in range(cycle * m, (cycle + 1) * m):
            positions[step] = place
            force[:] = torques[step] = [servo.step(float(x)) for servo, x in zip(servos, place.tolist(), strict=True)]
            plant.step()
    half = m // 2
    summed = np.vstack((np.zeros(n), np.cumsum(torques, axis=0)))
    samples = np.arange(rest, cycles - 1) * m
    mean = (summed[samples + half] - summed[samples - half]) / m
    noise = np.array([loops.torque_noise for loops in spec.axes])
    return Motion(robot, positions[samples], mean, noise, _flat(robot, truth))


def ideal(robot: Robot, path: Path, seconds: float) -> Motion:
    """The same motion without drives: MuJoCo's inverse dynamics along `path`. Quick, for slow or long motions."""
    spec = read_rig_spec(robot)
    plant = build_plant(robot, spec)
    h = 1e-3
    times = np.arange(round(seconds / robot.cycle_time_s)) * robot.cycle_time_s
    around = np.array([[path(t + k * h) for k in (-2, -1, 0, 1, 2)] for t in times])
    qd = np.einsum("k,tkn->tn", np.array([1, -8, 0, 8, -1]) / (12 * h), around)
    qdd = np.einsum("k,tkn->tn", np.array([-1, 16, -30, 16, -1]) / (12 * h * h), around)
    q = around[:, 2]
    torque = plant.torques(plant.released_copy(), q, qd, qdd)
    noise = np.array([loops.torque_noise for loops in spec.axes])
    return Motion(robot, q, torque, noise, _flat(robot, measure(robot, plant)))


def _flat(robot: Robot, truth: dict[str, dict[str, float]]) -> dict[str, float]:
    """Parameters by their keys in the graph."""
    return {k if owner == robot.name else f"{owner}.{k}": v for owner, own in truth.items() for k, v in own.items()}


def measured(motion: Motion, seed: int, noise: float = 1.0) -> Record:
    """One measurement: encoder counts at random phases, torque with `noise` times its noise in steps of per mille."""
    rng = np.random.default_rng(seed)
    channels = []
    for k, axis in enumerate(motion.robot.axes):
        drive = axis.drive
        counts = np.floor(motion.position[:, k] * drive.counts_per_unit + rng.uniform())
        noisy = motion.torque[:, k] + noise * motion.noise[k] * rng.standard_normal(len(motion.torque))
        step = drive.joint_rated_torque / 1000
        units = ("rad", "Nm") if axis.revolute else ("m", "N")
        position, torque = counts / drive.counts_per_unit, step * np.round(noisy / step)
        channels.append(Channel("position_feedback", "position", units[0], axis.name, position))
        channels.append(Channel("torque_feedback", "torque", units[1], axis.name, torque))
    return Record(1 / motion.robot.cycle_time_s, tuple(channels))


SECONDS = {"crank": 6.0, "slide": 5.0, "two_link": 8.0, "scara": 10.0, "delta": 6.0, "puma": 16.0}
"""Less than the machines' robot files have, for tests."""


@cache
def identification_run(name: str) -> Motion:
    """The beginning of the identification run of a ready robot."""
    robot = load_robot(name)
    return run(robot, sines(robot), SECONDS[name])


def loaded(name: str) -> tuple[Robot, dict[str, float]]:
    """A ready robot with a payload that is part of its last body, and the payload's parameters."""
    robot = load_robot(name)
    rig = copy.deepcopy(robot.rig)
    if name == "delta":
        rig["platform"]["mass"] += 0.6
        return replace(robot, rig=rig), {"payload_mass": 0.6}
    if name in ("crank", "slide"):
        return _loaded_axis(robot, rig)
    last = rig["bodies"][-1]
    place, mass, moments = {
        "scara": ((0.0, 0.0, -0.15), 1.5, (0.004, 0.004, 0.006)),
        "two_link": ((0.3, 0.0, 0.0), 0.8, (0.001, 0.002, 0.002)),
        "puma": ((0.0, 0.0, 0.16), 2.0, (0.012, 0.015, 0.009)),
    }[name]
    body = Inertial.from_centre(mass, place, np.diag(moments))
    both = body + Inertial.from_centre(last["mass"], last["centre"], np.diag(last["moments"]))
    last.update(mass=both.mass, centre=both.centre.tolist(), moments=np.diag(both.inertia_about_centre).tolist())
    carried = {"payload_mass": mass, "payload_inertia": moments[2]}
    if name == "puma":
        carried = {f"payload_{key}": float(x) for key, x in zip(INERTIAL_NAMES, body.parameters, strict=True)}
    return replace(robot, rig=rig), carried


def _loaded_axis(robot: Robot, rig: dict[str, Any]) -> tuple[Robot, dict[str, float]]:
    axis, own, mass = robot.axes[0], rig["axes"][0], 0.9
    if axis.revolute:
        # Both on one line from the axis: masses and first moments add, inertias about the axis too.
        arm, inertia = axis.geometry["crank_length"], 0.002
        total = own["link_mass"] + mass
        centre = (own["link_mass"] * own["centre_distance"] + mass * arm) / total
        about = own["link_inertia"] + own["link_mass"] * own["centre_distance"] ** 2 + inertia + mass * arm**2
        own.update(link_mass=total, centre_distance=centre, link_inertia=about - total * centre**2)
        return replace(robot, rig=rig), {f"{axis.name}.payload_mass": mass, f"{axis.name}.payload_inertia": inertia}
    own["link_mass"] += mass
    return replace(robot, rig=rig), {f"{axis.name}.payload_mass": mass}


def deviations(motion: Motion, seeds: range, estimator: str = "ls") -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """(names [p], errors [runs, p], standard deviations [runs, p]) of estimates from measurements of one motion."""
    unknowns = unknowns_of(motion.robot, robot_graph(motion.robot))
    estimates = []
    for seed in seeds:
        observe = prepare(measured(motion, seed), motion.robot, None, None, None).observe
        estimates.append(estimate(motion.robot, unknowns, observe, estimator, ladder=False).estimate)
    truth = np.array([motion.truth[name] for name in estimates[0].names])
    errors = np.array([found.values for found in estimates]) - truth
    return estimates[0].names, errors, np.array([found.std for found in estimates])
