"""The pyboard v1.1: link on USB-CDC, CAN 1 on the chip (Y3 RX, Y4 TX) through a transceiver, 1 Mbit/s."""

import pyb

from boards.parts import ConsoleBoard
from drives.text_port import TextPort

NAME = "pyboard"
PLATFORM = "pyboard"
MACHINE = "STM32F405"
RING_BLOCKS = 16
BOOT_WINDOW_MS = 1000

_BITRATE = 1_000_000
# CAN.info(): transmit requests pending, frames in FIFO 0.
_PENDING = 5
_RECEIVED = 6


class UsbLink:
    """The host's port. USB_VCP takes what fits and gives what is there."""

    def __init__(self):
        self._port = pyb.USB_VCP()

    def readinto(self, buffer):
        """Bytes read into `buffer`, 0 where nothing has come."""
        return self._port.readinto(buffer) or 0

    def write(self, buffer, at, n):
        """Bytes of buffer[at:at + n] that were taken."""
        return self._port.write(buffer, at, n) or 0


class Can:
    """The chip's CAN controller as a device of a TextPort.

    Of frames that wait it sends that with the lowest identifier first, so it gets one at a time.
    """

    def __init__(self):
        self._can = pyb.CAN(1, pyb.CAN.NORMAL, baudrate=_BITRATE, sample_point=75, auto_restart=True)
        self._can.setfilter(0, pyb.CAN.MASK16, 0, (0, 0, 0, 0))
        self._info = [0] * 8
        self._out = bytearray(8)
        self._views = [memoryview(self._out)[:n] for n in range(9)]
        self._in = bytearray(8)
        self._got = [0, False, False, 0, memoryview(self._in)]

    def send(self, identifier, data, n):
        """Sends a frame; False where the one before has not left yet."""
        self._can.info(self._info)
        if self._info[_PENDING]:
            return False
        for i in range(n):
            self._out[i] = data[i]
        self._can.send(self._views[n], identifier)
        return True

    def receive(self, data):
        """Identifier | length << 11 of a frame that has come, its data in `data`; -1 for none."""
        self._can.info(self._info)
        if not self._info[_RECEIVED]:
            return -1
        got = self._got
        # recv makes the memoryview as long as the frame.
        self._can.recv(0, got, timeout=0)
        if got[1] or got[2]:
            return -1
        n = len(got[4])
        for i in range(n):
            data[i] = self._in[i]
        return got[0] | n << 11


class Board(ConsoleBoard):
    """The ports and limits of this board."""

    NAME = NAME
    RING_BLOCKS = RING_BLOCKS
    BOOT_WINDOW_MS = BOOT_WINDOW_MS

    def console(self):
        """The link."""
        return UsbLink()

    def buses(self):
        """The ports to the drives, a bus each."""
        return (TextPort(Can()),)
