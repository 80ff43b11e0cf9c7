"""What boards have in common: the link on the console, SLCAN on a UART, and how they wait."""

import select
import sys

import machine
import micropython

BAUD = 921600
# Several cycles of six axes each way.
_RECEIVE_BYTES = 2048
_TRANSMIT_BYTES = 512
# Bytes taken or given in one call: each costs about 30 us.
_AT_ONCE = 8


class ConsoleLink:
    """The host's port on stdin and stdout, never waited for.

    A read or a write of several bytes waits until all have passed, so bytes go one at a time, each when it can.
    """

    def __init__(self):
        self._in = sys.stdin.buffer
        self._out = sys.stdout.buffer
        self._readable = select.poll()
        self._readable.register(sys.stdin, select.POLLIN)
        self._writable = select.poll()
        self._writable.register(sys.stdout, select.POLLOUT)
        self._byte = bytearray(1)

    def readinto(self, buffer):
        """Bytes read into `buffer`, 0 where nothing has come."""
        n = 0
        while n < len(buffer) and n < _AT_ONCE and ready(self._readable):
            self._in.readinto(self._byte)
            buffer[n] = self._byte[0]
            n += 1
        return n

    def write(self, buffer, at, n):
        """Bytes of buffer[at:at + n] that were taken."""
        done = 0
        while done < n and done < _AT_ONCE and ready(self._writable):
            self._out.write(buffer, at + done, 1)
            done += 1
        return done


def ready(poll):
    """True where what was registered is ready now. Polling runs a USB stack as well."""
    for _ in poll.ipoll(0):
        return True
    return False


class UartBus:
    """The bus, as text to an SLCAN adapter on a UART."""

    def __init__(self, number, tx, rx):
        self.stream = machine.UART(number, BAUD, tx=machine.Pin(tx), rx=machine.Pin(rx), timeout=0,
                                   rxbuf=_RECEIVE_BYTES, txbuf=_TRANSMIT_BYTES)

    def readinto(self, buffer):
        """Bytes read into `buffer`, 0 where nothing has come."""
        return self.stream.readinto(buffer) or 0

    def write(self, buffer, n):
        """Writes buffer[:n]; the buffer has room for the frames of a cycle."""
        self.stream.write(buffer, n)


class ConsoleBoard:
    """A board whose link is its console. Its file names its parts; `buses` makes the ports to the drives."""

    store = ""
    granted = False
    bitten = False

    def __init__(self):
        # From here on 0x03 is a byte like others; as the interrupt character it would also clear what has come.
        micropython.kbd_intr(-1)
        self.link = self.console()
        self.can = self.buses()
        # A bus without a stream has no other way to be heard than being asked.
        streams = [port.stream for port in self.can if hasattr(port, "stream")]
        self._patient = len(streams) == len(self.can)
        self._poll = select.poll()
        for stream in [sys.stdin] + streams:
            self._poll.register(stream, select.POLLIN)

    def console(self):
        """The link."""
        return ConsoleLink()

    def watchdog(self):
        """None: this chip's watchdog cannot be stopped, and would bite whoever uses the REPL."""

    def sleep(self, milliseconds):
        """Waits until a port has something, at most so long."""
        for _ in self._poll.ipoll(milliseconds if self._patient else 0):
            pass
