"""What the board holds of its axes: one value per channel and axis, and the settings.

Everything is preallocated here when an image is applied; the cycle only writes into it.
A channel is a memoryview into one flat array, so capture can pick any of them by index.
"""

from array import array

import micropython

from idmwire import channels, properties
from motionboard.fixed import SH

MAX_AXES = 8


@micropython.viper
def _within(word: ptr32, low: ptr32, high: ptr32, slot: int, sh: int) -> int:
    value = (word[0] << sh) >> sh
    if value < (low[slot] << sh) >> sh or value > (high[slot] << sh) >> sh:
        return 0
    return 1


class Axes:
    """The channels of all axes, as attributes called like the channels.

    `ahead` is what the model reads: position, velocity, acceleration and direction of all axes, torque_lead
    ahead of the command.
    """

    def __init__(self, n):
        self.n = n
        self.state = array("i", [0] * (len(channels.CHANNELS) * n))
        view = memoryview(self.state)
        for number, name in enumerate(channels.CHANNEL_NAMES):
            setattr(self, name, view[number * n : (number + 1) * n])
        self.ahead = array("i", [0] * (4 * n))
        view = memoryview(self.ahead)
        self.position_ahead = view[:n]
        self.velocity_ahead = view[n : 2 * n]
        self.acceleration_ahead = view[2 * n : 3 * n]
        self.direction_ahead = view[3 * n :]


class Settings:
    """The property values of the applied image, as attributes called like the properties.

    A board-wide property is read as a memoryview of one value, an
    axis property as one of n.
    """

    def __init__(self, n, values):
        self.n = n
        self.values = array("i", values)
        self._slots = properties.slots(n)
        view = memoryview(self.values)
        for prop in properties.PROPERTIES:
            at = self._slots[prop[1]]
            setattr(self, prop[1], view[at : at + (n if prop[3] == properties.AXIS else 1)])

        self._lowest = array("i", self.values)
        self._highest = array("i", self.values)
        for prop in properties.PROPERTIES:
            for axis in range(n if prop[3] == properties.AXIS else 1):
                self._lowest[self.slot(prop, axis)] = prop[5]
                self._highest[self.slot(prop, axis)] = prop[6]

    def take(self, slot, word):
        """values[slot] = word[0] where that is inside the property's range; False where it is not."""
        if not _within(word, self._lowest, self._highest, slot, SH):
            return False
        self.values[slot] = word[0]
        return True

    def slot(self, prop, axis):
        """The index of a property's value in `values`."""
        return self._slots[prop[1]] + (axis if prop[3] == properties.AXIS else 0)
