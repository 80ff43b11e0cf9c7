"""Before the first fast motion: each axis jogged slowly, what it shows held against the robot file (R37).

A wrong sign, a wrong TorqueFactor, a swapped axis or a wrong delay shows at a twentieth of the speed as well as at full
speed, and harms nobody there. Then the motion of the identification run at a tenth of its speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.bench.bench import Bench
from idmkit.bench.excite import sine_run
from idmkit.bench.moves import PEAK_VELOCITY, positions
from idmkit.bench.performance import named, position_delay
from idmkit.bench.run import Run, capture_while
from idmkit.errors import IdmError
from idmkit.finding import Finding
from idmkit.link import motion
from idmkit.robot import Axis, Robot
from idmkit.robot_graph import robot_graph

Array = NDArray[np.float64]

CHANNELS = ("position_command", "position_feedback", "torque_feedback")
JOG_RANGE, JOG_SPEED = 0.05, 0.05
"""Of the axis' range and of its speed."""
REST_S = 0.3
FOLLOWS, DRAGGED = 0.1, 0.1
"""How far a jogged axis may miss its way, and how far another one may move along, in parts of the way."""
SURE = 4.0
"""Standard deviations from which on a sign counts."""
HEAVY, NOISY = 0.6, 0.1
"""Of the peak torque for a slow jog; torque noise in parts of the rated torque."""
SLOW_SCALE, SLOW_MOST_S = 0.1, 40.0


@dataclass(frozen=True)
class Jogged:
    """What a jog showed, and `findings` about it; Nm or N.

    `noise` of the torque at rest; `friction`, half the difference of the torques of both ways, and `gravity`, their
    mean; `delay` of the position in cycles.
    """

    axis: str
    noise: float
    friction: float
    friction_std: float
    gravity: float
    delay: int
    findings: tuple[Finding, ...]


def check(bench: Bench, say: Callable[[str], None]) -> tuple[list[Jogged], list[Finding]]:
    """Jogs all axes one after the other, then the slow identification run; (what each showed, findings about the run).

    The slow run is left out where a jog was refused. Raises IdmError where an axis has no room to move, before
    anything moves, and what link and board raise.
    """
    robot = bench.robot
    goals = [_goal(axis, here) for axis, here in zip(robot.axes, positions(bench), strict=True)]
    jogs = []
    with bench.armed():
        for k, axis in enumerate(robot.axes):
            say(f"{axis.name}: jog")
            jogs.append(_jogged(robot, k, _jog(bench, k, goals[k])))
    if any(finding.severity == "refusal" for jog in jogs for finding in jog.findings):
        return jogs, []
    say(f"identification run at {100 * SLOW_SCALE:.0f} % of its speed")
    return jogs, _slow_findings(robot, _slow_run(bench))


def _goal(axis: Axis, here: float) -> float:
    """Where the jog goes: towards the farther limit."""
    way = JOG_RANGE * (axis.position_max - axis.position_min)
    if not axis.position_min <= here <= axis.position_max:
        unit = "rad" if axis.revolute else "m"
        raise IdmError(
            f"axis {axis.name} stands at {here:.4g} {unit}, outside of its limits {axis.position_min:g} to "
            f"{axis.position_max:g}; move it inside by hand, or check the drive's zero"
        )
    return here + way if axis.position_max - here > here - axis.position_min else here - way


def _jog(bench: Bench, k: int, goal: float) -> Run:
    """Rest, to `goal` and back, rest."""
    start = positions(bench)
    target = [goal if j == k else here for j, here in enumerate(start)]
    axis = bench.robot.axes[k]
    last = bench.cycles(PEAK_VELOCITY * abs(goal - start[k]) / (JOG_SPEED * axis.velocity_max))
    rest = bench.cycles(REST_S)

    def go(cycle: int) -> None:
        motion.move(bench.board, target, last, start_cycle=cycle + rest)
        bench.run_until(cycle + rest + last + 2)
        motion.move(bench.board, start, last)

    run = capture_while(bench, CHANNELS, 2 * (rest + last), go)
    bench.settle()
    return run


def _jogged(robot: Robot, k: int, run: Run) -> Jogged:
    axis = robot.axes[k]
    command, actual, torque = (named(run.record, axis.name, name) for name in CHANNELS)
    delay = position_delay(run.record, axis.name)
    speed = np.gradient(command)
    moving = np.abs(speed) > 0.5 * np.abs(speed).max()
    there, back = moving & (speed > 0), moving & (speed < 0)
    still = slice(0, round(REST_S * run.record.sample_rate_hz / 2))
    noise = float(torque[still].std())
    up, down = float(torque[there].mean()), float(torque[back].mean())
    # Samples of one way are not independent of each other: a tenth of them counts.
    std = float(np.hypot(*(torque[part].std() / np.sqrt(max(part.sum() / 10, 1)) for part in (there, back)))) / 2
    way = float(np.ptp(command))
    dragged = {
        other.name: float(np.ptp(named(run.record, other.name, "position_feedback")))
        for other in robot.axes
        if other is not axis and other.revolute == axis.revolute
    }
    gravity = (up + down) / 2
    findings = [
        *_follows(axis, way, float(np.ptp(actual)), dragged),
        *_signs(axis, (up - down) / 2, std),
        *_sizes(axis, float(np.abs(torque).max()), noise),
        *_weight(robot, k, run, gravity, abs(up - down) / 2 + SURE * std),
        *_delay(axis, delay),
    ]
    return Jogged(axis.name, noise, (up - down) / 2, std, gravity, delay, tuple(findings))


