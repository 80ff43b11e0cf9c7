"""Bench files of hil_tests: what they say, what they may not say, and what a bench leaves out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench_file import BENCHES, BenchFileError, load_bench
from free_rig import FreeRig
from port_server import PortServer

from idmkit.robot import load_robot

ROOT = Path(__file__).resolve().parents[2]
LEAST = 'schema = 1\ndescription = "a stand"\nrobot = "crank"\nport = "/dev/no-such-port"\n'


@pytest.mark.parametrize("name", [file.stem for file in BENCHES.glob("*.toml")])
def test_the_benches_that_come_along_are_valid(name: str) -> None:
    assert load_bench(name).name == name


def test_the_virtual_bench_is_made_for_the_run() -> None:
    bench = load_bench("virtual")
    assert bench.virtual
    assert bench.lacks == {}
    assert bench.robot == load_robot("crank")


def test_a_bench_narrows_the_robots_limits() -> None:
    bench = load_bench("example")
    (axis,) = bench.robot.axes
    assert (axis.position_min, axis.position_max, axis.velocity_max) == (-4.0, 4.0, 12.0)
    assert axis.acceleration_max == load_robot("crank").axes[0].acceleration_max
    assert bench.lacks == {}
    assert not bench.virtual


def test_by_default_nothing_moves(tmp_path: Path) -> None:
    file = tmp_path / "stand.toml"
    file.write_text(LEAST)
    bench = load_bench(str(file))
    assert bench.lacks == {
        "moves_robot": "bench stand does not say `moves = true`",
        "needs_power_cycle": "bench stand has no [power] table",
    }


def test_a_robot_file_lies_beside_its_bench_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(load_robot("slide").file.read_text())
    (tmp_path / "stand.toml").write_text(LEAST.replace('"crank"', '"mine.toml"'))
    assert load_bench(str(tmp_path / "stand.toml")).robot.name == "slide"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[axes.crank]\nposition_max = 3.0\n", r"stand.toml:6: axes.crank.position_max: .* reaches 3.5, .* allows 3;"),
        ("[axes.crank]\nposition_min = -2.0\n", r"stand.toml:6: .* reaches -2.5, .* allows -2;"),
        ("[axes.crank]\nvelocity_max = 9.0\n", r"stand.toml:6: .* reaches 9.425, .* allows 9;"),
        ("[axes.crank]\nacceleration_max = 29.0\n", r"stand.toml:6: .* reaches 29.61, .* allows 29;"),
        ("[axes.crank]\nvelocity_max = 25.0\n", r"stand.toml:6: .*must lie in \[-inf, 20\], is 25"),
        ("[axes.crane]\nvelocity_max = 15.0\n", r"stand.toml:5: axes.crane: unknown field \(did you mean 'crank'\?\)"),
        ("move = true\n", r"stand.toml:5: move: unknown field \(did you mean 'moves'\?\)"),
        ('[power]\noff = "true"\n', r"stand.toml:5: power.on: is missing"),
    ],
)
def test_errors_name_file_line_and_field(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "stand.toml"
    file.write_text(LEAST + text)
    with pytest.raises(BenchFileError, match=message):
        load_bench(str(file))


def test_an_unknown_bench_is_answered_with_those_there_are() -> None:
    with pytest.raises(BenchFileError, match="no bench of this name; there are example, qemu, virtual"):
        load_bench("virtuall")


def run_on(bench: str, *options: str) -> str:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "hil_tests",
        "-q",
        "--color=no",
        "-p",
        "no:cacheprovider",
        "--bench",
        bench,
    ]
    return subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_what_a_bench_lacks_is_said_in_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "stand.toml"
    file.write_text(LEAST + "moves = true\n")
    said = run_on(str(file))
    assert "1 skipped, 5 errors" in said
    assert "bench stand has no [power] table" in said
    assert "bench stand: There is no port /dev/no-such-port." in said
    assert "Traceback" not in said
    assert "client.py" not in said


def test_a_real_bench_behind_a_network_port(tmp_path: Path) -> None:
    """All tests as on a board that stands elsewhere: RFC 2217, time by the wall clock, power by commands."""
    robot_file = tmp_path / "crank.toml"
    robot_file.write_text(load_robot("crank").file.read_text().replace("duration_s = 16.0", "duration_s = 4.0"))
    junit = tmp_path / "junit.xml"
    with FreeRig(load_robot(robot_file), tmp_path / "board") as rig, PortServer(rig.port) as server:
        switch = rig.power_switch
        file = tmp_path / "stand.toml"
        file.write_text(
            f'''schema = 1
description = "a crank in another room"
robot = "crank.toml"
port = "{server.url}"
moves = true

[power]
off = "sh -c 'touch {switch}; while [ -e {switch} ]; do sleep 0.05; done'"
on = "true"
off_s = 0.0
'''
        )
        said = run_on(str(file), f"--junitxml={junit}")
    assert "6 passed" in said, said
    properties = {entry.get("name"): entry.get("value") for entry in ElementTree.parse(junit).iter("property")}
    assert properties == {"bench": "stand", "board": "unix", "firmware": properties["firmware"], "protocol": "1.0"}


@pytest.mark.emulated
def test_the_same_tests_with_the_firmware_on_a_cortex_m3(tmp_path: Path) -> None:
    (tmp_path / "crank.toml").write_text(
        load_robot("crank").file.read_text().replace("duration_s = 16.0", "duration_s = 4.0")
    )
    file = tmp_path / "stand.toml"
    file.write_text(
        'schema = 1\ndescription = "a crank on an emulated board"\nrobot = "crank.toml"\nport = "qemu:"\nmoves = true\n'
    )
    junit = tmp_path / "junit.xml"
    said = run_on(str(file), f"--junitxml={junit}")
    assert "6 passed" in said, said
    properties = {entry.get("name"): entry.get("value") for entry in ElementTree.parse(junit).iter("property")}
    assert properties["board"] == "mps2"
