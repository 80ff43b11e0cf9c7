"""Guards: the torque of the model on its way to the drives, and what is compared with it, cycle by cycle.

    torque_command  = ramp * torque_model(AdditiveTorqueDelay cycles ago)
    TE_now          = torque_model(torque_error_delay cycles ago) - torque_feedback
    TE              = TE_before + TEF (TE_now - TE_before)     kept with 15 more bits than shown
    |TE|           <= torque_error_max, or torque_error_max_rest at rest, torque_error_rest_cycles after it, in a stop
    PE              = position_command(PositionErrorDelay cycles ago) - position_feedback

Every cycle `judge` makes all that and holds it against the limits at once: a number is within +-limit where neither
limit - number nor limit + number is negative, so the signs of all differences are gathered in one word. Only where
that says that something is wrong, bytecode finds out what.
"""

from array import array

import micropython
from micropython import const

from idmwire.faults import FAULT_NUMBERS
from motionboard.fixed import SH

# Words of an event: fault number, axis, value, limit.
EVENT_WORDS = 4

_RAMP_ONE = const(32768)

# What each guard's trip is called, in the order of the bits of `check`.
GUARDS = ("torque_threshold", "collision", "position_error", "position_limit")

# An axis's record: its limits (derived from the settings), its filter, and the last 32 cycles of its model torque
# and position command. The torque error's limit is the smaller one of rest and motion, and that of an axis that is not
# watched out of reach.
_FED = const(0)  # -1 where the model's torque is fed forward, else 0
_TORQUE_DELAY = const(1)
_ERROR_DELAY = const(2)
_POSITION_DELAY = const(3)
_THRESHOLD = const(4)
_TORQUE_ERROR_LEAST = const(5)
_POSITION_ERROR_MAX = const(6)
_LOWEST = const(7)
_RANGE = const(8)  # highest - lowest
_RANGED = const(9)  # -1, or 0 where all positions are in the range
_FILTER = const(10)
_STATE_LOW = const(11)
_STATE_HIGH = const(12)
_ABOVE = const(13)
_TORQUES = const(16)
_POSITIONS = const(48)
_RECORD = const(80)

# Words of the board.
_AT = const(0)  # where the lines are written
_RAMP = const(1)  # of the feed-forward, in 2**-15
_FEEDING = const(2)  # 1 where it goes up
_SETTLING = const(3)  # cycles in which a torque error is no collision
_BEATING = const(4)  # 1 where the host has to send heartbeats
_SILENCE = const(5)  # cycles since the last one
_WORDS = const(6)


@micropython.viper
def _derive(a: ptr32):
    """The axes' records, from the settings."""
    i = 0
    g = ptr32(int(a) + a[2])
    n = a[0]
    sh = a[1]
    model = ptr32(int(a) + a[3])
    enable = ptr32(int(a) + a[4])
    most = ptr32(int(a) + a[5])
    low = ptr32(int(a) + a[6])
    high = ptr32(int(a) + a[7])
    while i < n:
        g[_FED] = 0 - 1 if model[i] else 0
        g[_TORQUE_DELAY] = 4 * ptr32(int(a) + a[8])[i]
        g[_ERROR_DELAY] = 4 * ptr32(int(a) + a[9])[i]
        g[_POSITION_DELAY] = 4 * ptr32(int(a) + a[10])[i]
        g[_THRESHOLD] = ptr32(int(a) + a[11])[i]
        least = most[i]
        if ptr32(int(a) + a[15])[i] != 0 and ptr32(int(a) + a[14])[i] < least:
            least = ptr32(int(a) + a[14])[i]
        g[_TORQUE_ERROR_LEAST] = least if model[i] != 0 and enable[i] != 0 else 0x3FFFFFFF
        g[_POSITION_ERROR_MAX] = ptr32(int(a) + a[12])[i]
        g[_FILTER] = ptr32(int(a) + a[13])[i]
        lowest = (low[i] << sh) >> sh
        highest = (high[i] << sh) >> sh
        span = ((highest - lowest) << sh) >> sh
        g[_LOWEST] = lowest
        g[_RANGED] = 0 if span == 0 - 2 and lowest < highest else 0 - 1
        # Beyond half the circle of numbers, `judge` can only doubt.
        g[_RANGE] = span if lowest <= highest and span >= 0 else 0 - 1
        g = ptr32(int(g) + 4 * _RECORD)
        i += 1


