"""Settling: from the end of a move's profile until every axis stays within its window (R14)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from idmkit.bench import RobotModel
from idmkit.bench.performance import named, settling_cycles
from idmkit.bench.run import Run
from idmkit.errors import LinkError
from idmkit.experiments.moves import There, move_of, there_and_back
from idmkit.experiments.outcome import Curve, Outcome, Panel, Table
from idmkit.experiments.stage import Stage, Values, stage
from idmkit.experiments.tuning import GAIN_MARGIN_DB, PHASE_MARGIN_DEG, margins, tunings
from idmkit.rig.servo import best_torque_delay
from idmkit.rig.spec import read_rig_spec
from idmkit.robot import Robot

WITHOUT, WHOLE, IDENTIFIED, TRUE = "without model", "identified, whole cycles only", "identified", "true parameters"
AFTER_S = 0.15
"""Shown after the end of the profile."""


def run(robot: Robot, seed: int, say: Callable[[str], None]) -> Outcome:
    """Identifies, then measures four ways with the robot file's loops, and the best loops without and with model."""
    move = move_of(robot)
    runs: dict[str, Sequence[Run]] = {}
    with stage(robot, seed, RobotModel.of(robot)) as here:
        say("identification")
        identified, true = here.identified(here.identify()), here.true()
        for way, values in ((WITHOUT, None), (IDENTIFIED, identified), (TRUE, true)):
            say(way)
            here.use(values)
            runs[way] = there_and_back(here.bench, move)
        say(WHOLE)
        here.use(identified)
        _whole_cycles_only(here)
        runs[WHOLE] = there_and_back(here.bench, move)
        model = here.model
    curve: dict[float, dict[str, float | None]] = {}
    for hz, other in tunings(robot).items():
        say(f"speed loops of {hz:g} Hz")
        with stage(other, seed, model) as there:
            curve[hz] = {
                way: _settled(there, values, move) for way, values in ((WITHOUT, None), (IDENTIFIED, identified))
            }
    return _outcome(robot, move, runs, curve)


def _whole_cycles_only(here: Stage) -> None:
    """No lead, and the whole cycles that come nearest."""
    here.bench.board.write("torque_lead", 0.0)
    for index, axis in enumerate(read_rig_spec(here.robot).axes):
        nearest = round(best_torque_delay(axis, here.robot.cycle_time_s))
        here.bench.board.write("additive_torque_delay", nearest, index)


def _settled(here: Stage, values: Values | None, move: There) -> float | None:
    """Settling of all axes, s; None where they do not settle, or stray so far that the board stops them."""
    here.use(values)
    try:
        return _slowest(here.robot, there_and_back(here.bench, move))
    except LinkError:
        if here.bench.board.status().fault != "position_error":
            raise
        here.bench.settle("stopped_by_fault", "disarmed")
        here.bench.board.clear_fault()
        return None


def _times(robot: Robot, runs: Sequence[Run]) -> list[float | None]:
    """Of each axis the slower of the moves, s; None where it does not settle in what was recorded."""
    result: list[float | None] = []
    for axis in robot.axes:
        dwell = max(1, round(axis.settling.time_s / robot.cycle_time_s))
        cycles = [settling_cycles(run.record, axis.name, axis.settling.position_error, dwell) for run in runs]
        known = [each for each in cycles if each is not None]
        result.append(max(known) * robot.cycle_time_s if len(known) == len(cycles) else None)
    return result


def _slowest(robot: Robot, runs: Sequence[Run]) -> float | None:
    known = [time for time in _times(robot, runs) if time is not None]
    return max(known) if len(known) == len(robot.axes) else None


def _ms(time: float | None) -> str:
    return "never" if time is None else f"{1e3 * time:.0f}"


