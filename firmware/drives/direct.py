"""A drive that is the board itself: encoder, H bridge and current sensor on its own pins, for a bench of one axis.

To the rest of the firmware it is one more CiA 402 drive on a text port, so every guard and fault is the same. At SYNC
it closes its loop: the position error, the speed asked for and the torque offset make the bridge's voltage. It is no
current loop: the torque offset becomes a voltage through the motor's resistance, and what the current really is goes
back as torque.
"""

import time
from array import array

import micropython
from micropython import const

from drives import slcan
from drives.text_port import unpack
from motionboard.fixed import SH

# CiA 402, as a master sees them: statusword & 0x6F.
_DISABLED = const(0x40)
_READY = const(0x21)
_SWITCHED_ON = const(0x23)
_ENABLED = const(0x27)
_QUICK_STOP = const(0x07)
_FAULT = const(0x08)
_REMOTE = const(0x0210)

DUTY_MOST = 65535
GAIN_MOST = 16383
# Without SYNC for so long, the bridge is off.
_SILENCE_MS = 50
# SYNCs of too much current that are a fault, of standing still that end a quick stop, of a quick stop that does not.
_OVER = const(5)
_STANDS = const(20)
_BRAKES = const(500)

_CONTROL = const(0)
_TARGET = const(1)
_OFFSET = const(2)
_POSITION = const(3)
_BEFORE = const(4)
_ASKED = const(5)
# Behind them the gains of position, velocity and torque.


# A command as `unpack` leaves it, its data from byte 3 on: controlword u16, target i32, torque offset i16.
@micropython.viper
def _take(frame: ptr8, w: ptr32):
    w[0] = frame[3] | frame[4] << 8
    w[1] = frame[5] | frame[6] << 8 | frame[7] << 16 | frame[8] << 24
    w[2] = ((frame[9] | frame[10] << 8) ^ 0x8000) - 0x8000


@micropython.viper
def _answer(w: ptr32, status: int, current: int, data: ptr8):
    p = w[3]
    data[0] = status
    data[1] = status >> 8
    data[2] = p
    data[3] = p >> 8
    data[4] = p >> 16
    data[5] = p >> 24
    data[6] = current
    data[7] = current >> 8


# The bridge's duty from the error, the speed that is asked for and the torque offset: gains in 2^-6, what they multiply
# cut to 16 bits, so that the sum of three products stays below 2^31. The motor's own back-EMF damps it.
@micropython.viper
def _duty(w: ptr32, sh: int) -> int:
    target = (w[1] << sh) >> sh
    position = (w[3] << sh) >> sh
    error = ((target - position) << sh) >> sh
    speed = ((target - ((w[5] << sh) >> sh)) << sh) >> sh
    if error > 32767:
        error = 32767
    if error < 0 - 32767:
        error = 0 - 32767
    if speed > 32767:
        speed = 32767
    if speed < 0 - 32767:
        speed = 0 - 32767
    duty = (error * w[6] + speed * w[7] + ((w[2] << sh) >> sh) * w[8]) >> 6
    w[5] = target
    if duty > 65535:
        return 65535
    if duty < 0 - 65535:
        return 0 - 65535
    return duty


# True where the axis has not moved since the SYNC before.
@micropython.viper
def _stands(w: ptr32) -> bool:
    return w[3] == w[4]


@micropython.viper
def _hold(w: ptr32):
    w[1] = w[3]
    w[5] = w[3]
    w[2] = 0


class Bridge:
    """The hardware of a brushed motor.

    `encoder.value()` counts, `forward` and `backward` are PWM pins of the bridge (duty_u16), `sensor.read_u16()` is a
    current sensor whose middle means none. `full_scale` is the current at the sensor's end in per mille of the rated.
    """

    def __init__(self, encoder, forward, backward, sensor, full_scale):
        self._encoder = encoder
        self._forward = forward
        self._backward = backward
        self._sensor = sensor
        self._full_scale = full_scale
        self.drive(0)
        self._zero = sum(sensor.read_u16() for _ in range(64)) // 64

    def counts(self):
        """Where the encoder is."""
        return self._encoder.value()

    def current(self):
        """Per mille of the rated current."""
        return (self._sensor.read_u16() - self._zero) * self._full_scale >> 15

    def drive(self, duty):
        """The bridge's mean voltage, in 65535ths of the supply; 0 lets both sides low."""
        self._backward.duty_u16(0 if duty >= 0 else -duty)
        self._forward.duty_u16(duty if duty > 0 else 0)


# Network management, and the answers of its SDO server: device type 402 and mode 8, which it cannot leave.
_RESET_COMMUNICATION = const(0x82)
_BOOT_UP = const(0)
_OPERATIONAL = const(5)
_HEARTBEAT_SYNCS = const(8)
_READ = const(0x40)
_WRITTEN = b"\x60\x00\x00\x00\x00\x00\x00\x00"
_NO_OBJECT = b"\x80\x00\x00\x00\x00\x00\x02\x06"
_OBJECTS = {
    0x1000: b"\x43\x00\x00\x00\x92\x01\x02\x00",
    0x6061: b"\x4f\x00\x00\x00\x08\x00\x00\x00",
}


