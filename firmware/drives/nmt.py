"""Network management (CiA 301): node states, heartbeats of the drives and of the board, emergency messages."""

from array import array

IDENTIFIER = 0x000
HEARTBEAT = 0x700
START = 0x01
RESET_COMMUNICATION = 0x82

# States as a heartbeat says them; UNHEARD before the first one.
BOOT_UP = 0
OPERATIONAL = 5
UNHEARD = 255

# The board's own node number: a heartbeat needs one. No drive may have it.
MASTER = 127
BEAT_MS = 100
# A side that has not been heard for so long is gone.
BEATS = 3
LOST_MS = BEATS * BEAT_MS
MASTER_BEAT = bytes((OPERATIONAL,))

_COUNTED = 1000000


class Nodes:
    """What every drive's node has said: NMT state, heartbeats missed in a row, its last emergency.

    The word `lost` is 1 + the axis of the first node that was silent for too long or has left OPERATIONAL by itself.
    `code` and `register` are those of the last emergency message, 0 when the drive has taken it back; `emergencies`
    counts them.
    """

    def __init__(self, n, lost):
        self.n = n
        self._lost = lost
        self.state = array("i", [UNHEARD] * n)
        self.missed = array("i", [0] * n)
        self.code = array("i", [0] * n)
        self.register = array("i", [0] * n)
        self.emergencies = array("i", [0] * n)

    @property
    def lost(self):
        """The axis of the first node that is lost, -1 for none."""
        return self._lost[0] - 1

    def heard(self, axis, state):
        """A heartbeat, or the boot-up message, which is one of state 0."""
        if state != OPERATIONAL and self.state[axis] == OPERATIONAL:
            self._lost[0] = axis + 1
        self.state[axis] = state
        self.missed[axis] = 0

    def emergency(self, axis, code, register):
        """An emergency message."""
        self.code[axis] = code
        self.register[axis] = register
        if self.emergencies[axis] < _COUNTED:
            self.emergencies[axis] += 1

    def forget(self):
        """Nobody has been heard yet."""
        self._lost[0] = 0
        for axis in range(self.n):
            self.state[axis] = UNHEARD
            self.missed[axis] = 0
            self.code[axis] = 0
            self.register[axis] = 0

    def beat(self):
        """A heartbeat's time has passed."""
        for axis in range(self.n):
            if self.missed[axis] <= BEATS:
                self.missed[axis] += 1
            elif self._lost[0] == 0:
                self._lost[0] = axis + 1

    def unheard(self, members):
        """True where an axis of `members` has not said anything since `forget`."""
        for axis in members:
            if self.state[axis] == UNHEARD:
                return True
        return False
