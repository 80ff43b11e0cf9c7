"""Identification runs of machines spoiled on purpose, one class of spoiling at a time, everything else by a seed.

Each class makes a record as such a run would leave it (MuJoCo, drives with their limits, quantised and noisy samples)
and says which findings name the cause.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from machine_runs import Motion, Path, measured, run

from idmkit.fitting import fit_record
from idmkit.records import Record
from idmkit.robot import Robot, load_robot

VARIANTS = 4
"""Motions of a machine for every class that needs motions of its own; more come from noise and encoder phases."""


@dataclass(frozen=True)
class Spoiled:
    """A record, the robot file that it is identified with, and where the cause is (axis names; empty: any)."""

    record: Record
    robot: Robot
    axes: frozenset[str] = frozenset()


def path(robot: Robot, speeds: np.ndarray, amplitudes: np.ndarray) -> Path:
    """The axes' sines about the middles of their runs, frequencies and amplitudes multiplied axis by axis."""
    runs = [axis.identification for axis in robot.axes]
    middle = [(own.start + own.target) / 2 for own in runs]
    reach = [factor * own.amplitude for own, factor in zip(runs, amplitudes, strict=True)]
    rate = [2 * math.pi * factor * own.frequency_hz for own, factor in zip(runs, speeds, strict=True)]

    def at(t: float) -> list[float]:
        return [m - a * math.cos(w * t) for m, a, w in zip(middle, reach, rate, strict=True)]

    return at


def _moved(robot: Robot, seed: int, speed: tuple[float, float], amplitude: tuple[float, float]) -> Motion:
    rng = np.random.default_rng(seed)
    n = len(robot.axes)
    # Slow or fast as a whole: axes that stay as they are would give the record another name.
    speeds, amplitudes = np.full(n, rng.uniform(*speed)), np.full(n, rng.uniform(*amplitude))
    seconds = max(axis.identification.duration_s for axis in robot.axes)
    return run(robot, path(robot, speeds, amplitudes), seconds)


@cache
def good_motion(name: str, variant: int) -> Motion:
    """An identification run as the robot file asks for it."""
    return _moved(load_robot(name), variant, (0.9, 1.0), (0.95, 1.0))


@cache
def _slow_motion(name: str, variant: int) -> Motion:
    return _moved(load_robot(name), variant, (0.02, 0.1), (0.95, 1.0))


@cache
def _small_motion(name: str, variant: int) -> Motion:
    return _moved(load_robot(name), variant, (6.0, 9.0), (0.04, 0.08))


@cache
def _saturated_motion(name: str, variant: int) -> tuple[Motion, str]:
    """The run with one drive that reaches less torque than it needs, and that axis."""
    robot, free = load_robot(name), good_motion(name, variant)
    rng = np.random.default_rng(variant)
    k = int(rng.integers(len(robot.axes)))
    needed = float(np.abs(free.torque[:, k]).max())
    drive = robot.axes[k].drive
    share = rng.uniform(0.6, 0.85) * needed / drive.joint_peak_torque
    weak = replace(drive, peak_torque=share * drive.peak_torque)
    axes = tuple(replace(axis, drive_or_none=weak) if j == k else axis for j, axis in enumerate(robot.axes))
    return _moved(replace(robot, axes=axes), variant, (0.9, 1.0), (0.95, 1.0)), robot.axes[k].name


def good(name: str, seed: int) -> Spoiled:
    """Nothing is wrong with it."""
    return Spoiled(measured(good_motion(name, seed % VARIANTS), seed), load_robot(name))


def too_slow(name: str, seed: int) -> Spoiled:
    """The whole motion at 2 to 10 % of its speed."""
    return Spoiled(measured(_slow_motion(name, seed % VARIANTS), seed), load_robot(name))


def region(name: str, seed: int) -> Spoiled:
    """Amplitudes of 4 to 8 % at frequencies that keep some speed."""
    return Spoiled(measured(_small_motion(name, seed % VARIANTS), seed), load_robot(name))


def too_short(name: str, seed: int) -> Spoiled:
    """A record of half a period to two and a half of its slowest axis."""
    whole = good(name, seed)
    slowest = min(axis.identification.frequency_hz for axis in whole.robot.axes)
    periods = np.random.default_rng(seed).uniform(0.5, 2.5)
    return replace(whole, record=_cut(whole.record, periods / slowest))


