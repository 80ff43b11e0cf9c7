"""Plans, lines and streams on the virtual rig: real firmware, drives and physics."""

import dataclasses

import numpy as np
import pytest
from test_board_motion import random_series
from test_cartesian import POSES

from idmkit.bench import RobotModel, write_settings
from idmkit.bench.lines import move_straight, off_the_line, stream_along
from idmkit.bench.moves import move_to
from idmkit.bench.performance import named
from idmkit.bench.planned import planned_motion, planned_run
from idmkit.cartesian.pose import Tool
from idmkit.cli.benches import virtual_bench
from idmkit.cli.main import main
from idmkit.errors import IdentificationError, LinkError
from idmkit.excitation.coefficients import counts_per_unit
from idmkit.excitation.criterion import excited_model
from idmkit.excitation.plan import Plan, plan_excitation
from idmkit.excitation.plan_file import save_plan
from idmkit.excitation.trapezoid import TrapezoidPlan, trapezoids
from idmkit.link import long_motion
from idmkit.records import load_record
from idmkit.robot import load_robot
from idmkit.verdict import load_result

NOMINAL = {"crank.I": 0.12, "crank.MgA": 3.0, "crank.Fv": 0.08, "crank.Fc": 0.35}


@pytest.fixture(scope="module")
def crank_plan():
    model = excited_model(load_robot("crank"), nominal=NOMINAL)
    return plan_excitation(model, starts=1, harmonics=4, duration_s=8.0)


@pytest.fixture(scope="module")
def scara():
    robot = load_robot("scara")
    with virtual_bench(robot, RobotModel.of(robot)) as (_, bench):
        write_settings(bench)
        yield bench


def moves_plan(robot, duration_s):
    return TrapezoidPlan(robot.name, tuple(a.name for a in robot.axes), trapezoids(robot, duration_s), 1.0, ())


def assert_as_planned(record, motion, robot, counts):
    """The captured command is the plan, to so many counts of position."""
    commanded = np.column_stack([named(record, axis.name, "position_command") for axis in robot.axes])
    wanted = motion.derivatives(np.arange(len(commanded)) * robot.cycle_time_s)[0]
    assert np.abs((commanded - wanted) * counts_per_unit(robot)).max() < counts


def test_a_planned_series_identifies_the_crank(crank_plan, tmp_path, capsys):
    robot = load_robot("crank")
    save_plan(crank_plan, tmp_path / "plan.json")
    words = ["identify", "rig:", "--robot", "crank", "--plan", str(tmp_path / "plan.json"), "-o", str(tmp_path)]
    assert main(words) == 0
    assert "accepted" in capsys.readouterr().out
    result = load_result(tmp_path / "crank_result.json")
    # The rig's crank, as docs/identification.md has it; a run half as long as the robot file's sines.
    for key, true in (("crank.I", 0.12003), ("crank.MgA", 3.0008), ("crank.Fv", 0.08), ("crank.Fc", 0.35)):
        assert result.values()[key] == pytest.approx(true, rel=0.01), key
    record = load_record(tmp_path / "crank_record.npz")
    motion, made = planned_motion(crank_plan, robot)
    assert len(record.channels[0].samples) == motion.cycles
    assert_as_planned(record, made, robot, 1.5)


def test_planned_moves_of_four_axes(scara):
    plan = moves_plan(scara.robot, 5.0)
    run = planned_run(scara, plan)
    assert_as_planned(run.record, plan.motion, scara.robot, 1.5)
    assert scara.board.status().state == "disarmed"


def test_six_axes_run_a_series():
    robot = load_robot("puma")
    series = random_series(robot, np.random.default_rng(5))
    plan = Plan(robot.name, tuple(axis.name for axis in robot.axes), series, 1, "trace", 1, (), ())
    with virtual_bench(robot, RobotModel.of(robot)) as (_, bench):
        write_settings(bench)
        run = planned_run(bench, plan)
    _, made = planned_motion(plan, robot)
    assert_as_planned(run.record, made, robot, 1.5)


