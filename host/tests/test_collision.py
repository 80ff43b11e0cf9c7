"""The momentum observer against MuJoCo: a push that no drive makes is what it finds; thresholds from free motion."""

import math

import numpy as np
import pytest

from idmkit.collision import MomentumObserver, Thresholds, first_alarm, suggest
from idmkit.collision.thresholds import ABOVE_ALL, DURATION, HELD, MARGIN, alarms
from idmkit.rig.machine_plant import build_plant
from idmkit.rig.spec import read_rig_spec
from idmkit.rig.truth import measure
from idmkit.robot import load_robot
from idmkit.robot_graph import robot_graph

SPEED_HZ = 0.5
PUSH = {"scara": (12.0, 5.0, 25.0, 1.0), "two_link": (8.0, 3.0), "puma": (20.0, 40.0, 20.0, 4.0, 3.0, 3.0)}


def pushed_run(name: str, seconds: float, push_from: float):
    """(position [K, n], mean torque of the motors [K, n], push [n]) of a free fall caught by springs, then pushed.

    No servo and no model: motors are springs and dampers to a moving place, so torques are smooth and exact.
    """
    robot = load_robot(name)
    spec = read_rig_spec(robot)
    plant = build_plant(robot, spec)
    n, m = len(robot.axes), spec.substeps
    runs = [axis.identification for axis in robot.axes]
    middle = np.array([(own.start + own.target) / 2 for own in runs])
    reach = np.array([0.5 * own.amplitude for own in runs])
    plant.position[:] = middle
    plant.close_loops()
    inertia = np.array([plant.inertia(k) for k in range(n)])
    for k in range(n):
        plant.set_brake(k, False)
    w = 2 * math.pi * 6.0
    h = robot.cycle_time_s / m
    effort = np.array(PUSH[name])
    cycles = round(seconds / robot.cycle_time_s)
    positions, torques, last = np.empty((cycles, n)), np.empty((cycles, n)), plant.position.copy()
    for cycle in range(cycles):
        positions[cycle] = plant.position
        total = np.zeros(n)
        for step in range(m):
            t = (cycle * m + step) * h
            goal = middle + reach * np.sin(2 * math.pi * SPEED_HZ * t * np.linspace(1, 1.5, n))
            speed = (plant.position - last) / h
            last = plant.position.copy()
            motor = inertia * (w**2 * (goal - last) - 1.4 * w * speed)
            total += motor
            plant.force[:] = motor + (effort if t >= push_from else 0.0)
            plant.step()
        torques[cycle] = total / m
    truth = measure(robot, plant)
    values = {k if owner == robot.name else f"{owner}.{k}": v for owner, own in truth.items() for k, v in own.items()}
    return robot, values, positions, torques, effort


@pytest.mark.parametrize("name", ["two_link", "scara", "puma"])
def test_a_push_is_what_the_observer_finds(name):
    robot, values, position, torque, effort = pushed_run(name, 3.0, 2.0)
    # torque[k] is the mean of the cycle that begins at sample k: half a cycle ahead of it.
    torque = np.vstack((torque[:1], torque[:-1]))
    observer = MomentumObserver(
        robot_graph(robot), values, robot.cycle_time_s, np.full(len(robot.axes), 0.5), bandwidth_hz=30.0
    )
    residual = observer.residual(position, torque)
    begin = round(2.0 / robot.cycle_time_s)
    free, pushed = residual[begin // 2 : begin], residual[begin + 50 :]
    # Off reversals, where Coulomb friction turns inside a cycle; the plant's friction has a width there.
    speed = np.abs(np.gradient(position, robot.cycle_time_s, axis=0))
    for k in range(len(robot.axes)):
        moving = speed[:, k] > 0.1 * speed[:, k].max()
        # 3 % of the push: first-order differences at 2 ms of motions at some hertz, and MuJoCo's friction.
        assert np.abs(np.median(free[moving[begin // 2 : begin], k])) < 0.03 * effort[k]
        assert np.median(pushed[moving[begin + 50 :], k]) == pytest.approx(effort[k], rel=0.05)


def test_levels_hold_for_noise_of_the_same_kind():
    rng = np.random.default_rng(5)
    speed = 2.0 * np.sin(np.linspace(0, 60, 30000))
    speed[20000:] = 0.0
    noise = np.where(np.abs(speed) <= 0.06, 3.0, 1.0)
    levels = suggest(noise * rng.standard_normal(30000), speed, 0.06, rest_cycles=0)
    # Two normal samples in a row beyond x have P(|x|)^2; its 99.9 % quantile is 2.15, the largest of 20,000 some 2.9.
    # The few hundred slow ones scatter most.
    for level, scale in ((levels.fast, 1.0), (levels.rest, 3.0), (levels.slow, 3.0)):
        assert 2.15 * MARGIN * 0.75 < level / scale < 2.9 * ABOVE_ALL * 1.3
    fresh = noise * rng.standard_normal(30000)
    assert not alarms(fresh, speed, levels).any()


def test_rest_lasts_on_and_a_reversal_is_none():
    speed = np.array([0, 0, 0, 2.0, 2, 2, 2, 0, -2, -2, 0, 0, -2, -2, -2, 0.01])
    levels = Thresholds(rest_cycles=2, slow_speed=0.05, rest=9.0, slow=5.0, fast=1.0)
    assert levels.at(speed).tolist() == [9, 9, 9, 9, 9, 1, 1, 5, 1, 1, 9, 9, 9, 9, 1, 5]
    assert levels.for_board["torque_error_max"] == 5.0


def test_held_friction_raises_the_level_at_rest_only():
    rng = np.random.default_rng(6)
    signal, speed = rng.standard_normal(9000), np.repeat([0.0, 0.5, 2.0], 3000)
    plain, held = (suggest(signal, speed, 1.0, 10, held) for held in (0.0, 7.0))
    assert held.rest == held.fast + HELD * 7.0 > plain.rest
    assert (held.slow, held.fast) == (plain.slow, plain.fast)


def test_an_alarm_lasts_and_begins_after_the_push():
    levels = Thresholds(rest_cycles=0, slow_speed=0.1, rest=5.0, slow=3.0, fast=1.0)
    speed = np.ones(100)
    signal = np.zeros(100)
    signal[20] = 9.0  # one sample is no alarm
    signal[60:] = -2.0
    assert first_alarm(signal, speed, levels, 10) == 50 + DURATION - 1
    assert first_alarm(signal, speed, levels, 70) is None  # it stands already
    assert first_alarm(signal, 0.05 * speed, levels, 10) is None  # below the level of slow motion
    assert first_alarm(2 * signal, 0.05 * speed, levels, 10) == 50 + DURATION - 1
    assert first_alarm(2 * signal, 0 * speed, levels, 10) is None