class Node:
    """One CiA 402 drive as a text port.

    The duty (65535 is all) comes from `position_gain` for a count of error, `velocity_gain` for a count that the target
    moves in a cycle (the motor's back-EMF), `torque_gain` for a per mille of torque offset (its resistance), each times
    64. More current than `current_most` (per mille of the rated) is a fault.
    """

    def __init__(self, bridge, position_gain, velocity_gain, torque_gain, current_most, node=1):
        for gain in (position_gain, velocity_gain, torque_gain):
            if not 0 <= gain <= GAIN_MOST:
                raise ValueError("gains are 0 to {}, not {}".format(GAIN_MOST, gain))
        self.state = _DISABLED
        self._bridge = bridge
        self._node = node
        self._current_most = current_most
        self._words = array("i", (0, 0, 0, 0, 0, 0, position_gain, velocity_gain, torque_gain))
        self._control = 0
        self._over = 0
        self._still = 0
        self._braked = 0
        self._heard = time.ticks_ms()
        self._syncs = 0
        self._frame = bytearray(11)
        self._data = bytearray(8)
        self._text = bytearray(128)
        self._n = 0

    # The text port

    def write(self, buffer, n):
        """Takes the frames of buffer[:n]."""
        frame = self._frame
        at = 0
        while at < n:
            at = unpack(buffer, at, n, frame, 0)
            identifier = frame[0] | frame[1] << 8
            if frame[2] > 8:
                continue
            if identifier == 0x080:
                self._sync()
            elif identifier == 0x200 + self._node and frame[2] == 8:
                _take(frame, self._words)
            elif identifier == 0x600 + self._node and frame[2] == 8:
                self._answer_sdo(frame)
            elif identifier == 0 and frame[2] == 2 and frame[3] == _RESET_COMMUNICATION:
                self._data[0] = _BOOT_UP
                self._say(0x700, 1)

    def readinto(self, buffer):
        """Bytes of text written into `buffer`; 0 where nothing is to be said."""
        if self.state not in (_DISABLED, _FAULT) and time.ticks_diff(time.ticks_ms(), self._heard) > _SILENCE_MS:
            self._off(_FAULT if self.state in (_ENABLED, _QUICK_STOP) else _DISABLED)
        n = self._n
        for i in range(n):
            buffer[i] = self._text[i]
        self._n = 0
        return n

    def _say(self, identifier, n=8):
        if self._n + 22 <= len(self._text):
            self._n = slcan.put_frame(self._text, self._n, identifier + self._node, self._data, n)

    def _answer_sdo(self, frame):
        """Whatever is written, it is what this drive does anyway; what is read says so."""
        data = self._data
        answer = _WRITTEN
        if frame[3] == _READ:
            answer = _OBJECTS.get(frame[4] | frame[5] << 8, _NO_OBJECT)
        for i in range(8):
            data[i] = frame[3 + i] if 1 <= i <= 3 else answer[i]
        self._say(0x580)

    # The drive

    def _sync(self):
        self._heard = time.ticks_ms()
        words = self._words
        words[_BEFORE] = words[_POSITION]
        words[_POSITION] = self._bridge.counts()
        current = self._bridge.current()
        self._obey(words[_CONTROL])
        if self.state in (_ENABLED, _QUICK_STOP):
            self._over = self._over + 1 if abs(current) > self._current_most else 0
            if self._over > _OVER:
                self._off(_FAULT)
        if self.state == _QUICK_STOP:
            self._brake()
        if self.state in (_ENABLED, _QUICK_STOP):
            self._bridge.drive(_duty(words, SH))
        _answer(words, self.state | _REMOTE, current, self._data)
        self._say(0x180)
        self._syncs = (self._syncs + 1) % _HEARTBEAT_SYNCS
        if self._syncs == 0:
            self._data[0] = _OPERATIONAL
            self._say(0x700, 1)

    def _obey(self, control):
        """The transitions of CiA 402 that this controlword asks for, one upwards in a cycle."""
        rising = control & ~self._control
        self._control = control
        state = self.state
        if state == _FAULT:
            if rising & 0x80:
                self.state = _DISABLED
        elif not control & 2:
            self._off(_DISABLED)
        elif not control & 4:
            if state == _ENABLED:
                self.state = _QUICK_STOP
                self._still = self._braked = 0
                _hold(self._words)
            elif state != _QUICK_STOP:
                self._off(_DISABLED)
        elif state == _QUICK_STOP:
            pass
        elif not control & 1:
            self._off(_READY)
        elif state == _READY:
            self.state = _SWITCHED_ON
        elif state == _SWITCHED_ON and control & 8:
            self.state = _ENABLED
            self._over = 0
            _hold(self._words)
        elif state == _ENABLED and not control & 8:
            self._off(_SWITCHED_ON)

    def _brake(self):
        """Holds where the quick stop began; standing, or after a time, the bridge is off."""
        self._braked += 1
        self._still = self._still + 1 if _stands(self._words) else 0
        self._words[_TARGET] = self._words[_ASKED]
        self._words[_OFFSET] = 0
        if self._still >= _STANDS or self._braked >= _BRAKES:
            self._off(_DISABLED)

    def _off(self, state):
        self._bridge.drive(0)
        self.state = state
