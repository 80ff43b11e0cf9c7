"""The delay line: what was commanded and computed in the last 32 cycles.

AdditiveTorqueDelay and torque_error_delay read the model's torque, PositionErrorDelay the
commanded position, each its own number of whole cycles back.
"""

from array import array

import micropython

_DEPTH = 32


@micropython.viper
def _write(line: ptr32, at: int, src: ptr32, n: int):
    i = 0
    while i < n:
        line[at * n + i] = src[i]
        i += 1


@micropython.viper
def _read(dst: ptr32, line: ptr32, at: int, delay: ptr32, n: int):
    i = 0
    while i < n:
        dst[i] = line[((at - delay[i]) & 31) * n + i]
        i += 1


@micropython.viper
def _fill(line: ptr32, src: ptr32, n: int):
    i = 0
    while i < 32 * n:
        line[i] = src[i % n]
        i += 1


class DelayLine:
    """32 cycles of one channel."""

    def __init__(self, n):
        self.n = n
        self._line = array("i", [0] * (_DEPTH * n))
        self._at = 0

    def write(self, values):
        """Keeps this cycle's values."""
        self._at = (self._at + 1) & (_DEPTH - 1)
        _write(self._line, self._at, values, self.n)

    def read(self, out, delay):
        """The values of delay[axis] cycles ago (0 = what was written last)."""
        _read(out, self._line, self._at, delay, self.n)

    def fill(self, values):
        """Makes the whole past equal to `values`."""
        _fill(self._line, values, self.n)
