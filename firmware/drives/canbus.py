"""One CAN bus: its port, the frames that come in, and what its nodes say of themselves beside their PDOs."""

from drives import nmt, slcan

SYNC = 0x080
_EMERGENCY = 0x080
_SDO_ANSWER = 0x580
_FUNCTION = 0x780
_NODE = 0x7F

_CHUNK_BYTES = 128
# A master's heartbeat and SYNC, and a command for each axis.
_AXIS_BYTES = 22
_OUT_BYTES = 32


class Bus:
    """A port (`readinto(buffer)`, `write(buffer, n)`) and the axes of `members` on it, whose `nodes` it keeps.

    `state` are the receiver's words (slcan); `measured` are the arrays of statusword, counts and current that the
    transmit PDOs fill. `answer` holds the last SDO answer, `answered_by` its node, 0 where none has come.
    """

    def __init__(self, port, number, state, members, node_of, nodes, measured):
        self.number = number
        self.members = members
        self.answer = bytearray(8)
        self.answered_by = 0
        self.state = state
        self.out = bytearray(_OUT_BYTES + _AXIS_BYTES * len(members))
        self.all = 0
        self._port = port
        self._nodes = nodes
        self._status, self._counts, self._current = measured
        self._frame = bytearray(8)
        self._chunk = bytearray(_CHUNK_BYTES)
        self._axis_of_node = bytearray(b"\xff" * 128)
        for axis in members:
            self._axis_of_node[node_of[axis]] = axis
            self.all |= 1 << axis

    def open(self, kilobits):
        """Opens the channel of an adapter that has one; False where no bus has this bit rate."""
        opening = slcan.opening(kilobits)
        if opening is None:
            return False
        self._port.write(opening, len(opening))
        self.command(nmt.RESET_COMMUNICATION)
        return True

    def send(self, identifier, data):
        """One frame, at once."""
        self._port.write(self.out, slcan.put_frame(self.out, 0, identifier, data, len(data)))

    def flush(self, n):
        """Sends out[:n]."""
        self._port.write(self.out, n)

    def poll(self):
        """Takes what has come."""
        chunk = self._chunk
        n = self._port.readinto(chunk)
        while n:
            at = 0
            while at >= 0:
                at = slcan.receive(
                    self.state, self._frame, chunk, at, n, slcan.DIGITS,
                    self._axis_of_node, self._status, self._counts, self._current)
                if at >= 0:
                    self._take(self.state[slcan.IDENTIFIER])
            n = self._port.readinto(chunk)

    def _take(self, identifier):
        """A frame that is no transmit PDO."""
        frame = self._frame
        length = self.state[slcan.LENGTH]
        axis = self._axis_of_node[identifier & _NODE]
        if axis == 255:
            return
        kind = identifier & _FUNCTION
        if kind == nmt.HEARTBEAT and length == 1:
            self._nodes.heard(axis, frame[0] & 0x7F)
        elif kind == _EMERGENCY and length == 8:
            self._nodes.emergency(axis, frame[0] | frame[1] << 8, frame[2])
        elif kind == _SDO_ANSWER and length == 8:
            for i in range(8):
                self.answer[i] = frame[i]
            self.answered_by = identifier & _NODE

    def command(self, command, node=0):
        """An NMT command to a node, or to all."""
        self.send(nmt.IDENTIFIER, bytes((command, node)))
