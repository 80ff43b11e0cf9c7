"""`idm build`: the module for the board, plain C, the report, and what it says to bad input."""

import json
import re
from pathlib import Path

from cli import idm

import idmkit
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


def test_report_for_people():
    done = idm("build", "two_link", "--report", "--listing")
    assert done.returncode == 0, done.stderr
    assert "of peak torque" in done.stdout
    assert "bytes of the .mpy: armv6m " in done.stdout
    assert re.search(r"^v0 = ", done.stdout, re.MULTILINE)


def test_too_much_error_is_said_and_is_no_success(tmp_path):
    """An inertia that nothing could turn this fast: its bits are not there for the drive's small torques."""
    path = robot_file(tmp_path, "acceleration_max", "acceleration_max")
    path.write_text(re.sub(r"^I = \[[^\]]*\]", "I = [0.0, 1e6]", path.read_text(), count=1, flags=re.MULTILINE))
    done = idm("build", path, "--report")
    assert done.returncode == 1
    assert "narrow parameter_ranges" in done.stdout


def test_bad_input_is_a_sentence(tmp_path):
    done = idm("build", "no_such_robot")
    assert done.returncode == 1
    assert done.stderr.startswith("idm build: ")
    assert "Traceback" not in done.stderr
    line = next(line for line in CRANK.splitlines() if line.startswith("velocity_max"))
    for bad in ("", "velocity_max = inf", "velocity_max = -1.0"):
        done = idm("build", robot_file(tmp_path, line, bad))
        assert done.returncode == 1
        assert "velocity_max" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    done = idm("build", "slide", "--c", tmp_path / "file" / "c")
    assert done.returncode == 1
    assert done.stderr.startswith("idm build: ")
    assert "Traceback" not in done.stderr
