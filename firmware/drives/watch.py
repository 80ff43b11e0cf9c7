"""What a cycle watches of the drives beside their answers, in viper: heartbeats that are due, positions that jump."""

import micropython
from micropython import const

# The words: cycles to the board's next heartbeat, and between two; 1 when one is due; 1 + the axis of a node that is
# lost; 1 + the first axis whose position has jumped; cycles in a row with all answers, up to those from which on a
# jump is one.
BEAT_IN = const(0)
BEAT_CYCLES = const(1)
BEAT = const(2)
LOST = const(3)
JUMPED = const(4)
_STEADY = const(5)
WORDS = const(6)
_STEADY_CYCLES = const(4)


@micropython.viper
def watch(a: ptr32) -> int:
    """1 for a closer look: where a drive is lost, or a position has changed as no axis can. Counts to the heartbeat.

    No axis changes by more than a crash takes away or a rebound gives, twice the way of the cycle before, and the
    largest position error; asked after cycles in which all drives have answered. Positions wrap, so do differences.
    """
    j = 4 * a[0]
    sh = a[1]
    words = ptr32(int(a) + a[2])
    position = ptr32(int(a) + a[4])
    seen = ptr32(int(a) + a[5] + 2 * j)
    limit = ptr32(int(a) + a[6])
    jump = ptr32(int(a) + a[7])
    words[BEAT_IN] = words[BEAT_IN] - 1
    if words[BEAT_IN] == 0:
        words[BEAT_IN] = words[BEAT_CYCLES]
        words[BEAT] = 1
    if ptr32(int(a) + a[3])[0]:
        words[_STEADY] = 0
    elif words[_STEADY] < _STEADY_CYCLES:
        words[_STEADY] = words[_STEADY] + 1
    jumped = 0
    while j:
        j -= 4
        seen = ptr32(int(seen) - 8)
        x = ptr32(int(position) + j)[0]
        before = ((seen[0] - seen[1]) << sh) >> sh
        change = ((x - seen[0] - before) << sh) >> sh
        seen[1] = seen[0]
        seen[0] = x
        x = change >> 1
        x = (x if x > 0 else 0 - x) - (before if before > 0 else 0 - before)
        if x > ((ptr32(int(limit) + j)[0] << sh) >> sh) >> 1 and words[_STEADY] == _STEADY_CYCLES:
            jumped = (j >> 2) + 1
            jump[2] = change
            jump[3] = ptr32(int(limit) + j)[0]
    words[JUMPED] = jumped
    return 1 if jumped or words[LOST] else 0
