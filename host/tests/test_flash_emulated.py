"""`idm flash` onto the Cortex-M3 in QEMU, whose frozen firmware runs and gives way to files (`make test-emulated`)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from flashing import Killed, assert_whole, compiled, flashed, give_settings, killed_at, quick
from repl_boards import QemuBoard

from idmkit.board import firmware
from idmkit.board.flash import STEPS
from idmkit.link.client import Board
from idmkit.link.repl import Repl
from idmkit.rig.process import find_micropython
from idmkit.rig.qemu import FLASH_FILE

pytestmark = pytest.mark.emulated

# Runs on the unix port: files with their folders onto the LittleFS in a file.
FILL = """
import os, sys, vfs
class Flash:
    def __init__(self, path):
        self._file = open(path, "r+b")
    def readblocks(self, block, buffer, offset=0):
        self._file.seek(block * 4096 + offset)
        self._file.readinto(buffer)
    def writeblocks(self, block, buffer, offset=0):
        self._file.seek(block * 4096 + offset)
        self._file.write(buffer)
    def ioctl(self, request, _):
        return {4: 256, 5: 4096}.get(request, 0)
vfs.mount(vfs.VfsLfs2(Flash(sys.argv[1])), "/flash")
for path in sys.argv[3:]:
    folder = path.rpartition("/")[0]
    try:
        if folder:
            os.mkdir("/flash/" + folder)
    except OSError:
        pass
    with open(sys.argv[2] + "/" + path, "rb") as source, open("/flash/" + path, "wb") as copy:
        copy.write(source.read())
vfs.umount("/flash")
"""


def prompt(board: QemuBoard) -> Repl:
    with Board.open(board.port) as link:
        link.request("enter_repl")
    return Repl.enter(board.port, wait_s=5.0)


def test_interrupted_at_every_step_on_a_cortex_m3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    files = compiled(firmware.board_file("mps2"), "armv7em")
    (tmp_path / "board").mkdir()
    board = QemuBoard(tmp_path / "board")
    old = tmp_path / "old"
    # All of it is there, two files are other ones: an update that takes seconds.
    there = dict(files)
    for path in ("motionboard/store.mpy", "idmwire/slot.mpy"):
        there[path] += b"\n"
    for path, data in there.items():
        (old / path).parent.mkdir(parents=True, exist_ok=True)
        (old / path).write_bytes(data)
    subprocess.run(
        [find_micropython(), "-X", "heapsize=4M", "-c", FILL, board.folder / FLASH_FILE, old, *there], check=True
    )
    with board:
        crc = give_settings(board)
        for step in STEPS:
            with pytest.raises(Killed):
                flashed(board, tmp_path, killed_at(step))
        done = flashed(board, tmp_path)
        assert (done.after, done.copied) == (firmware.firmware_version(), [])
        assert_whole(board, crc)
        board.power_cycle()
        assert_whole(board, crc)


def test_a_whole_firmware_and_out_of_the_boot_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    files = compiled(firmware.board_file("mps2"), "armv7em")
    (tmp_path / "board").mkdir()
    with QemuBoard(tmp_path / "board") as board:
        crc = give_settings(board)
        done = flashed(board, tmp_path)
        assert sorted(done.copied) == sorted(files)
        assert_whole(board, crc)
        # A module that ends the firmware, and with it QEMU, whenever it starts: only the boot window is left.
        with prompt(board) as repl:
            repl.write("motionboard/store.mpy", b"no module")
            repl.reset()
        done = flashed(board, tmp_path)
        assert done.copied == ["motionboard/store.mpy"]
        assert_whole(board, crc)
