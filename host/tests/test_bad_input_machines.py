"""What people get wrong about machines: the command line answers each with a sentence, and nothing else."""

from pathlib import Path

import pytest
from machine_runs import identification_run, measured
from test_machine_files import READY, without_axis

from idmkit.cli.main import main
from idmkit.records import save_record

EXAMPLE = Path(__file__).parent / "data/softmc/IDNT1.PRG"


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    for name in ("crank", "two_link"):
        save_record(measured(identification_run(name), 1), folder / f"{name}.npz")
    return folder


@pytest.fixture
def sentence(capsys):
    """Runs a command that must fail, and gives its only line."""

    def answered(*arguments):
        assert main([str(argument) for argument in arguments]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        (line,) = err.splitlines()
        assert line.startswith(f"idm {arguments[0]}: ")
        assert line.count(". ") <= 3
        return line

    return answered


def altered(folder, name, *changes):
    text = (READY / f"{name}.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "removed", "words"),
    [
        ("scara", (3, 2), "SCARA: 2 axis names for 4 joints; name each joint once"),
        ("delta", (2,), "delta: 2 axis names for 3 joints; name each joint once"),
        ("puma", (5,), "PUMA: 5 axis names for 6 joints; name each joint once"),
        ("two_link", (1,), "two-link: 1 axis names for 2 joints; name each joint once"),
    ],
)
def test_a_wrong_number_of_axes(records, tmp_path, sentence, name, removed, words):
    text = (READY / f"{name}.toml").read_text().replace("spline = true", "spline = false")
    for number in removed:
        text = without_axis(text, number)
    path = tmp_path / "robot.toml"
    path.write_text(text)
    answer = sentence("fit", records / "crank.npz", "--robot", path)
    assert f"{path}:" in answer
    assert "model.kind: " in answer
    assert words in answer


def test_a_record_of_another_number_of_axes(records, sentence):
    answer = sentence("fit", records / "crank.npz", "--robot", "two_link")
    assert "the record has axes crank, the robot file j1, j2: none in common" in answer


@pytest.mark.parametrize(
    ("robot", "record", "number", "words"),
    [
        ("crank", "crank", 7, "no dynamic model 7 for a revolute axis; there are revolute 0, revolute 1"),
        ("two_link", "two_link", 2, "two_link: no dynamic model 2; there is 1"),
        ("scara", "crank", 2, "scara: no dynamic model 2; there is 1"),
        ("delta", "crank", 0, "delta: no dynamic model 0; there is 1"),
        ("puma", "crank", 3, "puma: no dynamic model 3; there is 1 and 2"),
    ],
)
def test_a_model_number_that_there_is_not(records, sentence, robot, record, number, words):
    arguments = ("--robot", robot, "--model", number)
    path = records / f"{record}.npz"
    assert words in sentence("fit", path, *arguments, "--unloaded", path)
    if robot == record:
        assert words in sentence("fit", path, *arguments)
        assert words in sentence("verdict", path, *arguments)


@pytest.mark.parametrize(
    ("robot", "options", "words"),
    [
        ("crank", ("--model", "0"), "no payload shows on model rotary 0; choose a model that has one"),
        ("tx40", (), "no payload shows on model serial arm, 6 axes"),
    ],
)
def test_a_payload_on_a_model_without_it(records, sentence, robot, options, words):
    record = records / "crank.npz"
    assert words in sentence("fit", record, "--robot", robot, "--unloaded", record, *options)


def test_geometry_that_is_missing(records, tmp_path, sentence):
    bare = altered(tmp_path, "crank", ("crank_length", "# crank_length"))
    record = records / "crank.npz"
    answer = sentence("fit", record, "--robot", bare, "--unloaded", record)
    assert "crank.L2, crank.gL must be known before a payload can be: give the geometry in the robot file" in answer
    short = altered(tmp_path, "scara", ("L2 = 0.25\n", ""))
    assert "model.geometry.L2: is missing" in sentence("fit", record, "--robot", short)


def test_geometry_that_cannot_be(records, tmp_path, sentence):
    record = records / "crank.npz"
    short = altered(tmp_path, "delta", ("l_B = 0.8", "l_B = 0.2"))
    answer = sentence("fit", record, "--robot", short)
    assert "l_B 0.2 m cannot reach below its horizontal arms; check the four lengths" in answer
    negative = altered(tmp_path, "two_link", ("l1 = 0.4", "l1 = -0.4"))
    assert "model.geometry.l1: must be greater than 0" in sentence("fit", record, "--robot", negative)


@pytest.mark.parametrize(
    ("point", "words"),
    [
        (("0", "0", "-1.4"), "arm 1 cannot reach the point (0, 0, -1.4) m: shoulder and rod end are 1.408 m apart"),
        (("0.9", "0", "-0.7"), "arm 2 cannot reach the point (0.9, 0, -0.7) m"),
        (("0", "0", "0"), "choose a point inside the workspace"),
    ],
)
def test_a_point_that_a_delta_does_not_reach(sentence, point, words):
    assert words in sentence("delta-map", "delta", "--at", *point)


def test_a_map_without_a_point_in_reach(tmp_path, sentence):
    far = altered(tmp_path, "delta", ("z_min = -0.95", "z_min = -2.4"), ("z_max = -0.6", "z_max = -2.0"))
    assert "cannot reach the point (0, 0, -2.2) m" in sentence("delta-map", far, "--map", tmp_path / "map.png")
    assert not (tmp_path / "map.png").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("= 3.042091725e+01", "= 30,42", "IDNT1.PRG:14: PUMA.DynamicParameter is set to '30,42', which is no number"),
        ("DynamicParameter[3] =", "DynamicParameter[3]", "IDNT1.PRG:14: cannot be understood"),
        ("A2.CoulombFriction =", "A2.ViscousFriction =", "A2.ViscousFriction is set twice"),
        ("[3]", "", "DynamicParameter needs a number in [ ]"),
    ],
)
def test_a_program_with_broken_lines(tmp_path, sentence, old, new, words):
    path = tmp_path / "IDNT1.PRG"
    path.write_text(EXAMPLE.read_text().replace(old, new, 1))
    assert words in sentence("prg", path)
