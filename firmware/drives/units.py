"""What passes between a CiA 402 drive and the axes' arrays in a cycle: conversions, controlwords, answers.

The factors of an axis are made from the settings. Positions are converted as fixed.py says; a torque is (current *
mantissa + half) >> shift, an offset ((torque + half) >> shift) * mantissa >> 15, for torques of up to the most that 16
bits hold.
"""

import micropython
from micropython import const

from drives import slcan
from motionboard.fixed import SH, split

# Statusword & 0x6F of the states that matter to a master (0x4F for faults).
_OPERATION_ENABLED = const(0x27)
_SWITCHED_ON = const(0x23)
_READY = const(0x21)
_FAULT_MASK = const(0x4F)
_FAULT = const(0x08)
_FAULT_REACTION = const(0x0F)

# Controlwords.
_DISABLE_VOLTAGE = const(0x0000)
_QUICK_STOP = const(0x0002)
_SHUTDOWN = const(0x0006)
_SWITCH_ON = const(0x0007)
_ENABLE = const(0x000F)
_FAULT_RESET = const(0x0080)

# What the board wants of the drives.
OFF = const(0)
ON = const(1)
BRAKE = const(2)
RESET = const(3)

_MISSES_COUNTED = const(1000000)

# The words of all drives: a bit for each axis; cycles without an answer, in all and in a row; who has answered last;
# torque offsets cut to 16 bits; what the board wants of the drives; how many buses there are;
# whether all drives have answered and are enabled, and whether all are told to be.
_ALL = const(0)
_MISSES = const(1)
_IN_A_ROW = const(2)
_ANSWERED = const(3)
_CUT = const(4)
_WANTED = const(5)
_BUSES = const(6)
_ENABLED = const(7)
_CALM = const(8)
_WORDS = const(9)
# The words of what is watched: cycles to the board's next heartbeat, and between two; 1 when one is due; 1 + the axis
# of a node that is lost; 1 + the first axis whose position has jumped; cycles in a row with all answers, up to those
# from which on a jump is one.
BEAT_IN = const(0)
BEAT_CYCLES = const(1)
BEAT = const(2)
LOST = const(3)
JUMPED = const(4)
_STEADY = const(5)
_WATCH_WORDS = const(6)
_STEADY_CYCLES = const(4)

# slcan.ANSWERED, slcan.TIME and slcan.STATE_WORDS.
_BUS_ANSWERED = const(5)
_BUS_TIME = const(6)
_BUS_WORDS = const(7)

# An axis's record.
_POSITION = const(0)
_FEEDBACK = const(3)
_FEEDBACK_SHIFT = const(4)  # with that of SH
_FEEDBACK_HALF = const(5)
_COUNTS = const(6)
_OFFSET = const(9)
_OFFSET_SHIFT = const(10)
_OFFSET_HALF = const(11)
_OFFSET_MOST = const(12)
_RECORD = const(13)


@micropython.viper
def _derive(a: ptr32):
    """The factors of the torques: of 15 bits, as currents and offsets have 16."""
    i = 0
    g = ptr32(int(a) + a[2])
    n = a[0]
    sh = a[1]
    while i < n:
        m = (ptr32(int(a) + a[3])[i] << sh) >> sh
        s = ptr32(int(a) + a[4])[i]
        cut = s if s < 15 else 15
        g[_FEEDBACK] = (m + ((1 << cut) >> 1)) >> cut
        g[_FEEDBACK_SHIFT] = s - cut + sh
        g[_FEEDBACK_HALF] = (1 << (s - cut)) >> 1
        m = (ptr32(int(a) + a[5])[i] << sh) >> sh
        s = ptr32(int(a) + a[6])[i]
        negative = m < 0
        if negative:
            m = 0 - m
        while m and m < 0x20000000:
            m += m
            s += 1
        # m / 2**s = m / 2**30 / 2**(s - 30); a factor of more than 1 has more than 15 bits, the torque fewer.
        s -= 30
        m = (m + 0x4000) >> 15
        while s < 0:
            m += m
            s += 1
        if s > 30:
            s = 30
        most = 0x3FFF8000 // m if m else 0x3FFFFFFF
        g[_OFFSET] = 0 - m if negative else m
        g[_OFFSET_SHIFT] = s
        g[_OFFSET_HALF] = (1 << s) >> 1
        g[_OFFSET_MOST] = most << s if most < 0x3FFFFFFF >> s else 0x3FFFFFFF
        g = ptr32(int(g) + 4 * _RECORD)
        i += 1


