"""Robot files of machines: what they say becomes a graph, what they say wrongly is refused with its place."""

from pathlib import Path

import pytest

import idmkit
from idmkit.errors import ModelError, RobotFileError
from idmkit.rig.spec import read_rig_spec
from idmkit.robot import load_robot
from idmkit.robot_graph import model_name, robot_graph

READY = Path(idmkit.__file__).parent / "robots"


def altered(tmp_path, name, *changes):
    text = (READY / f"{name}.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "robot.toml"
    path.write_text(text)
    return path


def without_axis(text, number):
    """A robot file without its axis `number` (from 0) in [[axes]] and in [[rig.axes]]."""
    for header in ("[[axes]]", "[[rig.axes]]"):
        parts = text.split(header)
        # What follows the last axis belongs to the file and stays.
        tail = parts[number + 1].split("\n# What", 1)
        parts[number] += "\n# What" + tail[1] if len(tail) == 2 else ""
        del parts[number + 1]
        text = header.join(parts)
    return text


@pytest.mark.parametrize(
    ("robot", "name", "first", "count"),
    [
        ("scara", "SCARA 1", ("P1", 1), 19),
        ("delta", "DELTA 1", ("Theta_AB", 1), 13),
        ("puma", "PUMA 1", ("I1", 1), 54),
        ("two_link", "two-link 1", ("M1", None), 9),
        ("crank", "rotary 3", ("crank.I", 1), 8),
    ],
)
def test_every_ready_robot_has_its_graph(robot, name, first, count):
    loaded = load_robot(robot)
    graph = robot_graph(loaded)
    assert model_name(loaded) == name
    assert (graph.parameters[0].key, graph.parameters[0].number) == first
    assert len(graph.parameters) == count
    assert graph.axes == tuple(axis.name for axis in loaded.axes)


def test_another_model_number_can_be_asked_for():
    puma = load_robot("puma")
    assert robot_graph(puma, model=2).keys[:4] == ("P1", "P2", "P3", "P4")
    assert model_name(puma, model=2) == "PUMA 2"
    with pytest.raises(ModelError, match="puma: no dynamic model 3; there is 1 and 2"):
        robot_graph(puma, model=3)


@pytest.mark.parametrize(
    ("robot", "old", "new", "field", "words"),
    [
        ("scara", "L1 = 0.35\n", "", "geometry.L1", "is missing"),
        ("scara", "L1 = 0.35", "L1 = -0.35", "geometry.L1", "greater than 0"),
        ("scara", "L1 = 0.35", "L1 = 0.35\nL3 = 1.0", "geometry.L3", "known here: L1, L2"),
        ("scara", "number = 1", "number = 2", "number", "must lie in 1..1"),
        ("scara", "P1 = [0.0, 3.0]", "P9 = [0.0, 3.0]", "parameter_ranges.P9", "unknown field"),
        ("delta", "l_B = 0.8", "l_B = 0.2", "geometry", "cannot reach below its horizontal arms"),
        ("delta", 'rods = "exact"', 'rods = "stiff"', "rods", "must be one of exact, lumped"),
        ("delta", "M_BC = 0.3  ", "M_XY = 0.3", "known.M_XY", "unknown field"),
        ("puma", "a3 = -0.0203", "a3 = 20.3", "geometry.a3", "must lie in [-10, 10]"),
        ("two_link", "[model.geometry]", "spline = true\n[model.geometry]", "spline", "unknown field"),
        ("scara", 'joint = "prismatic"', 'joint = "revolute"', "axes[2].drive.travel_per_turn", "unknown field"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path, robot, old, new, field, words):
    path = altered(tmp_path, robot, (old, new))
    with pytest.raises(RobotFileError) as caught:
        load_robot(path)
    assert caught.value.field.removeprefix("model.") == field
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{caught.value.line}: ")


def test_wrong_joints_and_numbers_of_axes(tmp_path):
    path = tmp_path / "robot.toml"
    text = (READY / "scara.toml").read_text()
    path.write_text(without_axis(text, 2).replace("spline = true", "spline = false"))
    with pytest.raises(RobotFileError, match=r"axis 'j4' is revolute; in this place a scara has a prismatic one"):
        load_robot(path)
    path.write_text(without_axis(text, 3))
    with pytest.raises(RobotFileError, match="a spline turns axis 4; this SCARA has 3 axes"):
        load_robot(path)
    path.write_text(without_axis((READY / "puma.toml").read_text(), 5))
    with pytest.raises(RobotFileError, match="PUMA: 5 axis names for 6 joints"):
        load_robot(path)


@pytest.mark.parametrize(
    ("robot", "old", "new", "words"),
    [
        ("puma", "moments = [0.070, 0.0165, 0.086]", "moments = [0.066, 0.0125, 0.086]", "belong to no body"),
        ("puma", "moments = [0.070, 0.0165, 0.086]", "moments = [0.070, 0.0165]", "must be 3 numbers"),
        ("two_link", "mass = 4.0", "mass = 0.0", "greater than 0"),
        ("two_link", "[[rig.bodies]]\nmass = 4.0\ncentre = [0.19, 0.0, 0.0]\nmoments = [0.005, 0.06, 0.06]\n", "",
         "describes 1 links, the robot has 2"),
        ("two_link", "[rig]", "[rig]\nscrew_inertia = 1.0", "couples axes 3 and 4 of a SCARA"),
        ("delta", "[rig.platform]\nmass = 0.85", "", "platform: is missing"),
    ],
)  # fmt: skip
def test_link_data_that_no_machine_has_is_refused(tmp_path, robot, old, new, words):
    loaded = load_robot(altered(tmp_path, robot, (old, new)))
    with pytest.raises(RobotFileError, match=words):
        read_rig_spec(loaded)
