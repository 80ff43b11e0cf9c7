"""Latched faults: the first of the hardest stays until it is cleared, all are remembered, with the cycles around it."""

from array import array

import micropython
from micropython import const

from idmwire.faults import NOTE, REACTIONS

_HISTORY = 8
_WORDS = 5  # number, axis, cycle, value, limit
TRACE_CYCLES = 64
TRACE_CHANNELS = ("position_command", "position_feedback", "torque_command", "torque_feedback")

# Words of the trace: cycles held; the slot that comes next; cycles left to record, + 1, or 0 where there is no end.
_HELD = const(0)
_SLOT = const(1)
_ENDING = const(2)
_TRACE_WORDS = const(3)
_TRACE_CYCLES = const(64)


@micropython.viper
def keep(a: ptr32):
    """Records the commands and feedback of this cycle, unless the trace stands still."""
    j = 4 * a[0]
    size = j
    w = ptr32(int(a) + a[2])
    ending = w[_ENDING]
    if ending:
        if ending == 1:
            return
        w[_ENDING] = ending - 1
    slot = w[_SLOT]
    ptr32(int(a) + a[3])[slot] = ptr32(int(a) + a[9])[0]
    position = ptr32(int(a) + a[5])
    measured = ptr32(int(a) + a[6])
    torque = ptr32(int(a) + a[7])
    felt = ptr32(int(a) + a[8])
    a = ptr32(int(a) + a[4] + 4 * size * slot + size)
    while j:
        j -= 4
        a = ptr32(int(a) - 4)
        a[0] = ptr32(int(position) + j)[0]
        ptr32(int(a) + size)[0] = ptr32(int(measured) + j)[0]
        ptr32(int(a) + 2 * size)[0] = ptr32(int(torque) + j)[0]
        ptr32(int(a) + 3 * size)[0] = ptr32(int(felt) + j)[0]
    w[_SLOT] = (slot + 1) & (_TRACE_CYCLES - 1)
    if w[_HELD] < _TRACE_CYCLES:
        w[_HELD] = w[_HELD] + 1


@micropython.viper
def _keep_pair(dst: ptr32, at: int, event: ptr32):
    dst[at] = event[2]
    dst[at + 1] = event[3]


class Faults:
    """The latched fault, the history of the last eight, and the trace of the newest."""

    def __init__(self):
        self.latched = 0
        self.axis = 0
        self.count = 0
        self.reaction = NOTE
        self._raised = 0
        self._next = 0
        self.history = array("i", [0] * (_HISTORY * _WORDS))

    def raise_fault(self, number, axis, cycle, event):
        """Remembers a fault and latches it unless one as hard stands; `event` holds value and limit at 2 and 3.

        A cause that lasts is remembered once until the latch is cleared. True where the fault has become the latched
        one, so that its reaction has to begin.
        """
        if self.raised(number):
            return False
        self._raised |= 1 << number
        at = self._next * _WORDS
        self.history[at] = number
        self.history[at + 1] = axis
        self.history[at + 2] = cycle
        if event is None:
            self.history[at + 3] = 0
            self.history[at + 4] = 0
        else:
            _keep_pair(self.history, at + 3, event)
        self._next = (self._next + 1) % _HISTORY
        if self.count < _HISTORY:
            self.count += 1
        reaction = REACTIONS[number]
        if self.latched and reaction <= self.reaction:
            return False
        self.latched = number
        self.axis = axis
        self.reaction = reaction
        return True

    def raised(self, number):
        """True where this fault has been raised since the latch was cleared."""
        return self._raised & 1 << number != 0

    def place(self, index):
        """Where the index-newest fault begins in `history`, -1 where there is none."""
        if index >= self.count:
            return -1
        return ((self._next - 1 - index) % _HISTORY) * _WORDS

    def clear(self):
        """Forgets the latched fault; the history stays. Returns its number."""
        number = self.latched
        self.latched = 0
        self.axis = 0
        self.reaction = NOTE
        self._raised = 0
        return number


class Trace:
    """A ring of the last cycles that stands still from shortly after a fault until it is cleared."""

    def __init__(self, axes):
        self.words = len(TRACE_CHANNELS) * axes.n
        self._control = axes.array("trace_words", _TRACE_WORDS)
        self.cycles = axes.array("trace_cycles", TRACE_CYCLES)
        self.ring = axes.array("trace_ring", TRACE_CYCLES * self.words)
        self.bound = axes.bind("trace_words", "trace_cycles", "trace_ring", *TRACE_CHANNELS, "cycle")

    @property
    def held(self):
        """Cycles in the ring."""
        return self._control[_HELD]

    def freeze_soon(self):
        """A quarter of the ring still records what follows the fault."""
        if not self._control[_ENDING]:
            self._control[_ENDING] = TRACE_CYCLES // 4 + 1

    def release(self):
        """Records again."""
        self._control[_ENDING] = 0
        self._control[_HELD] = 0

    def place(self, sample):
        """The ring's slot of a sample, 0 the oldest; -1 where there is none."""
        if sample >= self.held:
            return -1
        return (self._control[_SLOT] - self.held + sample) % TRACE_CYCLES
