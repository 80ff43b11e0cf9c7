"""Motions that the board makes from coefficients and from streamed points, against float64 of what was planned."""

import math

import numpy as np
import pytest
from board_motion import FOURIER, STREAM, TRAPEZOID, run_source

from idmkit.errors import IdentificationError
from idmkit.excitation.coefficients import board_moves, board_series, counts_per_unit
from idmkit.excitation.fourier import FourierSeries, rest_basis
from idmkit.excitation.plan import choose_period
from idmkit.excitation.trapezoid import trapezoids
from idmkit.robot import load_robot

WORDS = (64, pytest.param(32, marks=pytest.mark.words32))
ROBOTS = ("crank", "scara", "puma")
VELOCITY, ACCELERATION = 2**20, 2**14
"""Counts in SI."""
SINE_ERROR = 2.0**-26.2
"""Largest error of the board's sine, measured: 11 in 2^-30; two more for the cut to 2^-28."""


def random_series(robot, rng):
    """A series as a plan has them, about as large as the axes' speed and range allow."""
    period_s = 1000 * robot.cycle_time_s
    axes = robot.axes
    harmonics = 6
    both = rng.normal(size=(len(axes), 2 * harmonics - 2)) @ rest_basis(harmonics).T
    series = FourierSeries(period_s, np.zeros(len(axes)), both[:, :harmonics], both[:, harmonics:])
    low, high = series.bounds()
    share = [
        min(a.velocity_max / max(high[1, k], -low[1, k]), (a.position_max - a.position_min) / (high[0, k] - low[0, k]),
            a.acceleration_max / max(high[2, k], -low[2, k]))
        for k, a in enumerate(axes)
    ]  # fmt: skip
    share = 0.9 * np.array(share)
    both *= share[:, None]
    middle = np.array([(a.position_min + a.position_max) / 2 for a in axes]) - share * (low[0] + high[0]) / 2
    return FourierSeries(period_s, middle, both[:, :harmonics], both[:, harmonics:])


def to_counts(states, robot):
    """SI states [3, N, n] in counts."""
    return states * np.stack([counts_per_unit(robot), np.full(len(robot.axes), VELOCITY),
                              np.full(len(robot.axes), ACCELERATION)])[:, None, :]  # fmt: skip


def allowed(robot, off, missed, lead, jerk_and_snap):
    """Largest errors [3, n] in counts that the arithmetic allows.

    `off` [3, n]: what q, V and A of a knot are off by, counts; `missed` [n]: (angle of a segment)^6 times amplitudes,
    counts; `lead` in cycles; `jerk_and_snap` [2, n] SI, the largest.

    A quintic between knots turns errors of q, V, A into at most 1.88 * 2 q + 2 V + 0.2 A of its slope and 5.78 * 2 q +
    2 * 4 V + 2 * 1.5 A of its curvature. Differences are rounded to 2^-3 and 2^-2 counts and stepped seven times:
    binomials add up.
    """
    cycle, per_unit = robot.cycle_time_s, counts_per_unit(robot)
    speed, turn = VELOCITY / per_unit / cycle, ACCELERATION / per_unit / cycle**2
    chain = np.cumsum([math.comb(7, k) for k in range(5)])
    errors = np.stack([
        0.6 + off[0] + missed / 46080,
        1 + chain[4] / 16 + speed / 8 * (3.75 * off[0] + 2 * off[1] + 0.2 * off[2] + missed / 1000),
        1 + chain[3] / 8 + turn / 64 * (11.6 * off[0] + 8 * off[1] + 3 * off[2] + missed / 720),
    ])  # fmt: skip
    if lead:
        # Newton's third difference, 0.065 of it at most, is left out; and the bits that are cut before a product.
        jerk, snap = 0.065 * cycle**3 * jerk_and_snap
        errors += np.stack([5 + jerk * per_unit, 18 + snap * VELOCITY, np.full(len(off[0]), 10.0)])
    return errors


def series_allowed(motion, run, robot, lead):
    """The same for a series: a knot is off by the sine's error on all coefficients and three roundings a harmonic."""
    order = np.arange(1, run.harmonics + 1)
    step = 2 * math.pi * 8 / motion.period_cycles
    size = counts_per_unit(robot)[:, None] * (np.abs(run.a) + np.abs(run.b)) / (2 * np.pi / run.period_s * order)
    fractions = np.array([row[0] for _, row in motion.words[1:]])
    off = np.stack([
        step**k * (size @ order**k * SINE_ERROR + 3 * np.sum(order**k) / 2.0**fractions) + 2.0**-9 for k in range(3)
    ])  # fmt: skip
    bounds = np.abs(np.stack(run.bounds(5))).max(axis=0)
    return allowed(robot, off, np.sum(size * (order * step) ** 6, axis=1), lead, bounds[3:5])


