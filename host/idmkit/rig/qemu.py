"""The firmware on an emulated Cortex-M3: QEMU's mps2-an385, link on UART 0, CAN on the next ones, flash in a file."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from idmkit.errors import RigError
from idmkit.rig.process import FirmwareProcess

MPS2 = "mps2"
IMAGE_VARIABLE = "IDMKIT_MPS2_IMAGE"
FLASH_FILE = "flash.bin"
FLASH_BYTES = 16 << 20
"""QEMU gives this board memory of no other size; the file system takes the beginning and the file has holes."""

# Runs on MicroPython's unix port: LittleFS over a file, as _boot.py of the image mounts it.
_FILL = """
import sys, vfs

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
        if request == 3:
            self._file.flush()
        return {4: 256, 5: 4096}.get(request, 0)

flash = Flash(sys.argv[1])
if sys.argv[2] == "new":
    vfs.VfsLfs2.mkfs(flash)
vfs.mount(vfs.VfsLfs2(flash), "/flash")
for path in sys.argv[3:]:
    with open(path, "rb") as source, open("/flash/" + path.rsplit("/", 1)[-1], "wb") as copy:
        copy.write(source.read())
vfs.umount("/flash")
"""


def find_qemu() -> str:
    """QEMU for Arm, on PATH."""
    found = shutil.which("qemu-system-arm")
    if found is None:
        raise RigError("qemu-system-arm is not on PATH; install QEMU for Arm (Debian: apt-get install qemu-system-arm)")
    return found


def find_image() -> Path:
    """MicroPython with the firmware for mps2: $IDMKIT_MPS2_IMAGE, else what `make emulators` builds in a checkout."""
    named = os.environ.get(IMAGE_VARIABLE)
    path = Path(named) if named else Path(__file__).resolve().parents[3] / "build" / "micropython-mps2.elf"
    if path.is_file():
        return path
    wrong = f"{IMAGE_VARIABLE} names {path}, which is no file" if named else f"{path} is missing"
    raise RigError(f"{wrong}; run make emulators in a checkout")


def qemu_command(image: Path, flash: Path, buses: list[int]) -> list[str]:
    """The command line; UART 0 is the process's stdin and stdout, the next ones are the connected sockets `buses`.

    A UART takes a byte at a time. Behind a multiplexer 32 bytes wait where the reader fetches them, else each one waits
    until QEMU's main loop has come round. The multiplexer's escape character is none that a byte can be.
    """
    uarts: list[str] = []
    for number, descriptor in enumerate(buses):
        uarts += ["-chardev", f"socket,id=can{number},mux=on,fd={descriptor}", "-serial", f"chardev:can{number}"]
    return [
        find_qemu(),
        *("-machine", "mps2-an385,memory-backend=flash"),
        *("-object", f"memory-backend-file,id=flash,size={FLASH_BYTES},share=on,mem-path={flash}"),
        *("-display", "none", "-monitor", "none", "-semihosting"),
        *("-echr", "0x100", "-chardev", "stdio,id=link,mux=on,signal=off", "-serial", "chardev:link"),
        *uarts,
        *("-kernel", str(image)),
    ]


def fill_flash(micropython: Path, flash: Path, files: list[Path]) -> None:
    """Puts `files` on the board's file system, which is made where there is none. RigError where that fails."""
    state = "old" if flash.exists() else "new"
    with flash.open("ab") as file:
        file.truncate(FLASH_BYTES)
    done = subprocess.run(
        [micropython, "-c", _FILL, flash, state, *files], capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        raise RigError(f"{flash} cannot be filled: {done.stderr.strip()[-300:]}; delete it to begin with an empty one")


def qemu_process(micropython: Path, folder: Path, model_file: str) -> FirmwareProcess:
    """The board as a process; the model in `folder`, if there is one, goes to the board's file system.

    `micropython` (the unix port) writes the file system.
    """
    image, flash = find_image(), folder / FLASH_FILE
    model = folder / model_file
    fill_flash(micropython, flash, [model] if model.exists() else [])
    return FirmwareProcess(lambda buses: qemu_command(image, flash, buses), {}, folder)