# It returns what the cycle has to do (bits of axis.py), and 1 where a drive has not answered, is not enabled or lost,
# or jumps: its position changes by more than a crash takes away or a rebound gives, twice the way of the cycle before,
# and the largest position error. Asked after cycles in which all drives have answered. Positions wrap, so do
# differences.
@micropython.viper
def read(g: ptr32) -> int:
    """Counts the cycle and to the heartbeat, and converts measured positions and torques; what there is to do."""
    x, j = 0, 4 * g[0]
    sh, todo = g[1], ptr32(int(g) + g[11])[0]
    words, bus = ptr32(int(g) + g[3]), ptr32(int(g) + g[4])
    counts, position = ptr32(int(g) + g[5]), ptr32(int(g) + g[6])
    current, torque = ptr32(int(g) + g[7]), ptr32(int(g) + g[8])
    status, cycle = ptr32(int(g) + g[9]), ptr32(int(g) + g[10])
    watched, seen = ptr32(int(g) + g[12]), ptr32(int(g) + g[13] + 2 * j)
    limit, jump = ptr32(int(g) + g[14]), ptr32(int(g) + g[15])
    cycle[0] = (cycle[0] + 1) & 0x3FFFFFFF
    watched[BEAT_IN] = watched[BEAT_IN] - 1
    if watched[BEAT_IN] == 0:
        watched[BEAT_IN] = watched[BEAT_CYCLES]
        watched[BEAT] = 1
    answered = jumped = 0
    x = words[_BUSES]
    while x:
        answered |= bus[_BUS_ANSWERED]
        bus[_BUS_ANSWERED] = 0
        bus[_BUS_TIME] = 0
        bus = ptr32(int(bus) + 4 * _BUS_WORDS)
        x -= 1
    words[_ANSWERED] = answered
    bad = answered ^ words[_ALL]
    if bad:
        words[_MISSES] = words[_MISSES] + 1
        words[_IN_A_ROW] = words[_IN_A_ROW] + 1 if words[_IN_A_ROW] < _MISSES_COUNTED else _MISSES_COUNTED
        watched[_STEADY] = 0
    else:
        words[_IN_A_ROW] = 0
        watched[_STEADY] = watched[_STEADY] + 1 if watched[_STEADY] < _STEADY_CYCLES else _STEADY_CYCLES
    g = ptr32(int(g) + g[2] + _RECORD * j)
    while j:
        j -= 4
        g = ptr32(int(g) - 4 * _RECORD)
        x = (ptr32(int(counts) + j)[0] << sh) >> sh
        low = ((x & 0x7FFF) * g[_POSITION + 1] + 0x4000) >> 15
        low += g[_POSITION] * x
        x >>= 15
        x = ((g[_POSITION + 2] * x + 0x4000) >> 15) + g[_POSITION + 1] * x + low
        ptr32(int(position) + j)[0] = x
        seen = ptr32(int(seen) - 8)
        before = ((seen[0] - seen[1]) << sh) >> sh
        seen[1] = seen[0]
        change = ((x - seen[1] - before) << sh) >> sh
        seen[0] = x
        x = change >> 1
        x = (x if x > 0 else 0 - x) - (before if before > 0 else 0 - before)
        if x > ((ptr32(int(limit) + j)[0] << sh) >> sh) >> 1 and watched[_STEADY] == _STEADY_CYCLES:
            jumped = (j >> 2) + 1
            jump[2] = change
            jump[3] = ptr32(int(limit) + j)[0]
        x = g[_FEEDBACK] * ptr32(int(current) + j)[0] + g[_FEEDBACK_HALF]
        x = (x << sh) >> g[_FEEDBACK_SHIFT]
        ptr32(int(torque) + j)[0] = x
        bad |= (ptr32(int(status) + j)[0] & 0x6F) ^ _OPERATION_ENABLED
    words[_ENABLED] = 0 if bad else 1
    watched[JUMPED] = jumped
    return todo | 1 if bad or jumped or watched[LOST] else todo


