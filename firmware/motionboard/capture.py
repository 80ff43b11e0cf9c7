"""Sample capture: chosen channels, every n-th cycle, into a preallocated ring of blocks.

A block is what one message carries. The host says which blocks have arrived; until then a
block stays in the ring and can be sent again. When the ring is full, a board on the rig's
time holds its time, a board on its own timer overwrites the oldest block and counts it.
"""

import micropython
from micropython import const

BLOCK_BYTES = 480
BLOCK_WORDS = BLOCK_BYTES // 4
_BLOCK_WORDS = const(120)
_MAX_CHANNELS = 48

# Words of the capture. Block numbers: arrived <= sent <= filled.
_RUNNING = const(0)
_START = const(1)  # the cycle, until the capture has begun
_BEGUN = const(2)
_EVERY = const(3)  # cycles from sample to sample
_WAIT = const(4)  # cycles to the next one
_CHANNELS = const(5)
_WANTED = const(6)  # samples, 0 no end
_SAMPLES = const(7)
_BLOCKS = const(8)  # that the ring holds
_FILLED = const(9)
_SENT = const(10)
_ARRIVED = const(11)
_OVERWRITTEN = const(12)  # before they were sent
_IN_BLOCK = const(13)  # samples in the block that is being filled
_WORDS = const(14)


@micropython.viper
def sample(a: ptr32, out: ptr32):
    """Takes this cycle's sample into the ring `out` when it is one of those wanted."""
    w = ptr32(int(a) + a[2])
    if w[_RUNNING] == 0:
        return
    cycle = ptr32(int(a) + a[7])[0]
    if w[_BEGUN] == 0:
        if ((cycle - w[_START]) & 0x3FFFFFFF) >= 0x20000000:
            return
        w[_BEGUN] = 1
    if w[_WAIT]:
        w[_WAIT] = w[_WAIT] - 1
        return
    w[_WAIT] = w[_EVERY] - 1
    slot = w[_FILLED] % w[_BLOCKS]
    if w[_IN_BLOCK] == 0:
        if w[_FILLED] - w[_ARRIVED] >= w[_BLOCKS]:
            # One that was sent and not acknowledged is not lost, as far as the board can know.
            if w[_SENT] == w[_ARRIVED]:
                w[_SENT] = w[_SENT] + 1
                w[_OVERWRITTEN] = w[_OVERWRITTEN] + 1
            w[_ARRIVED] = w[_ARRIVED] + 1
        ptr32(int(a) + a[3])[slot] = cycle
    n = w[_CHANNELS]
    picks = ptr32(int(a) + a[5])
    sizes = ptr32(int(a) + a[4])
    out = ptr32(int(out) + 4 * (slot * _BLOCK_WORDS + w[_IN_BLOCK] * n))
    # Four at a time, as places that are constants cost least; `a` are the channels.
    a = ptr32(int(a) + a[6])
    i = n >> 2
    while i:
        i -= 1
        out[0] = ptr32(picks[0] + int(a))[0]
        out[1] = ptr32(picks[1] + int(a))[0]
        out[2] = ptr32(picks[2] + int(a))[0]
        out[3] = ptr32(picks[3] + int(a))[0]
        out = ptr32(int(out) + 16)
        picks = ptr32(int(picks) + 16)
    i = n & 3
    while i:
        i -= 1
        out[0] = ptr32(picks[0] + int(a))[0]
        out = ptr32(int(out) + 4)
        picks = ptr32(int(picks) + 4)
    i = w[_IN_BLOCK] + 1
    w[_SAMPLES] = w[_SAMPLES] + 1
    if w[_SAMPLES] == w[_WANTED]:
        w[_RUNNING] = 0
    if (i + 1) * n > _BLOCK_WORDS or w[_RUNNING] == 0:
        sizes[slot] = i * n
        w[_FILLED] = w[_FILLED] + 1
        i = 0
    w[_IN_BLOCK] = i


def _word(index):
    """A property that is a word of the capture."""

    def get(capture):
        return capture._words[index]

    def put(capture, value):
        capture._words[index] = value

    return property(get, put)


class Capture:
    """The ring and what has become of its blocks."""

    running = _word(_RUNNING)
    channels = _word(_CHANNELS)
    samples = _word(_SAMPLES)
    blocks = _word(_BLOCKS)
    filled = _word(_FILLED)
    sent = _word(_SENT)
    arrived = _word(_ARRIVED)
    overwritten = _word(_OVERWRITTEN)

    def __init__(self, axes, ring):
        blocks = len(ring) // BLOCK_WORDS
        self.axes = axes
        self.ring = ring
        self._words = axes.array("capture_words", _WORDS)
        self.first_cycle = axes.array("capture_cycles", blocks)
        self.words = axes.array("capture_sizes", blocks)
        self.picks = axes.array("capture_picks", _MAX_CHANNELS)
        self.bound = axes.bind("capture_words", "capture_cycles", "capture_sizes", "capture_picks", "channels", "cycle")
        self.blocks = blocks
        # A block that is to be sent again, or -1.
        self.again = -1

    def pick(self, index, channel, axis):
        """Chooses the index-th channel of the next capture."""
        self.picks[index] = 4 * (channel * self.axes.n + axis)

    def start(self, start_cycle, samples, every, channels):
        """Begins at start_cycle; 0 samples go on until stop."""
        words = self._words
        overwritten = self.overwritten
        blocks = self.blocks
        for k in range(_WORDS):
            words[k] = 0
        words[_OVERWRITTEN] = overwritten
        words[_BLOCKS] = blocks
        words[_CHANNELS] = channels
        words[_WANTED] = samples
        words[_EVERY] = every
        words[_START] = start_cycle
        self.again = -1
        words[_RUNNING] = 1

    def stop(self):
        """Ends the capture; a part-filled block is closed."""
        words = self._words
        if words[_RUNNING]:
            words[_RUNNING] = 0
            if words[_IN_BLOCK]:
                self.words[self.filled % self.blocks] = words[_IN_BLOCK] * self.channels
                words[_FILLED] += 1
                words[_IN_BLOCK] = 0

    @property
    def samples_per_block(self):
        """Whole samples that fit in a block."""
        return BLOCK_WORDS // self.channels

    @property
    def full(self):
        """True where the next sample would overwrite a block that has not arrived."""
        return self.running and self._words[_IN_BLOCK] == 0 and self.filled - self.arrived >= self.blocks

    def holds(self, block):
        """True where a finished block is still in the ring."""
        return self.filled - block <= self.blocks - (1 if self._words[_IN_BLOCK] else 0)