def _follows(axis: Axis, way: float, moved: float, dragged: Mapping[str, float]) -> list[Finding]:
    unit = "rad" if axis.revolute else "m"
    if abs(moved - way) > FOLLOWS * way:
        text = f"commanded over {way:.4g} {unit}, it moved {moved:.4g} {unit}."
        step = "Check node_id, encoder_counts_per_turn, gear_ratio and the brake."
        return [Finding("does_not_follow", "refusal", axis.name, text, {"way": way, "moved": moved}, step)]
    return [
        Finding(
            "dragged", "warning", axis.name,
            f"{other} moved {moved:.3g} {unit} along, {100 * moved / way:.0f} % of the way.",
            {"other": other, "moved": moved}, "Check the coupling of these axes, and that the other drive holds.",
        )
        for other, moved in dragged.items()
        if moved > DRAGGED * way
    ]  # fmt: skip


def _signs(axis: Axis, friction: float, std: float) -> list[Finding]:
    """Friction opposes motion: the motor's torque is larger on the way up than on the way down."""
    unit = "Nm" if axis.revolute else "N"
    evidence = {"friction": friction, "std": std}
    if friction < -SURE * std:
        text = f"the torque is {-2 * friction:.3g} {unit} smaller on the way up than down, as if friction pushed."
        step = "Torque and position have different signs: check the drive's polarity and the sign of gear_ratio."
        return [Finding("torque_sign", "refusal", axis.name, text, evidence, step)]
    if friction < SURE * std:
        text = (
            f"no friction can be told from the noise ({friction:.3g} +- {std:.2g} {unit}); the torque's sign is open."
        )
        return [Finding("sign_unknown", "info", axis.name, text, evidence)]
    return []


def _sizes(axis: Axis, largest: float, noise: float) -> list[Finding]:
    unit, drive, findings = ("Nm" if axis.revolute else "N"), axis.drive, []
    if largest > HEAVY * drive.joint_peak_torque:
        share = 100 * largest / drive.joint_peak_torque
        text = f"a slow jog takes {largest:.4g} {unit}, {share:.0f} % of the drive's peak."
        step = "Check for a closed brake or a stuck axis, and rated_torque and peak_torque (idm torque-factor)."
        findings.append(Finding("heavy", "warning", axis.name, text, {"largest": largest}, step))
    if noise > NOISY * drive.joint_rated_torque:
        text = f"the torque at rest scatters by {noise:.3g} {unit}, {100 * noise / drive.joint_rated_torque:.0f} % of"
        step = "Check grounding and the drive's current filter; record longer."
        findings.append(Finding("noisy", "warning", axis.name, text + " the rated torque.", {"noise": noise}, step))
    return findings


def _weight(robot: Robot, k: int, run: Run, gravity: float, spread: float) -> list[Finding]:
    """The mean torque of both ways against the weights that the robot file's parameter ranges allow."""
    axis = robot.axes[k]
    regressor = robot_graph(robot).regressor()
    where = np.array([[np.median(named(run.record, each.name, "position_feedback")) for each in robot.axes]])
    zero = np.zeros_like(where)
    matrix, offset = regressor(where, zero, zero, zero)
    ranges = dict(robot.machine.parameter_ranges) if robot.machine is not None else {}
    for each in robot.axes:
        ranges |= {f"{each.name}.{name}": limits for name, limits in each.parameter_ranges.items()}
    needed = [(name, y) for name, y in zip(regressor.names, matrix[k, 0], strict=True) if abs(y) > 1e-9]
    if any(name not in ranges for name, _ in needed):
        return []
    ends = [sorted((y * ranges[name][0], y * ranges[name][1])) for name, y in needed]
    low, high = (float(offset[k, 0]) + sum(end[side] for end in ends) for side in (0, 1))
    if low - spread <= gravity <= high + spread:
        return []
    unit = "Nm" if axis.revolute else "N"
    text = f"the weight here takes {gravity:.3g} {unit}; the robot file's ranges allow {low:.3g} to {high:.3g} {unit}."
    step = "Check TorqueFactor (rated torque, gear ratio: idm torque-factor), the zero position, or the ranges."
    return [Finding("weight", "warning", axis.name, text, {"gravity": gravity, "low": low, "high": high}, step)]


def _delay(axis: Axis, delay: int) -> list[Finding]:
    written = axis.drive.position_error_delay_cycles
    if abs(delay - written) <= 1:
        return []
    text = f"the position follows {delay} cycles behind the command, the robot file says {written}."
    step = "Measure all delays with `idm delays`."
    return [Finding("delay", "warning", axis.name, text, {"measured": delay, "written": written}, step)]


def _slow_run(bench: Bench) -> Run:
    slowest = min(axis.identification.frequency_hz for axis in bench.robot.axes) * SLOW_SCALE
    cycles = bench.cycles(min(1 / slowest, SLOW_MOST_S))
    every = max(1, cycles // 20_000)
    return sine_run(bench, CHANNELS, cycles, scale=SLOW_SCALE, comfort=1 / SLOW_SCALE, every=every)


def _slow_findings(robot: Robot, run: Run) -> list[Finding]:
    findings = []
    for axis in robot.axes:
        torque = float(np.abs(named(run.record, axis.name, "torque_feedback")).max())
        if torque > HEAVY * axis.drive.joint_peak_torque:
            share = 100 * torque / axis.drive.joint_peak_torque
            text = f"at a tenth of its speed the motion takes {share:.0f} % of the peak torque."
            step = "At full speed it will saturate: choose other ends, or check the weight it carries."
            findings.append(Finding("heavy", "warning", axis.name, text, {"largest": torque}, step))
    return findings
