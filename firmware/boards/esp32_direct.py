"""An ESP32-S3 that is its own drive: a bench of one axis with a brushed motor.

It needs machine.Encoder, which MicroPython has from 1.28 on. Encoder A 4, B 5; bridge forward 6, backward 7 (20 kHz);
current sensor 8, whose middle means none.
"""

import machine

from boards import esp32
from drives.direct import Bridge, Node

NAME = "esp32_direct"
PLATFORM = "esp32"
MACHINE = "ESP32S3"

_PWM_HZ = 20_000
# The current at the sensor's end, and the most that is allowed, per mille of the motor's rated current.
_FULL_SCALE = 3000
_CURRENT_MOST = 2000
# 64ths of the full duty 65535: for a count of error, for a count in a cycle, for a per mille of torque.
_POSITION_GAIN = 640
_VELOCITY_GAIN = 0
_TORQUE_GAIN = 0


class Board(esp32.Board):
    """The ports and limits of this board."""

    NAME = NAME

    def buses(self):
        """The ports to the drives, a bus each."""
        pins = [machine.Pin(number, machine.Pin.OUT, value=0) for number in (6, 7)]
        forward, backward = [machine.PWM(pin, freq=_PWM_HZ, duty_u16=0) for pin in pins]
        encoder = machine.Encoder(0, machine.Pin(4, machine.Pin.IN), machine.Pin(5, machine.Pin.IN))
        bridge = Bridge(encoder, forward, backward, machine.ADC(machine.Pin(8)), _FULL_SCALE)
        return (Node(bridge, _POSITION_GAIN, _VELOCITY_GAIN, _TORQUE_GAIN, _CURRENT_MOST),)
