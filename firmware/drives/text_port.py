"""A bus whose frames the board sends and receives itself, as the text port that the drives are spoken to through.

So an SLCAN adapter on a UART, a CAN controller on the chip or behind SPI, and a motor on the board's own pins are one
to whoever writes commands. A device has

    send(identifier, data, n)   takes a frame, or False where it cannot now
    receive(data)               identifier | length << 11 of a frame that has come, its data in `data`; -1 for none

and nothing of it waits or allocates.
"""

import micropython

from drives import slcan

# Frames that wait to be sent, each with identifier (2), length, data (8): those of six axes and SYNC, twice.
_FRAMES = 16
_BYTES = 11
_LONGEST_LINE = 22


# The next line of text[at:n] as a frame at ring[to]; where the line after it begins. A line that is no frame of 11 bits
# gets the length 255.
@micropython.viper
def unpack(text: ptr8, at: int, n: int, ring: ptr8, to: int) -> int:
    end = at
    while end < n and text[end] != 13:
        end += 1
    length = text[at + 4] - 48 if end - at >= 5 else 255
    if text[at] != 0x74 or length > 8 or length < 0 or end - at != 5 + 2 * length:
        ring[to + 2] = 255
        return end + 1
    ring[to + 2] = length
    identifier = 0
    i = 1
    while i < 5 + 2 * length:
        c = text[at + i]
        digit = c - 48
        if c >= 97:
            digit = c - 87
        elif c >= 65:
            digit = c - 55
        if i < 4:
            identifier = identifier * 16 + (digit & 15)
        elif i > 4:
            place = to + 3 + ((i - 5) >> 1)
            if (i & 1) == 1:
                ring[place] = (digit & 15) << 4
            else:
                ring[place] = ring[place] | (digit & 15)
        i += 1
    ring[to] = identifier & 0xFF
    ring[to + 1] = (identifier >> 8) & 7
    return end + 1


class TextPort:
    """The text port of one device."""

    def __init__(self, device):
        self.dropped = 0
        self._device = device
        self._ring = bytearray(_FRAMES * _BYTES)
        self._places = [memoryview(self._ring)[i * _BYTES + 3 : (i + 1) * _BYTES] for i in range(_FRAMES)]
        self._first = 0
        self._held = 0
        self._data = bytearray(8)

    def write(self, buffer, n):
        """Takes the frames of buffer[:n]; they go out in this order, now or when the device can."""
        at = 0
        while at < n:
            if self._held == _FRAMES:
                # Nobody on the bus acknowledges: the old ones are of no use any more.
                self._first = (self._first + 1) % _FRAMES
                self._held -= 1
                self.dropped += 1
            slot = (self._first + self._held) % _FRAMES
            at = unpack(buffer, at, n, self._ring, slot * _BYTES)
            if self._ring[slot * _BYTES + 2] <= 8:
                self._held += 1
        self._send()

    def readinto(self, buffer):
        """Bytes of text written into `buffer`, whole lines; 0 where no frame has come."""
        self._send()
        at = 0
        while at + _LONGEST_LINE <= len(buffer):
            frame = self._device.receive(self._data)
            if frame < 0:
                break
            at = slcan.put_frame(buffer, at, frame & 0x7FF, self._data, frame >> 11)
        return at

    def _send(self):
        ring = self._ring
        while self._held:
            at = self._first * _BYTES
            if not self._device.send(ring[at] | ring[at + 1] << 8, self._places[self._first], ring[at + 2]):
                return
            self._first = (self._first + 1) % _FRAMES
            self._held -= 1