def test_a_plan_of_another_robot_or_other_limits_is_refused(crank_plan, tmp_path, capsys):
    robot = load_robot("crank")
    with pytest.raises(IdentificationError, match="the plan is for crank with the axes crank, the robot is scara"):
        planned_motion(crank_plan, load_robot("scara"))
    slower = dataclasses.replace(robot.axes[0], velocity_max=5.0)
    with pytest.raises(IdentificationError, match=r"the plan exceeds the speed of crank \(-5 .. 5 rad/s\)"):
        planned_motion(crank_plan, dataclasses.replace(robot, axes=(slower,)))
    with pytest.raises(IdentificationError, match=r"the board runs whole segments of 10\.4 ms: plan again"):
        planned_motion(moves_plan(robot, 4.0), dataclasses.replace(robot, cycle_time_s=0.0013))
    save_plan(crank_plan, tmp_path / "plan.json")
    assert main(["identify", "rig:", "--robot", "scara", "--plan", str(tmp_path / "plan.json")]) == 1
    assert "plan again" in capsys.readouterr().err
    assert main(["identify", "rig:", "--robot", "crank", "--plan", str(tmp_path / "none.json")]) == 1
    assert not list(tmp_path.glob("*.npz"))


def test_the_tool_moves_in_a_straight_line(scara):
    start, way = (np.array(part) for part in POSES["scara"])
    with scara.armed():
        move_to(scara, list(start))
        tool = Tool(scara.robot)
        begin = tool.position(start)
        line, run = move_straight(scara, begin + way, 0.5)
        commanded, measured = off_the_line(run, tool, begin, begin + way)
    # A count of the first axis is 0.22 um at the tool; a cubic between knots misses the line by less than that.
    assert commanded < 1e-6
    # The drives follow within a millimetre.
    assert measured < 1e-3
    axes = np.column_stack([named(run.record, a.name, "position_command") for a in scara.robot.axes])
    assert tool.position(axes[-1]) == pytest.approx(begin + way, abs=1e-6)
    # What was planned for the axes is what they were commanded: speeds by central differences.
    speeds = np.abs(axes[2:] - axes[:-2]).max(axis=0) / (2 * scara.robot.cycle_time_s)
    assert np.all(speeds < [a.velocity_max for a in scara.robot.axes])
    assert line.speed == pytest.approx(0.5)


def test_a_stream_that_runs_dry_is_a_latched_fault_with_a_defined_stop(scara):
    board = scara.board
    with scara.armed():
        here = list(board.status().position_command)
        points = [[here[0] + 2000 * k, here[1], here[2], here[3] + 1000 * k] for k in range(30)]
        room = long_motion.stream_points(board, 0, points)
        assert (room.next, room.free) == (30, 34)
        long_motion.stream(board, here)
        scara.run(8 * 40)
        status = scara.settle("stopped_by_fault")
        assert status.fault == "stream_underrun"
        stopped = np.array(board.status().position_command)
        assert here[0] < stopped[0] < here[0] + 2000 * 30
        scara.run(100)
        assert np.array_equal(board.status().position_command, stopped)
        assert board.clear_fault() == "stream_underrun"
        # Begun anew, complete, it ends at rest at its last point.
        points = [[int(count) for count in stopped - [1000 * k, 0, 0, 0]] for k in range(90)]
        run = stream_along(scara, points)
        assert board.status().position_command == tuple(points[-1])
        assert run.counts.lost == 0
    with pytest.raises(LinkError, match="the next point of a streamed motion had not come"):
        run_dry(scara)
    board.clear_fault()


def run_dry(bench):
    """Streams ten points and waits for the end of the motion."""
    with bench.armed():
        here = list(bench.board.status().position_command)
        long_motion.stream_points(bench.board, 0, [here] * 10)
        long_motion.stream(bench.board, here)
        bench.run(200)
        bench.settle("holding")


def test_the_verb_for_lines(tmp_path, capsys):
    start = [str(q) for q in POSES["two_link"][0]]
    robot = ["line", "rig:", "--robot", "two_link"]
    words = [*robot, "--from", *start, "--speed", "0.4", "-o", str(tmp_path / "line.npz")]
    assert main([*words, "--to", "0.3", "0.5", "0"]) == 0
    printed = capsys.readouterr().out
    assert "from (x 0.4908, y 0.3978, z 0) m to (x 0.3, y 0.5, z 0) m" in printed
    assert "off the line at most: commanded" in printed
    assert load_record(tmp_path / "line.npz").channels
    (tmp_path / "line.npz").unlink()
    assert main([*words, "--to", "3", "0.5", "0"]) == 1
    assert "it is out of reach" in capsys.readouterr().err
    assert main([*robot, "--from", "1", "--to", "0.3", "0.5", "0"]) == 1
    assert "--from gives 1 axes, two_link has 2" in capsys.readouterr().err
    assert main(["line", "rig:", "--robot", "crank", "--to", "0.3", "0.5", "0"]) == 1
    assert "nobody knows where its tool is" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
