"""What the board holds of its axes: int32 arrays by name, all in one flat one, preallocated when an image is applied.

A cycle runs in few viper functions, and each call costs more for every argument. So a function takes one pointer: to
a binding, which says how many axes there are, how loads are sign-extended, and where the function's arrays lie:

    bound = axes.bind("position_command", "torque_model")

    @micropython.viper
    def step(a: ptr32):
        n = a[0]
        sh = a[1]
        position = ptr32(int(a) + a[2])
        torque = ptr32(int(a) + a[3])

What viper makes of a line on a Cortex-M3 decides how the cycle's functions are written:

    ptr32(int(position) + j)[0], j in bytes, saves three instructions: position[i] adds i four times
    `while j`, from the last axis to the first, saves seven a turn: `j < end` is first made a bool
    places that are constants below 32 are loaded at once; an axis's record has them
    two locals stay in registers: the pointer passed, and the first one assigned, which is the hottest
    what is worked out goes into a local before it is stored, so that it is not put aside for the address
    a pointer is passed as a number (`address`), which saves 48 of a call
"""

from array import array

import micropython
from micropython import const

from idmwire import channels, properties
from idmwire.sine import SINE
from motionboard.fixed import SH

MAX_AXES = 8

# What a cycle has to do beside what all cycles have in common: bits of `todo`.
TODO_LOOK = const(2)  # states change, faults stand, a ramp goes on: look closer
TODO_MOVE = const(4)  # a motion runs
TODO_MODEL = const(8)  # the model's torque is wanted
TODO_WAIT = const(16)  # a motion waits for its start cycle

# Words that the arrays of all modules and their bindings need at most, in all and for each axis.
_WORDS = 1200
_AXIS_WORDS = 640


@micropython.viper
def _clear(words: ptr32, n: int):
    i = 0
    while i < n:
        words[i] = 0
        i += 1


@micropython.viper
def _within(word: ptr32, low: ptr32, high: ptr32, slot: int, sh: int) -> int:
    value = (word[0] << sh) >> sh
    if value < (low[slot] << sh) >> sh or value > (high[slot] << sh) >> sh:
        return 0
    return 1


@micropython.viper
def address(a: ptr32) -> int:
    """Where an array lies, as viper functions take it for a pointer. Nobody moves it; somebody else has to hold it."""
    return int(a)


class Axes:
    """The arrays; the channels are attributes called like the channels.

    `state` is all channels, one after the other. `ahead` is what the model reads: position, velocity, acceleration
    and direction of all axes, torque_lead ahead of the command, laid out like the first four channels; it writes
    `model_output`: torques of all axes, and how many of its values met their limit.
    """

    def __init__(self, n):
        self.n = n
        size = _WORDS + _AXIS_WORDS * n
        # From a range, whose length is known: one allocation, nothing beside it.
        self._words = memoryview(array("i", range(size)))
        _clear(self._words, size)
        # Bindings from the front, arrays from the back: no distance is negative, which 64-bit loads would not bear.
        self._bound = 0
        self._free = size
        self._places = {}
        self.state = self.array("channels", len(channels.CHANNELS) * n)
        for number, name in enumerate(channels.CHANNEL_NAMES):
            setattr(self, name, self.name(name, "channels", number * n, n))
        self.ahead = self.array("ahead", 4 * n)
        for number, name in enumerate(channels.CHANNEL_NAMES[:4]):
            part = name.split("_")[0] + "_ahead"
            setattr(self, part, self.name(part, "ahead", number * n, n))
        # The number of the cycle, and what it has to do. Both are read where a cycle begins: with the drives' answers.
        self.cycle = self.array("cycle", 1)
        self.todo = self.array("todo", 1)
        self.model_output = self.array("model_output", n + 1)
        self.sine = sine = self.array("sine", len(SINE))
        for k in range(len(SINE)):
            sine[k] = SINE[k]

    def remind(self, bit, whether):
        """Sets or clears a bit of `todo`."""
        self.todo[0] = self.todo[0] & ~bit | (bit if whether else 0)

    def array(self, name, words):
        """A new array of zeros under this name, as a memoryview."""
        self._free -= words
        self._places[name] = self._free
        return self._view(self._free, words)

    def name(self, name, of, at, words):
        """A name for a part of an array, and the part as a memoryview."""
        self._places[name] = self._places[of] + at
        return self._view(self._places[name], words)

    def bind(self, *parts):
        """What a viper function takes as its pointer: n, SH, then distances in bytes to arrays, or numbers."""
        at = self._bound
        self._bound += 2 + len(parts)
        bound = self._view(at, 2 + len(parts))
        bound[0] = self.n
        bound[1] = SH
        for k, part in enumerate(parts):
            bound[2 + k] = part if isinstance(part, int) else 4 * (self._places[part] - at)
        return bound

    def _view(self, at, words):
        if self._bound > self._free:
            raise MemoryError("the arrays of the axes need more than %d words" % len(self._words))
        return self._words[at : at + words]


class Settings:
    """The property values of the applied image, as attributes called like the properties.

    A board-wide property is read as a memoryview of one value, an axis property as one of n.
    """

    def __init__(self, axes, values):
        self.n = n = axes.n
        self.values = axes.array("settings", len(values))
        # What modules make of the settings, each time one of them changes.
        self.derived = []
        self._slots = properties.slots(n)
        for prop in properties.PROPERTIES:
            words = n if prop[3] == properties.AXIS else 1
            setattr(self, prop[1], axes.name(prop[1], "settings", self._slots[prop[1]], words))
        self._lowest = array("i", values)
        self._highest = array("i", values)
        for slot in range(len(values)):
            self.values[slot] = values[slot]
        for prop in properties.PROPERTIES:
            for axis in range(n if prop[3] == properties.AXIS else 1):
                self._lowest[self.slot(prop, axis)] = prop[5]
                self._highest[self.slot(prop, axis)] = prop[6]

    def derive(self, function, bound):
        """Calls function(bound) now, and whenever a setting has changed."""
        self.derived.append((function, bound))
        function(bound)

    def take(self, slot, word):
        """values[slot] = word[0] where that is inside the property's range; False where it is not."""
        if not _within(word, self._lowest, self._highest, slot, SH):
            return False
        self.values[slot] = word[0]
        for function, bound in self.derived:
            function(bound)
        return True

    def slot(self, prop, axis):
        """The index of a property's value in `values`."""
        return self._slots[prop[1]] + (axis if prop[3] == properties.AXIS else 0)
