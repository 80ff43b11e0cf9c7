"""A serial port served over the network by RFC 2217, as ser2net and labgrid's exporters do."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType

import serial
import serial.rfc2217

POLL_S = 0.05


class Terminal(serial.Serial):
    """A pseudo-terminal, which has no modem lines."""

    cts = dsr = ri = cd = False

    def _update_dtr_state(self) -> None: ...

    def _update_rts_state(self) -> None: ...


class PortServer:
    """Serves `port` at `url`, to one client after the other."""

    def __init__(self, port: str) -> None:
        self._serial = Terminal(port, timeout=0.01)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"rfc2217://127.0.0.1:{self._listening.getsockname()[1]}"
        self._listening.settimeout(POLL_S)
        self._done = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> PortServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done = True
        self._thread.join()
        self._listening.close()
        self._serial.close()

    def _serve(self) -> None:
        while not self._done:
            try:
                client, _ = self._listening.accept()
            except TimeoutError:
                continue
            with client:
                self._serve_client(client)

    def _serve_client(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.settimeout(POLL_S)
        gone = threading.Event()
        connection = Connection(client)
        manager = serial.rfc2217.PortManager(self._serial, connection)

        def to_client() -> None:
            while not gone.is_set():
                data = self._serial.read(max(1, self._serial.in_waiting))
                if data:
                    connection.write(b"".join(manager.escape(data)))

        pump = threading.Thread(target=to_client, daemon=True)
        pump.start()
        try:
            while not self._done:
                try:
                    data = client.recv(4096)
                except TimeoutError:
                    continue
                if not data:
                    return
                self._serial.write(b"".join(manager.filter(data)))
        finally:
            gone.set()
            pump.join()


class Connection:
    """What the manager of the protocol and the port's data share; a client that has gone hears nothing."""

    def __init__(self, client: socket.socket) -> None:
        self._client = client
        self._turn = threading.Lock()

    def write(self, data: bytes) -> None:
        with self._turn, contextlib.suppress(OSError):
            self._client.sendall(data)
