"""CAN frames as SLCAN text ('t', three hex digits of the identifier, the length, data, carriage return), in viper."""

import micropython
from micropython import const

# Words of a receiver's state: place in the line, identifier and length so far, 1 where the line is no frame and 2 where
# it is none of the bus (an adapter's acknowledgement), lines that were no frame, a bit for each axis whose transmit
# PDO has come in this cycle, 1 when the rig's time frame has.
PLACE = 0
IDENTIFIER = 1
LENGTH = 2
BROKEN = 3
ERRORS = 4
ANSWERED = 5
TIME = 6
STATE_WORDS = 7


# Bit rates an adapter knows, in kbit/s, in the order of its commands S0 to S8.
_RATES = (10, 20, 50, 100, 125, 250, 500, 800, 1000)


def opening(kilobits):
    """What opens an adapter's channel: close, bit rate, open; None for a rate that there is none of.

    Where there is no adapter nobody minds.
    """
    if kilobits not in _RATES:
        return None
    return b"\rC\rS%d\rO\r" % _RATES.index(kilobits)


@micropython.viper
def put_frame(out: ptr8, at: int, identifier: int, data: ptr8, n: int) -> int:
    """One frame as a line at out[at]; where the next one begins."""
    out[at] = 0x74
    i = 0
    while i < 3:
        digit = (identifier >> (8 - 4 * i)) & 15
        out[at + 1 + i] = digit + (48 if digit < 10 else 55)
        i += 1
    out[at + 4] = 48 + n
    at += 5
    i = 0
    while i < n:
        byte = data[i]
        high = byte >> 4
        low = byte & 15
        out[at] = high + (48 if high < 10 else 55)
        out[at + 1] = low + (48 if low < 10 else 55)
        at += 2
        i += 1
    out[at] = 13
    return at + 1


# SYNC, and the heartbeat of node 127, the board.
SYNC_AND_BEAT = b"t0800\rt77F105\r"
_SYNC_BYTES = const(6)
_ALL_BYTES = const(14)


# A receive PDO is 't', 0x200 + node, '8', then controlword u16, target position i32 and torque offset i16 in hex,
# little-endian.
@micropython.viper
def frames(a: ptr32, out: ptr8, bus: int, tail: ptr8) -> int:
    """The text of a bus's cycle, and its length: commands and SYNC, and the board's heartbeat when it is time."""
    n = a[0]
    beat = ptr32(int(a) + a[2])
    target = ptr32(int(a) + a[3])
    offset = ptr32(int(a) + a[4])
    control = ptr32(int(a) + a[5])
    bus_of = ptr32(int(a) + a[6])
    node = ptr32(int(a) + a[7])
    at = 0
    i = 0
    while i < n:
        if bus_of[i] == bus:
            out[at] = 0x74
            out[at + 1] = 0x32
            digit = node[i] >> 4
            out[at + 2] = digit + (48 if digit < 10 else 55)
            digit = node[i] & 15
            out[at + 3] = digit + (48 if digit < 10 else 55)
            out[at + 4] = 0x38
            at += 5
            value = control[i]
            j = 0
            while j < 8:
                if j == 2:
                    value = target[i]
                elif j == 6:
                    value = offset[i]
                digit = (value >> 4) & 15
                out[at] = digit + (48 if digit < 10 else 55)
                digit = value & 15
                out[at + 1] = digit + (48 if digit < 10 else 55)
                value >>= 8
                at += 2
                j += 1
            out[at] = 13
            at += 1
        i += 1
    last = _ALL_BYTES if beat[0] else _SYNC_BYTES
    i = 0
    while i < last:
        out[at] = tail[i]
        at += 1
        i += 1
    return at


# What a byte is as a hex digit, 16 for none.
DIGITS = bytearray([16] * 256)
for _digit in range(16):
    for _byte in b"%x%X" % (_digit, _digit):
        DIGITS[_byte] = _digit


# A byte at a time, so that nothing is kept but the place in the line. A transmit PDO has a statusword u16, a position
# i32 and a current i16 (per mille), which is sign-extended.
@micropython.viper
def receive(
    state: ptr32, frame: ptr8, chunk: ptr8, at: int, n: int, digits: ptr8,
    axis_of_node: ptr8, status: ptr32, counts: ptr32, current: ptr32,
) -> int:
    """Takes chunk[at:n]: transmit PDOs of known nodes go to their axes' arrays, the rig's time frame to state[TIME].

    At any other frame it returns where to go on; identifier and length are in `state`, the data in `frame`.
    -1 when the chunk is used up.
    """
    place = state[0]
    broken = state[3]
    found = 0
    while at < n and found == 0:
        c = chunk[at]
        at += 1
        length = state[2]
        if c == 13:
            if broken == 0 and place > 4 and place == 5 + 2 * length:
                identifier = state[1]
                axis = axis_of_node[identifier & 0x7F]
                if identifier & 0x780 == 0x180 and length == 8 and axis != 255:
                    status[axis] = frame[0] | (frame[1] << 8)
                    counts[axis] = frame[2] | (frame[3] << 8) | (frame[4] << 16) | (frame[5] << 24)
                    current[axis] = ((frame[6] | (frame[7] << 8)) ^ 0x8000) - 0x8000
                    state[5] = state[5] | (1 << axis)
                elif identifier == 0x100:
                    state[6] = 1
                else:
                    found = 1
            elif broken == 1 or (broken == 0 and place):
                state[4] = state[4] + 1
            place = broken = 0
        elif broken == 0:
            digit = digits[c]
            if place == 0:
                broken = 0 if c == 0x74 else 2 if c | 0x20 == 0x7A else 1
            elif digit > 15:
                broken = 1
            elif place < 4:
                state[1] = (state[1] << 4 | digit) & 0xFFF if place > 1 else digit
                broken = digit >> 3 if place == 1 else 0
            elif place == 4:
                state[2] = digit
                broken = 1 if digit > 8 else 0
            elif place >= 5 + 2 * length:
                broken = 1
            else:
                frame[(place - 5) >> 1] = digit << 4 if place & 1 else frame[(place - 5) >> 1] | digit
            place += 1
    state[0] = place
    state[3] = broken
    return at if found else -1
