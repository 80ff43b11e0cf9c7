"""Ports: opened here and nowhere else, by pyserial's URLs (/dev/ttyACM0, COM3, socket://host:port, rfc2217://...).

Frames are binary, so the port is raw; pyserial sees to that on terminals and on pseudo-terminals.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import Protocol

import serial
from serial.tools import list_ports

from idmkit.errors import LinkError

BAUD_RATE = 921_600
"""For boards behind a real UART; USB and pseudo-terminals ignore it."""
READ_WAIT_S = 0.05
WRITE_WAIT_S = 1.0


class Port(Protocol):
    """The part of pyserial's object that the link uses; a test's scripted port has it, too."""

    @property
    def in_waiting(self) -> int:
        """Bytes that can be read at once."""

    def read(self, size: int = 1, /) -> bytes:
        """Up to `size` bytes, fewer after READ_WAIT_S; raises OSError when the port is gone."""

    def write(self, data: bytes, /) -> int | None:
        """Writes all of `data`; raises OSError when the port is gone or does not take it."""

    def close(self) -> None:
        """Gives the port back."""


def open_port(url: str, *, dtr: bool = True) -> Port:
    """Opens a port for one process alone; raises LinkError with the reason and the next step.

    `dtr` is the level of DTR from the first moment on: a USB serial port of MicroPython sends only while DTR is
    set, so it is set unless a bench's wiring (DTR at the reset pin) forbids it. RTS stays low, which keeps boards
    with a reset circuit at DTR and RTS running.
    """
    # A port over the network (RFC 2217) knows no limit of time for writing: there TCP says when the line is broken.
    write_wait_s = None if url.lower().startswith("rfc2217://") else WRITE_WAIT_S
    try:
        port = serial.serial_for_url(
            url, baudrate=BAUD_RATE, timeout=READ_WAIT_S, write_timeout=write_wait_s, do_not_open=True
        )
        if os.name == "posix":
            port.exclusive = True
        port.dtr = dtr
        port.rts = False
        port.open()
    except (OSError, ValueError, NotImplementedError) as error:
        raise LinkError(_why_not(url, error)) from error
    return port


@dataclass(frozen=True)
class UsbPort:
    """A USB serial port. `serial_number` is the board's own and stays with it wherever it is plugged in."""

    device: str
    serial_number: str
    description: str

    @property
    def url(self) -> str:
        """Finds the board again: by its serial number, where it has one."""
        return f"hwgrep://{self.serial_number}" if self.serial_number else self.device


def usb_ports() -> list[UsbPort]:
    """The USB serial ports of this machine, by their names."""
    return sorted(
        (UsbPort(port.device, port.serial_number or "", port.description) for port in list_ports.comports()
         if port.vid is not None),
        key=lambda port: port.device,
    )  # fmt: skip


def only_port() -> str:
    """The one USB serial port of this machine; LinkError where there is none, or a choice."""
    found = usb_ports()
    if len(found) == 1:
        return found[0].device
    if not found:
        raise LinkError("There is no USB serial port. Plug the board in, or give its port.")
    listed = ", ".join(f"{port.device} ({port.description})" for port in found)
    raise LinkError(f"There are {len(found)} USB serial ports: {listed}. Give the board's port.")


def _why_not(url: str, error: Exception) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return f"There is no port {url}. Plug the board in, and see `python -m serial.tools.list_ports` for its name."
    if number in (errno.EAGAIN, errno.EBUSY):
        return f"The port {url} is in use. Close the other program that talks to the board (monitor, REPL, idm)."
    if number in (errno.EACCES, errno.EPERM):
        return (
            f"No permission to open {url}. Join the group that owns it (often `sudo usermod -aG dialout $USER`), "
            f"then log in again."
        )
    return f"The port {url} cannot be opened: {error}. Check its name and cable."
