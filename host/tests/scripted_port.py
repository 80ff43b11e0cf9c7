"""A port without a wire: a pyserial-like object with a board behind it and a script of mishaps.

Frames to the host are numbered as the board sends them, frames to the board as the host writes them. What happens to
each is the script's business: `to_host(number, frame)` and `to_board(number, data)` return the bytes to pass on (b"" to
drop them), or raise Unplugged.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from idmkit.link.client import Board
from idmkit.link.connection import Connection

Script = Callable[[int, bytes], bytes]


class Device(Protocol):
    """What stands behind the port."""

    def feed(self, data: bytes) -> None: ...

    def take(self) -> list[bytes]: ...


class Unplugged(OSError):
    """The cable came out."""


def nothing(number: int, data: bytes) -> bytes:
    return b""


def untouched(number: int, data: bytes) -> bytes:
    return data


class ScriptedPort:
    """A `Port` whose `grant` and writes make the device answer at once."""

    def __init__(self, device: Device, to_host: Script = untouched, to_board: Script = untouched) -> None:
        self.device = device
        self.to_host = to_host
        self.to_board = to_board
        self.closed = False
        self.frames_to_host = 0
        self.writes = 0
        self._incoming = bytearray()
        self._unplugged: Unplugged | None = None
        self._idle = False
        self._change = threading.Condition()

    @property
    def in_waiting(self) -> int:
        with self._change:
            return len(self._incoming)

    def read(self, size: int = 1) -> bytes:
        with self._change:
            if not self._incoming:
                self._idle = True
                self._change.notify_all()
            self._change.wait_for(lambda: self._incoming or self._unplugged, timeout=0.005)
            if self._unplugged:
                raise self._unplugged
            self._idle = False
            data = bytes(self._incoming[:size])
            del self._incoming[:size]
            return data

    def write(self, data: bytes) -> int:
        with self._change:
            if self._unplugged:
                raise self._unplugged
            number, self.writes = self.writes, self.writes + 1
            self._guarded(lambda: self.device.feed(self.to_board(number, data)))
        return len(data)

    def act(self, action: Callable[[], object]) -> None:
        """Does something to the device, as granting cycles, and passes on what it sends."""
        with self._change:
            self._guarded(action)

    def say(self, data: bytes) -> None:
        """Bytes for the host that no board sent."""
        with self._change:
            self._idle = False
            self._incoming += data
            self._change.notify_all()

    def settle(self) -> None:
        """Waits until the reader has dealt with every byte that is here."""
        with self._change:
            self._change.wait_for(lambda: (self._idle and not self._incoming) or self._unplugged)

    def close(self) -> None:
        self.closed = True

    def _guarded(self, action: Callable[[], object]) -> None:
        try:
            action()
            for frame in self.device.take():
                number, self.frames_to_host = self.frames_to_host, self.frames_to_host + 1
                self._idle = False
                self._incoming += self.to_host(number, frame)
        except Unplugged as error:
            self._unplugged = error
        self._change.notify_all()


class ScriptedConnection(Connection):
    """A connection that knows when nothing more will come: it waits for the reader, not for the clock.

    So a test sees the same retries on a fast machine and on a busy one.
    """

    def __init__(self, port: ScriptedPort, name: str = "scripted port") -> None:
        self._script = port
        super().__init__(port, name)

    def _wait(self, wait_s: float) -> tuple[int, bytes] | None:
        self._script.settle()
        return super()._wait(0)


def connect(port: ScriptedPort, joints: tuple[str, ...] = ("revolute",)) -> Board:
    """A board over a scripted port."""
    return Board(ScriptedConnection(port), joints, patience_s=0)
