#!/usr/bin/env python3
"""Identifies the ready machines 100 times from one motion each, with other noise every time.

One line of JSON: how often the 95 % intervals hold the parameters that the plant was measured to have, over all and
for the worst parameter, and the largest torque error on a motion not used, in percent of the largest torque. Exit code
1 where the share leaves 90 to 99 % or the error exceeds 2 %.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "host" / "tests"))

import numpy as np
from machine_runs import deviations, measured, run, sines

from idmkit.fitting import fit_record
from idmkit.robot import load_robot
from idmkit.verdict import torque_errors

RUNS = 100
ROBOTS = ("two_link", "scara", "delta", "puma")
LOW, HIGH = 0.90, 0.99
HOLD_OUT_PERCENT = 2.0
TWO_SIGMA = 1.959964


def judged(name: str) -> dict[str, float]:
    """The figures of one machine, over the whole of its identification run."""
    robot = load_robot(name)
    motion = run(robot, sines(robot), max(axis.identification.duration_s for axis in robot.axes))
    _, errors, stds = deviations(motion, range(RUNS))
    inside = np.abs(errors) < TWO_SIGMA * stds
    other = run(robot, sines(robot, scale=0.83, late=3.1), 10.0)
    seen = fit_record(measured(other, 0, noise=0.0), robot).observations
    estimate = fit_record(measured(motion, 0), robot).estimate
    return {
        "inside": round(float(inside.mean()), 4),
        "inside_worst": float(inside.mean(axis=0).min()),
        "hold_out_percent": round(max(axis.max_percent for axis in torque_errors(seen, estimate)), 3),
    }


def main() -> int:
    """Runs all machines; seeds 0 to 99."""
    figures = {name: judged(name) for name in ROBOTS}
    passed = all(LOW <= f["inside"] <= HIGH and f["hold_out_percent"] < HOLD_OUT_PERCENT for f in figures.values())
    print(json.dumps({"runs": RUNS, "interval": 0.95, "machines": figures, "passed": passed}))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
