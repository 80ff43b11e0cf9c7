import math
from pathlib import Path

import pytest

from idmkit.errors import ModelError, RobotFileError
from idmkit.robot import READY_FOLDER, load_robot, ready_robots
from idmkit.robot_graph import model_name, robot_graph
from idmkit.unknowns import unknowns_of

CRANK = (Path(__file__).parents[1] / "idmkit/robots/crank.toml").read_text()


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "robot.toml"
    path.write_text(text)
    return path


def line_of(text: str, start: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), start=1) if line.startswith(start))


@pytest.mark.parametrize("name", ready_robots())
def test_ready_robots_load_by_name_and_by_path(name):
    robot = load_robot(name)
    assert robot.name == name
    assert load_robot(robot.file) == robot
    for axis in robot.axes if name != "tx40" else ():  # which is known from records only
        assert axis.drive.peak_torque >= axis.drive.rated_torque
        assert axis.identification.peak_velocity <= axis.velocity_max


def test_drive_scaling_of_a_gear_and_of_a_belt():
    crank, slide = load_robot("crank").axes[0].drive, load_robot("slide").axes[0].drive
    assert crank.counts_per_unit * 2 * math.pi == pytest.approx(10 * 131072)
    assert crank.joint_rated_torque == pytest.approx(1.27 * 10)
    assert slide.counts_per_unit * 0.1 == pytest.approx(3 * 131072)
    assert slide.joint_rated_torque == pytest.approx(1.27 * 2 * math.pi * 3 / 0.1)  # force x travel = work


def test_rig_table_is_passed_on_unread(tmp_path):
    path = written(tmp_path, CRANK.split("[rig]")[0] + '\n[rig]\nanything = ["goes", 1]\n')
    assert load_robot(path).rig == {"anything": ["goes", 1]}


