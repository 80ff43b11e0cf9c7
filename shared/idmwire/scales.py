"""The scale table: what one count of each quantity is worth on the wire and on the board.

    value = counts * 2**exponent * unit

Every quantity is an int32. Position wraps where the sine wraps (revolute) and is kept
within the range (prismatic); everything else stays within 2**30 counts so that it is a
small integer on a 32-bit MicroPython.
"""

# quantity: (exponent, unit on a revolute axis, unit on a prismatic axis)
SCALES = {
    "position": (-24, "turn", "m"),
    "velocity": (-20, "rad/s", "m/s"),
    "acceleration": (-14, "rad/s^2", "m/s^2"),
    "torque": (-16, "Nm", "N"),
    "ratio": (-15, "1", "1"),
    "cycles": (0, "cycle", "cycle"),
    "count": (0, "1", "1"),
}

# The order in which HELLO and the parameter image carry the exponents.
SCALE_ORDER = ("position", "velocity", "acceleration", "torque", "ratio")

INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1
SMALL_MAX = 2**30 - 1


def exponents() -> "tuple[int, ...]":
    """The exponents in SCALE_ORDER."""
    return tuple([SCALES[name][0] for name in SCALE_ORDER])


def to_counts(value: float, quantity: str) -> int:
    """The counts nearest to `value` (in turns for a revolute position, else in the scale's unit).

    Raises ValueError when the result leaves the quantity's range: int32 for a position,
    2**30 for everything else. A board never sees a value that the host did not range-check.
    """
    counts = round(value * 2.0 ** -SCALES[quantity][0])
    limit = INT32_MAX if quantity == "position" else SMALL_MAX
    if counts > limit or counts < -limit:
        reach = limit * 2.0 ** SCALES[quantity][0]
        raise ValueError("%s of %g is outside the wire's range of +-%g" % (quantity, value, reach))
    return counts


def from_counts(counts: int, quantity: str) -> float:
    """The value of `counts` in the scale's unit (turns for a revolute position)."""
    return counts * 2.0 ** SCALES[quantity][0]