@pytest.mark.parametrize("machine_words", WORDS)
@pytest.mark.parametrize("name", ROBOTS)
def test_a_series_on_the_board_is_the_plan(name, machine_words, tmp_path):
    robot = load_robot(name)
    lead = 0.64
    motion, run = board_series(random_series(robot, np.random.default_rng(7)), robot, 2)
    report, states = run_source(
        tmp_path, robot, FOURIER, motion.start, words=motion.words, cycles=motion.cycles,
        shape=(motion.harmonics, motion.period_cycles), lead=lead, machine_words=machine_words,
    )  # fmt: skip
    assert report == {"reason": None, "code": 1}
    times = np.arange(motion.cycles) * robot.cycle_time_s
    for which, ahead in ((slice(0, 3), 0.0), (slice(3, 6), lead)):
        wanted = to_counts(run.derivatives(times + ahead * robot.cycle_time_s), robot)
        error = np.abs(states[:-1, which].transpose(1, 0, 2) - wanted).max(axis=1)
        assert np.all(error < series_allowed(motion, run, robot, ahead)), (ahead, error)
    # Exactly back, and exactly at rest.
    assert np.array_equal(states[-1, 0], motion.start)
    assert np.array_equal(states[-1, 1:3], np.zeros((2, len(robot.axes))))


@pytest.mark.parametrize("machine_words", WORDS)
@pytest.mark.parametrize("name", ROBOTS)
def test_moves_on_the_board_are_the_plan(name, machine_words, tmp_path):
    robot = load_robot(name)
    lead = 0.64
    plan = trapezoids(robot, 12.0)
    motion = board_moves(plan, robot)
    report, states = run_source(
        tmp_path, robot, TRAPEZOID, motion.start, words=motion.words, cycles=motion.cycles, lead=lead,
        machine_words=machine_words,
    )  # fmt: skip
    assert report == {"reason": None, "code": 1}
    times = np.arange(motion.cycles) * robot.cycle_time_s
    for which, ahead in ((slice(0, 3), 0.0), (slice(3, 6), lead)):
        wanted = to_counts(plan.derivatives(times + ahead * robot.cycle_time_s), robot)
        error = np.abs(states[:-1, which].transpose(1, 0, 2) - wanted).max(axis=1)
        # A knot is cut to 2^-shift counts three times at most; a target is a whole count.
        shifts = np.array([min(row[8::7]) for _, row in motion.words])
        off = np.stack([3 / 2.0**shifts] * 3)
        jerk = np.abs(np.stack(plan.bounds())).max(axis=0)[3]
        most = allowed(robot, off, 0 * off[0], ahead, np.stack([jerk, 0 * jerk]))
        most[0] += 0.5
        assert np.all(error < most), (ahead, error, most)
    ends = [row[6 + 7 * ((row[1] - 1) % row[0])] for _, row in motion.words]
    assert np.array_equal(states[-1, 0], ends)
    assert np.array_equal(states[-1, 1:3], np.zeros((2, len(robot.axes))))


@pytest.mark.words32
def test_words_of_both_sizes_give_the_same_bits(tmp_path):
    robot = load_robot("puma")
    motion, _ = board_series(random_series(robot, np.random.default_rng(9)), robot, 1)
    moves = board_moves(trapezoids(robot, 12.0), robot)
    points = smooth_points(robot, np.array(motion.start), 60, np.random.default_rng(9)).tolist()
    runs = (
        {"kind": FOURIER, "start": motion.start, "words": motion.words, "cycles": motion.cycles,
         "shape": (motion.harmonics, motion.period_cycles)},
        {"kind": TRAPEZOID, "start": moves.start, "words": moves.words, "cycles": moves.cycles},
        {"kind": STREAM, "start": motion.start, "points": points, "run": 8 * 62 + 1},
    )  # fmt: skip
    for run in runs:
        kind, start = run.pop("kind"), run.pop("start")
        both = [run_source(tmp_path, robot, kind, start, lead=0.3, machine_words=words, **run)[1] for words in (64, 32)]
        assert np.array_equal(*both)
        assert len(both[0]) > 400


def test_rounding_does_not_show():
    robot = load_robot("scara")
    series = random_series(robot, np.random.default_rng(3))
    _, run = board_series(series, robot, 1)
    t = np.linspace(0, series.period_s, 500)
    # Half a count of 2^-fraction (2^-2 at worst) of every coefficient, and what the first ones take over.
    error = np.abs(run.derivatives(t) - series.derivatives(t)).max(axis=1)
    assert np.all(error[0] * counts_per_unit(robot) < 20)
    assert run.a.sum(axis=1) == pytest.approx(0, abs=1e-12)


