"""Opening a port: what can go wrong says so in a sentence; and the whole client over a real pseudo-terminal."""

from __future__ import annotations

import errno
import os
import pty
import select
import socket
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import serial
from fake_board import FakeBoard, channel_value
from pty_board import PtyBoard

from idmkit.errors import LinkError
from idmkit.link import images, transport
from idmkit.link.capture import start_capture
from idmkit.link.client import Board
from idmkit.link.transport import open_port
from idmwire.framing import MAX_FRAME


def test_the_only_usb_port_is_the_board_s(monkeypatch: pytest.MonkeyPatch) -> None:
    def port(name: str, vid: int | None) -> SimpleNamespace:
        return SimpleNamespace(device=name, vid=vid, serial_number=None, description="a board")

    found = [port("/dev/ttyS0", None), port("/dev/ttyACM0", 0x2E8A)]
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: found)
    assert transport.only_port() == "/dev/ttyACM0"
    found.append(port("/dev/ttyACM1", 0x2E8A))
    with pytest.raises(LinkError, match=r"There are 2 USB serial ports: /dev/ttyACM0 \(a board\), /dev/ttyACM1"):
        transport.only_port()
    found[1:] = []
    with pytest.raises(LinkError, match="There is no USB serial port"):
        transport.only_port()


def test_a_port_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(LinkError, match=r"There is no port .*/ttyACM7. Plug the board in"):
        open_port(str(tmp_path / "ttyACM7"))


def test_a_port_in_use() -> None:
    with PtyBoard(FakeBoard()) as device:
        first = open_port(device.port)
        with pytest.raises(LinkError, match=r"is in use. Close the other program"):
            open_port(device.port)
        first.close()
        open_port(device.port).close()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.EACCES, "No permission to open /dev/ttyACM0. Join the group"),
        (errno.EBUSY, "is in use"),
        (errno.ENXIO, "There is no port"),
        (errno.EIO, "cannot be opened: .*Check its name and cable"),
    ],
)
def test_what_the_system_says_against_it(monkeypatch: pytest.MonkeyPatch, number: int, text: str) -> None:
    def refuse(port: serial.Serial) -> None:
        raise serial.SerialException(number, os.strerror(number))

    monkeypatch.setattr(serial.Serial, "open", refuse)
    with pytest.raises(LinkError, match=text):
        open_port("/dev/ttyACM0")


@pytest.mark.parametrize("url", ["nonsense://x", "socket://127.0.0.1:notaport"])
def test_a_url_that_is_none(url: str) -> None:
    with pytest.raises(LinkError, match=f"The port {url} cannot be opened"):
        open_port(url)


def test_a_file_is_no_port(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    with pytest.raises(LinkError, match="cannot be opened"):
        open_port(str(file))


def test_dtr_is_set_before_the_port_opens_and_rts_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = []
    monkeypatch.setattr(serial.Serial, "open", lambda port: lines.append((port.dtr, port.rts, port.exclusive)))
    open_port("/dev/ttyACM0")
    open_port("/dev/ttyACM0", dtr=False)
    assert lines == [(True, False, True), (False, False, True)]


def test_a_cooked_terminal_passes_every_byte_both_ways() -> None:
    """A pseudo-terminal begins cooked: it would echo, turn CR into LF, and take 0x03 for an interrupt."""
    master, slave = pty.openpty()
    port = open_port(os.ttyname(slave))
    everything = bytes(range(256))
    try:
        os.write(master, everything)
        got = b""
        while len(got) < 256:
            got += port.read(256)
        assert got == everything
        port.write(everything)
        back = b""
        while len(back) < 256:
            assert select.select([master], [], [], 10)[0]
            back += os.read(master, 512)
        assert back == everything
    finally:
        port.close()
        os.close(slave)
        os.close(master)


@pytest.mark.parametrize("size", [0, 1, 50, 51, 52, 53, 54, 115, 116, 117, 118, 119, 240, 241, 242, 500, MAX_FRAME - 8])
def test_stages_of_every_size_round_64_and_254_bytes(size: int) -> None:
    device = FakeBoard()
    with PtyBoard(device) as served, Board.open(served.port, timeout_s=5.0) as board:
        data = bytes((0, 3, 10, 13, 17, 19, 255, 254))[: size % 9] * (size // 8 + 1)
        data = (data + bytes(size))[:size]
        board.request("stage", offset=0, data=data)
        assert device.images["staged"] == data
        assert images.read_image(board, "staged") == data
        assert board.statistics.retries == 0


def test_a_capture_over_a_terminal() -> None:
    device = FakeBoard(ring_blocks=32)
    with PtyBoard(device) as served, Board.open(served.port, ("revolute",), timeout_s=5.0) as board:
        with start_capture(board, [("torque_feedback", 0), ("torque_error", 0)], samples=20_000) as capture:
            with served.lock:
                device.grant(20_001)
            while device.granted:
                board.heartbeat()
            result = capture.finish()
        assert result.gaps == ()
        assert result.counts.samples == 20_000
        wanted = [[channel_value(channel, 0, int(cycle)) for channel in (7, 8)] for cycle in result.cycles[::997]]
        assert np.array_equal(result.data[::997], np.array(wanted, dtype=np.int32))
        assert result.counts.payload_share >= 0.95


def test_a_board_that_is_unplugged() -> None:
    served = PtyBoard(FakeBoard())
    board = Board.open(served.port)
    served.unplug()
    with pytest.raises(LinkError, match=f"connection to {served.port} broke: .*Plug the board in again"):
        board.status()
    board.close()


def test_a_terminal_without_a_board() -> None:
    master, slave = pty.openpty()
    try:
        with pytest.raises(LinkError, match=r"No motion board answers on .*silence"):
            Board.open(os.ttyname(slave), timeout_s=0.02, patience_s=0)
    finally:
        os.close(slave)
        os.close(master)


def test_a_board_behind_a_socket() -> None:
    device = FakeBoard()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            line, _ = server.accept()
            with line:
                while data := line.recv(4096):
                    device.feed(data)
                    line.sendall(b"".join(device.take()))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with Board.open(f"socket://127.0.0.1:{server.getsockname()[1]}", ("revolute",), timeout_s=5.0) as board:
            assert board.write("torque_threshold", 4.5) == 4.5
        thread.join()


def test_the_waits_are_short_enough_for_a_clean_end() -> None:
    """Closing waits for one read; whatever is longer would be felt."""
    assert transport.READ_WAIT_S <= 0.1