def _outcome(
    robot: Robot, move: There, runs: dict[str, Sequence[Run]], curve: dict[float, dict[str, float | None]]
) -> Outcome:
    ways = (WITHOUT, WHOLE, IDENTIFIED, TRUE)
    times = {way: _times(robot, runs[way]) for way in ways}
    slowest = {way: _slowest(robot, runs[way]) for way in ways}
    windows = ", ".join(
        f"{axis.name} {1e3 * axis.settling.position_error:g} {'mrad' if axis.revolute else 'mm'}" for axis in robot.axes
    )
    dwell = ", ".join(sorted({f"{1e3 * axis.settling.time_s:g} ms" for axis in robot.axes}))
    settled = Table(
        f"{robot.name}: {move.text}; settling in ms",
        ["", *(axis.name for axis in robot.axes), "all"],
        [[way, *map(_ms, times[way]), _ms(slowest[way])] for way in ways],
        [
            f"within {windows} for {dwell}; a cycle is {1e3 * robot.cycle_time_s:g} ms",
            *([f"for information: {move.source}"] if move.source else []),
        ],
    )
    best = {way: _best({hz: row[way] for hz, row in curve.items()}) for way in (WITHOUT, IDENTIFIED)}
    tuning = Table(
        f"loops at {GAIN_MARGIN_DB:g} dB and {PHASE_MARGIN_DEG:g} degrees, settling of all axes in ms",
        ["speed loop, Hz", WITHOUT, IDENTIFIED],
        [[f"{hz:g}", _ms(row[WITHOUT]), _ms(row[IDENTIFIED])] for hz, row in curve.items()],
        [
            *(f"best {way}: {_ms(time)} ms at {hz:g} Hz" for way, (hz, time) in best.items()),
            "the robot file's loops: " + "; ".join(_loops(robot)),
        ],
    )
    panels = [*_error_panels(robot, move, runs), _tuning_panel(curve)]
    data: dict[str, Any] = {
        "move": move.text,
        "settling_s": {way: dict(zip((a.name for a in robot.axes), times[way], strict=True)) for way in ways},
        "slowest_s": slowest,
        "tuning_s": {f"{hz:g}": row for hz, row in curve.items()},
        "best": {way: {"speed_loop_hz": hz, "settling_s": time} for way, (hz, time) in best.items()},
    }
    return Outcome("settle", robot.name, [settled, tuning], panels, data)


def _best(curve: dict[float, float | None]) -> tuple[float, float | None]:
    """The bandwidth with the shortest settling, the lowest of equals."""
    known = {hz: time for hz, time in curve.items() if time is not None}
    if not known:
        return next(iter(curve)), None
    hz = min(known, key=lambda each: (known[each], each))
    return hz, known[hz]


def _loops(robot: Robot) -> list[str]:
    """What the robot file's loops are, alike ones once."""
    found: dict[str, None] = {}
    for axis in read_rig_spec(robot).axes:
        each = margins(axis)
        text = f"{axis.speed_loop_hz:g} Hz, {each.gain_db:.1f} dB, {each.phase_deg:.0f} degrees"
        found[text] = None
    return list(found)


def _error_panels(robot: Robot, move: There, runs: dict[str, Sequence[Run]]) -> list[Panel]:
    """The error of each axis after the end of the first move."""
    panels = []
    rows = round(AFTER_S / robot.cycle_time_s)
    for axis in robot.axes:
        curves = []
        for way in (WITHOUT, WHOLE, IDENTIFIED, TRUE):
            record = runs[way][0].record
            command, actual = (named(record, axis.name, f"position_{what}") for what in ("command", "feedback"))
            error = 1e3 * (command[-1] - actual)[move.cycles : move.cycles + rows]
            curves.append(Curve(way, 1e3 * robot.cycle_time_s * np.arange(len(error)), np.asarray(error)))
        window = 1e3 * axis.settling.position_error
        unit = "mrad" if axis.revolute else "mm"
        panels.append(
            Panel(axis.name, "ms after the profile's end", f"target - actual, {unit}", curves, (-window, window))
        )
    return panels


def _tuning_panel(curve: dict[float, dict[str, float | None]]) -> Panel:
    hz = np.array(list(curve))
    curves = [
        Curve(
            way,
            hz,
            np.array([np.nan if row[way] is None else 1e3 * float(row[way] or 0) for row in curve.values()]),
            True,
        )
        for way in (WITHOUT, IDENTIFIED)
    ]
    return Panel("tuning curve at the margins", "speed loop, Hz", "settling, ms", curves)
