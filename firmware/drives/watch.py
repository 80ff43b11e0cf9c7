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
    i = 0
    n = a[0]
    sh = a[1]
    words = ptr32(int(a) + a[2])
    position = ptr32(int(a) + a[4])
    seen = ptr32(int(a) + a[5])
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
    while i < n:
        before = ((seen[i] - seen[n + i]) << sh) >> sh
        change = ((position[i] - seen[i] - before) << sh) >> sh
        seen[n + i] = seen[i]
        seen[i] = position[i]
        beyond = change >> 1
        beyond = (beyond if beyond > 0 else 0 - beyond) - (before if before > 0 else 0 - before)
        if beyond > ((limit[i] << sh) >> sh) >> 1 and words[_STEADY] == _STEADY_CYCLES and jumped == 0:
            jumped = i + 1
            jump[2] = change
            jump[3] = limit[i]
        i += 1
    words[JUMPED] = jumped
    return 1 if jumped or words[LOST] else 0
