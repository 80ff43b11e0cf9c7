"""MicroPython's raw REPL on a port, by mpremote: run code on a board, look at its files, change them."""

from __future__ import annotations

import ast
import contextlib
import io
import time
from base64 import b64encode
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from idmkit.errors import IdmError, LinkError
from idmkit.link.transport import BAUD_RATE

try:
    from mpremote.transport import TransportError, TransportExecError
    from mpremote.transport_serial import SerialTransport
except ImportError as problem:
    raise IdmError("mpremote is not installed; install idmkit[board] to reach the REPL of a board") from problem

ANSWER_S = 3.0
"""How long a prompt may take that is there."""
SILENCE_S = 10.0
"""How long code may run without a word: erasing and writing flash takes its time."""
READ_S = 1.0
INTERRUPT_PERIOD_S = 0.05
CHUNK = 1024
NEW = ".new"
"""Ends the name of a file that is not in its place yet."""
_INTERRUPT = b"\r\x03\r\x01"
_BANNER = b"raw REPL"

_TREE = """
import os, hashlib
from binascii import hexlify
def tree(folder):
    for entry in os.ilistdir(folder) if folder else os.ilistdir():
        path = folder + entry[0]
        if not entry[1] & 0x4000:
            sha = hashlib.sha256()
            with open(path, "rb") as file:
                piece = file.read(512)
                while piece:
                    sha.update(piece)
                    piece = file.read(512)
            print(repr((path, hexlify(sha.digest()).decode())))
        elif entry[0] not in (".", "..", "rom"):
            tree(path + "/")
tree("")
"""
_MOVE = """
import os
try:
    os.rename({new!r}, {old!r})
except OSError:
    os.remove({old!r})
    os.rename({new!r}, {old!r})
"""
# A byte 0x03 of what the host says next must not interrupt it.
_RESET = """
import micropython
micropython.kbd_intr(-1)
print("resets")
try:
    from machine import reset
except ImportError:
    raise SystemExit
reset()
"""


class Repl:
    """The raw REPL of a board; a context manager that gives the port back. Raises LinkError."""

    def __init__(self, transport: SerialTransport, name: str) -> None:
        self._transport = transport
        self.name = name

    @classmethod
    def enter(cls, port: str, *, wait_s: float) -> Repl:
        """Interrupts what runs, again and again for `wait_s`: a board that does not listen now may be restarted."""
        deadline = time.monotonic() + wait_s
        while True:
            try:
                return cls._try(port)
            except (TransportError, OSError) as problem:
                if time.monotonic() > deadline:
                    raise LinkError(f"No MicroPython prompt came on {port}: {problem}.") from problem

    @classmethod
    def _try(cls, port: str) -> Repl:
        transport = SerialTransport(port, baudrate=BAUD_RATE, timeout=READ_S)
        try:
            # The firmware listens for a moment while it starts, so this is said often.
            deadline, heard = time.monotonic() + ANSWER_S, b""
            while _BANNER not in heard and time.monotonic() < deadline:
                transport.serial.write(_INTERRUPT)
                time.sleep(INTERRUPT_PERIOD_S)
                heard = heard[-len(_BANNER) :] + _take(transport)
            with _quiet():
                transport.enter_raw_repl(soft_reset=False, timeout_overall=ANSWER_S)
        except BaseException:
            with contextlib.suppress(OSError):
                transport.serial.close()
            raise
        return cls(transport, port)

    def __enter__(self) -> Repl:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._transport.serial.close()

    def run(self, code: str) -> str:
        """What `code` prints; raises LinkError with the last line of its traceback where it fails."""
        with self._errors():
            printed, error = self._transport.exec_raw(code, timeout=SILENCE_S)
            if error:
                raise TransportExecError(printed, error.decode(errors="replace"))
            return bytes(printed).decode(errors="replace")

    def value(self, expression: str) -> Any:
        """The value of an expression that is a literal when printed."""
        return ast.literal_eval(self.run(f"print(repr({expression}))"))

    def hashes(self) -> dict[str, str]:
        """SHA-256 of every file below the working folder, by its path."""
        return dict(ast.literal_eval(line) for line in self.run(_TREE).splitlines())

    def read(self, path: str) -> bytes:
        """The bytes of a file."""
        with self._errors():
            return bytes(self._transport.fs_readfile(path, chunk_size=CHUNK))

    def write(self, path: str, data: bytes) -> None:
        """Writes a file beside its place, then moves it there: old or new, wherever the medium can do that."""
        folder = path.rpartition("/")[0]
        with self._errors():
            if folder and not self._transport.fs_isdir(folder):
                self._transport.fs_mkdir(folder)
        self.run(f"from binascii import a2b_base64\nfile = open({path + NEW!r}, 'wb')")
        for at in range(0, len(data), CHUNK):
            self.run(f"file.write(a2b_base64({b64encode(data[at : at + CHUNK])!r}))")
        self.run(f"file.close()\n{_MOVE.format(new=path + NEW, old=path)}")

    def remove(self, path: str) -> None:
        """Deletes a file."""
        with self._errors():
            self._transport.fs_rmfile(path)

    def reset(self) -> None:
        """Restarts the board; what it says to that is lost, and with it the REPL."""
        with self._errors():
            self._transport.exec_raw_no_follow(_RESET)
            self._transport.read_until(1, b"resets", timeout=ANSWER_S)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with _quiet():
                yield
        except TransportExecError as problem:
            last = problem.error_output.strip().splitlines()[-1]
            raise LinkError(f"The board on {self.name} reports {last}.") from problem
        except (TransportError, OSError, ValueError, SyntaxError) as problem:
            raise LinkError(f"The prompt on {self.name} is lost: {problem}.") from problem


def _take(transport: SerialTransport) -> bytes:
    return bytes(transport.serial.read(transport.serial.in_waiting))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps off stdout what mpremote prints of what it did not expect; errors say it."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
