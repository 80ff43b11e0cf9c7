"""CiA 402 servo drives on CAN, cyclic synchronous position, one PDO each way an axis.

    to the drive    6040 controlword u16, 607A target position i32, 60B2 torque offset i16
    from the drive  6041 statusword  u16, 6064 position actual i32, 6078 current actual i16

A cycle sends all commands and then SYNC in one write; the drives latch the commands and
answer with what they measured at that SYNC.
"""

import time
from array import array

import micropython

from drives import slcan
from motionboard.fixed import SH, scale

# Statusword & 0x6F of the states that matter to a master (0x4F for faults).
_OPERATION_ENABLED = 0x27
_SWITCHED_ON = 0x23
_READY = 0x21
_FAULT_MASK = 0x4F
_FAULT = 0x08
_FAULT_REACTION = 0x0F

# Controlwords.
_DISABLE_VOLTAGE = 0x0000
_QUICK_STOP = 0x0002
_SHUTDOWN = 0x0006
_SWITCH_ON = 0x0007
_ENABLE = 0x000F
_FAULT_RESET = 0x0080

# What the board wants of the drives.
OFF = 0
ON = 1
BRAKE = 2
RESET = 3

_MISSES_COUNTED = 1000000
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


# 60B2 is an i16: cut to it; the cuts are counted.
@micropython.viper
def _saturate16(values: ptr32, n: int, sh: int) -> int:
    cut = 0
    i = 0
    while i < n:
        v = (values[i] << sh) >> sh
        if v > 32767:
            values[i] = 32767
            cut += 1
        elif v < -32768:
            values[i] = 0 - 32768
            cut += 1
        i += 1
    return cut


# The first axis, + 1, whose target and count differ by more than rounding: one of position and count each, and
# the conversions' own 2**-29.
@micropython.viper
def _apart(target: ptr32, counts: ptr32, mantissa: ptr32, shift: ptr32, n: int, sh: int) -> int:
    i = 0
    while i < n:
        c = (counts[i] << sh) >> sh
        d = ((((target[i] << sh) >> sh) - c) << sh) >> sh
        m = (mantissa[i] << sh) >> sh
        if d < 0:
            d = 0 - d
        if m < 0:
            m = 0 - m
        if c < 0:
            c = 0 - c
        s = shift[i]
        near = 2 + (c >> 27)
        if s < 31:
            near += m >> s
        if d > near or d < 0:
            return i + 1
        i += 1
    return 0


