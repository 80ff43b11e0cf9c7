"""CAN frames as SLCAN text ('t', three hex digits of the identifier, the length, data, carriage return), in viper."""

import micropython

# Control words of `receive`: bytes of a line held, 1 while a line too long is skipped, lines that were no frame,
# a bit for each axis that has answered in this cycle, 1 when the rig's time frame has come, 1 when the mailbox is full.
HELD = 0
SKIPPING = 1
ERRORS = 2
ANSWERED = 3
TIME = 4
MAIL = 5
CONTROL_WORDS = 6

# Mailbox bytes: identifier (2), length, data (8).
MAIL_BYTES = 11

_LINE = 32


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


# One receive PDO an axis: controlword u16, target position i32, torque offset i16, little-endian.
@micropython.viper
def put_commands(out: ptr8, at: int, node: ptr32, control: ptr32, target: ptr32, offset: ptr32, n: int) -> int:
    """The receive PDOs of all axes, and where the next frame begins."""
    i = 0
    while i < n:
        out[at] = 0x74
        identifier = 0x200 + node[i]
        j = 0
        while j < 3:
            digit = (identifier >> (8 - 4 * j)) & 15
            out[at + 1 + j] = digit + (48 if digit < 10 else 55)
            j += 1
        out[at + 4] = 56
        at += 5
        j = 0
        while j < 8:
            if j < 2:
                byte = (control[i] >> (8 * j)) & 0xFF
            elif j < 6:
                byte = (target[i] >> (8 * (j - 2))) & 0xFF
            else:
                byte = (offset[i] >> (8 * (j - 6))) & 0xFF
            high = byte >> 4
            low = byte & 15
            out[at] = high + (48 if high < 10 else 55)
            out[at + 1] = low + (48 if low < 10 else 55)
            at += 2
            j += 1
        out[at] = 13
        at += 1
        i += 1
    return at


# A line in bytes: -1 where it is no frame, else its identifier; data into `frame`, its length into frame[8].
@micropython.viper
def _parse(line: ptr8, held: int, frame: ptr8) -> int:
    if held < 5 or line[0] != 0x74:
        return -1
    n = line[4] - 48
    if n < 0 or n > 8 or held != 5 + 2 * n:
        return -1
    identifier = 0
    i = 1
    while i < held:
        c = line[i]
        digit = -1
        if c >= 48 and c <= 57:
            digit = c - 48
        elif c >= 65 and c <= 70:
            digit = c - 55
        elif c >= 97 and c <= 102:
            digit = c - 87
        if i != 4:
            if digit < 0:
                return -1
            if i < 4:
                identifier = identifier * 16 + digit
            elif (i & 1) == 1:
                frame[(i - 5) >> 1] = digit << 4
            else:
                frame[(i - 5) >> 1] = frame[(i - 5) >> 1] | digit
        i += 1
    frame[8] = n
    return identifier


# Transmit PDO of an axis: statusword u16, position i32, current i16 (per mille), sign-extended into int32.
@micropython.viper
def _take_pdo(axis: int, frame: ptr8, status: ptr32, counts: ptr32, current: ptr32):
    status[axis] = frame[0] | (frame[1] << 8)
    counts[axis] = frame[2] | (frame[3] << 8) | (frame[4] << 16) | (frame[5] << 24)
    current[axis] = ((frame[6] | (frame[7] << 8)) ^ 0x8000) - 0x8000


class Receiver:
    """Cuts the bus's byte stream into frames; PDOs go to the axes' arrays, the rest into a mailbox of one."""

    def __init__(self, control, status, counts, current):
        self.control = control
        self.mail = bytearray(MAIL_BYTES)
        self.axis_of_node = bytearray(b"\xff" * 128)
        self._status = status
        self._counts = counts
        self._current = current
        self._line = bytearray(_LINE)
        self._frame = bytearray(9)

    def feed(self, chunk, n):
        """Takes chunk[:n]."""
        control = self.control
        at = 0
        while at >= 0:
            at = _line_from(self._line, control, chunk, at, n)
            if at >= 0:
                self._take(_parse(self._line, control[HELD], self._frame))
                control[HELD] = 0

    def _take(self, identifier):
        control = self.control
        if identifier < 0:
            control[ERRORS] += 1
        elif identifier & 0x780 == 0x180 and self._frame[8] == 8 and self.axis_of_node[identifier & 0x7F] != 255:
            axis = self.axis_of_node[identifier & 0x7F]
            _take_pdo(axis, self._frame, self._status, self._counts, self._current)
            control[ANSWERED] |= 1 << axis
        elif identifier == 0x100:
            control[TIME] = 1
        else:
            mail = self.mail
            mail[0] = identifier & 0xFF
            mail[1] = identifier >> 8
            for i in range(8):
                mail[3 + i] = self._frame[i]
            mail[2] = self._frame[8]
            control[MAIL] = 1


# Bytes up to a carriage return into `line`; where to go on, or -1 when the chunk is used up.
@micropython.viper
def _line_from(line: ptr8, control: ptr32, chunk: ptr8, at: int, n: int) -> int:
    held = control[0]
    skipping = control[1]
    while at < n:
        byte = chunk[at]
        at += 1
        if byte == 13:
            control[0] = held
            control[1] = 0
            if skipping == 0 and held:
                return at
            held = 0
            skipping = 0
        elif skipping == 0:
            if held >= 32:
                skipping = 1
                held = 0
                control[2] = control[2] + 1
            else:
                line[held] = byte
                held += 1
    control[0] = held
    control[1] = skipping
    return -1