def _cut(record: Record, seconds: float) -> Record:
    rows = round(seconds * record.sample_rate_hz)
    channels = tuple(replace(channel, samples=channel.samples[:rows].copy()) for channel in record.channels)
    return replace(record, channels=channels)


def saturated(name: str, seed: int) -> Spoiled:
    """One drive at its limit, which the robot file names."""
    motion, axis = _saturated_motion(name, seed % VARIANTS)
    return Spoiled(measured(motion, seed), motion.robot, frozenset({axis}))


def clipped(name: str, seed: int) -> Spoiled:
    """The torque of one axis measured up to 60 to 90 % of its largest value only, a limit that nobody told."""
    whole = good(name, seed)
    rng = np.random.default_rng(seed)
    axis = str(rng.choice([axis.name for axis in whole.robot.axes]))
    level = rng.uniform(0.6, 0.9) * np.abs(_torque_of(whole.record, axis)).max()
    return replace(
        whole, record=_torque(whole.record, axis, lambda x: np.clip(x, -level, level)), axes=frozenset({axis})
    )


def torque_factor(name: str, seed: int) -> Spoiled:
    """The torque of one axis scaled by 0.3 to 0.8, or by 1.25 to 3; of an axis whose scale a record can show."""
    whole = good(name, seed)
    rng = np.random.default_rng(seed)
    axis = str(rng.choice(_scaled_axes(name)))
    factor = rng.uniform(0.3, 0.8) if rng.uniform() < 0.5 else rng.uniform(1.25, 3.0)
    return Spoiled(_torque(whole.record, axis, lambda x: factor * x), whole.robot, frozenset({axis}))


@cache
def _scaled_axes(name: str) -> list[str]:
    """What the verdict on a good run does not name as unseen: known before anything is spoiled."""
    whole = good(name, 0)
    findings = fit_record(whole.record, whole.robot).result.verdict.findings
    unseen = ", ".join(str(f.evidence["axes"]) for f in findings if f.code == "torque_factor_unseen").split(", ")
    return [axis.name for axis in whole.robot.axes if axis.name not in unseen]


def noise(name: str, seed: int) -> Spoiled:
    """Noise of 0.7 to 2 times its torque (root mean squares) on the axis with the smallest torque."""
    whole = good(name, seed)
    rng = np.random.default_rng(seed)
    sizes = {axis.name: np.sqrt(np.mean(_torque_of(whole.record, axis.name) ** 2)) for axis in whole.robot.axes}
    axis = min(sizes, key=sizes.__getitem__)
    std = rng.uniform(0.7, 2.0) * sizes[axis]
    record = _torque(whole.record, axis, lambda x: x + std * rng.standard_normal(len(x)))
    return Spoiled(record, whole.robot, frozenset({axis}))


def wrong_model(name: str, seed: int) -> Spoiled:
    """A machine identified as single axes, each with one of the rotary or linear models."""
    whole = good(name, seed)
    rng = np.random.default_rng(seed)
    axes = tuple(
        replace(axis, dynamic_model=int(rng.integers(1, 4 if axis.revolute else 3)), geometry={"crank_length": 0.3})
        for axis in whole.robot.axes
    )
    robot = replace(whole.robot, axes=axes, machine=None, serial=None, model_kind="axes")
    return Spoiled(whole.record, robot)


def _torque_of(record: Record, axis: str) -> np.ndarray:
    return record.channel(axis, "torque").samples


def _torque(record: Record, axis: str, change: Callable[[np.ndarray], np.ndarray]) -> Record:
    channels = tuple(
        replace(channel, samples=change(channel.samples))
        if (channel.axis, channel.quantity) == (axis, "torque")
        else channel
        for channel in record.channels
    )
    return replace(record, channels=channels)


CLASSES: dict[str, tuple[Callable[[str, int], Spoiled], frozenset[str]]] = {
    "too_slow": (too_slow, frozenset({"too_slow"})),
    "saturated": (saturated, frozenset({"saturation"})),
    "clipped": (clipped, frozenset({"plateau", "torque_clipped"})),
    "too_short": (too_short, frozenset({"too_short"})),
    "region_small": (region, frozenset({"region_small"})),
    "torque_factor": (torque_factor, frozenset({"torque_factor"})),
    "wrong_model": (wrong_model, frozenset({"model_type"})),
    "noise": (noise, frozenset({"noise"})),
}
"""What is spoiled: how, and the codes of the findings that name it."""
