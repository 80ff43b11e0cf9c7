"""What drives say of themselves, and what differs from the robot file, on the rig's drives behind a real firmware."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from firmware_bench import session

from idmkit.board import drive_words
from idmkit.board.drives import differences, read_drive
from idmkit.cli.main import main
from idmkit.link.refusals import Refusal
from idmkit.robot import load_robot
from idmwire.messages import SETUP_STEPS


def test_a_drives_data_are_read_and_agree(tmp_path: Path) -> None:
    with session(64, tmp_path, with_model=False) as bench:
        drive = bench.robot.axes[0].drive
        data = read_drive(bench.board, 0)
        assert (data.bus, data.node, data.nmt_state, data.state) == (0, 1, "OPERATIONAL", "NOT READY TO SWITCH ON")
        assert (data.trouble, data.error, data.name) == ("", "", "idmkit virtual servo drive")
        assert data.rated_current == pytest.approx(drive.rated_current)
        assert data.rated_torque == pytest.approx(drive.rated_torque)
        assert data.peak_current == pytest.approx(drive.peak_torque * 2.8 / 1.27, abs=0.0005)
        assert data.torque_constant == pytest.approx(1.27 / 2.8, abs=0.0005)
        assert data.force_constant is None
        assert differences(bench.robot.axes[0], data) == []
        bench.go(2)
        assert read_drive(bench.board, 0).state == "SWITCH ON DISABLED"
        bench.arm()
        with pytest.raises(Refusal, match="needs_disarmed"):
            read_drive(bench.board, 0)
        bench.rig.drive(0).fault(0x2310)
        bench.go(10)
        bench.disarm()
        data = read_drive(bench.board, 0)
        assert data.error == "error 0x2310 (continuous over-current), error register 0x03 (generic, current)"
        assert data.emergencies == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rated_torque": 1.3}, "rated_torque = 1.3 Nm, 0x6076 says 1.27 Nm (-2.3 %)"),
        ({"rated_current": 2.7}, "rated_current = 2.7 A, 0x6075 says 2.8 A (+3.7 %)"),
        ({"peak_torque": 5.0}, "peak_torque = 5 Nm, which takes 11.02 A, 0x2036 says 8.4 A (-23.8 %)"),
    ],
)
def test_a_number_that_differs_is_named(change: dict[str, float], words: str, tmp_path: Path) -> None:
    with session(64, tmp_path, with_model=False) as bench:
        axis = bench.robot.axes[0]
        wrong = replace(axis, drive_or_none=replace(axis.drive, **change))
        found = differences(wrong, read_drive(bench.board, 0))
    assert any(words in sentence for sentence in found), found


def test_a_drive_that_contradicts_itself_is_told(tmp_path: Path) -> None:
    with session(64, tmp_path, with_model=False) as bench:
        data = replace(read_drive(bench.board, 0), torque_constant=0.6)
        (sentence,) = differences(bench.robot.axes[0], data)
    assert "0x2039 x 0x6075 = 0.6 Nm/A x 2.8 A = 1.68 Nm, but 0x6076 = 1.27 Nm" in sentence


def test_the_command_prints_and_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "crank.toml"
    text = load_robot("crank").file.read_text()
    file.write_text(text.replace("rated_torque = 1.27", "rated_torque = 1.3"))
    with session(64, tmp_path, with_model=False) as bench:
        port = bench.rig.port
        bench.board.close()
        assert main(["drives", port, "--robot", "crank"]) == 0
        out = capsys.readouterr().out
        assert "rated torque     1.27 Nm (0x6076)" in out
        assert "agrees" in out
        assert main(["drives", port, "--robot", str(file), "--json"]) == 1
        answer = json.loads(capsys.readouterr().out)
        assert answer["drives"][0]["rated_torque"] == pytest.approx(1.27)
        assert "0x6076 says 1.27 Nm" in answer["differences"][0]


def test_every_step_of_a_set_up_has_its_words() -> None:
    for step, name in enumerate(SETUP_STEPS):
        words = drive_words.setup(step, 0x1600, 2, 0x06040041)
        assert (words == "") == (name == "ready")
    assert drive_words.setup(5, 0x1600, 2, 0x06040041) == (
        "could not be given object 0x1600:2: it answered with abort code 0x06040041: "
        "the object cannot be mapped into this PDO"
    )
    assert drive_words.setup(4, 0x1000, 0, 0) == "could not be asked for object 0x1000: it did not answer"
    assert "does not know" in drive_words.setup(99, 0, 0, 0)


def test_statuswords_codes_and_registers() -> None:
    for status, name in (
        (0x0250, "SWITCH ON DISABLED"), (0x0231, "READY TO SWITCH ON"), (0x0233, "SWITCHED ON"),
        (0x1237, "OPERATION ENABLED"), (0x0217, "QUICK STOP ACTIVE"), (0x021F, "FAULT REACTION ACTIVE"),
        (0x0218, "FAULT"), (0x0200, "NOT READY TO SWITCH ON"),
    ):  # fmt: skip
        assert drive_words.state(status) == name
    assert drive_words.error(0x2311) == "0x2311 (continuous over-current)"
    assert drive_words.error(0x3456) == "0x3456 (voltage)"
    assert "manual" in drive_words.error(0xA000)
    assert drive_words.register(0) == "0x00"
    assert drive_words.emergency(0) == ""
