"""Collision: pushes of a tenth of each joint's largest torque, at rest, moving and reversing; how soon they are seen.

The firmware computes its torque error in every run; the momentum observer works on the same samples. Thresholds of both
come from free motion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.bench import RobotModel
from idmkit.bench.excite import sine_run
from idmkit.bench.moves import move_to
from idmkit.bench.performance import named
from idmkit.bench.run import Run, capture_while
from idmkit.bench.thresholds import free_motion
from idmkit.collision import MomentumObserver, Thresholds, first_alarm, suggest
from idmkit.collision.thresholds import SLOW, alarms, filter_memory
from idmkit.experiments.outcome import Curve, Outcome, Panel, Table
from idmkit.experiments.stage import Stage, stage
from idmkit.robot import Axis, Robot

Array = NDArray[np.float64]
Signals = dict[str, tuple[Array, Array]]
"""By detector: signal and speed, [S, n] each."""

CHANNELS = ("position_feedback", "torque_feedback", "torque_error", "velocity_command")
SHARE = 0.1
"""Of the joint's largest torque."""
PUSH_S, BETWEEN_S = 0.1, 0.5
BEFORE = 20
"""Samples before a push that the picture shows."""
BANDWIDTH_HZ = 40.0
OBSERVER_MEMORY, STILL_COUNTS = 5, 4
"""Cycles after rest in which the observer may still be wrong by the friction; counts a cycle that are no motion."""
DETECTORS = ("torque error", "observer")
GOALS_MS = {"observer": 10.0, "torque error": 20.0}
PHASES = ("at rest", "moving", "reversing")


@dataclass(frozen=True)
class Pushed:
    """A push on one axis in one phase.

    `found`: samples until each detector saw it, None where it did not; `around`: its signal from BEFORE samples before
    the push to the end of it.
    """

    axis: Axis
    phase: str
    effort: float
    found: dict[str, int | None]
    around: dict[str, Array]


def run(robot: Robot, seed: int, say: Callable[[str], None]) -> Outcome:
    """Identifies, learns the thresholds, pushes."""
    with stage(robot, seed, RobotModel.of(robot)) as here:
        say("identification")
        values = here.identified(here.identify())
        here.use(values)
        observer = observer_of(here, values)
        say("free motion")
        free, thresholds = learn(here, observer, values)
        say("pushes at rest")
        rest = _at_rest(here, observer, thresholds)
        pushes = list(rest)
        for phase in PHASES[1:]:
            say(f"pushes {phase}")
            pushes += _in_motion(here, observer, thresholds, phase)
    return _outcome(robot, pushes, thresholds, free)


def observer_of(here: Stage, values: Mapping[str, float]) -> MomentumObserver:
    """The observer of a stage's model with `values`."""
    lags = np.array([axis.drive.torque_feedback_lag_cycles for axis in here.robot.axes])
    return MomentumObserver(here.compiled.graph, values, here.robot.cycle_time_s, lags, BANDWIDTH_HZ)


def learn(
    here: Stage, observer: MomentumObserver, values: Mapping[str, float]
) -> tuple[Signals, dict[str, list[Thresholds]]]:
    """Signals of free motion, and the thresholds of both detectors that follow, one an axis."""
    runs = free_motion(here.bench, CHANNELS)
    recorded = [signals_of(run, observer, here.robot) for run in runs]
    free = {
        name: (np.vstack([part[name][0] for part in recorded]), np.vstack([part[name][1] for part in recorded]))
        for name in DETECTORS
    }
    return free, {name: levels_of(here.robot, values, free, name) for name in DETECTORS}


def levels_of(robot: Robot, values: Mapping[str, float], free: Signals, name: str) -> list[Thresholds]:
    """One detector's thresholds for all axes."""
    signal, speed = free[name]
    ends = 2 if name == "torque error" else 1  # the board's model holds the last direction, the observer knows none
    return [
        suggest(
            signal[:, k],
            speed[:, k],
            SLOW * axis.velocity_max,
            filter_memory(axis.guards.torque_error_filter, axis.drive.torque_error_delay_cycles)
            if name == "torque error"
            else OBSERVER_MEMORY,
            ends * values[f"{axis.name}.Fc"],
        )
        for k, axis in enumerate(robot.axes)
    ]


def signals_of(run: Run, observer: MomentumObserver, robot: Robot) -> Signals:
    """Both detectors' signals, and the speed by which each is judged."""

    def columns(name: str) -> Array:
        return np.column_stack([named(run.record, axis.name, name) for axis in robot.axes])

    position = columns("position_feedback")
    # The board judges by its command; the observer by what it measures, still where that is a few counts a cycle.
    speed = np.gradient(position, robot.cycle_time_s, axis=0)
    counts = np.array([1 / abs(axis.drive.counts_per_unit) for axis in robot.axes])
    speed[np.abs(speed) < STILL_COUNTS * counts / robot.cycle_time_s] = 0.0
    return {
        "torque error": (columns("torque_error"), columns("velocity_command")),
        "observer": (observer.residual(position, columns("torque_feedback")), speed),
    }


def _push(here: Stage, cycle: int, pushes: Sequence[tuple[int, int, float]]) -> None:
    """Pushes for PUSH_S, told by the board's cycles."""
    ahead = here.rig.cycle - here.bench.board.status().cycle
    for axis, at, effort in pushes:
        here.rig.push(axis, effort, cycles=here.bench.cycles(PUSH_S), from_cycle=cycle + at + ahead)