# The torques are below 2**30. The filter's state is high * 2**15 + low; the error is kept below 2**30, too:
# t - high is then below 2**31, its upper part times TEF (<= 2**15) at most that. Only bit 31 of `bad` means anything.
@micropython.viper
def judge(g: ptr32) -> int:
    """Torque command, torque error and position error of this cycle; 1 where a limit is exceeded, no heartbeat has
    come, or the model has met a limit of its own."""
    t = 0
    j = 4 * g[0]
    sh = g[1]
    words = ptr32(int(g) + g[3])
    computed = ptr32(int(g) + g[4])
    model = ptr32(int(g) + g[5])
    command = ptr32(int(g) + g[6])
    feedback = ptr32(int(g) + g[7])
    error = ptr32(int(g) + g[8])
    position = ptr32(int(g) + g[9])
    measured = ptr32(int(g) + g[10])
    position_error = ptr32(int(g) + g[11])
    silence = words[_SILENCE] + words[_BEATING]
    words[_SILENCE] = silence
    bad = (ptr32(int(g) + g[12])[0] - silence) | (0 - ptr32(int(computed) + j)[0])
    t = (words[_AT] + 1) & 31
    words[_AT] = t
    at = 4 * t
    ramp = words[_RAMP]
    g = ptr32(int(g) + g[2] + _RECORD * j)
    while j:
        j -= 4
        g = ptr32(int(g) - 4 * _RECORD)
        t = ptr32(int(computed) + j)[0] & g[_FED]
        ptr32(int(model) + j)[0] = t
        ptr32(int(g) + at)[_TORQUES] = t
        bad = (g[_THRESHOLD] - t) | (g[_THRESHOLD] + t) | bad
        t = ptr32(int(g) + ((at - g[_TORQUE_DELAY]) & 124))[_TORQUES]
        if ramp != _RAMP_ONE:
            t = (t << sh) >> sh
            t = (t >> 15) * ramp + (((t & 0x7FFF) * ramp) >> 15)
        ptr32(int(command) + j)[0] = t
        t = ptr32(int(g) + ((at - g[_ERROR_DELAY]) & 124))[_TORQUES] - ptr32(int(feedback) + j)[0]
        t = (t << sh) >> sh
        if t > 0x3FFFFFFF:
            t = 0x3FFFFFFF
        elif t < -0x3FFFFFFF:
            t = -0x3FFFFFFF
        high = (g[_STATE_HIGH] << sh) >> sh
        t -= high
        rest = (t & 0x7FFF) * g[_FILTER] + g[_STATE_LOW] - ((g[_FILTER] * g[_STATE_LOW]) >> 15)
        t = (t >> 15) * g[_FILTER] + (rest >> 15) + high
        g[_STATE_LOW] = rest & 0x7FFF
        g[_STATE_HIGH] = t
        ptr32(int(error) + j)[0] = t
        bad = (g[_TORQUE_ERROR_LEAST] - t) | (g[_TORQUE_ERROR_LEAST] + t) | bad
        t = ptr32(int(position) + j)[0]
        ptr32(int(g) + at)[_POSITIONS] = t
        t -= g[_LOWEST]
        bad = ((g[_RANGE] - t) | t) & g[_RANGED] | bad
        t = ptr32(int(g) + ((at - g[_POSITION_DELAY]) & 124))[_POSITIONS] - ptr32(int(measured) + j)[0]
        ptr32(int(position_error) + j)[0] = t
        bad = (g[_POSITION_ERROR_MAX] - t) | (g[_POSITION_ERROR_MAX] + t) | bad
    return 1 if (bad << sh) >> sh < 0 else 0


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


@micropython.viper
def _lasting(a: ptr32, event: ptr32, stopping: int) -> int:
    """Counts cycles above the torque error's limit: the first axis with enough of them, + 1; -1 where one counts."""
    i = 0
    g = ptr32(int(a) + a[2])
    n = a[0]
    sh = a[1]
    error = ptr32(int(a) + a[3])
    duration = ptr32(int(a) + a[4])
    at = ptr32(int(a) + a[5])[_AT]
    found = 0
    while i < n:
        v = (error[i] << sh) >> sh
        top = g[_TORQUE_ERROR_LEAST]
        if top != 0x3FFFFFFF and (v > top or v < 0 - top):
            top = ptr32(int(a) + a[6])[i]
            # At rest: three commands in a row are the same; a reversal has two at most. A stop is as rough as a start.
            ago = ptr32(int(a) + a[7])[i]
            if ago != 0 and stopping != 0:
                top = ptr32(int(a) + a[8])[i]
                ago = 0
            while ago > 0:
                then = g[((at - ago) & 31) + _POSITIONS]
                if then == g[((at - ago + 1) & 31) + _POSITIONS] and then == g[((at - ago - 1) & 31) + _POSITIONS]:
                    top = ptr32(int(a) + a[8])[i]
                    ago = 1
                ago -= 1
        if v > top or v < 0 - top:
            g[_ABOVE] = g[_ABOVE] + 1
            if found == 0:
                found = 0 - 1
            if found < 0 and g[_ABOVE] >= duration[i]:
                event[2] = v
                event[3] = top
                found = i + 1
        else:
            g[_ABOVE] = 0
        g = ptr32(int(g) + 4 * _RECORD)
        i += 1
    return found


