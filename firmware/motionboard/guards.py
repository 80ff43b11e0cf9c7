"""Guards: torque threshold, feed-forward, torque error and position error, cycle by cycle.

    torque_command  = ramp * torque_model(AdditiveTorqueDelay cycles ago)
    TE_now          = torque_model(torque_error_delay cycles ago) - torque_feedback
    TE              = TE_before + TEF (TE_now - TE_before)     kept with 15 more bits than shown
    PE              = position_command(PositionErrorDelay cycles ago) - position_feedback
"""

from array import array

import micropython

from idmwire.faults import FAULT_NUMBERS
from motionboard.delay import DelayLine
from motionboard.fixed import SH

_RAMP_ONE = 32768

# Words of an event: fault number (0 none), axis, value, limit.
EVENT_WORDS = 4

_TORQUE_THRESHOLD = FAULT_NUMBERS["torque_threshold"]
_COLLISION = FAULT_NUMBERS["collision"]
_POSITION_LIMIT = FAULT_NUMBERS["position_limit"]
_POSITION_ERROR = FAULT_NUMBERS["position_error"]


# The torque is below 2**30 and the ramp at most 2**15: the product is split at bit 15.
@micropython.viper
def _ramp(torque: ptr32, ramp: int, n: int, sh: int):
    i = 0
    while i < n:
        t = (torque[i] << sh) >> sh
        torque[i] = (t >> 15) * ramp + (((t & 0x7FFF) * ramp) >> 15)
        i += 1


# State = hi * 2**15 + lo. The error is kept below 2**30, as torques are: now - hi is then below 2**31, its upper
# part times TEF (<= 2**15) at most that.
@micropython.viper
def _filter(error: ptr32, state: ptr32, feedback: ptr32, tef: ptr32, n: int, sh: int):
    """`error` holds the delayed model torque on entry and TE on return; `state` is lo for all axes, then hi."""
    i = 0
    while i < n:
        now = ((error[i] << sh) >> sh) - ((feedback[i] << sh) >> sh)
        if now > 0x3FFFFFFF:
            now = 0x3FFFFFFF
        elif now < -0x3FFFFFFF:
            now = -0x3FFFFFFF
        hi = (state[n + i] << sh) >> sh
        lo = state[i]
        k = tef[i]
        d = now - hi
        rest = lo + (d & 0x7FFF) * k - ((k * lo) >> 15)
        hi = hi + (d >> 15) * k + (rest >> 15)
        state[i] = rest & 0x7FFF
        state[n + i] = hi
        error[i] = hi
        i += 1


@micropython.viper
def _subtract(dst: ptr32, b: ptr32, n: int):
    i = 0
    while i < n:
        dst[i] = dst[i] - b[i]
        i += 1


# First axis whose |value| exceeds its limit, + 1; writes value and limit.
@micropython.viper
def _exceeds(value: ptr32, limit: ptr32, event: ptr32, n: int, sh: int) -> int:
    i = 0
    while i < n:
        v = (value[i] << sh) >> sh
        top = (limit[i] << sh) >> sh
        if v > top or v < 0 - top:
            event[2] = v
            event[3] = top
            return i + 1
        i += 1
    return 0


@micropython.viper
def _outside(value: ptr32, low: ptr32, high: ptr32, event: ptr32, n: int, sh: int) -> int:
    i = 0
    while i < n:
        v = (value[i] << sh) >> sh
        lo = (low[i] << sh) >> sh
        hi = (high[i] << sh) >> sh
        if v > hi:
            event[2] = v
            event[3] = hi
            return i + 1
        if v < lo:
            event[2] = v
            event[3] = lo
            return i + 1
        i += 1
    return 0


# Cycles above the limit, axis by axis; first axis with enough of them, + 1. Without a model (DynamicModel 0)
# there is no torque to compare with.
@micropython.viper
def _lasting(
    error: ptr32, limit: ptr32, enable: ptr32, model: ptr32, duration: ptr32, above: ptr32, event: ptr32,
    n: int, sh: int
) -> int:
    found = 0
    i = 0
    while i < n:
        v = (error[i] << sh) >> sh
        top = (limit[i] << sh) >> sh
        if enable[i] != 0 and model[i] != 0 and (v > top or v < 0 - top):
            above[i] = above[i] + 1
            if found == 0 and above[i] >= duration[i]:
                event[2] = v
                event[3] = top
                found = i + 1
        else:
            above[i] = 0
        i += 1
    return found


class Guards:
    """Feed-forward torque and errors of all axes, and the first guard that trips."""

    def __init__(self, axes, settings):
        n = axes.n
        self.axes = axes
        self.settings = settings
        self.event = array("i", [0] * EVENT_WORDS)
        self.ramp = 0
        self._torques = DelayLine(n)
        self._positions = DelayLine(n)
        self._filter_state = array("i", [0] * (2 * n))
        self._above = array("i", [0] * n)

    def restart(self):
        """Forgets the past: the command has always been where it is now."""
        self._positions.fill(self.axes.position_command)
        for i in range(2 * self.axes.n):
            self._filter_state[i] = 0
        for i in range(self.axes.n):
            self._above[i] = 0

    def feed_forward(self, wanted):
        """torque_command of this cycle; `wanted` says whether the ramp goes up or down."""
        axes = self.axes
        step = _RAMP_ONE // self.settings.feedforward_ramp[0] + 1
        if wanted:
            self.ramp = self.ramp + step if self.ramp + step < _RAMP_ONE else _RAMP_ONE
        else:
            self.ramp = self.ramp - step if self.ramp > step else 0
        self._torques.write(axes.torque_model)
        self._torques.read(axes.torque_command, self.settings.additive_torque_delay)
        _ramp(axes.torque_command, self.ramp, axes.n, SH)

    def errors(self):
        """torque_error and position_error of this cycle."""
        axes = self.axes
        settings = self.settings
        self._torques.read(axes.torque_error, settings.torque_error_delay)
        _filter(axes.torque_error, self._filter_state, axes.torque_feedback, settings.torque_error_filter, axes.n, SH)
        self._positions.write(axes.position_command)
        self._positions.read(axes.position_error, settings.position_error_delay)
        _subtract(axes.position_error, axes.position_feedback, axes.n)

    def check(self):
        """The number of the fault that trips in this cycle, 0 none; axis, value and limit stand in `event`."""
        axes = self.axes
        settings = self.settings
        event = self.event
        n = axes.n
        axis = _exceeds(axes.torque_model, settings.torque_threshold, event, n, SH)
        if axis:
            return self._tripped(_TORQUE_THRESHOLD, axis)
        axis = _lasting(
            axes.torque_error, settings.torque_error_max, settings.torque_error_enable,
            settings.dynamic_model, settings.torque_error_duration, self._above, event, n, SH)
        if axis:
            return self._tripped(_COLLISION, axis)
        axis = _exceeds(axes.position_error, settings.position_error_max, event, n, SH)
        if axis:
            return self._tripped(_POSITION_ERROR, axis)
        axis = _outside(axes.position_command, settings.position_min, settings.position_max, event, n, SH)
        if axis:
            return self._tripped(_POSITION_LIMIT, axis)
        return 0

    def _tripped(self, number, axis):
        self.event[0] = number
        self.event[1] = axis - 1
        return number
