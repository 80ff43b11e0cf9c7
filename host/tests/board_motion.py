"""Runs a motion source of the firmware on MicroPython and brings back what it commanded, cycle by cycle."""

import json
import subprocess

import numpy as np
from runtimes import ROOT, micropython

from idmkit.board.settings import conversion_factors, multiplier

# Everything but the controller: the axes, their settings, and one source driven as Motion drives it.
PROGRAM = """
import json, sys
from array import array
from idmwire import properties
from motionboard.axis import Axes, Settings
from motionboard.motion import Motion
task = json.load(open(sys.argv[1]))
n = task["n"]
places, table = properties.slots(n), properties.defaults(n)
for name, values in task["settings"].items():
    for i, value in enumerate(values):
        table[places[name] + i] = value
axes = Axes(n)
settings = Settings(axes, table)
motion = Motion(axes, settings)
kind = task["kind"]
source = motion.sources[kind]
for i in range(n):
    axes.position_command[i] = motion.start[i] = task["start"][i]
for at, words in task["words"]:
    for i, word in enumerate(words):
        motion.data[at + i] = word
if task["shape"]:
    source.shape(*task["shape"])
points, total, given = task["points"], 0, 0
def feed(stop_after):
    global given
    while given < len(points) and given < stop_after and source.free > 0:
        for i in range(n):
            motion.data[(given & 63) * n + i] = points[given][i]
        if not source.take():
            return "point %d" % given
        given += 1
    if given == len(points):
        source.end(given)
reason = None
if points:
    source.clear()
    reason = feed(task["feed"])
reason = reason or source.refusal(task["cycles"])
code = 0
with open(sys.argv[2], "wb") as out:
    if reason is None:
        source.plan(task["cycles"])
        for cycle in range(task["run"]):
            if points:
                reason = feed(task["feed"])
            motion._k[0] = cycle
            code = source.step(source.bound)
            out.write(axes.state[: 3 * n])
            out.write(axes.ahead[: 3 * n])
            if code:
                break
print(json.dumps({"reason": reason, "code": code}))
"""

FOURIER, TRAPEZOID, STREAM = 4, 5, 6


def settings_of(robot):
    """The settings, one value an axis, that motions need."""
    settings = {}
    for axis in robot.axes:
        for stem, factor in conversion_factors(axis, robot.cycle_time_s).items():
            number, shift = multiplier(factor)
            settings.setdefault(f"{stem}_mantissa", []).append(number)
            settings.setdefault(f"{stem}_shift", []).append(shift)
        settings.setdefault("stop_acceleration", []).append(round(axis.acceleration_max * 2**14))
    return settings


def run_source(folder, robot, kind, start, *, words=(), cycles=0, shape=(), points=(), feed=10**6, run=None,
               lead=0.0, machine_words=64, **changes):
    """(report, states [run, 6, n] in counts: commanded q, qd, qdd, then the same ahead)."""
    n = len(robot.axes)
    settings = settings_of(robot) | {"torque_lead": [round(lead * 2**15)]}
    task = {
        "n": n, "kind": kind, "start": list(start), "words": [[at, list(row)] for at, row in words], "cycles": cycles,
        "shape": list(shape), "points": [list(row) for row in points], "feed": feed,
        "run": cycles + 1 if run is None else run, "settings": settings | {k: list(v) for k, v in changes.items()},
    }  # fmt: skip
    (folder / "task.json").write_text(json.dumps(task))
    (folder / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [micropython(machine_words), "-X", "heapsize=8M", folder / "program.py", folder / "task.json", folder / "out"],
        cwd=ROOT, env={"MICROPYPATH": "firmware:shared"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    states = np.fromfile(folder / "out", dtype=np.int32).reshape(-1, 6, n).astype(float)
    return json.loads(done.stdout), states
