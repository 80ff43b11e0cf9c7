"""SDO client (CiA 301): objects written expedited, read expedited or in segments. It waits: not for a cycle."""

import time

_WAIT_MS = 200
_TRIES = 3
_LONGEST = 64

# Abort codes that a master acts on.
NO_ANSWER = 0
NO_OBJECT = 0x06020000
NO_SUBINDEX = 0x06090011
TOO_LONG = 0x06070010
GENERAL_ERROR = 0x08000000


class SdoError(Exception):
    """An object could not be read or written: the server's abort code, NO_ANSWER where it did not answer."""

    def __init__(self, index, sub, abort):
        self.index = index
        self.sub = sub
        self.abort = abort


class Client:
    """Talks to the SDO server of one node, one request at a time."""

    def __init__(self, bus, node, sleep):
        self._bus = bus
        self._node = node
        self._sleep = sleep

    def write(self, index, sub, size, number):
        """Writes an integer of `size` bytes (1 to 4), or raises SdoError."""
        head = bytes((0x2F - 4 * (size - 1), index & 0xFF, index >> 8, sub))
        self._ask(head + (number & (1 << 8 * size) - 1).to_bytes(4, "little"), index, sub, 0xFF, 0x60)

    def read_number(self, index, sub):
        """An unsigned integer, or SdoError."""
        return int.from_bytes(self.read(index, sub), "little")

    def read(self, index, sub):
        """The object's bytes, or SdoError; longer than 64 is too long."""
        answer = self._ask(bytes((0x40, index & 0xFF, index >> 8, sub, 0, 0, 0, 0)), index, sub, 0xE0, 0x40)
        if answer[0] & 2:
            # Expedited; how many of the four bytes are data, where the server says so.
            return bytes(answer[4 : 8 - (answer[0] >> 2 & 3 if answer[0] & 1 else 0)])
        if answer[0] & 1 and answer[4] | answer[5] << 8 | answer[6] << 16 | answer[7] << 24 > _LONGEST:
            self._abort(index, sub, TOO_LONG)
        data = b""
        toggle = 0
        while True:
            part = self._ask(bytes((0x60 | toggle, 0, 0, 0, 0, 0, 0, 0)), index, sub, 0xF0, toggle)
            data += bytes(part[1 : 8 - (part[0] >> 1 & 7)])
            if part[0] & 1:
                return data
            if len(data) > _LONGEST:
                self._abort(index, sub, TOO_LONG)
            toggle ^= 0x10

    def _abort(self, index, sub, code):
        self._bus.send(0x600 + self._node, bytes((0x80, index & 0xFF, index >> 8, sub)) + code.to_bytes(4, "little"))
        raise SdoError(index, sub, code)

    def _ask(self, request, index, sub, mask, wanted):
        """The answer whose first byte under `mask` is `wanted`; what belongs to another object is passed over."""
        bus = self._bus
        # A segment asked for again would be the next one.
        segment = request[0] & 0xE0 == 0x60
        for _ in range(1 if segment else _TRIES):
            bus.answered_by = 0
            bus.send(0x600 + self._node, request)
            until = time.ticks_add(time.ticks_ms(), _WAIT_MS)
            waiting = True
            while waiting:
                self._sleep(1)
                bus.poll()
                waiting = time.ticks_diff(until, time.ticks_ms()) > 0
                if bus.answered_by != self._node:
                    continue
                bus.answered_by = 0
                answer = bus.answer
                named = answer[1] | answer[2] << 8 == index and answer[3] == sub
                if answer[0] == 0x80 and (named or segment):
                    raise SdoError(index, sub, int.from_bytes(bytes(answer[4:8]), "little") or GENERAL_ERROR)
                if answer[0] & mask == wanted and (named or segment):
                    return answer
        raise SdoError(index, sub, NO_ANSWER)
