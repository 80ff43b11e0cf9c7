"""Latched faults: the first of the hardest stays until it is cleared, all are remembered, with the cycles around it."""

from array import array

import micropython

from idmwire.faults import NOTE, REACTIONS

_HISTORY = 8
_WORDS = 5  # number, axis, cycle, value, limit
TRACE_CYCLES = 64
TRACE_CHANNELS = ("position_command", "position_feedback", "torque_command", "torque_feedback")


@micropython.viper
def _keep(dst: ptr32, at: int, src: ptr32, n: int):
    i = 0
    while i < n:
        dst[at + i] = src[i]
        i += 1


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
        self.axes = axes
        self.words = len(TRACE_CHANNELS) * axes.n
        self.ring = array("i", [0] * (TRACE_CYCLES * self.words))
        self.cycles = array("i", [0] * TRACE_CYCLES)
        self.held = 0
        self.next = 0
        self._left = -1

    def freeze_soon(self):
        """A quarter of the ring still records what follows the fault."""
        if self._left < 0:
            self._left = TRACE_CYCLES // 4

    def release(self):
        """Records again."""
        self._left = -1
        self.held = 0

    def keep(self, cycle):
        """Records this cycle."""
        if self._left == 0:
            return
        if self._left > 0:
            self._left -= 1
        axes = self.axes
        n = axes.n
        at = self.next * self.words
        _keep(self.ring, at, axes.position_command, n)
        _keep(self.ring, at + n, axes.position_feedback, n)
        _keep(self.ring, at + 2 * n, axes.torque_command, n)
        _keep(self.ring, at + 3 * n, axes.torque_feedback, n)
        self.cycles[self.next] = cycle
        self.next = (self.next + 1) % TRACE_CYCLES
        if self.held < TRACE_CYCLES:
            self.held += 1

    def place(self, sample):
        """The ring's slot of a sample, 0 the oldest; -1 where there is none."""
        if sample >= self.held:
            return -1
        return (self.next - self.held + sample) % TRACE_CYCLES
