"""A fake board behind a real pseudo-terminal, served by a thread of its own."""

from __future__ import annotations

import os
import pty
import select
import threading
import tty
from types import TracebackType

from scripted_port import Device


class PtyBoard:
    """Opens a pseudo-terminal whose slave `port` the host opens; `device` is what answers there."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.lock = threading.Lock()
        self._master, self._slave = pty.openpty()
        # The host sets it raw too, but what it sends before must not come back as an echo.
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.port = os.ttyname(self._slave)
        self._done = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> PtyBoard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unplug()

    def unplug(self) -> None:
        """Takes the board away: the host's reads fail from now on."""
        if not self._done:
            self._done = True
            self._thread.join()
            os.close(self._slave)
            os.close(self._master)

    def _serve(self) -> None:
        outgoing = b""
        while not self._done:
            select.select([self._master], [self._master] if outgoing else [], [], 0.005)
            with self.lock:
                try:
                    self.device.feed(os.read(self._master, 4096))
                except BlockingIOError:
                    self.device.feed(b"")
                outgoing += b"".join(self.device.take())
            if outgoing:
                try:
                    outgoing = outgoing[os.write(self._master, outgoing) :]
                except BlockingIOError:
                    continue