@micropython.viper
def _restart(a: ptr32):
    """The command has always been where it is now, and there has been no error."""
    i = 0
    g = ptr32(int(a) + a[2])
    n = a[0]
    position = ptr32(int(a) + a[3])
    while i < n:
        g[_STATE_LOW] = 0
        g[_STATE_HIGH] = 0
        g[_ABOVE] = 0
        line = ptr32(int(g) + 4 * _POSITIONS)
        k = 0
        while k < 32:
            line[k] = position[i]
            k += 1
        g = ptr32(int(g) + 4 * _RECORD)
        i += 1


class Guards:
    """Feed-forward torque and errors of all axes, and the guards that trip: an event each in `events`."""

    def __init__(self, axes, settings):
        n = axes.n
        self.axes = axes
        self.settings = settings
        self.events = [array("i", [FAULT_NUMBERS[name], 0, 0, 0]) for name in GUARDS]
        # True where a torque error is above its limit, for less than its duration.
        self.rising = False
        axes.array("guard_records", _RECORD * n)
        self._words = axes.array("guard_words", _WORDS)
        self.bound = axes.bind(
            "guard_records", "guard_words", "model_output", "torque_model", "torque_command", "torque_feedback",
            "torque_error", "position_command", "position_feedback", "position_error", "heartbeat_timeout")
        self._lasts = axes.bind(
            "guard_records", "torque_error", "torque_error_duration", "guard_words", "torque_error_max",
            "torque_error_rest_cycles", "torque_error_max_rest")
        self._restarts = axes.bind("guard_records", "position_command")
        settings.derive(_derive, axes.bind(
            "guard_records", "dynamic_model", "torque_error_enable", "torque_error_max", "position_min", "position_max",
            "additive_torque_delay", "torque_error_delay", "position_error_delay", "torque_threshold",
            "position_error_max", "torque_error_filter", "torque_error_max_rest", "torque_error_rest_cycles"))

    @property
    def ramp(self):
        """The feed-forward's part, in 2**-15."""
        return self._words[_RAMP]

    @property
    def silence(self):
        """Cycles since the last heartbeat; they count while the host has to send some."""
        return self._words[_SILENCE]

    @silence.setter
    def silence(self, cycles):
        self._words[_SILENCE] = cycles

    def expect(self, feeding, beating):
        """Whether the feed-forward is wanted, and whether the host has to send heartbeats."""
        self._words[_FEEDING] = feeding
        self._words[_BEATING] = beating

    @property
    def steady(self):
        """True where `advance` has nothing to do."""
        words = self._words
        return words[_RAMP] == (_RAMP_ONE if words[_FEEDING] else 0) and not words[_SETTLING]

    def restart(self):
        """Forgets the past: the command has always been where it is now.

        Switched on, a drive takes over the weight that the brake has borne, and the feed-forward comes on its ramp:
        until then a torque error is no collision.
        """
        self._words[_SETTLING] = self.settings.feedforward_ramp[0] + 1
        self.rising = False
        _restart(self._restarts)

    def advance(self):
        """The feed-forward's ramp goes on, and the time in which a torque error is no collision."""
        words = self._words
        ramp = words[_RAMP]
        step = _RAMP_ONE // self.settings.feedforward_ramp[0] + 1
        if words[_FEEDING]:
            words[_RAMP] = ramp + step if ramp + step < _RAMP_ONE else _RAMP_ONE
        else:
            words[_RAMP] = ramp - step if ramp > step else 0
        if words[_SETTLING]:
            words[_SETTLING] -= 1

    def check(self, stopping):
        """The guards that trip in this cycle, a bit each; none hides another. `stopping`: in a stop or behind it."""
        axes = self.axes
        settings = self.settings
        events = self.events
        n = axes.n
        tripped = self._trip(0, _exceeds(axes.torque_model, settings.torque_threshold, events[0], n, SH))
        if not self._words[_SETTLING]:
            lasting = _lasting(self._lasts, events[1], stopping)
            self.rising = lasting != 0
            tripped |= self._trip(1, lasting)
        tripped |= self._trip(2, _exceeds(axes.position_error, settings.position_error_max, events[2], n, SH))
        return tripped | self._trip(3, _outside(
            axes.position_command, settings.position_min, settings.position_max, events[3], n, SH))

    def outside(self, axis):
        """Notes where an axis stands that must not be switched on, as the event of the position limit."""
        _note(self.events[3], self.axes.position_feedback, self.settings.position_max, axis)

    def _trip(self, guard, axis):
        if axis <= 0:
            return 0
        self.events[guard][1] = axis - 1
        return 1 << guard
