# What several tests share: numbers without a library's random, axes with settings, exact references.

from array import array

from drives import units
from idmwire import properties
from motionboard.axis import Axes, Settings

CYCLE_S = 0.001


class Numbers:
    # A xorshift of 32 bits: the same numbers on every runtime.

    def __init__(self, seed=1):
        self._state = seed * 2654435761 & 0xFFFFFFFF or 1

    def word(self):
        x = self._state
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        self._state = x
        return x

    def below(self, limit):
        return self.word() % limit

    def between(self, low, high):
        return low + self.word() % (high - low + 1)

    def any_of(self, values):
        return values[self.below(len(values))]

    def data(self, n, values=256):
        data = bytearray(n)
        for k in range(n):
            data[k] = self.below(values)
        return bytes(data)


def wrap(value):
    return (value + 2**31) % 2**32 - 2**31


def multiplier(factor):
    # (mantissa, shift) below 2^30, as the host makes them.
    shift = 15
    while abs(factor) * 2 ** (shift + 1) < 2**30 and shift < 45:
        shift += 1
    return round(factor * 2**shift), shift


def words(values):
    return array("i", values)


# Joint turns of 1310720 counts, a drive of 10 Nm a thousand per mille, at the given cycle time.
def drive_settings(cycle_s=CYCLE_S):
    turn = 2 * 3.141592653589793
    factors = {
        "counts": 1310720 / 2**24,
        "position": 2**24 / 1310720,
        "offset": 1000 / 10 / 2**16,
        "feedback": 10 / 1000 * 2**16,
        "step": cycle_s / turn * 2**4,
        "rate": 2**-6 / cycle_s,
    }
    settings = {}
    for stem, factor in factors.items():
        settings[stem + "_mantissa"], settings[stem + "_shift"] = multiplier(factor)
    return settings


def settings_table(n=1, cycle_s=CYCLE_S, **changes):
    # Counts of all properties; a change is one value for all axes or a tuple with one for each.
    table = properties.defaults(n)
    places = properties.slots(n)
    values = drive_settings(cycle_s)
    values["node_id"] = tuple(range(1, n + 1))
    values.update(changes)
    for name, value in values.items():
        for axis in range(n if properties.BY_NAME[name][3] == properties.AXIS else 1):
            table[places[name] + axis] = value[axis] if isinstance(value, tuple) else value
    return table


def make_axes(n=1, cycle_s=CYCLE_S, **changes):
    axes = Axes(n)
    return axes, Settings(axes, settings_table(n, cycle_s, **changes))


def positions(counts, mantissa, shift):
    # Drive counts as positions, by the drives' own conversion.
    found = []
    for at in range(0, len(counts), 8):
        part = counts[at : at + 8]
        axes, settings = make_axes(len(part), position_mantissa=mantissa, position_shift=shift)
        drives = units.Units(axes, settings)
        for axis, count in enumerate(part):
            drives.counts[axis] = count
        units.read(drives.reads)
        found += list(axes.position_feedback)
    return found


def raises(kind, function, *arguments):
    try:
        function(*arguments)
    except kind:
        return True
    return False
