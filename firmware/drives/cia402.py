"""CiA 402 servo drives on CAN, cyclic synchronous position, one PDO each way an axis.

    to the drive    6040 controlword u16, 607A target position i32, 60B2 torque offset i16
    from the drive  6041 statusword  u16, 6064 position actual i32, 6078 current actual i16

A cycle sends all commands and then SYNC in one write; the drives latch the commands and
answer with what they measured at that SYNC.
"""

import time

from drives import slcan
from drives.units import Units

_SDO_WAIT_MS = 200
_SDO_TRIES = 3


def interpolation_time(cycle_time_us):
    """(value, exponent) of 60C2: exact in the coarsest unit that allows it, else the nearest; None where none fits."""
    nearest = None
    for exponent in (-3, -4, -5, -6):
        unit = 10 ** (6 + exponent)
        value = (cycle_time_us + unit // 2) // unit
        if 1 <= value <= 255:
            nearest = value, exponent
            if value * unit == cycle_time_us:
                break
    return nearest


class Drives(Units):
    """All drives of the robot on one CAN port (`port.readinto(buffer)`, `port.write(buffer, n)`)."""

    def __init__(self, port, axes, settings, cycle_time_us):
        super().__init__(axes, settings)
        n = axes.n
        self.connected = False
        self._port = port
        self._interpolation = interpolation_time(cycle_time_us)
        self._receiver = slcan.Receiver(self.events, axes.statusword, self.counts, self.current)
        for axis in range(n):
            self._receiver.axis_of_node[settings.node_id[axis]] = axis
        self._chunk = bytearray(128)
        self._out = bytearray(22 * n + 32)

    @property
    def granted(self):
        """True where the rig has answered the last SYNC: the cycle may begin."""
        return self.events[slcan.TIME] != 0

    @property
    def bus_errors(self):
        """Lines on the bus that were no frame."""
        return self.events[slcan.ERRORS]

    def poll(self):
        """Takes what the bus has brought."""
        n = self._port.readinto(self._chunk)
        while n:
            self._receiver.feed(self._chunk, n)
            n = self._port.readinto(self._chunk)

    def connect(self, sleep):
        """Sets up every drive by SDO and starts it, and sends the first SYNC; True where all of them answered.

        Cyclic synchronous position with the board's cycle time as interpolation time. Connected once, cycles go on
        when a second time fails: the other drives have to hear that they are off.
        """
        if self._interpolation is None:
            return False
        value, exponent = self._interpolation
        for axis in range(self.axes.n):
            node = self.settings.node_id[axis]
            for index, sub, size, number in (
                (0x6060, 0, 1, 8), (0x60C2, 1, 1, value), (0x60C2, 2, 1, exponent)):
                if not self._sdo_write(node, index, sub, size, number, sleep):
                    return False
            self._send(0x000, bytes((0x01, node)))
        if not self.connected:
            self._port.write(self._out, slcan.put_frame(self._out, 0, 0x080, self._out, 0))
        self.answered()
        self.connected = True
        return True

    def _send(self, identifier, data):
        self._port.write(self._out, slcan.put_frame(self._out, 0, identifier, data, len(data)))

    def _sdo_write(self, node, index, sub, size, number, sleep):
        head = bytes((0x2F - 4 * (size - 1), index & 0xFF, index >> 8, sub))
        data = head + (number & 0xFFFFFFFF).to_bytes(4, "little")
        mail = self._receiver.mail
        for _ in range(_SDO_TRIES):
            self.events[slcan.MAIL] = 0
            self._send(0x600 + node, data)
            until = time.ticks_add(time.ticks_ms(), _SDO_WAIT_MS)
            while time.ticks_diff(until, time.ticks_ms()) > 0:
                sleep(1)
                self.poll()
                if self.events[slcan.MAIL]:
                    self.events[slcan.MAIL] = 0
                    if (mail[0] | mail[1] << 8 == 0x580 + node and mail[4] | mail[5] << 8 == index
                            and mail[6] == sub):
                        return mail[3] == 0x60
        return False

    def send(self):
        """The setpoints and controlwords to the drives, and SYNC."""
        out = self._out
        n = self.axes.n
        at = slcan.put_commands(out, 0, self.settings.node_id, self.control, self.target, self.offset, n)
        self._port.write(out, slcan.put_frame(out, at, 0x080, out, 0))