def _effort(axis: Axis) -> float:
    return SHARE * axis.drive.joint_peak_torque


def _at_rest(here: Stage, observer: MomentumObserver, thresholds: dict[str, list[Thresholds]]) -> list[Pushed]:
    """All axes hold in the middle of their runs."""
    bench, axes = here.bench, here.robot.axes
    between = bench.cycles(BETWEEN_S)
    pushes = [(k, (k + 1) * between, _effort(axis)) for k, axis in enumerate(axes)]
    with bench.armed():
        move_to(bench, [(own.start + own.target) / 2 for own in (axis.identification for axis in axes)])
        bench.settle()
        found = capture_while(bench, CHANNELS, (len(axes) + 2) * between, lambda cycle: _push(here, cycle, pushes))
    return _judged(here, signals_of(found, observer, here.robot), thresholds, pushes, PHASES[0])


def _in_motion(
    here: Stage, observer: MomentumObserver, thresholds: dict[str, list[Thresholds]], phase: str
) -> list[Pushed]:
    """Each axis pushed at its highest speed, or at a reversal, one after the other."""
    pushes, at = [], BETWEEN_S
    for k, axis in enumerate(here.robot.axes):
        frequency = axis.identification.frequency_hz
        # The sine begins at one end: middles are at odd quarters of a period, ends at halves.
        quarter = 0.25 / frequency
        turn = np.ceil(at / quarter)
        turn += (turn % 2 == 0) if phase == "moving" else (turn % 2 == 1)
        pushes.append((k, here.bench.cycles(float(turn * quarter)), _effort(axis)))
        at = turn * quarter + BETWEEN_S
    cycles = here.bench.cycles(at + BETWEEN_S)
    run = sine_run(here.bench, CHANNELS, cycles, begun=lambda cycle: _push(here, cycle, pushes))
    return _judged(here, signals_of(run, observer, here.robot), thresholds, pushes, phase)


def _judged(
    here: Stage,
    signals: Signals,
    thresholds: dict[str, list[Thresholds]],
    pushes: Sequence[tuple[int, int, float]],
    phase: str,
) -> list[Pushed]:
    """How many samples after its begin each push was seen on its own axis, while it lasted."""
    last = here.bench.cycles(PUSH_S)
    pushed = []
    for k, at, effort in pushes:
        found: dict[str, int | None] = {}
        for name, levels in thresholds.items():
            signal, speed = signals[name]
            delay = first_alarm(signal[:, k], speed[:, k], levels[k], at)
            found[name] = None if delay is None or delay > last else delay
        around = {name: signals[name][0][at - BEFORE : at + last, k] for name in thresholds}
        pushed.append(Pushed(here.robot.axes[k], phase, effort, found, around))
    return pushed


def _outcome(robot: Robot, pushes: Sequence[Pushed], thresholds: dict[str, list[Thresholds]], free: Signals) -> Outcome:
    ms = 1e3 * robot.cycle_time_s
    rows = []
    for k, axis in enumerate(robot.axes):
        own = [push for push in pushes if push.axis is axis]
        for name, levels in thresholds.items():
            times = [_time(push.found[name], ms) for push in own]
            rows.append(
                [f"{axis.name}, {name}", f"{own[0].effort:.3g}", f"{levels[k].rest:.3g}", f"{levels[k].slow:.3g}",
                 f"{levels[k].fast:.3g}", *times]
            )  # fmt: skip
    false = {
        name: int(sum(alarms(free[name][0][:, k], free[name][1][:, k], level).sum() for k, level in enumerate(levels)))
        for name, levels in thresholds.items()
    }
    notes = [
        f"goals: {', '.join(f'{name} {goal:g} ms' for name, goal in GOALS_MS.items())}; '-': not seen while it lasted",
        "an axis at rest does not show a push that its Coulomb friction holds",
    ]
    title = f"{robot.name}: pushes of {100 * SHARE:.0f} % of the largest torque for {PUSH_S:g} s; ms until seen"
    table = Table(title, ["", "push", "rest", "slow", "fast", *PHASES], rows, notes)
    panels = [_panel(push, thresholds["observer"][k].fast, ms) for k, push in enumerate(_moving(pushes))]
    data = {
        "pushes": [
            {"axis": push.axis.name, "phase": push.phase, "effort": push.effort,
             **{f"{name} ms": None if delay is None else delay * ms for name, delay in push.found.items()}}
            for push in pushes
        ],
        "alarms_in_free_motion": false,
    }  # fmt: skip
    return Outcome("collision", robot.name, [table], panels, data)


def _moving(pushes: Sequence[Pushed]) -> list[Pushed]:
    return [push for push in pushes if push.phase == "moving"]


def _panel(push: Pushed, level: float, ms: float) -> Panel:
    """What both detectors showed of a push; the observer's level as a band."""
    curves = [
        Curve(name, ms * (np.arange(len(signal)) - BEFORE), np.abs(signal), marked=True)
        for name, signal in push.around.items()
    ]
    unit = "Nm" if push.axis.revolute else "N"
    title = f"{push.axis.name}, moving, pushed with {push.effort:.3g} {unit}"
    return Panel(title, "ms after the push begins", f"|signal|, {unit}", curves, (0.0, level))


def _time(delay: int | None, ms: float) -> str:
    return "-" if delay is None else f"{delay * ms:.0f}"
