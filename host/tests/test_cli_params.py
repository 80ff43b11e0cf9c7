"""`idm info` and `idm params` on the virtual board, while its time passes by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from free_rig import FreeRig

from idmkit.bench import RobotModel
from idmkit.board.posture import save_tables, table_over
from idmkit.cli.main import main
from idmkit.link.client import Board
from idmkit.robot import load_robot

CRANK = {"crank.I": 0.12, "crank.L2": 0.16, "crank.MgA": 3.0, "crank.gL": 3.92266, "crank.Fv": 0.08, "crank.Fc": 0.35}
Answer = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreeRig]:
    """One board, from its first start on: the tests of this file follow each other."""
    with FreeRig(load_robot("crank"), tmp_path_factory.mktemp("board")) as free:
        yield free


@pytest.fixture
def idm(capsys: pytest.CaptureFixture[str]) -> Answer:
    """Runs a verb in this process: exit code, stdout, stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def result_file(path: Path, robot: str = "crank", accepted: bool = True, **changes: float) -> Path:
    values = CRANK | {f"crank.{name}": value for name, value in changes.items()}
    result: dict[str, Any] = {
        "schema": 1, "robot": robot, "model": "by hand", "estimator": "none", "samples": 0, "sample_rate_hz": 1000.0,
        "cutoff_hz": 20.0, "gravity": 9.80665, "axes": [],
        "parameters": [
            {"name": name, "value": value, "std": None, "rsd_percent": None, "unit": ""}
            for name, value in values.items()
        ],
        "verdict": {"accepted": accepted, "findings": []},
    }  # fmt: skip
    path.write_text(json.dumps(result))
    return path


def generation(idm: Answer, rig: FreeRig) -> int:
    code, out, _ = idm("info", rig.port, "--json")
    assert code == 0
    return int(json.loads(out)["hello"]["generation"])


def test_a_board_fresh_from_the_box(rig: FreeRig, idm: Answer) -> None:
    code, out, err = idm("info", rig.port)
    assert (code, err) == (0, "")
    assert "board unix, firmware" in out
    assert "no settings yet" in out
    assert "compiled model 0x" in out
    code, out, err = idm("params", rig.port, "--robot", "crank")
    assert (code, out) == (1, "")
    assert err.startswith("idm params: the board has no applied parameters; write some with")
    code, out, err = idm("params", rig.port, "--robot", "crank", "--roll-back")
    assert (code, out) == (1, "")
    assert err.startswith("idm params: the board has no set from before to roll back to")


def test_settings_are_written_and_stored(rig: FreeRig, idm: Answer) -> None:
    code, out, err = idm("params", rig.port, "--robot", "crank", "--settings")
    assert (code, err) == (0, "")
    assert out.startswith("written, read back and stored as generation 1 (CRC 0x")
    rows = {tuple(line.split()[:2]): line.split()[2:] for line in out.splitlines() if line.startswith("  ")}
    assert rows["crank", "DynamicModel"] == ["0"]
    assert rows["crank", "TorqueThreshold"] == ["30", "Nm"]
    assert rows["crank", "TorqueErrorMax"] == ["6", "Nm"]
    assert "!" not in out


def test_a_result_is_written_and_stored(rig: FreeRig, idm: Answer, tmp_path: Path) -> None:
    code, out, err = idm("params", rig.port, "--robot", "crank", "--write", result_file(tmp_path / "r.json"))
    assert (code, err) == (0, "")
    assert out.startswith("written, read back and stored as generation 2 (CRC 0x")
    assert "crank.MgA" in out
    for image in ("applied", "stored"):
        code, out, err = idm("params", rig.port, "--robot", "crank", "--image", image, "--json")
        assert (code, err) == (0, "")
        said = json.loads(out)
        assert said["robot"] == "crank"
        assert said["generation"] == 2
        assert said["differs_from_robot_file"] == []
        assert said["program_hash"] == RobotModel.of(load_robot("crank")).program.hash
        values = {parameter["name"]: parameter["value"] for parameter in said["parameters"]}
        assert values == CRANK | {"crank.payload_mass": 0.0, "crank.payload_inertia": 0.0}


def test_a_written_result_is_kept_and_compared_with_the_set_before(rig: FreeRig, idm: Answer, tmp_path: Path) -> None:
    crank = ("params", rig.port, "--robot", "crank")
    warm = result_file(tmp_path / "warm.json", Fv=0.06)
    notes = ("--conditions", "warm, no load", "--record", "warm.npz")
    code, out, err = idm(*crank, "--write", warm, *notes, "--compare", "previous")
    assert (code, err) == (3, "")
    (kept,) = tmp_path.glob("warm.set-*.json")
    assert f"kept as {kept}" in out
    assert [line.split() for line in out.splitlines() if "! drifted" in line] == [
        ["crank.Fv", "0.08", "0.06", "-25", "!", "drifted"]
    ]
    said = json.loads(kept.read_text())
    assert (said["conditions"], said["record"], said["generation"]) == ("warm, no load", "warm.npz", 3)
    assert idm(*crank, "--compare", "previous", "--drift", "30")[0] == 0
    code, out, err = idm(*crank, "--compare", kept, "--json")
    assert (code, err) == (0, "")
    assert {change["percent"] for change in json.loads(out)["changes"]} == {0.0}
    code, out, err = idm(*crank, "--compare", result_file(tmp_path / "other.json", "slide"))
    assert (code, out) == (1, "")
    assert "compare like with like" in err


