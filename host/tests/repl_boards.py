"""Boards with a file system and a REPL, on a port that outlives them; their power can be cut at any moment.

The unix port lives a board's life: main.py, then the REPL, then both again. The Cortex-M3 runs in QEMU. Neither has
drives: nobody answers on the bus.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import termios
import threading
import tty
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from idmkit.rig.process import find_micropython
from idmkit.rig.qemu import FLASH_FILE, fill_flash, find_image, qemu_command


@contextlib.contextmanager
def quiet_bus() -> Iterator[socket.socket]:
    """The board's end of a bus that takes everything, as a wire does, and answers nothing."""
    ours, bus = socket.socketpair()
    bus.setblocking(False)

    def drain() -> None:
        while ours.recv(4096):
            pass

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    try:
        with bus:
            yield bus
        thread.join()
    finally:
        ours.close()


class ReplBoard:
    """A process on a pty; a context manager. `folder` holds what survives without power."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        settings = termios.tcgetattr(self._slave)
        settings[1] = 0
        termios.tcsetattr(self._slave, termios.TCSANOW, settings)
        self.port = os.ttyname(self._slave)
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()
        self._closing = False
        self._thread = threading.Thread(target=self._live, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._closing = True
        self.power_cycle()
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)

    def power_cycle(self) -> None:
        """Cuts the power and gives it back at once."""
        with self._turn:
            if self._process is not None:
                self._process.kill()

    def _run(self, command: list[str], bus: socket.socket, *, blocking: bool) -> int:
        """Runs a program to its end: its exit code, negative where it was killed."""
        os.set_blocking(self._master, blocking)
        environment = {"IDM_CAN_FD": str(bus.fileno()), "IDM_STORE": str(self.folder), "IDM_CLOCK": "timer"}
        with self._turn, (self.folder.parent / "stderr").open("ab") as stderr:
            if self._closing:
                return 0
            self._process = subprocess.Popen(
                command, stdin=self._master, stdout=self._master, stderr=stderr, cwd=self.folder,
                env={**os.environ, **environment, "MICROPYPATH": str(self.folder)}, pass_fds=[bus.fileno()],
            )  # fmt: skip
        return self._process.wait()

    def _live(self) -> None:
        raise NotImplementedError


class UnixBoard(ReplBoard):
    """MicroPython's unix port; its file system is `folder`."""

    name = "unix"

    def _live(self) -> None:
        python = [str(find_micropython()), "-X", "heapsize=1M"]
        while not self._closing:
            with quiet_bus() as bus:
                # The firmware never waits for its port, a REPL does. Without power there is no REPL either.
                if self._run([*python, "main.py"], bus, blocking=False) >= 0:
                    self._run(python, bus, blocking=True)

    def files(self) -> dict[str, bytes]:
        """What is on the board, without its parameters."""
        found = [path for path in self.folder.rglob("*.*") if path.is_file() and path.name != "slot.bin"]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}


class QemuBoard(ReplBoard):
    """QEMU's Cortex-M3 with the firmware frozen in; its file system, a file in `folder`, goes before that."""

    name = "mps2"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._image, self._flash = find_image(), folder / FLASH_FILE
        fill_flash(find_micropython(), self._flash, [])

    def _live(self) -> None:
        while not self._closing:
            with quiet_bus() as bus:
                self._run(qemu_command(self._image, self._flash, [bus.fileno()]), bus, blocking=False)
