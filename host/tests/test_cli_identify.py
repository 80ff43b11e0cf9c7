"""`idm identify` against `idm rig` in another process, free-running and by the wall clock, on a busy machine."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import cli
import pytest
from free_rig import FreeRig

from idmkit.bench import Bench, write_settings
from idmkit.cli.main import main
from idmkit.link.client import Board
from idmkit.records import load_record
from idmkit.robot import load_robot
from idmkit.verdict import load_result

FILES = ("crank_fit.png", "crank_record.npz", "crank_result.json")


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The crank with an identification run of 4 s, for time that passes by the wall clock."""
    file = tmp_path_factory.mktemp("robot") / "crank.toml"
    text = load_robot("crank").file.read_text()
    assert text.count("duration_s = 16.0") == 1
    file.write_text(text.replace("duration_s = 16.0", "duration_s = 4.0"))
    return file


class Runs:
    """One identification on each kind of rig, both at once: four processes on what are often two cores."""

    def __init__(self, short: Path, folder: Path) -> None:
        self.folders = {"free": folder / "free", "realtime": folder / "realtime"}
        with cli.rig_process("crank") as (_, free), cli.rig_process(short, "--realtime") as (_, realtime):
            processes = {}
            for name, port, robot in (("free", free, "crank"), ("realtime", realtime, short)):
                self.folders[name].mkdir()
                options = ("--write", "--json") if name == "free" else ()
                processes[name] = cli.start("identify", port, "--robot", robot, *options, cwd=self.folders[name])
            self.done = {name: cli.finish(process) for name, process in processes.items()}
            params = ("params", free, "--robot", "crank", "--json", "--image")
            self.params = [json.loads(cli.idm(*params, image).stdout) for image in ("applied", "stored")]
            self.info = json.loads(cli.idm("info", realtime, "--json").stdout)
            self.again = cli.idm("identify", free, "--robot", short, cwd=folder)
            self.params_again = json.loads(cli.idm(*params, "applied").stdout)
            self.info_again = json.loads(cli.idm("info", free, "--json").stdout)


@pytest.fixture(scope="module")
def runs(short: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(short, tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize("pace", ["free", "realtime"])
def test_it_identifies_from_another_process(runs: Runs, pace: str) -> None:
    done = runs.done[pace]
    assert (done.returncode, done.stderr) == (0, "")
    folder = runs.folders[pace]
    assert tuple(sorted(path.name for path in folder.iterdir())) == FILES
    record = load_record(folder / "crank_record.npz")
    assert record.gaps == ()
    assert record.duration_s == pytest.approx(15.999 if pace == "free" else 3.999)
    result = load_result(folder / "crank_result.json")
    assert result.verdict.accepted
    # What the rig is built from, within 1 %: noise over 4 s leaves a tenth of that.
    assert result.values()["crank.MgA"] == pytest.approx(1.2 * 9.80665 * 0.255, rel=0.01)


def test_json_is_the_result_and_where_it_went(runs: Runs) -> None:
    said: dict[str, Any] = json.loads(runs.done["free"].stdout)
    stored = json.loads((runs.folders["free"] / "crank_result.json").read_text())
    assert said == stored | {"files": said["files"], "stored_generation": 2}
    assert sorted(said["files"].values()) == list(FILES)


def test_what_it_wrote_is_on_the_board(runs: Runs) -> None:
    result = load_result(runs.folders["free"] / "crank_result.json").values()
    for image in runs.params:
        assert image["generation"] == 2
        assert image["differs_from_robot_file"] == []
        values = {parameter["name"]: parameter["value"] for parameter in image["parameters"]}
        assert {name: values[name] for name in result} == result


def test_without_write_nothing_is_stored(runs: Runs) -> None:
    assert runs.info["status"]["applied_differs_from_stored"]
    assert runs.info["status"]["state"] == "disarmed"
    assert runs.info["statistics"]["capture_overwritten"] == 0


def test_what_was_in_force_is_in_force_again(runs: Runs) -> None:
    """The robot moves without its model while it is identified, and has it back afterwards."""
    assert (runs.again.returncode, runs.again.stderr) == (0, "")
    assert runs.params_again == runs.params[0]
    assert not runs.info_again["status"]["applied_differs_from_stored"]


def test_text_says_what_a_person_needs(runs: Runs) -> None:
    out = runs.done["realtime"].stdout
    assert "accepted" in out.splitlines()
    for name in FILES:
        assert name in out


def test_a_host_that_is_held_up_is_waited_for(tmp_path: Path) -> None:
    """Free-running time is faster than a host may be: a second without a heartbeat is thousands of its cycles."""
    robot = load_robot("crank")
    with FreeRig(robot, tmp_path, with_model=False) as rig, Board.open(rig.port, ("revolute",)) as board:
        write_settings(Bench(robot, board))
        with board.heartbeats():
            board.arm()
        time.sleep(1.0)
        assert board.heartbeat().state == "holding"
        assert rig.failure == ""
        with board.heartbeats():
            board.disarm()


def test_interrupted_it_disarms_and_leaves_nothing(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    with FreeRig(load_robot("crank"), tmp_path / "board", with_model=False) as rig:
        process = cli.start("identify", rig.port, "--robot", "crank", cwd=here)
        rig.wait_for_cycle(4000)
        process.send_signal(signal.SIGINT)
        done = cli.finish(process)
        with Board.open(rig.port, ("revolute",)) as board:
            status = board.status()
    assert done.returncode == 130
    assert done.stderr == "idm identify: interrupted\n"
    assert list(here.iterdir()) == []
    assert (status.state, status.fault) == ("disarmed", "")


def test_a_board_without_the_model_is_told_before_anything_moves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FreeRig(load_robot("crank"), tmp_path / "board", with_model=False) as rig:
        assert main(["identify", rig.port, "--robot", "crank", "--write", "-o", str(tmp_path)]) == 1
        assert rig.rig.cycle == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "the board has no compiled model" in said.err
    assert "put the robot's model on the board first" in said.err


def test_a_folder_that_is_none_is_told_before_anything_moves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["identify", "rig:", "--robot", "crank", "-o", str(tmp_path / "nowhere")]) == 1
    assert "is no folder; make it, or choose another one with -o" in capsys.readouterr().err


def test_a_rig_of_its_own(short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identify", "rig:", "--robot", str(short), "-o", str(tmp_path), "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert json.loads(said.out)["verdict"]["accepted"]


def test_a_rig_ends_with_ctrl_c_and_leaves_nothing(tmp_path: Path) -> None:
    with cli.rig_process("crank") as (process, port):
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert not Path(port).exists()
