"""Jerk limits of point-to-point motions, on every commanded sample of the firmware's own Motion."""

import json
import subprocess

import numpy as np
import pytest
from board_motion import settings_of
from runtimes import ROOT, WORDS, micropython

from idmkit.bench.moves import move_time
from idmkit.excitation.coefficients import counts_per_unit
from idmkit.robot import load_robot

MOVES = 50

PROGRAM = """
import json, sys
from idmwire import properties
from motionboard.axis import Axes, Settings
from motionboard.motion import MOVE, Motion
task = json.load(open(sys.argv[1]))
n = task["n"]
places, table = properties.slots(n), properties.defaults(n)
for name, values in task["settings"].items():
    for i, value in enumerate(values):
        table[places[name] + i] = value
axes = Axes(n)
motion = Motion(axes, Settings(axes, table))
with open(sys.argv[2], "wb") as out:
    for move in task["moves"]:
        for i in range(n):
            motion.start[i] = axes.position_command[i]
            for name in ("distance", "velocity", "acceleration"):
                getattr(motion, name)[i] = move[name][i]
        assert motion.refusal(MOVE, move["cycles"]) is None
        axes.cycle[0] = 1
        motion.plan(MOVE, 1, move["cycles"])
        while motion.moving:
            motion.step()
            axes.cycle[0] += 1
            out.write(axes.state[: 3 * n])
"""


@pytest.mark.parametrize("machine_words", WORDS)
@pytest.mark.parametrize("name", ["scara", "puma"])
def test_no_sample_of_random_moves_exceeds_a_jerk_limit(name, machine_words, tmp_path):
    """MOVES random moves a robot, 100 in all, as fast as the bench lets them be."""
    robot = load_robot(name)
    rng = np.random.default_rng(11)
    size, cycle = counts_per_unit(robot), robot.cycle_time_s
    low, high = (np.array([getattr(axis, f"position_{end}") for axis in robot.axes]) for end in ("min", "max"))
    moves, here = [], np.zeros(len(size))
    for _ in range(MOVES):
        # Any length, from a hundredth of the range to all of it.
        target = np.clip(here + rng.choice([-1, 1], len(size)) * (high - low) * 10 ** rng.uniform(-2, 0), low, high)
        way = np.round(target * size) - np.round(here * size)
        cycles = max(10, -(-move_time(robot, list(here), list(target)) // cycle))
        seconds = cycles * cycle
        moves.append({
            "cycles": int(cycles), "distance": [int(count) for count in way],
            "velocity": [round(v) for v in way / size / seconds * 2**20],
            "acceleration": [round(a) for a in way / size / seconds**2 * 2**14],
        })  # fmt: skip
        here = (np.round(here * size) + way) / size
    task = {"n": len(size), "moves": moves, "settings": settings_of(robot)}
    (tmp_path / "task.json").write_text(json.dumps(task))
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [micropython(machine_words), "-X", "heapsize=8M", tmp_path / "program.py", tmp_path / "task.json",
         tmp_path / "out"],
        cwd=ROOT, env={"MICROPYPATH": "firmware:shared"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    states = np.fromfile(tmp_path / "out", dtype=np.int32).reshape(-1, 3, len(size))
    jerks = np.abs(np.diff(states[:, 2] / 2**14, axis=0)).max(axis=0) / cycle
    most = np.array([axis.jerk_max for axis in robot.axes])
    # The acceleration in a sample is a whole count, to within four of 2^-28 of its shape.
    slack = 2 * 2**-14 / cycle
    assert np.all(jerks <= most + slack), jerks / most
    # And the limit is used: the shortest moves are those that it limits.
    assert np.all(jerks > 0.5 * most), jerks / most
