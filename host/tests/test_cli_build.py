"""`idm build`: the module for the board, plain C, the report, and what it says to bad input."""

import json
import re
from pathlib import Path

import pytest
from cli import idm

import idmkit
from idmkit.cli.main import main
from idmkit.fixedpoint import compile_robot, emit_viper
from idmkit.robot import load_robot

CRANK = (Path(idmkit.__file__).parent / "robots" / "crank.toml").read_text()


def robot_file(folder, old, new):
    assert old in CRANK
    path = folder / "robot.toml"
    path.write_text(CRANK.replace(old, new, 1))
    return path


def test_the_module_is_the_boards(tmp_path):
    done = idm("build", "crank", "-o", tmp_path / "model.py")
    assert done.returncode == 0, done.stderr
    program = compile_robot(load_robot("crank"))
    assert (tmp_path / "model.py").read_text() == emit_viper(program)
    assert f"{program.hash:#010x}" in done.stdout
    assert idm("build", "crank", "-o", tmp_path / "short.py", "--words", 32).returncode == 0
    assert (tmp_path / "short.py").read_text() == emit_viper(program, words=32)


def test_c_and_report_as_json(tmp_path):
    done = idm("build", "slide", "--c", tmp_path / "c", "--report", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [Path(path).name for path in found["written"]] == ["model.h", "model.c", "check.c", "vectors.txt"]
    assert all(Path(path).exists() for path in found["written"])
    (axis,) = found["report"]["axes"]
    assert 0 < axis["rms"] < axis["largest"] <= axis["bound"]
    assert axis["quantum"] == 1e-3 * load_robot("slide").axes[0].drive.joint_rated_torque
    assert found["worst_percent"] <= 0.1
    assert set(found["mpy_bytes"]) >= {"armv6m", "armv7m", "x64", "x86"}
    assert found["proved"] + found["limited"] == found["instructions"]


def test_report_for_people(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("IDMKIT_MPS2_IMAGE", str(tmp_path / "none.elf"))
    assert main(["build", "two_link", "--report", "--listing"]) == 0
    printed = capsys.readouterr().out
    assert "of peak torque" in printed
    assert re.search(r"^not found: IDMKIT_MPS2_IMAGE names .*none.elf, which is no file", printed, re.MULTILINE)
    assert "bytes of the .mpy: armv6m " in printed
    assert re.search(r"^v0 = ", printed, re.MULTILINE)


def test_too_much_error_is_said_and_is_no_success(tmp_path):
    """An inertia that nothing could turn this fast: its bits are not there for the drive's small torques."""
    path = robot_file(tmp_path, "acceleration_max", "acceleration_max")
    path.write_text(re.sub(r"^I = \[[^\]]*\]", "I = [0.0, 3e5]", path.read_text(), count=1, flags=re.MULTILINE))
    done = idm("build", path, "--report")
    assert done.returncode == 1
    assert "narrow parameter_ranges" in done.stdout


def test_an_unknown_robot_is_a_sentence():
    done = idm("build", "no_such_robot")
    assert done.returncode == 1
    assert done.stderr.startswith("idm build: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("limit", ["position_min", "position_max", "velocity_max", "acceleration_max"])
def test_limits_are_needed_and_finite(limit, tmp_path, capsys):
    """Without them, or with infinite ones, there is no range to prove anything for."""
    line = next(line for line in CRANK.splitlines() if line.startswith(f"{limit} ="))
    for bad in ("", f"{limit} = inf", f"{limit} = nan", f"{limit} = 1e30"):
        if limit == "position_min" and bad.endswith("1e30"):
            bad = f"{limit} = -1e30"
        assert main(["build", str(robot_file(tmp_path, line, bad))]) == 1
        said = capsys.readouterr().err
        assert said.startswith("idm build: ")
        assert limit in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("I = [0.0, inf]", "must be [low, high] with low <= high, is [0.0, inf]"),
        ("I = [nan, 1.0]", "must be [low, high] with low <= high, is [nan, 1.0]"),
        ("I = [0.0, 1e300]", "a program needs finite limits within +-1e+30"),
        ("I = [0.0, 1e30]", "let the torque of crank reach 8e+31, where the drive's peak is 38.1"),
    ],
)
def test_ranges_without_end_are_refused(line, said, tmp_path, capsys):
    path = robot_file(tmp_path, "velocity_max", "velocity_max")
    path.write_text(re.sub(r"^I = .*$", line, path.read_text(), count=1, flags=re.MULTILINE))
    out = tmp_path / "model.py"
    assert main(["build", str(path), "-o", str(out)]) == 1
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    done = idm("build", "slide", "--c", tmp_path / "file" / "c")
    assert done.returncode == 1
    assert done.stderr.startswith("idm build: ")
    assert "Traceback" not in done.stderr
