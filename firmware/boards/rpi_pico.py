"""The Raspberry Pi Pico: link on USB-CDC, CAN as SLCAN on UART 0 (GP0 TX, GP1 RX), store in its flash.

The UART goes to an SLCAN adapter on the drives' bus.
"""

import machine

from boards.parts import ConsoleBoard, ConsoleLink, UartBus, ready

NAME = "rpi_pico"
# What runs it: sys.platform (one of these words), and a word of sys.implementation._machine.
PLATFORM = "rp2"
MACHINE = "RP2040"
RING_BLOCKS = 32
BOOT_WINDOW_MS = 1000

_PACKET = 64
# Buffer control of endpoint 2 IN, the host's data, in the USB controller's memory (RP2040 datasheet, 4.1.2.5).
_TO_HOST = 0x50100090
_WITH_CONTROLLER = 0x400
_STARTED = 0x57444F47


class UsbLink(ConsoleLink):
    """Writes whole packets: the buffer holds several, and is empty when the USB controller holds none."""

    def write(self, buffer, at, n):
        """Bytes of buffer[at:at + n] that were taken."""
        ready(self._readable)
        if machine.mem16[_TO_HOST] & _WITH_CONTROLLER:
            return 0
        return self._out.write(buffer, at, n if n < _PACKET else _PACKET)


class Watchdog:
    """The chip's watchdog, which MicroPython cannot stop and the REPL does not feed: it is stopped by its register."""

    def __init__(self, control, note, milliseconds):
        self._control = control
        self._note = note
        machine.mem32[note] = _STARTED
        self._chip = machine.WDT(timeout=milliseconds)
        self.feed = self._chip.feed

    def stop(self):
        """The program ends on purpose."""
        machine.mem32[self._control] = 0
        machine.mem32[self._note] = 0


class Board(ConsoleBoard):
    """The ports and limits of this board."""

    NAME = NAME
    RING_BLOCKS = RING_BLOCKS
    BOOT_WINDOW_MS = BOOT_WINDOW_MS
    WATCHDOG_MS = 2000
    # The watchdog's control and scratch register 3 (RP2040 datasheet, 4.7.6). The chip's own reset() sets it off too,
    # so the scratch register, which outlives a reset, says that it was started here.
    WATCHDOG_CONTROL = 0x40058000
    WATCHDOG_NOTE = 0x40058018

    def __init__(self):
        super().__init__()
        self.bitten = machine.mem32[self.WATCHDOG_NOTE] == _STARTED
        machine.mem32[self.WATCHDOG_NOTE] = 0

    def console(self):
        """The link."""
        return UsbLink()

    def buses(self):
        """The ports to the drives, a bus each."""
        return UartBus(0, tx=0, rx=1), UartBus(1, tx=4, rx=5)

    def watchdog(self):
        """Starts the chip's watchdog."""
        return Watchdog(self.WATCHDOG_CONTROL, self.WATCHDOG_NOTE, self.WATCHDOG_MS)
