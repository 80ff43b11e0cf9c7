"""Experiments on the rig: loops at their margins, the sources' moves, tables, and equal bits for equal seeds."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from cli import idm

from idmkit.cartesian.pose import Tool
from idmkit.errors import IdmError
from idmkit.experiments import EXPERIMENTS, tuning
from idmkit.experiments.moves import move_of
from idmkit.experiments.outcome import Curve, Outcome, Panel, Table
from idmkit.report.panels import save_panels
from idmkit.rig.servo import Servo
from idmkit.rig.spec import SUBSTEP_S, read_rig_spec
from idmkit.robot import load_robot

ROBOT = load_robot("scara")
LOOPS = read_rig_spec(ROBOT).axes[0]


def swing_after_a_kick(axis, gain):
    """Largest speed late after a kick over that soon after it, of a rigid inertia that is 1/gain of the tuned one."""
    inertia = 1.0
    drive = replace(ROBOT.axes[0].drive, encoder_counts_per_turn=2**24, peak_torque=1e9)
    servo = Servo(drive, axis, inertia)
    servo.switch_on(0.0)
    position, speed = 0.0, 1.0
    speeds = []
    for _ in range(40000):
        acceleration = servo.step(position) * gain / inertia
        position += speed * SUBSTEP_S + acceleration * SUBSTEP_S**2 / 2
        speed += acceleration * SUBSTEP_S
        speeds.append(abs(speed))
        if speeds[-1] > 1e6:
            return math.inf
    return max(speeds[-2000:]) / max(speeds[:4000])


@pytest.mark.parametrize("hz", [15.0, 60.0])
def test_the_gain_margin_is_where_the_servo_becomes_unstable(hz):
    """The frequency response against the servo itself on a rigid inertia; encoder steps of 2^-24 turn do not show."""
    axis = tuning.tuned(LOOPS, hz, 0.25)
    frequency = np.geomspace(0.01, 0.499 / SUBSTEP_S, 20000)
    loop = tuning.open_loop(axis, frequency)
    crossings = np.flatnonzero((loop.imag[:-1] * loop.imag[1:] < 0) & (loop.real[:-1] < 0))
    upper = 1 / min(abs(loop[k]) for k in crossings)
    assert swing_after_a_kick(axis, 0.97 * upper) < 1e-3
    assert swing_after_a_kick(axis, 1.03 * upper) > 1.0
    lower = 1 / max(abs(loop[k]) for k in crossings)
    assert swing_after_a_kick(axis, 1.05 * lower) < 1.0
    assert tuning.margins(axis).gain_db == pytest.approx(20 * math.log10(min(upper, 1 / lower)), abs=0.1)


def test_tuned_loops_are_the_stiffest_that_keep_the_margins():
    for hz in (10.0, 40.0):
        share = tuning.stiffest(LOOPS, hz)
        assert tuning.margins(tuning.tuned(LOOPS, hz, share)).kept
        assert not tuning.margins(tuning.tuned(LOOPS, hz, share + 0.01)).kept
    assert tuning.stiffest(LOOPS, 190.0) is None
    for name in ("scara", "delta", "puma", "tx40_rig"):
        assert all(tuning.margins(axis).kept for axis in read_rig_spec(load_robot(name)).axes), name


@pytest.mark.parametrize(("name", "way", "speed"), [("scara", 0.6, 0.9), ("delta", 0.55, 3.0)])
def test_the_sources_moves_have_their_length_and_speed(name, way, speed):
    robot = load_robot(name)
    move, tool = move_of(robot), Tool(robot)
    start, goal = (np.array(q) for q in (move.start, move.goal))
    assert np.linalg.norm(tool.position(goal) - tool.position(start)) == pytest.approx(way, abs=1e-9)
    t = np.linspace(0, 1, move.cycles + 1)
    share = 10 * t**3 - 15 * t**4 + 6 * t**5
    path = np.array([tool.position(start + s * (goal - start)) for s in share])
    speeds = np.linalg.norm(np.diff(path, axis=0), axis=1) / robot.cycle_time_s
    # Whole cycles: at most one cycle in a move of this length slower.
    assert speed * (1 - 1.5 / move.cycles) < speeds.max() < speed * 1.001


def test_a_table_is_aligned_and_a_picture_needs_a_known_suffix(tmp_path):
    table = Table("a title", ["", "x", "long name"], [["one", "1", "2"], ["second", "10.5", "3"]], ["a note"])
    assert table.text().splitlines() == [
        "  a title",
        "               x  long name",
        "    one        1          2",
        "    second  10.5          3",
        "    a note",
    ]
    x = np.arange(3.0)
    outcome = Outcome("name", "robot", [table], [Panel("p", "x", "y", [Curve("c", x, x, marked=True)], (0.0, 1.0))])
    save_panels(outcome, tmp_path / "a.png")
    first = (tmp_path / "a.png").read_bytes()
    save_panels(outcome, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == first
    with pytest.raises(IdmError, match="figures are drawn as png, pdf, svg"):
        save_panels(outcome, tmp_path / "a.jpeg")


def test_an_experiment_repeats_bit_by_bit_with_its_seed(tmp_path):
    answers = []
    for _ in range(2):
        done = idm("experiment", "tracking", "crank", "--seed", 3, "--json", "-o", tmp_path / "crank.png")
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout)
    assert answers[0] == answers[1]
    found = json.loads(answers[0])["tracking"]["crank"]
    assert found["identified"]["rms"] < 0.1 * found["without model"]["rms"]
    assert (tmp_path / "crank.png").stat().st_size > 1000


def test_an_unknown_experiment_and_a_robot_without_a_plant():
    done = idm("experiment", "magic", "crank")
    assert done.returncode != 0
    assert all(name in done.stderr for name in EXPERIMENTS)
    done = idm("experiment", "identify", "tx40")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert (
        "without masses, friction and drive loops there is no virtual robot" in done.stderr or "[axes." in done.stderr
    )