@micropython.viper
def write(g: ptr32):
    """Target positions and torque offsets in the drives' units, and the controlwords.

    A controlword leads a drive from the state it is in to the one that is wanted.
    """
    x = 0
    j = 4 * g[0]
    n = g[0]
    sh = g[1]
    position = ptr32(int(g) + g[4])
    target = ptr32(int(g) + g[5])
    torque = ptr32(int(g) + g[6])
    offset = ptr32(int(g) + g[7])
    status = ptr32(int(g) + g[8])
    control = ptr32(int(g) + g[9])
    words = ptr32(int(g) + g[3])
    wanted = words[_WANTED]
    g = ptr32(int(g) + g[2] + _RECORD * j)
    while j:
        j -= 4
        g = ptr32(int(g) - 4 * _RECORD)
        x = (ptr32(int(position) + j)[0] << sh) >> sh
        low = ((x & 0x7FFF) * g[_COUNTS + 1] + 0x4000) >> 15
        low += g[_COUNTS] * x
        x >>= 15
        x = ((g[_COUNTS + 2] * x + 0x4000) >> 15) + g[_COUNTS + 1] * x + low
        ptr32(int(target) + j)[0] = x
        x = (ptr32(int(torque) + j)[0] << sh) >> sh
        if ((g[_OFFSET_MOST] - x) | (g[_OFFSET_MOST] + x)) < 0:
            words[_CUT] = words[_CUT] + 1
            x = g[_OFFSET_MOST] if x > 0 else 0 - g[_OFFSET_MOST]
        x = ((x + g[_OFFSET_HALF]) >> g[_OFFSET_SHIFT]) * g[_OFFSET] + 0x4000
        x = (x << sh) >> (sh + 15)
        ptr32(int(offset) + j)[0] = x
    # All enabled, and told so: the controlwords are what they were.
    if words[_CALM] and words[_ENABLED] and wanted == ON:
        return
    words[_CALM] = words[_ENABLED] if wanted == ON else 0
    i = 0
    while i < n:
        state = status[i] & 0x6F
        word = _DISABLE_VOLTAGE
        if wanted == ON:
            word = _SHUTDOWN
            if state == _OPERATION_ENABLED or state == _SWITCHED_ON:
                word = _ENABLE
            elif state == _READY:
                word = _SWITCH_ON
        elif wanted == BRAKE:
            word = _QUICK_STOP
        elif wanted == RESET and state & _FAULT_MASK == _FAULT:
            word = _FAULT_RESET
        control[i] = word
        i += 1


# The first axis, + 1, whose target and count differ by more than rounding: two of position and count each, and the
# factors' own 2**-31.
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
        near = 3 + (c >> 27)
        if s < 31:
            near += 2 * (m >> s)
        if d > near or d < 0:
            return i + 1
        i += 1
    return 0


class Units:
    """All drives as a cycle knows them: what they have said, what they are told, and what is counted of both."""

    def __init__(self, axes, settings, buses=1):
        n = axes.n
        self.axes = axes
        self.settings = settings
        self._words = axes.array("drive_words", _WORDS)
        self._words[_ALL] = (1 << n) - 1
        self._words[_BUSES] = buses
        self._watch = axes.array("watch_words", _WATCH_WORDS)
        # Position of this cycle and of the one before, and the jump as guards have their events.
        axes.array("drive_seen", 2 * n)
        self._jump = axes.array("drive_jump", 4)
        # What the buses bring, and what goes onto them.
        axes.array("bus_states", slcan.STATE_WORDS * buses)
        self.counts = axes.array("drive_counts", n)
        self.current = axes.array("drive_current", n)
        self.control = axes.array("drive_control", n)
        self.target = axes.array("drive_target", n)
        self.offset = axes.array("drive_offset", n)
        axes.array("drive_records", _RECORD * n)
        axes.name("drive_target_factors", "drive_records", _COUNTS, n)
        self.reads = axes.bind(
            "drive_records", "drive_words", "bus_states", "drive_counts", "position_feedback", "drive_current",
            "torque_feedback", "statusword", "cycle", "todo", "watch_words", "drive_seen", "position_error_max",
            "drive_jump")
        self.writes = axes.bind(
            "drive_records", "drive_words", "position_command", "drive_target", "torque_command", "drive_offset",
            "statusword", "drive_control")
        settings.derive(_derive, axes.bind(
            "drive_records", "feedback_mantissa", "feedback_shift", "offset_mantissa", "offset_shift"))
        settings.derive(split, axes.bind("position_mantissa", "position_shift", "drive_records", _RECORD))
        settings.derive(split, axes.bind("counts_mantissa", "counts_shift", "drive_target_factors", _RECORD))

    @property
    def wanted(self):
        """What the board wants of the drives: OFF, ON, BRAKE or RESET."""
        return self._words[_WANTED]

    @wanted.setter
    def wanted(self, state):
        self._words[_WANTED] = state

    @property
    def misses(self):
        """Cycles in which an answer was missing."""
        return self._words[_MISSES]

    @property
    def missing_in_a_row(self):
        """The last cycles without an answer."""
        return self._words[_IN_A_ROW]

    @property
    def missing(self):
        """The first axis whose drive did not answer last."""
        answered = self._words[_ANSWERED]
        axis = 0
        while answered & 1 << axis:
            axis += 1
        return axis

    def alone(self, axes):
        """True where none of these axes (a bit each) has answered last."""
        return self._words[_ANSWERED] & axes == 0

    @property
    def saturations(self):
        """Torque offsets cut to 16 bits."""
        return self._words[_CUT]

    def answered(self):
        """From here on the drives have all answered."""
        self._words[_IN_A_ROW] = 0

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
        write(self.writes)
        return _apart(self.target, self.counts, settings.counts_mantissa, settings.counts_shift, axes.n, SH) - 1

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
