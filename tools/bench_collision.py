#!/usr/bin/env python3
"""False alarms in free motion: the real firmware on the virtual rig watches its torque error, nobody pushes.

One line of JSON: minutes of robot time, faults `collision` that the board latched, alarms of the momentum observer on
the same samples, the payloads that came and went (the model knows them: each comes with its parameters). Exit code 1
where the board gave a false alarm.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np

from idmkit.bench import RobotModel
from idmkit.bench.excite import sine_run
from idmkit.bench.thresholds import moves_and_rests
from idmkit.collision import Thresholds
from idmkit.collision.thresholds import alarms
from idmkit.errors import LinkError
from idmkit.experiments.collision import (
    CHANNELS,
    learn,
    observer_of,
    signals_of,
)
from idmkit.experiments.stage import Stage, stage
from idmkit.link.history import read_faults
from idmkit.robot import load_robot

ROBOTS = ("scara", "puma")
CHUNK_S = 60.0
PAYLOADS = {"scara": ((0.0, 0.0), (0.5, 0.001), (1.5, 0.004))}
"""Mass (kg) and inertia (kg m2) at the tool, one after the other; the other machines carry nothing."""


def watch(here: Stage, thresholds: list[Any]) -> None:
    """The board's own limits, and its watching on."""
    for k, level in enumerate(thresholds):
        for name, value in level.for_board.items():
            here.bench.board.write(name, value, k)
        here.bench.board.write("torque_error_enable", 1, k)


def carry(here: Stage, values: dict[str, float], payload: tuple[float, float]) -> dict[str, float]:
    """The tool takes a payload, and the board gets the parameters with it."""
    mass, inertia = payload
    here.rig.pick_up(mass, inertia)
    known = {"payload_mass": mass, "payload_inertia": inertia} if here.robot.name in PAYLOADS else {}
    here.use(values | known)
    return values | known


def free_motion(name: str, minutes: float) -> dict[str, Any]:
    """Sines of other speeds, moves and rests, for so long."""
    robot = load_robot(name)
    rng = np.random.default_rng(len(name))
    began, moved_s, board_alarms, observer_alarms = time.monotonic(), 0.0, 0, 0
    with stage(robot, 1, RobotModel.of(robot)) as here:
        values = here.identified(here.identify())
        here.use(values)
        payloads = PAYLOADS.get(name, ((0.0, 0.0),))
        thresholds: dict[str, list[Thresholds]] = {}
        for payload in {payloads[0], payloads[-1]}:
            carried = carry(here, values, payload)
            for detector, levels in learn(here, observer_of(here, carried), carried)[1].items():
                before = thresholds.get(detector, levels)
                thresholds[detector] = [one.or_higher(other) for one, other in zip(before, levels, strict=True)]
        chunk = 0
        while moved_s < 60 * minutes:
            payload = payloads[chunk % len(payloads)]
            carried = carry(here, values, payload)
            watch(here, thresholds["torque error"])
            observer = observer_of(here, carried)
            try:
                for run in (
                    sine_run(here.bench, CHANNELS, here.bench.cycles(CHUNK_S), scale=float(rng.uniform(0.5, 1.0))),
                    moves_and_rests(here.bench, CHANNELS),
                ):
                    found = signals_of(run, observer, robot)
                    moved_s += len(found["observer"][0]) * robot.cycle_time_s
                    observer_alarms += sum(
                        bool(np.any(alarms(found["observer"][0][:, k], found["observer"][1][:, k], level)))
                        for k, level in enumerate(thresholds["observer"])
                    )
            except LinkError as stopped:
                board_alarms += 1
                moved_s += CHUNK_S / 2
                record = read_faults(here.bench.board)[0]
                print(f"# {name}, {payload[0]} kg: {record}, {stopped}", file=sys.stderr, flush=True)
                here.bench.board.clear_fault()
                here.bench.settle("disarmed", "holding")
                here.bench.board.disarm(between=here.bench.step)
            chunk += 1
    return {
        "minutes": round(moved_s / 60, 1),
        "board_alarms": board_alarms,
        "observer_alarms": observer_alarms,
        "payloads_kg": [mass for mass, _ in payloads],
        "times_real_time": round(moved_s / (time.monotonic() - began), 2),
    }


def main() -> int:
    """All robots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="of free motion, each robot")
    parser.add_argument("--robots", nargs="+", default=ROBOTS)
    arguments = parser.parse_args()
    robots = {name: free_motion(name, arguments.minutes) for name in arguments.robots}
    passed = all(figures["board_alarms"] == 0 for figures in robots.values())
    print(json.dumps({"free_motion": robots, "passed": passed}))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
