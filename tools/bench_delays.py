#!/usr/bin/env python3
"""Measures delays and lead on virtual drives whose delays are known, with the real firmware.

A crank whose torque is best sent 0 to 16 cycles after its command, then SCARA, DELTA and PUMA as their files have
them. One line of JSON: the largest errors of the best torque delay in cycles, of the lead that is written for all axes
in ms, and of the position's delay in cycles. Exit code 1 where a delay is off by more than 0.1 cycle or the lead by
more than 0.2 ms.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "host" / "tests"))

from delay_rigs import late_bench, late_robot

from idmkit.bench.delays import measure_delays

CRANKS = [("crank", 0, 1), *(("crank", setpoints, 0) for setpoints in range(16))]
"""The set-points' buffer and the torque's, in cycles: AdditiveTorqueDelay is 0 to 16."""
MACHINES = [("scara", 2, 0), ("delta", 2, 0), ("puma", 2, 0)]
CYCLES = 0.1
LEAD_MS = 0.2


def measured(name: str, setpoints: int, torques: int) -> dict[str, float]:
    """Errors of one robot, the largest over its axes."""
    robot, best = late_robot(name, setpoints, torques)
    with late_bench(robot) as bench:
        found = measure_delays(bench)
    off = [abs(axis.torque.samples - best) for axis in found.axes]
    sent = [abs(axis.additive_torque_delay - found.torque_lead - best) for axis in found.axes]
    ms = 1e3 * robot.cycle_time_s
    return {
        "delay": found.axes[0].additive_torque_delay,
        "cycles": round(max(off), 3),
        "lead_ms": round(ms * max(sent), 3),
        "position": round(max(abs(axis.position.samples - setpoints - 3) for axis in found.axes), 4),
    }


def main() -> int:
    """Runs all; one line."""
    cranks = [measured(*robot) for robot in CRANKS]
    machines = {robot[0]: measured(*robot) for robot in MACHINES}
    every = [*cranks, *machines.values()]
    worst = {key: max(each[key] for each in every) for key in ("cycles", "lead_ms", "position")}
    delays = sorted(each["delay"] for each in cranks)
    passed = worst["cycles"] < CYCLES and worst["lead_ms"] < LEAD_MS and delays == list(range(17))
    print(json.dumps({"crank_delays": delays, "worst": worst, "machines": machines, "passed": passed}))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
