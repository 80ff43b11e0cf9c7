"""The virtual board: MicroPython's unix port as a process of the rig.

The link is stdin and stdout (a pty), the CAN ports inherited file descriptors that carry
SLCAN, a bus each; all are non-blocking. The environment says which descriptors (IDM_CAN_FD, with
commas between them), where the store is, and whether time comes from the rig (IDM_CLOCK=sync) or
from this machine's clock (timer).
"""

import os
import select

NAME = "unix"
# What runs it: sys.platform (one of these words), and a word of sys.implementation._machine.
PLATFORM = "linux darwin"
MACHINE = ""
RING_BLOCKS = 64
BOOT_WINDOW_MS = 0


class _Port:
    """A non-blocking byte stream: what is there is read, what fits is written; without its other end all ends."""

    def __init__(self, source, sink):
        self._source = source
        self._sink = sink

    def readinto(self, buffer):
        """Bytes read into `buffer`, 0 where nothing has come."""
        try:
            n = self._source.readinto(buffer)
        except OSError:
            raise SystemExit
        if n == 0:
            raise SystemExit
        return n or 0

    def write(self, buffer, at, n):
        """Bytes of buffer[at:at + n] that were taken."""
        try:
            return self._sink.write(buffer, at, n) or 0
        except OSError:
            raise SystemExit


class _CanPort(_Port):
    """The bus: a cycle's frames go out whole."""

    def write(self, buffer, n):
        """Writes buffer[:n]; what does not fit at once waits for the rig to read."""
        at = 0
        while at < n:
            at += super().write(buffer, at, n - at)


class Board:
    """The ports and limits of this board."""

    NAME = NAME
    RING_BLOCKS = RING_BLOCKS
    BOOT_WINDOW_MS = BOOT_WINDOW_MS
    store = os.getenv("IDM_STORE") or "."

    def __init__(self):
        source = open(0, "rb")
        buses = [open(int(number), "r+b") for number in os.getenv("IDM_CAN_FD").split(",")]
        self.link = _Port(source, open(1, "wb"))
        self.can = tuple([_CanPort(bus, bus) for bus in buses])
        self.granted = os.getenv("IDM_CLOCK") == "sync"
        self.bitten = False
        self._poll = select.poll()
        self._poll.register(source, select.POLLIN)
        for bus in buses:
            self._poll.register(bus, select.POLLIN)

    def watchdog(self):
        """None: a process has no chip that would reset it, and a thread of its own would be no watchdog."""

    def sleep(self, milliseconds):
        """Waits until a port has something, at most so long. ipoll reuses its tuple: nothing allocates."""
        for _ in self._poll.ipoll(milliseconds):
            pass
