"""Microchip's MCP2515, a CAN controller behind SPI (data sheet DS20001801), as a device of a TextPort.

It holds two received frames. Drives answer to SYNC one right after the other, 0.13 ms a frame at 1 Mbit/s, so more than
two axes ask for a program that looks more often than Python does; what is lost counts as a missing answer of the drive.
"""

import micropython

# SPI instructions (table 12-1).
_RESET = 0xC0
_READ = 0x03
_WRITE = 0x02
_READ_STATUS = 0xA0
_READ_RX = 0x90
_LOAD_TX = 0x40
_SEND = 0x80

# Registers (section 11).
_CANSTAT = 0x0E
_CANCTRL = 0x0F
_CNF3 = 0x28
_RXB0CTRL = 0x60
_RXB1CTRL = 0x70

_CONFIGURATION = 0x80
_NORMAL = 0x00
_MODE = 0xE0
# Masks off, receive everything; a frame for a full buffer 0 goes into buffer 1.
_ANY = 0x60
_ROLL_OVER = 0x04
# READ STATUS: a frame in receive buffer 0, 1; a request to send of buffer 0, 1, 2.
_RECEIVED = (0x01, 0x02)
_PENDING = 0x54
_EXTENDED = 0x08
_TRIES = 100


def timing(oscillator, bitrate):
    """(CNF1, CNF2, CNF3): 8 to 25 quanta a bit, sampled at 75 %; ValueError where none fits exactly.

    A bit is 1 + PropSeg + PhaseSeg1 + PhaseSeg2 quanta of 2 (BRP + 1) / oscillator each (section 5).
    """
    for prescaler in range(64):
        quanta, rest = divmod(oscillator, 2 * (prescaler + 1) * bitrate)
        if not rest and 8 <= quanta <= 24:
            phase2 = quanta // 4
            phase1 = min(8, (quanta - 1 - phase2) // 2 + 1)
            propagation = quanta - 1 - phase2 - phase1
            if 1 <= propagation <= 8 and 2 <= phase2 <= 8:
                return prescaler, 0x80 | (phase1 - 1) << 3 | propagation - 1, phase2 - 1
    raise ValueError("no bit timing for {} bit/s from {} Hz: use a faster oscillator".format(bitrate, oscillator))


# Identifier | length << 11 of what READ RX BUFFER gave behind its instruction byte, -1 for no standard data frame.
@micropython.viper
def _received(got: ptr8, data: ptr8) -> int:
    n = got[5] & 15
    if got[2] & 0x18 or n > 8:
        return -1
    i = 0
    while i < n:
        data[i] = got[6 + i]
        i += 1
    return got[1] << 3 | got[2] >> 5 | n << 11


class Mcp2515:
    """One chip. `spi` has write and write_readinto, `select` is its pin, called with 0 to select the chip."""

    def __init__(self, spi, select, oscillator, bitrate):
        self._spi = spi
        self._select = select
        self._free = 3
        self._load = bytearray(14)
        self._empty = bytearray(14)
        self._got = bytearray(14)
        self._request = bytearray(1)
        self._asked = bytes((_READ_STATUS, 0))
        self._status = bytearray(2)
        select(1)
        self._write(_RESET)
        for _ in range(_TRIES):
            if self._read(_CANSTAT) & _MODE == _CONFIGURATION:
                break
        else:
            raise OSError("no MCP2515 answers: check its wires and its oscillator")
        cnf1, cnf2, cnf3 = timing(oscillator, bitrate)
        # CNF3, CNF2 and CNF1 follow one another.
        self._write(_WRITE, _CNF3, cnf3, cnf2, cnf1)
        self._write(_WRITE, _RXB0CTRL, _ANY | _ROLL_OVER)
        self._write(_WRITE, _RXB1CTRL, _ANY)
        self._write(_WRITE, _CANCTRL, _NORMAL)

    def send(self, identifier, data, n):
        """Loads a frame into a transmit buffer and requests to send it; False where none can be used now.

        Of buffers that wait, the chip sends the one with the highest number first (section 3.2), so they are filled
        from 2 down to 0, and anew only when all are empty.
        """
        if self._free == 0:
            if self._states() & _PENDING:
                return False
            self._free = 3
        self._free -= 1
        load = self._load
        load[0] = _LOAD_TX | self._free << 1
        load[1] = identifier >> 3
        load[2] = (identifier & 7) << 5
        load[5] = n
        for i in range(n):
            load[6 + i] = data[i]
        self._send(load)
        self._request[0] = _SEND | 1 << self._free
        self._send(self._request)
        return True

    def receive(self, data):
        """Identifier | length << 11 of a frame that has come, its data in `data`; -1 for none."""
        states = self._states()
        for number in (0, 1):
            if states & _RECEIVED[number]:
                # Its flag is cleared by the end of this transfer.
                self._empty[0] = _READ_RX | number << 2
                self._transfer(self._empty, self._got)
                return _received(self._got, data)
        return -1

    def _states(self):
        self._transfer(self._asked, self._status)
        return self._status[1]

    def _transfer(self, out, back):
        self._select(0)
        self._spi.write_readinto(out, back)
        self._select(1)

    def _send(self, out):
        self._select(0)
        self._spi.write(out)
        self._select(1)

    def _write(self, *values):
        self._send(bytes(values))

    def _read(self, register):
        back = bytearray(3)
        self._transfer(bytes((_READ, register, 0)), back)
        return back[2]