class Drives:
    """All drives of the robot on one CAN port (`port.readinto(buffer)`, `port.write(buffer, n)`)."""

    def __init__(self, port, axes, settings, cycle_time_us):
        n = axes.n
        self.axes = axes
        self.settings = settings
        self.connected = False
        self.misses = 0
        self.missing = 0
        self.missing_in_a_row = 0
        self.saturations = 0
        self.wanted = OFF
        self._port = port
        self._interpolation = interpolation_time(cycle_time_us)
        self._all = (1 << n) - 1
        self._counts = array("i", [0] * n)
        self._current = array("i", [0] * n)
        self._control = array("i", [0] * n)
        self._target = array("i", [0] * n)
        self._offset = array("i", [0] * n)
        self._events = array("i", [0] * slcan.CONTROL_WORDS)
        self._receiver = slcan.Receiver(self._events, axes.statusword, self._counts, self._current)
        for axis in range(n):
            self._receiver.axis_of_node[settings.node_id[axis]] = axis
        self._chunk = bytearray(128)
        self._out = bytearray(22 * n + 32)

    @property
    def granted(self):
        """True where the rig has answered the last SYNC: the cycle may begin."""
        return self._events[slcan.TIME] != 0

    @property
    def bus_errors(self):
        """Lines on the bus that were no frame."""
        return self._events[slcan.ERRORS]

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
        self.missing_in_a_row = 0
        self.connected = True
        return True

    def _send(self, identifier, data):
        self._port.write(self._out, slcan.put_frame(self._out, 0, identifier, data, len(data)))

    def _sdo_write(self, node, index, sub, size, number, sleep):
        head = bytes((0x2F - 4 * (size - 1), index & 0xFF, index >> 8, sub))
        data = head + (number & 0xFFFFFFFF).to_bytes(4, "little")
        mail = self._receiver.mail
        for _ in range(_SDO_TRIES):
            self._events[slcan.MAIL] = 0
            self._send(0x600 + node, data)
            until = time.ticks_add(time.ticks_ms(), _SDO_WAIT_MS)
            while time.ticks_diff(until, time.ticks_ms()) > 0:
                sleep(1)
                self.poll()
                if self._events[slcan.MAIL]:
                    self._events[slcan.MAIL] = 0
                    if (mail[0] | mail[1] << 8 == 0x580 + node and mail[4] | mail[5] << 8 == index
                            and mail[6] == sub):
                        return mail[3] == 0x60
        return False

    def read(self):
        """Measured position and torque of this cycle, from the answers to the last SYNC."""
        axes = self.axes
        settings = self.settings
        answered = self._events[slcan.ANSWERED]
        if answered == self._all:
            self.missing_in_a_row = 0
        else:
            self.misses += 1
            if self.missing_in_a_row < _MISSES_COUNTED:
                self.missing_in_a_row += 1
            self.missing = 0
            while answered & 1 << self.missing:
                self.missing += 1
        self._events[slcan.ANSWERED] = 0
        self._events[slcan.TIME] = 0
        scale(axes.position_feedback, self._counts, settings.position_mantissa, settings.position_shift, axes.n, SH)
        scale(axes.torque_feedback, self._current, settings.feedback_mantissa, settings.feedback_shift, axes.n, SH)

    def write(self):
        """Target position, torque offset and controlword of this cycle, and SYNC."""
        axes = self.axes
        settings = self.settings
        for axis in range(axes.n):
            self._control[axis] = self._controlword(axes.statusword[axis])
        scale(self._target, axes.position_command, settings.counts_mantissa, settings.counts_shift, axes.n, SH)
        scale(self._offset, axes.torque_command, settings.offset_mantissa, settings.offset_shift, axes.n, SH)
        self.saturations += _saturate16(self._offset, axes.n, SH)
        out = self._out
        at = slcan.put_commands(out, 0, settings.node_id, self._control, self._target, self._offset, axes.n)
        self._port.write(out, slcan.put_frame(out, at, 0x080, out, 0))

    def _controlword(self, status):
        state = status & 0x6F
        if self.wanted == BRAKE:
            return _QUICK_STOP
        if self.wanted == RESET:
            return _FAULT_RESET if status & _FAULT_MASK == _FAULT else _DISABLE_VOLTAGE
        if self.wanted == OFF:
            return _DISABLE_VOLTAGE
        if state == _OPERATION_ENABLED or state == _SWITCHED_ON:
            return _ENABLE
        return _SWITCH_ON if state == _READY else _SHUTDOWN

    def enabled(self):
        """True where every drive is in OPERATION ENABLED."""
        return self.not_enabled() < 0

    def not_enabled(self):
        """The first axis whose drive is not in OPERATION ENABLED, else -1."""
        for axis in range(self.axes.n):
            if self.axes.statusword[axis] & 0x6F != _OPERATION_ENABLED:
                return axis
        return -1

    def strayed(self):
        """The first axis whose drive would be given a target that is not where it stands, else -1.

        So it is with an axis beyond the range of positions, or with conversions that do not belong together.
        """
        axes = self.axes
        settings = self.settings
        scale(self._target, axes.position_command, settings.counts_mantissa, settings.counts_shift, axes.n, SH)
        return _apart(self._target, self._counts, settings.counts_mantissa, settings.counts_shift, axes.n, SH) - 1

    def faulted(self):
        """The first axis whose drive reports a fault, else -1."""
        for axis in range(self.axes.n):
            status = self.axes.statusword[axis] & _FAULT_MASK
            if status == _FAULT or status == _FAULT_REACTION:
                return axis
        return -1

    def off(self):
        """True where no drive has its power stage on."""
        for axis in range(self.axes.n):
            state = self.axes.statusword[axis] & 0x6F
            if state == _OPERATION_ENABLED or state == 0x07:
                return False
        return True
