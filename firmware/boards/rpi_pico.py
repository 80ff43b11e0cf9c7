"""The Raspberry Pi Pico: link on USB-CDC, CAN as SLCAN on UART 0 (GP0 TX, GP1 RX), store in its flash.

The UART goes to an SLCAN adapter on the drives' bus.
"""

import select
import sys

import machine
import micropython

NAME = "rpi_pico"
# What runs it: sys.platform (one of these words), and a word of sys.implementation._machine.
PLATFORM = "rp2"
MACHINE = "RP2040"
RING_BLOCKS = 32
BOOT_WINDOW_MS = 1000

_BAUD = 921600
# Several cycles of six axes each way.
_RECEIVE_BYTES = 2048
_TRANSMIT_BYTES = 512
# Bytes taken in one call: each costs about 30 us.
_AT_ONCE = 8
_PACKET = 64
# Buffer control of endpoint 2 IN, the host's data, in the USB controller's memory (RP2040 datasheet, 4.1.2.5).
_TO_HOST = 0x50100090
_WITH_CONTROLLER = 0x400
# The watchdog's control and scratch register 3 (RP2040 datasheet, 4.7.6). The chip's own reset() sets it off too, so
# the scratch register, which outlives a reset, says that it was started here.
_WATCHDOG_CTRL = 0x40058000
_WATCHDOG_NOTE = 0x40058018
_STARTED = 0x57444F47


class _Link:
    """The host's port, never waited for.

    A read of several bytes waits until all have come, so bytes are taken one at a time. A write waits up to
    500 ms where the buffer is full because the host does not read; the buffer holds several packets and is
    empty when the controller holds none, so a packet is written only then.
    """

    def __init__(self):
        self._in = sys.stdin.buffer
        self._out = sys.stdout.buffer
        self._poll = select.poll()
        self._poll.register(sys.stdin, select.POLLIN)
        self._byte = bytearray(1)

    def _readable(self):
        """True where a byte has come. Polling runs the USB stack as well."""
        for _ in self._poll.ipoll(0):
            return True
        return False

    def readinto(self, buffer):
        """Bytes read into `buffer`, 0 where nothing has come."""
        n = 0
        while n < len(buffer) and n < _AT_ONCE and self._readable():
            self._in.readinto(self._byte)
            buffer[n] = self._byte[0]
            n += 1
        return n

    def write(self, buffer, at, n):
        """Bytes of buffer[at:at + n] that were taken."""
        self._readable()
        if machine.mem16[_TO_HOST] & _WITH_CONTROLLER:
            return 0
        return self._out.write(buffer, at, n if n < _PACKET else _PACKET)


class _Can:
    """The bus, as text to an SLCAN adapter."""

    def __init__(self):
        self.uart = machine.UART(0, _BAUD, tx=machine.Pin(0), rx=machine.Pin(1), timeout=0,
                                 rxbuf=_RECEIVE_BYTES, txbuf=_TRANSMIT_BYTES)

    def readinto(self, buffer):
        """Bytes read into `buffer`, 0 where nothing has come."""
        return self.uart.readinto(buffer) or 0

    def write(self, buffer, n):
        """Writes buffer[:n]; the buffer has room for the frames of a cycle."""
        self.uart.write(buffer, n)


class _Watchdog:
    """The chip's watchdog, which MicroPython cannot stop and the REPL does not feed: it is stopped by its register."""

    def __init__(self, milliseconds):
        machine.mem32[_WATCHDOG_NOTE] = _STARTED
        self._chip = machine.WDT(timeout=milliseconds)
        self.feed = self._chip.feed

    def stop(self):
        """The program ends on purpose."""
        machine.mem32[_WATCHDOG_CTRL] = 0
        machine.mem32[_WATCHDOG_NOTE] = 0


class Board:
    """The ports and limits of this board."""

    NAME = NAME
    RING_BLOCKS = RING_BLOCKS
    BOOT_WINDOW_MS = BOOT_WINDOW_MS
    WATCHDOG_MS = 2000
    store = ""

    def __init__(self):
        # From here on 0x03 is a byte like others; as the interrupt character it would also clear what has come.
        micropython.kbd_intr(-1)
        self.link = _Link()
        self.can = _Can()
        self.granted = False
        self.bitten = machine.mem32[_WATCHDOG_NOTE] == _STARTED
        machine.mem32[_WATCHDOG_NOTE] = 0
        self._poll = select.poll()
        self._poll.register(sys.stdin, select.POLLIN)
        self._poll.register(self.can.uart, select.POLLIN)

    def watchdog(self):
        """Starts the chip's watchdog."""
        return _Watchdog(self.WATCHDOG_MS)

    def sleep(self, milliseconds):
        """Waits until a port has something, at most so long."""
        for _ in self._poll.ipoll(milliseconds):
            pass
