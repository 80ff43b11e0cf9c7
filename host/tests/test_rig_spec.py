from dataclasses import replace

import pytest

from idmkit.errors import RobotFileError
from idmkit.rig.spec import read_rig_spec
from idmkit.robot import READY_FOLDER, load_robot


def altered(tmp_path, before, after):
    text = (READY_FOLDER / "crank.toml").read_text()
    assert before in text
    file = tmp_path / "robot.toml"
    file.write_text(text.replace(before, after))
    return file


@pytest.mark.parametrize(("name", "substeps"), [("crank", 4), ("slide", 4)])
def test_the_ready_robots_can_be_built(name, substeps):
    robot = load_robot(name)
    spec = read_rig_spec(robot)
    assert spec.substeps == substeps
    assert len(spec.axes) == len(robot.axes)
    assert spec.axes[0].brake_torque > robot.axes[0].drive.joint_peak_torque


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("link_mass = 1.2", "link_mass = -1.2", r"axes\[0\].link_mass: must"),
        ("coulomb_friction", "coulomb_frictoin", "did you mean 'coulomb_friction'"),
        ("link_inertia = 0.036", "", "link_inertia: is missing"),
        ("[rig]\n", "[rig]\nseed = 3\n", "rig.seed: unknown field"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path, before, after, message):
    file = altered(tmp_path, before, after)
    with pytest.raises(RobotFileError, match=message) as problem:
        read_rig_spec(load_robot(file))
    assert problem.value.file == str(file)
    assert problem.value.line is not None


def test_a_robot_without_the_table_or_with_too_few_axes_is_refused():
    robot = load_robot("crank")
    with pytest.raises(RobotFileError, match=r"rig: is missing"):
        read_rig_spec(replace(robot, rig={}))
    with pytest.raises(RobotFileError, match="describes 2 axes, the robot has 1"):
        read_rig_spec(replace(robot, rig={"axes": robot.rig["axes"] * 2}))


def test_a_cycle_that_is_no_multiple_of_the_loops_period_is_refused():
    with pytest.raises(RobotFileError, match="1100; the virtual rig needs a multiple of 250 us"):
        read_rig_spec(replace(load_robot("crank"), cycle_time_s=0.0011))
