"""Sample capture: chosen channels, every n-th cycle, into a preallocated ring of blocks.

A block is what one message carries. The host says which blocks have arrived; until then a
block stays in the ring and can be sent again. When the ring is full, a board on the rig's
time holds its time, a board on its own timer overwrites the oldest block and counts it.
"""

from array import array

import micropython

BLOCK_BYTES = 480
BLOCK_WORDS = BLOCK_BYTES // 4
_MAX_CHANNELS = 48


@micropython.viper
def _pick(ring: ptr32, at: int, state: ptr32, picks: ptr32, n: int):
    i = 0
    while i < n:
        ring[at + i] = state[picks[i]]
        i += 1


class Capture:
    """The ring and what has become of its blocks: taken <= sent <= filled block numbers."""

    def __init__(self, axes, ring):
        blocks = len(ring) // BLOCK_WORDS
        self.axes = axes
        self.blocks = blocks
        self.ring = ring
        self.first_cycle = array("i", [0] * blocks)
        self.words = array("i", [0] * blocks)
        self.picks = array("i", [0] * _MAX_CHANNELS)
        self.channels = 0
        self.running = False
        self.filled = 0
        self.sent = 0
        self.arrived = 0
        self.samples = 0
        self.overwritten = 0
        self.again = -1
        self._wanted = 0
        self._every = 1
        self._wait = 0
        self._start = 0
        self._begun = False
        self._in_block = 0

    def pick(self, index, channel, axis):
        """Chooses the index-th channel of the next capture."""
        self.picks[index] = channel * self.axes.n + axis

    def start(self, start_cycle, samples, every, channels):
        """Begins at start_cycle; 0 samples go on until stop."""
        self.channels = channels
        self.filled = self.sent = self.arrived = 0
        self.samples = 0
        self.again = -1
        self._in_block = 0
        self._wanted = samples
        self._every = every
        self._wait = 0
        self._start = start_cycle
        self._begun = False
        self.running = True

    def stop(self):
        """Ends the capture; a part-filled block is closed."""
        if self.running:
            self.running = False
            if self._in_block:
                self._close()

    @property
    def samples_per_block(self):
        """Whole samples that fit in a block."""
        return BLOCK_WORDS // self.channels

    @property
    def full(self):
        """True where the next sample would overwrite a block that has not arrived."""
        return self.running and self._in_block == 0 and self.filled - self.arrived >= self.blocks

    def holds(self, block):
        """True where a finished block is still in the ring."""
        return self.filled - block <= self.blocks - (1 if self._in_block else 0)

    def sample(self, cycle):
        """Takes this cycle's sample when it is one of those wanted."""
        if not self.running:
            return
        if not self._begun:
            if ((cycle - self._start) & 0x3FFFFFFF) >= 0x20000000:
                return
            self._begun = True
        if self._wait:
            self._wait -= 1
            return
        self._wait = self._every - 1
        if self._in_block == 0:
            if self.filled - self.arrived >= self.blocks:
                self.overwritten += 1
                self.arrived += 1
                if self.sent < self.arrived:
                    self.sent = self.arrived
            self.first_cycle[self.filled % self.blocks] = cycle
        at = (self.filled % self.blocks) * BLOCK_WORDS + self._in_block * self.channels
        _pick(self.ring, at, self.axes.state, self.picks, self.channels)
        self._in_block += 1
        self.samples += 1
        if self._in_block == self.samples_per_block:
            self._close()
        if self.samples == self._wanted:
            self.stop()

    def _close(self):
        self.words[self.filled % self.blocks] = self._in_block * self.channels
        self.filled += 1
        self._in_block = 0