def test_what_the_board_cannot_run_is_said():
    robot = load_robot("scara")
    rng = np.random.default_rng(1)
    good = random_series(robot, rng)

    def refused(text, **changes):
        series = FourierSeries(**{"period_s": good.period_s, "offset": good.offset, "a": good.a, "b": good.b} | changes)
        with pytest.raises(IdentificationError, match=text):
            board_series(series, robot, 1)

    refused("whole cycles", period_s=good.period_s + 1e-3)
    refused("2 to 8", a=np.zeros((4, 9)), b=np.zeros((4, 9)))
    refused("too fast for the board", period_s=0.2)
    refused("further or faster", a=1000 * good.a, b=1000 * good.b)
    with pytest.raises(IdentificationError, match="8 are the most"):
        choose_period(robot, 10.0, math.inf, 9)


def smooth_points(robot, start, count, rng):
    """[count, n] points in counts: random setpoints that begin and end at rest, within the limits of the board."""
    size = counts_per_unit(robot)
    step = 8 * robot.cycle_time_s
    turn = np.array([min(a.acceleration_max, 0.1 * (a.position_max - a.position_min) / step**2) for a in robot.axes])
    change = rng.uniform(-0.02, 0.02, (count, len(start))) * turn * size * step**2
    return np.round(start + np.cumsum(np.cumsum(change, axis=0) * 0.9 ** np.arange(count)[:, None], axis=0)).astype(int)


def spline(points, start, cycles):
    """The cubic B-spline in float64: [3, cycles, n], counts and counts a cycle, at whole cycles."""
    c = np.vstack([[start] * 3, points, [points[-1]] * 6]).astype(float)
    states = np.zeros((3, cycles, len(start)))
    for k in range(cycles):
        i, u = divmod(k, 8)
        u /= 8
        four = c[i : i + 4]
        states[0, k] = np.array([(1 - u) ** 3, (3 * u - 6) * u**2 + 4, ((3 - 3 * u) * u + 3) * u + 1, u**3]) / 6 @ four
        states[1, k] = np.array([-((1 - u) ** 2), 3 * u**2 - 4 * u, -3 * u**2 + 2 * u + 1, u**2]) / 16 @ four
        states[2, k] = np.array([1 - u, 3 * u - 2, 1 - 3 * u, u]) / 64 @ four
    return states


@pytest.mark.parametrize("machine_words", WORDS)
@pytest.mark.parametrize("name", ROBOTS)
def test_a_stream_is_the_spline_of_its_points(name, machine_words, tmp_path):
    robot = load_robot(name)
    start = np.arange(len(robot.axes)) * 1000 - 12345
    points = smooth_points(robot, start, 150, np.random.default_rng(5))
    cycles = 8 * (len(points) + 2)
    report, states = run_source(
        tmp_path, robot, STREAM, start.tolist(), points=points.tolist(), run=cycles + 100, machine_words=machine_words
    )
    assert report == {"reason": None, "code": 1}
    assert len(states) == cycles + 1
    wanted = spline(points, start, cycles)
    per_unit = counts_per_unit(robot)
    wanted[1] *= VELOCITY / per_unit / robot.cycle_time_s
    wanted[2] *= ACCELERATION / per_unit / robot.cycle_time_s**2
    error = np.abs(states[:-1, :3].transpose(1, 0, 2) - wanted).max(axis=1)
    # A knot's sixth of a second difference is cut to 2^-9, and off by two parts in a million.
    second = np.abs(np.diff(points, n=2, axis=0)).max(axis=0)
    off = np.stack([2.0**-8 + 2e-6 * second / 6, 2.0**-9 + 0 * second, 2.0**-9 + 0 * second])
    assert np.all(error < allowed(robot, off, 0 * second, 0.0, None)), error
    assert np.array_equal(states[-1, 0], points[-1])
    assert np.array_equal(states[-1, 1:3], np.zeros((2, len(robot.axes))))


def test_a_stream_that_runs_dry_ends_and_says_so(tmp_path):
    robot = load_robot("scara")
    start = [0, 0, 0, 0]
    points = smooth_points(robot, np.zeros(4), 100, np.random.default_rng(5)).tolist()
    report, states = run_source(tmp_path, robot, STREAM, start, points=points, feed=40, run=900)
    # Point i is needed two segments before the knot that it ends: at the latest in segment i - 1.
    assert report == {"reason": None, "code": 2}
    assert len(states) == 8 * 39 + 1
    report, _ = run_source(tmp_path, robot, STREAM, start, points=points, feed=7, run=900)
    assert report["reason"] == "too_few_points"


def test_points_where_no_axis_may_go_are_refused(tmp_path):
    robot = load_robot("crank")
    good = [[1000 * i] for i in range(20)]

    def reason(at, value, **changes):
        points = [row if i != at else [value] for i, row in enumerate(good)]
        return run_source(tmp_path, robot, STREAM, [0], points=points, run=10, **changes)[0]["reason"]

    assert reason(3, 3000) is None
    assert reason(3, 2**20 + 3000) == "point 3"
    assert reason(5, 2**18 + 5000) == "point 5"
    assert reason(5, 2**16) is None
    assert reason(3, 3000, position_max=[15500]) == "point 16"
