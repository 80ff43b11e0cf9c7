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

# Words of an event: fault number, axis, value, limit.
EVENT_WORDS = 4

# What each guard's trip is called, in the order of the bits of `check`.
GUARDS = ("torque_threshold", "collision", "position_error", "position_limit")


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


@micropython.viper
def _note(event: ptr32, value: ptr32, limit: ptr32, i: int):
    event[2] = value[i]
    event[3] = limit[i]


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
    """Feed-forward torque and errors of all axes, and the guards that trip: an event each in `events`."""

    def __init__(self, axes, settings):
        n = axes.n
        self.axes = axes
        self.settings = settings
        self.events = [array("i", [FAULT_NUMBERS[name], 0, 0, 0]) for name in GUARDS]
        self._settling = 0
        self.ramp = 0
        self._torques = DelayLine(n)
        self._positions = DelayLine(n)
        self._filter_state = array("i", [0] * (2 * n))
        self._above = array("i", [0] * n)

    def restart(self):
        """Forgets the past: the command has always been where it is now.

        Switched on, a drive takes over the weight that the brake has borne, and the feed-forward comes on its ramp:
        until then a torque error is no collision.
        """
        self._settling = self.settings.feedforward_ramp[0]
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
        """The guards that trip in this cycle, a bit each; none hides another."""
        axes = self.axes
        settings = self.settings
        events = self.events
        n = axes.n
        tripped = self._trip(0, _exceeds(axes.torque_model, settings.torque_threshold, events[0], n, SH))
        if self._settling:
            self._settling -= 1
        else:
            tripped |= self._trip(1, _lasting(
                axes.torque_error, settings.torque_error_max, settings.torque_error_enable,
                settings.dynamic_model, settings.torque_error_duration, self._above, events[1], n, SH))
        tripped |= self._trip(2, _exceeds(axes.position_error, settings.position_error_max, events[2], n, SH))
        return tripped | self._trip(3, _outside(
            axes.position_command, settings.position_min, settings.position_max, events[3], n, SH))

    def outside(self, axis):
        """Notes where an axis stands that must not be switched on, as the event of the position limit."""
        _note(self.events[3], self.axes.position_feedback, self.settings.position_max, axis)

    def _trip(self, guard, axis):
        if not axis:
            return 0
        self.events[guard][1] = axis - 1
        return 1 << guard
