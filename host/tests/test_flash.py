"""`idm flash` onto MicroPython's unix port, with a REPL and a file system of its own, and interrupted everywhere."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import cli
import pytest
from flashing import (
    GENERATION,
    Killed,
    assert_whole,
    compiled,
    flashed,
    give_settings,
    killed_at,
    killed_in_run,
    quick,
)
from repl_boards import UnixBoard

from idmkit.board import firmware
from idmkit.board.backup import load
from idmkit.board.flash import STEPS, UPDATE
from idmkit.errors import IdmError, LinkError
from idmwire.image import unpack

OURS = firmware.board_file("unix")


@pytest.fixture(scope="module")
def flashed_folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The file system of a board that was flashed while empty, with settings; and their CRC."""
    root = tmp_path_factory.mktemp("first")
    (root / "board").mkdir()
    with UnixBoard(root / "board") as board:
        done = flashed(board, root)
        assert (done.before, done.after) == (None, firmware.firmware_version())
        assert len(done.copied) == len(done_files())
        crc = give_settings(board)
    return root / "board", crc


def done_files() -> dict[str, bytes]:
    return compiled(OURS, "x64")


@pytest.fixture
def board(flashed_folder: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[UnixBoard]:
    """A board of which two files differ, one is missing, and an old one lies in the way of a new one."""
    quick(monkeypatch)
    folder = tmp_path / "board"
    shutil.copytree(flashed_folder[0], folder)
    (folder / "motionboard" / "store.mpy").unlink()
    shutil.copy(firmware.find_firmware()[1][0] / "motionboard" / "store.py", folder / "motionboard")
    for name in ("main.py", "motionboard/__init__.mpy"):
        with (folder / name).open("ab") as file:
            file.write(b"\n")
    (folder / "notes.dat").write_bytes(b"notes")
    with UnixBoard(folder) as running:
        yield running


def test_only_what_differs_is_copied(board: UnixBoard, flashed_folder: tuple[Path, int], tmp_path: Path) -> None:
    done = flashed(board, tmp_path)
    assert done.before == done.after == firmware.firmware_version()
    assert sorted(done.copied) == ["main.py", "motionboard/__init__.mpy", "motionboard/store.mpy"]
    assert done.removed == ["motionboard/store.py"]
    assert_whole(board, flashed_folder[1])
    assert board.files() == done_files() | {"notes.dat": b"notes"}
    assert done.backup is not None
    kept = load(done.backup)
    assert (done.backup / "files" / "notes.dat").read_bytes() == b"notes"
    assert kept.settings is not None
    assert (kept.settings.robot, kept.settings.generation) == ("crank", GENERATION)
    assert kept.settings.values["torque_threshold"] == [int(3.25 * 2**16)]
    assert unpack(bytes.fromhex(kept.images["stored"])).generation == GENERATION
    assert kept.counters["frames_received"] > 0
    # Once more: nothing to do.
    again = flashed(board, tmp_path)
    assert (again.copied, again.removed) == ([], [])
    assert again.backup != done.backup


def test_interrupted_at_every_step_the_same_command_goes_on(
    board: UnixBoard, flashed_folder: tuple[Path, int], tmp_path: Path
) -> None:
    # Each attempt gets one step further than the one before, so it has come through the step at which that one died.
    for step in STEPS:
        with pytest.raises(Killed):
            flashed(board, tmp_path, killed_at(step))
    done = flashed(board, tmp_path)
    assert done.after == firmware.firmware_version()
    assert_whole(board, flashed_folder[1])
    assert board.files() == done_files() | {"notes.dat": b"notes"}


@pytest.mark.parametrize("power", ["tool", "board"])
def test_interrupted_anywhere_the_same_command_goes_on(
    power: str, board: UnixBoard, flashed_folder: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tool dies, or the board loses its power, while code runs on it."""
    cut = board.power_cycle if power == "board" else None
    numbers = random.Random(power)
    for _ in range(3):
        with killed_in_run(monkeypatch, numbers.randint(1, 16), cut), pytest.raises((Killed, LinkError)):
            flashed(board, tmp_path)
        (board.folder / "motionboard" / "axis.mpy").write_bytes(b"half of a fi")
    flashed(board, tmp_path)
    assert_whole(board, flashed_folder[1])
    assert board.files() == done_files() | {"notes.dat": b"notes"}


def test_a_mark_half_written_is_no_mark(
    board: UnixBoard, flashed_folder: tuple[Path, int], tmp_path: Path
) -> None:
    (board.folder / UPDATE).write_text('{"schema": 1, "tak')
    board.power_cycle()
    flashed(board, tmp_path)
    assert_whole(board, flashed_folder[1])
    assert not (board.folder / UPDATE).exists()


def test_a_model_for_another_micropython_keeps_no_board_from_starting(
    board: UnixBoard, flashed_folder: tuple[Path, int], tmp_path: Path
) -> None:
    (board.folder / "model.mpy").write_bytes(b"M\x05\x00\x1f")
    flashed(board, tmp_path)
    assert_whole(board, flashed_folder[1])


def test_a_board_whose_firmware_dies_at_once_is_reached(
    board: UnixBoard, flashed_folder: tuple[Path, int], tmp_path: Path
) -> None:
    (board.folder / "motionboard" / "controller.mpy").write_bytes(b"no module")
    board.power_cycle()
    done = flashed(board, tmp_path)
    assert "motionboard/controller.mpy" in done.copied
    assert_whole(board, flashed_folder[1])


def test_another_board_is_refused_and_left_running(
    board: UnixBoard, flashed_folder: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = board.files()
    monkeypatch.setattr(board, "name", "rpi_pico")
    with pytest.raises(IdmError, match=r"Step 4 of 11 \(check\) failed: rpi_pico is rp2 with RP2040, on the port is"):
        flashed(board, tmp_path)
    monkeypatch.setattr(board, "name", "unix")
    assert board.files() == before
    assert_whole(board, flashed_folder[1])


def test_a_board_that_is_no_board_is_told(tmp_path: Path) -> None:
    done = cli.idm("flash", tmp_path / "nothing", "--board", "arduino")
    cli.assert_a_clear_sentence(done, "there is no board 'arduino'; there are", "mps2", "rpi_pico", "unix")


def test_another_mpy_version_is_refused(board: UnixBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firmware, "mpy_version", lambda: (7, 0))
    with pytest.raises(IdmError, match=r"takes \.mpy version 6\.3 for x64, mpy-cross here makes 7\.0"):
        flashed(board, tmp_path)


def test_the_command_flashes_and_tells(board: UnixBoard, flashed_folder: tuple[Path, int], tmp_path: Path) -> None:
    done = cli.idm("flash", board.port, "--board", "unix", "--backups", tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("find:") and "robot crank, generation 7" in line for line in lines)
    assert lines[-1] == "3 files copied, 1 removed; the board runs"
    assert_whole(board, flashed_folder[1])


def test_a_process_that_is_killed_while_it_copies(
    board: UnixBoard, flashed_folder: tuple[Path, int], tmp_path: Path
) -> None:
    for name in done_files():
        if name.startswith("idmwire/"):
            (board.folder / name).write_bytes(b"another one")
    process = cli.start("flash", board.port, "--board", "unix", "--backups", tmp_path)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("copy:") and "(5 of" in line:
            break
    process.kill()
    process.communicate()
    assert (board.folder / UPDATE).exists()
    flashed(board, tmp_path)
    assert_whole(board, flashed_folder[1])
    assert board.files() == done_files() | {"notes.dat": b"notes"}


def test_the_mark_is_what_main_looks_for(board: UnixBoard) -> None:
    main, _ = firmware.find_firmware()
    assert firmware.constants(main)["UPDATE"] == UPDATE
