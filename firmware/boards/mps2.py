"""The emulated board: QEMU's mps2-an385 (Cortex-M3), link on UART 0, CAN as SLCAN on UARTs 1 and 2.

QEMU takes the bytes of a UART at the pace of its own main loop, so a write waits only while a
reader lets them pile up: the link then takes what fits, the bus waits.
"""

import time

import machine
import micropython

NAME = "mps2"
# What runs it: sys.platform (one of these words), and a word of sys.implementation._machine.
PLATFORM = "mps2"
MACHINE = "Cortex-M3"
RING_BLOCKS = 64
BOOT_WINDOW_MS = 100

_UART0 = 0x40004000
_UART1 = 0x40005000
_UART2 = 0x40006000
_WATCHDOG = 0x40008000
# Memory that the program does not use, whose contents outlive a reset: says that the watchdog was started.
_NOTE = 0x20000000
_STARTED = 0x57444F47
_TICKS_A_MS = 25_000


# DATA at +0, STATE at +4: bit 0 the transmitter is full, bit 1 a byte has come. The transmitter is emptied by the
# emulator's other thread, a received byte is followed by the next one only after a while: hence `patience`.
@micropython.viper
def _read(base: ptr32, buffer: ptr8, size: int, patience: int) -> int:
    n = 0
    left = patience
    while n < size:
        if base[1] & 2:
            buffer[n] = base[0]
            n += 1
            left = patience
        elif n == 0 or left == 0:
            return n
        else:
            left -= 1
    return n


@micropython.viper
def _write(base: ptr32, buffer: ptr8, at: int, n: int) -> int:
    written = 0
    while written < n and base[1] & 1 == 0:
        base[0] = buffer[at + written]
        written += 1
    return written


@micropython.viper
def _waiting(link: ptr32, first: ptr32, second: ptr32) -> int:
    return (link[1] | first[1] | second[1]) & 2


# CTRL at +8: transmitter and receiver on; BAUDDIV at +16: anything above 15.
@micropython.viper
def _switch_on(base: ptr32):
    base[4] = 16
    base[2] = 3


class _Link:
    """The host's port: what is there is read, what fits is written."""

    def readinto(self, buffer):
        """Bytes read into `buffer`, 0 where nothing has come."""
        return _read(_UART0, buffer, len(buffer), 100)

    def write(self, buffer, at, n):
        """Bytes of buffer[at:at + n] that were taken."""
        return _write(_UART0, buffer, at, n)


class _Can:
    """A bus: a cycle's frames go out whole."""

    def __init__(self, base):
        self._base = base
        _switch_on(base)

    def readinto(self, buffer):
        """Bytes read into `buffer`, 0 where nothing has come."""
        return _read(self._base, buffer, len(buffer), 100)

    def write(self, buffer, n):
        """Writes buffer[:n]."""
        at = 0
        while at < n:
            at += _write(self._base, buffer, at, n - at)


# LOAD at +0, CONTROL at +8 (bits: run and interrupt, reset), INTCLR at +12, which loads it anew.
@micropython.viper
def _start_watchdog(base: ptr32, note: ptr32, ticks: int, started: int):
    base[0] = ticks
    base[2] = 3
    note[0] = started


@micropython.viper
def _stop_watchdog(base: ptr32, note: ptr32):
    base[2] = 0
    note[0] = 0


@micropython.viper
def _feed_watchdog(base: ptr32):
    base[3] = 1


class _Watchdog:
    """Run down, it interrupts, which nobody answers; run down again, it resets the chip."""

    def __init__(self, milliseconds):
        _start_watchdog(_WATCHDOG, _NOTE, milliseconds * _TICKS_A_MS, _STARTED)

    def feed(self):
        """Gives it its whole time again."""
        _feed_watchdog(_WATCHDOG)

    def stop(self):
        """The program ends on purpose."""
        _stop_watchdog(_WATCHDOG, _NOTE)


class Board:
    """The ports and limits of this board."""

    NAME = NAME
    RING_BLOCKS = RING_BLOCKS
    BOOT_WINDOW_MS = BOOT_WINDOW_MS
    WATCHDOG_MS = 20000
    store = ""

    def __init__(self):
        # From here on nobody but the link reads UART 0, and 0x03 is a byte like others.
        micropython.kbd_intr(-1)
        self.link = _Link()
        self.can = (_Can(_UART1), _Can(_UART2))
        self.granted = True
        self.bitten = machine.mem32[_NOTE] == _STARTED
        machine.mem32[_NOTE] = 0

    def watchdog(self):
        """Starts the chip's watchdog."""
        return _Watchdog(self.WATCHDOG_MS)

    def sleep(self, milliseconds):
        """Waits until a port has something, at most so long."""
        until = time.ticks_add(time.ticks_ms(), milliseconds)
        while not _waiting(_UART0, _UART1, _UART2) and time.ticks_diff(until, time.ticks_ms()) > 0:
            machine.idle()