def test_rolled_back_in_one_command_and_forth_again(rig: FreeRig, idm: Answer, tmp_path: Path) -> None:
    crank = ("params", rig.port, "--robot", "crank")
    for number, friction in ((4, 0.08), (5, 0.06)):
        code, out, err = idm(*crank, "--roll-back", "--image", "stored")
        assert (code, err) == (0, "")
        assert out.startswith(f"written, read back and stored as generation {number} (CRC 0x")
        assert ["crank.Fv", f"{friction}"] in [line.split()[:2] for line in out.splitlines()]
        assert generation(idm, rig) == number
    assert idm(*crank, "--write", result_file(tmp_path / "r.json"))[0] == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"accepted": False}, "refuses this result; nothing was written"),
        ({"robot": "slide"}, "is a result of the robot 'slide', the robot file is of 'crank'"),
        ({"MgA": 1000.0}, "crank.MgA"),
    ],
)
def test_what_must_not_be_written_is_not(
    rig: FreeRig, idm: Answer, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    before = generation(idm, rig)
    code, out, err = idm("params", rig.port, "--robot", "crank", "--write", result_file(tmp_path / "r.json", **changes))
    assert (code, out) == (1, "")
    assert err.startswith("idm params: ")
    assert message in err
    assert generation(idm, rig) == before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 7}', "no JSON", None])
def test_a_result_file_that_is_none(rig: FreeRig, idm: Answer, tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "result.json"
    if text is not None:
        file.write_text(text)
    code, out, err = idm("params", rig.port, "--robot", "crank", "--write", file)
    assert (code, out) == (1, "")
    assert "result.json" in err
    assert len(err.splitlines()) == 1


def test_another_robots_file_is_refused(rig: FreeRig, idm: Answer, tmp_path: Path) -> None:
    for arguments in (("params",), ("params", "--write", result_file(tmp_path / "r.json", "slide")), ("identify",)):
        verb, *options = arguments
        code, out, err = idm(verb, rig.port, "--robot", "slide", *options)
        assert (code, out) == (1, "")
        assert "the board is set up for the robot 'crank', the robot file is of 'slide'" in err
    assert list(tmp_path.glob("slide*")) == []


def test_posture_tables_go_with_a_result(rig: FreeRig, idm: Answer, tmp_path: Path) -> None:
    file, result = tmp_path / "tables.json", result_file(tmp_path / "result.json")
    save_tables([table_over("crank.Fc", 0, [-1.0, 0.0, 1.0], [0.3, 0.35, 0.5])], file)
    code, out, err = idm("params", rig.port, "--robot", "crank", "--tables", file)
    assert (code, out) == (1, "")
    assert "give --write RESULT.json, too" in err
    code, out, err = idm("params", rig.port, "--robot", "crank", "--write", result, "--tables", file)
    assert (code, err) == (0, "")
    assert re.search(r"crank\.Fc +0\.3 to 0\.5, a table over crank", out)
    _, out, _ = idm("params", rig.port, "--robot", "crank", "--json")
    (table,) = json.loads(out)["tables"]
    assert (table["key"], table["axis"], table["shift"]) == ("crank.Fc", 0, 19)
    save_tables([table_over("crank.Fc", 0, [0.0], [99.0])], file)
    code, out, err = idm("params", rig.port, "--robot", "crank", "--write", result, "--tables", file)
    assert (code, out) == (1, "")
    assert "crank.Fc = 99 Nm is outside" in err
    # A result without tables is written without tables.
    assert "a table over" not in idm("params", rig.port, "--robot", "crank", "--write", result)[1]


def test_a_changed_setting_is_pointed_out(rig: FreeRig, idm: Answer) -> None:
    with Board.open(rig.port, ("revolute",)) as board:
        board.write("torque_threshold", 12.0)
    code, out, _ = idm("info", rig.port)
    assert code == 0
    assert "! the applied parameters are not stored" in out
    code, out, _ = idm("params", rig.port, "--robot", "crank")
    assert "! crank.torque_threshold differs from the robot file" in out
    _, out, _ = idm("params", rig.port, "--robot", "crank", "--json")
    assert json.loads(out)["differs_from_robot_file"] == ["crank.torque_threshold"]


def test_a_board_that_a_dead_host_left_is_cleared(rig: FreeRig, idm: Answer) -> None:
    with Board.open(rig.port, ("revolute",)) as board:
        with board.heartbeats():
            board.arm()
        while board.status().fault == "":
            pass
    code, out, _ = idm("info", rig.port)
    assert "stopped_by_fault" in out
    assert "! Fault heartbeat_lost" in out
    code, out, err = idm("params", rig.port, "--robot", "crank")
    assert (code, out) == (1, "")
    assert "`idm info PORT --clear`" in err
    code, out, err = idm("info", rig.port, "--clear", "--json")
    assert (code, err) == (0, "")
    status = json.loads(out)["status"]
    assert (status["state"], status["fault"]) == ("disarmed", "")
    assert idm("params", rig.port, "--robot", "crank")[0] == 0
