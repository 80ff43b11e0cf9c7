"""What a board holds: kept, carried over to another registry, restored; on real firmware, older firmware included."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import cli
import pytest
from fake_board import FakeBoard
from flashing import GENERATION, flashed, give_settings, quick
from hypothesis import given
from hypothesis import strategies as st
from pty_board import PtyBoard
from repl_boards import UnixBoard
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from idmkit.board import backup, firmware
from idmkit.board.backup import Backup, Settings, migrate
from idmkit.board.restore import restore
from idmkit.cli.main import main
from idmkit.errors import IdmError, ProtocolMismatch
from idmkit.link import images
from idmkit.link.client import Board
from idmkit.link.repl import Repl
from idmwire import properties, scales
from idmwire.image import unpack

OLD_VERSION = (0, 0, 9)


def settings(axes: int = 1, **changes: Any) -> Settings:
    """Those of the crank, all of them there."""
    table = properties.defaults(axes)
    places = properties.slots(axes)
    values = {
        prop[1]: table[places[prop[1]] : places[prop[1]] + (axes if prop[3] == properties.AXIS else 1)]
        for prop in properties.PROPERTIES
    }
    plain = Settings(
        robot="crank", cycle_time_us=1000, axes=axes, generation=GENERATION, exponents=list(scales.exponents()),
        values=values, program_hash=0, mantissas=[], engineering=[],
    )  # fmt: skip
    return replace(plain, **changes)


@given(st.data())
def test_settings_of_the_same_registry_are_carried_as_they_are(data: st.DataObject) -> None:
    axes = data.draw(st.integers(1, 6))
    kept = settings(axes)
    for prop in properties.PROPERTIES:
        count = len(kept.values[prop[1]])
        kept.values[prop[1]] = data.draw(st.lists(st.integers(prop[5], prop[6]), min_size=count, max_size=count))
    migration = migrate(kept)
    assert migration.notes == ()
    back = unpack(migration.image.pack())
    assert {name: [back.value(name, axis) for axis in range(len(was))] for name, was in kept.values.items()} == (
        kept.values
    )


def test_what_is_new_gone_or_out_of_range_is_named() -> None:
    kept = settings(2)
    del kept.values["torque_lead"], kept.values["node_id"]
    kept.values["payload_hint"] = [4, 5]
    kept.values["additive_torque_delay"] = [2, 99]
    kept.values["torque_error_max"] = [1234]
    migration = migrate(kept)
    assert migration.notes == (
        "additive_torque_delay of axis 1 was 99, beyond 0 to 16: default 3",
        "torque_lead is new and takes its default 0",
        "node_id is new and takes its default 0",
        "payload_hint is gone; it was [4, 5]",
    )
    image = migration.image
    assert [image.value("additive_torque_delay", axis) for axis in (0, 1)] == [2, 3]
    # A property of the board that has become one of every axis.
    assert [image.value("torque_error_max", axis) for axis in (0, 1)] == [1234, 1234]


def test_another_scale_is_converted_and_takes_the_model_along() -> None:
    exponents = list(scales.exponents())
    exponents[scales.SCALE_ORDER.index("torque")] += 3
    kept = settings(exponents=exponents, program_hash=77, mantissas=[5], engineering=[0.5], tables=[0, 0, 0, 19, 1, 5])
    kept.values["torque_threshold"] = [1000]
    kept.values["dynamic_model"] = [1]
    migration = migrate(kept)
    image = migration.image
    assert image.value("torque_threshold") == 8000
    assert (image.program_hash, image.mantissas, image.value("dynamic_model")) == (0, (), 0)
    assert image.tables == ()
    assert "compile the model anew" in migration.notes[-1]


@pytest.fixture(scope="module")
def old_tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A firmware from before the last change: a property that is gone now, and a wider range."""
    tree = tmp_path_factory.mktemp("old")
    main_file, folders = firmware.find_firmware()
    for folder in folders:
        shutil.copytree(folder, tree / folder.name, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    registry = next(tree.rglob("idmwire/properties.py"))
    text = registry.read_text()
    text = text.replace(
        "\n)\n\nNUMBERS", '\n    (250, "payload_hint", "", AXIS, "count", 0, 9, 4, "disarmed", ""),\n)\n\nNUMBERS'
    )
    registry.write_text(text)
    version = tree / main_file.parent.name / "motionboard" / "__init__.py"
    version.write_text(f'"""The firmware of an idmkit motion board."""\n\nVERSION = {OLD_VERSION}\n')
    return tree / main_file.parent.name / "main.py", [tree / folder.name for folder in folders]


OLD_SETTINGS = """
import os
from idmwire import image, properties
from motionboard.store import Store
table = properties.defaults(1)
places = properties.slots(1)
table[places["torque_threshold"]] = 212992
table[places["node_id"]] = 5
table[places["payload_hint"]] = 7
data = image.ParameterImage("crank", 1000, 1, table, generation=7).pack()
print(Store(os.getenv("IDM_STORE")).save(data))
"""


@pytest.fixture
def old_board(tmp_path: Path, old_tree: tuple[Path, list[Path]], monkeypatch: pytest.MonkeyPatch) -> UnixBoard:
    """A board with older firmware and settings, flashed as any board is; not running."""
    with monkeypatch.context() as patch:
        quick(patch)
        patch.setattr(firmware, "find_firmware", lambda: old_tree)
        patch.setattr(firmware, "firmware_files", firmware_files)
        (tmp_path / "board").mkdir()
        with UnixBoard(tmp_path / "board") as board:
            flashed(board, tmp_path)
            with Board.open(board.port) as link:
                link.request("enter_repl")
            with Repl.enter(board.port, wait_s=5) as repl:
                assert repl.run(OLD_SETTINGS).strip() == "True"
    return UnixBoard(tmp_path / "board")


firmware_files = firmware.firmware_files


def test_a_board_of_an_older_schema_is_read_backed_up_and_updated(
    old_board: UnixBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(monkeypatch)
    with old_board as board:
        with Board.open(board.port) as link:
            assert link.hello.firmware_version == OLD_VERSION
            with pytest.raises(ProtocolMismatch, match=r"in the schema hash: the board has 0x.*, the package 0x"):
                link.write("torque_threshold", 1.0)
            kept = backup.take(link)
            with pytest.raises(ProtocolMismatch):
                restore(link, kept, tmp_path)
        assert kept.settings is not None
        assert kept.settings.values["property 250"] == [7]
        done = cli.idm("board", "backup", board.port, "-o", tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "differ in the schema hash" in done.stdout
        assert "settings of crank" in done.stdout

        done = flashed(board, tmp_path)
        assert (done.before, done.after) == (OLD_VERSION, firmware.firmware_version())
        assert done.notes == ["payload_hint is gone; it was [7]"]
        with Board.open(board.port) as link:
            assert link.read("torque_threshold") == 3.25
            assert link.read("node_id") == 5
            assert (link.hello.robot, link.hello.generation) == ("crank", GENERATION)
            # The backup over the link, from before, onto the board as it is now.
            link.write("torque_threshold", 1.0)
            restored = restore(link, kept, tmp_path)
            assert restored.notes == ("property 250 is gone; it was [7]",)
            assert link.read("torque_threshold") == 3.25
            assert not link.status().applied_differs_from_stored


def test_backup_and_restore_over_the_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    (tmp_path / "board").mkdir()
    with UnixBoard(tmp_path / "board") as board:
        flashed(board, tmp_path)
        done = cli.idm("board", "backup", board.port, "-o", tmp_path / "empty")
        assert done.returncode == 0, done.stderr
        assert "no settings" in done.stdout
        (empty,) = (tmp_path / "empty").iterdir()
        cli.assert_a_clear_sentence(cli.idm("board", "restore", board.port, empty), "the backup holds no settings")

        give_settings(board)
        done = cli.idm("board", "backup", board.port, "-o", tmp_path / "full")
        assert done.returncode == 0, done.stderr
        (full,) = (tmp_path / "full").iterdir()
        with Board.open(board.port) as link:
            link.write("torque_threshold", 1.0)
            images.store_applied(link)
        done = cli.idm("board", "restore", board.port, full / backup.FILE)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"stored as generation {GENERATION + 1}" in done.stdout
        with Board.open(board.port) as link:
            assert link.read("torque_threshold") == 3.25

        other = backup.load(full)
        assert other.settings is not None
        other.settings.robot = "slide"
        with Board.open(board.port) as link, pytest.raises(IdmError, match=r"for the robot 'crank'.*'slide'"):
            restore(link, other, full)
        other.settings.robot, other.settings.program_hash = "crank", 5
        with Board.open(board.port) as link, pytest.raises(IdmError, match="neither on the board nor in the backup"):
            restore(link, other, full)


@pytest.mark.parametrize("text", ["", "{}", '{"schema": 2}', '{"schema": 1, "settings": 3}', "[1]", "\0"])
def test_a_file_that_is_no_backup_is_told(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / backup.FILE).write_text(text)
    assert main(["board", "restore", "/dev/null", str(tmp_path)]) == 1
    assert "is no backup of a board" in capsys.readouterr().err


def test_boards_are_listed_by_their_serial_numbers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pico = ListPortInfo("/dev/ttyACM3")
    pico.vid, pico.pid, pico.serial_number, pico.description = 0x2E8A, 5, "e6614c311b", "Board in FS mode"
    built_in = ListPortInfo("/dev/ttyS0")
    monkeypatch.setattr(list_ports, "comports", lambda: [built_in, pico])
    assert main(["board", "list"]) == 0
    assert capsys.readouterr().out.split() == ["/dev/ttyACM3", "hwgrep://e6614c311b", "Board", "in", "FS", "mode"]
    assert main(["board", "list", "--ask"]) == 0
    assert "no motion board answers" in capsys.readouterr().out


def test_a_board_is_asked_who_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with PtyBoard(FakeBoard()) as board:
        port = ListPortInfo(board.port)
        port.vid, port.serial_number = 1, ""
        monkeypatch.setattr(list_ports, "comports", lambda: [port])
        assert main(["board", "list", "--ask"]) == 0
    assert "firmware" in capsys.readouterr().out


def test_backups_are_dated_and_never_written_over(tmp_path: Path) -> None:
    kept = Backup("2026-03-04T05:06:07+00:00", {"board": "unix"})
    place = backup.keep(kept, tmp_path, {"a/b.bin": b"1"})
    assert place.name == "idm-backup-unix-20260304T050607Z"
    assert backup.load(place) == kept
    assert backup.keep(kept, tmp_path, {}).name.endswith("Z-1")