@pytest.mark.parametrize(
    ("old", "new", "field", "words"),
    [
        ("gear_ratio = 10.0", "gear_ration = 10.0", "gear_ratio", "is 'gear_ration' meant for it?"),
        ("gear_ratio = 10.0", "gear_ratio = 0", "gear_ratio", "must not be 0"),
        ("gear_ratio = 10.0", "gear_ratio = true", "gear_ratio", "must be a finite number, is True"),
        ("gear_ratio = 10.0", "gear_ratio = nan", "gear_ratio", "must be a finite number, is nan"),
        ("node_id = 1", "node_id = 128", "node_id", "must lie in 1..126, is 128"),
        ("peak_torque = 3.81", "peak_torque = 1.0", "peak_torque", "must lie in [1.27"),
        ("encoder_counts_per_turn = 131072", "encoder_counts_per_turn = 1.5", "encoder_counts_per_turn", "whole"),
        ("turn = 131072\ngear_ratio = 10.0", "turn = 1048576\ngear_ratio = 5000.0", "encoder_counts_per_turn", "int32"),
        ("position_max = 6.0", "position_max = -7.0", "position_max", "greater than position_min"),
        ('joint = "revolute"', 'joint = "revolut"', "joint", "did you mean 'revolute'?"),
        ("dynamic_model = 3", "dynamic_model = 4", "dynamic_model", "must lie in 0..3"),
        ("frequency_hz = 0.5", "frequency_hz = 1.5", "frequency_hz", "above velocity_max = 20"),
        ("cutoff_hz = 20.0", "cutoff_hz = 500.0", "cutoff_hz", "Nyquist frequency 500 Hz"),
        ("velocity_threshold = 1.0", "velocity_threshold = 10.0", "velocity_threshold", "no sample is left"),
        ("torque_error_filter = 0.2", "torque_error_filter = 0", "torque_error_filter", "must be greater than 0"),
        ("jerk_max = 4000.0", "jerk_max = 4000.0\ntorque_max = 30.0", "torque_max", "follows from the drive's"),
        ("start = -2.5", "start = 3.5", "target", "would not move"),
        ("MgA = [-20.0, 20.0]", "MgA = [20.0, -20.0]", "MgA", "low <= high"),
        ("MgA = [-20.0, 20.0]", "MgAA = [-20.0, 20.0]", "MgAA", "did you mean 'MgA'?"),
        ("cycle_time_us = 1000", "cycle_time_us = 300", "bus", "take 0.325 ms of a 0.3 ms cycle, 108 %"),
        ('kind = "axes"', 'kind = "scara7"', "kind", "must be one of axes, scara"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path, old, new, field, words):
    text = CRANK.replace(old, new, 1)
    path = written(tmp_path, text)
    with pytest.raises(RobotFileError) as caught:
        load_robot(path)
    error = caught.value
    assert error.file == str(path)
    assert error.field.split(".")[-1] == field
    assert words in str(error)
    assert str(error).startswith(f"{path}:{error.line}: ")
    named = text.splitlines()[error.line - 1]
    # A field that is missing is reported at the line of its table.
    assert field in named or named.startswith("[")


def test_unknown_field_is_refused_with_its_line(tmp_path):
    text = CRANK.replace("[axes.guards]", "[axes.guards]\ntorque_eror_max = 1.0")
    with pytest.raises(RobotFileError, match=r"unknown field \(did you mean 'torque_error_max'\?\)") as caught:
        load_robot(written(tmp_path, text))
    assert caught.value.line == line_of(text, "torque_eror_max")


def test_lines_of_the_second_axis(tmp_path):
    second = CRANK[CRANK.index("[[axes]]") :].split("[rig]")[0]
    second = second.replace('name = "crank"', 'name = "b"').replace("node_id = 1", "node_id = 0")
    text = CRANK.split("[rig]")[0] + second
    with pytest.raises(RobotFileError) as caught:
        load_robot(written(tmp_path, text))
    assert caught.value.field == "axes[1].drive.node_id"
    assert caught.value.line == line_of(text, "node_id = 0")


def test_two_axes_must_not_share_a_node(tmp_path):
    text = CRANK.split("[rig]")[0]
    text += text[text.index("[[axes]]") :].replace('name = "crank"', 'name = "b"')
    with pytest.raises(RobotFileError, match=r"drive\.node_id 1 is used by two axes"):
        load_robot(written(tmp_path, text))


def test_a_missing_table_is_asked_for_by_name_when_it_is_needed(tmp_path):
    start, end = CRANK.index("[axes.drive]"), CRANK.index("[axes.parameter_ranges]")
    axis = load_robot(written(tmp_path, CRANK[:start] + CRANK[end:])).axes[0]
    for table in ("drive", "guards", "identification"):
        with pytest.raises(RobotFileError, match=rf"axis 'crank' has no table \[axes\.{table}\]"):
            getattr(axis, table)


def test_what_is_no_toml_or_no_file(tmp_path):
    with pytest.raises(RobotFileError, match=r"robot\.toml:2: is not TOML"):
        load_robot(written(tmp_path, "schema = 1\nname = crank\n"))
    with pytest.raises(RobotFileError, match="ready are crank, delta, puma, scara, slide, two_link"):
        load_robot("crnk")
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(RobotFileError, match="is not UTF-8"):
        load_robot(tmp_path / "latin.toml")
    with pytest.raises(RobotFileError, match="cannot be read"):
        load_robot(tmp_path)


TX40 = (Path(__file__).parents[1] / "idmkit/robots/tx40.toml").read_text()


def test_a_serial_arm_has_its_geometry_and_base_parameters():
    robot = load_robot("tx40")
    assert robot.serial is not None
    assert robot.serial.chain.names == ("j1", "j2", "j3", "j4", "j5", "j6")
    # 36 inertial, 4 rotors that stand by themselves, 18 of friction, 3 of the coupled motor: as published.
    assert len(unknowns_of(robot, robot_graph(robot)).regressor.names) == 61
    assert model_name(robot) == "serial arm, 6 axes"
    with pytest.raises(ModelError, match="its model has no number"):
        robot_graph(robot, model=1)


@pytest.mark.parametrize(
    ("old", "new", "field", "words"),
    [
        ("gravity_direction = [0, 0, -1]\n", "", "model.gravity_direction", "is missing; say in which direction"),
        (
            "gravity_direction = [0, 0, -1]",
            "gravity_direction = [0, 1]",
            "model.gravity_direction",
            "must be 3 numbers",
        ),
        ('urdf = "tx40.urdf"', 'urdf = "tx41.urdf"', "model", "tx41.urdf"),
        ("cad_inertials = false", "cad_inertial = false", "model.cad_inertial", "unknown field"),
        ('name = "j6"\njoint = "revolute"', 'name = "j6"\njoint = "prismatic"', "model", "axis 'j6' is prismatic"),
    ],
)
def test_errors_of_a_serial_arm_name_the_line(tmp_path, old, new, field, words):
    (tmp_path / "tx40.urdf").write_bytes((READY_FOLDER / "tx40.urdf").read_bytes())
    text = TX40.replace(old, new, 1)
    with pytest.raises(RobotFileError) as caught:
        load_robot(written(tmp_path, text))
    assert words in str(caught.value)
    assert caught.value.field == field
    assert caught.value.line is not None
