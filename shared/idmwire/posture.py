"""Posture tables: parameters of the compiled model that are looked up by the position of an axis, in every cycle.

A table is a run of int32 words:

    0    which of the model's parameters, counted from 0
    1    the axis whose position it goes by
    2    position of the first value, counts
    3    shift: the values stand 2^shift counts of position apart
    4    n: how many values
    5..  n mantissas of the parameter

Between two values the parameter is on a straight line, beyond the ends it stays what it is there.
"""

HEAD_WORDS = 5
SHIFT_MIN = 10
SHIFT_MAX = 24
POSITION_MAX = 2**30 - 1


def split(words: "tuple[int, ...]") -> "list[tuple[int, ...]] | None":
    """The tables in `words`, None where these are not a run of whole ones."""
    tables = []
    at = 0
    while at < len(words):
        end = at + HEAD_WORDS + (words[at + 4] if len(words) - at > HEAD_WORDS else 0)
        if end <= at + HEAD_WORDS or end > len(words):
            return None
        tables.append(words[at:end])
        at = end
    return tables


def fits(table: "tuple[int, ...]", n_axes: int, limits: "tuple[int, ...]") -> bool:
    """True where a table is one for a model of `n_axes` whose parameters are limited to `limits`."""
    parameter, axis, first, shift, n = table[:HEAD_WORDS]
    if not (0 <= parameter < len(limits) and 0 <= axis < n_axes and SHIFT_MIN <= shift <= SHIFT_MAX):
        return False
    last = first + ((n - 1) << shift)
    if first < -POSITION_MAX or last > POSITION_MAX:
        return False
    return all(abs(value) <= limits[parameter] for value in table[HEAD_WORDS:])
