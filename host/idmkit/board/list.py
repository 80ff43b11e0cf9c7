"""The USB serial ports of this machine, and which of them lead to a motion board."""

from __future__ import annotations

from dataclasses import dataclass

from idmkit.errors import LinkError
from idmkit.link.client import Board
from idmkit.link.transport import UsbPort, usb_ports

GREET_S = 2.0


@dataclass(frozen=True)
class Found:
    """A port, and what its board says of itself: "" where nobody was asked or nobody answered."""

    port: UsbPort
    board: str = ""


def list_boards(*, ask: bool) -> list[Found]:
    """Every USB serial port. With `ask` each is opened and greeted, which may reset what is behind it."""
    return [Found(port, _greeted(port) if ask else "") for port in usb_ports()]


def _greeted(port: UsbPort) -> str:
    try:
        with Board.open(port.device, patience_s=GREET_S) as board:
            hello = board.hello
    except LinkError:
        return ""
    version = ".".join(str(part) for part in hello.firmware_version)
    differs = "" if board.mismatch is None else ", another schema"
    return f"{hello.board}, firmware {version}{differs}, robot {hello.robot or 'none'}"
