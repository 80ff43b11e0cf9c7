# The MCP2515 as its data sheet (DS20001801) has it: registers, SPI instructions, transmit priority, receive buffers.
# Written from the data sheet alone; it is SPI bus, chip select and bus of frames in one.


class FakeMcp2515:
    def __init__(self):
        self.registers = bytearray(128)
        self.selected = False
        self.sent = []
        self.lost = 0
        self.bytes = 0
        self._instruction = b""
        self._reset()

    def _reset(self):
        self.registers[:] = bytes(128)
        # Table 11-2: configuration mode, clock output on.
        self.registers[0x0E] = 0x80
        self.registers[0x0F] = 0x87

    # The pin and the bus

    def __call__(self, level):
        if level and self.selected:
            self._end()
        elif not level and not self.selected:
            self._instruction = b""
            self._answered = 0
        self.selected = not level

    def write(self, out):
        self.write_readinto(out, bytearray(len(out)))

    def write_readinto(self, out, back):
        assert self.selected, "a transfer without chip select"
        for i, byte in enumerate(out):
            back[i] = self._byte(byte)
            self.bytes += 1

    # Instructions (table 12-1)

    def _byte(self, byte):
        self._instruction += bytes((byte,))
        held = self._instruction
        code = held[0]
        if len(held) == 1:
            if code == 0xC0:
                self._reset()
            elif code & 0xF8 == 0x80:
                for number in range(3):
                    if code & 1 << number:
                        self.registers[0x30 + 16 * number] |= 0x08
            return 0xFF
        if code == 0x03:
            return self.registers[held[1] + len(held) - 3] if len(held) > 2 else 0xFF
        if code == 0x02:
            if len(held) > 2:
                self._store(held[1] + len(held) - 3, byte)
            return 0xFF
        if code == 0x05:
            if len(held) == 4:
                register, mask, value = held[1:4]
                self._store(register, self.registers[register] & ~mask | value & mask)
            return 0xFF
        if code == 0xA0:
            return self._quick_status()
        if code & 0xF9 == 0x90:
            start = (0x61, 0x66, 0x71, 0x76)[code >> 1 & 3]
            return self.registers[start + len(held) - 2]
        if code & 0xF8 == 0x40:
            abc = code & 7
            assert abc < 6
            start = 0x31 + 16 * (abc >> 1) + (5 if abc & 1 else 0)
            self.registers[start + len(held) - 2] = byte
            return 0xFF
        raise AssertionError("instruction 0x%02x is none" % code)

    def _end(self):
        code = self._instruction[0] if self._instruction else 0
        if code & 0xF9 == 0x90:
            # The flag RXnIF is cleared when chip select rises.
            self.registers[0x2C] &= ~(1 << (code >> 2 & 1))

    def _store(self, register, value):
        if register == 0x0F:
            self.registers[0x0F] = value
            self.registers[0x0E] = value & 0xE0
        elif register in (0x28, 0x29, 0x2A):
            # Bit timing can be written in configuration mode only.
            if self.registers[0x0E] & 0xE0 == 0x80:
                self.registers[register] = value
        elif register != 0x0E:
            self.registers[register] = value

    def _quick_status(self):
        flags = self.registers[0x2C]
        status = flags & 3
        for number in range(3):
            status |= (self.registers[0x30 + 16 * number] >> 3 & 1) << (2 + 2 * number)
            status |= (flags >> (2 + number) & 1) << (3 + 2 * number)
        return status

    # The CAN side

    @property
    def quanta(self):
        # Quanta of a bit and of the part before its sample point (section 5).
        cnf2, cnf3 = self.registers[0x29], self.registers[0x28]
        assert cnf2 & 0x80, "PhaseSeg2 is not set by CNF3"
        before = 1 + (cnf2 & 7) + 1 + (cnf2 >> 3 & 7) + 1
        return before + (cnf3 & 7) + 1, before

    def transmit(self):
        # Sends the waiting frame of highest priority; of equal ones that in the buffer with the highest number.
        waiting = [n for n in range(3) if self.registers[0x30 + 16 * n] & 0x08]
        if not waiting or self.registers[0x0E] & 0xE0:
            return False
        number = max(waiting, key=lambda n: (self.registers[0x30 + 16 * n] & 3, n))
        at = 0x30 + 16 * number
        block = bytes(self.registers[at : at + 14])
        self.registers[at] &= ~0x08
        self.registers[0x2C] |= 4 << number
        assert not block[2] & 0x08, "an extended frame"
        n = block[5] & 15
        self.sent.append((block[1] << 3 | block[2] >> 5, block[6 : 6 + n]))
        return True

    def arrive(self, identifier, data, extended=False):
        # A frame from the bus: receive buffer 0, else, with BUKT, buffer 1, else lost.
        assert self.registers[0x60] & 0x60 == 0x60, "filters would have to be modelled"
        flags = self.registers[0x2C]
        if not flags & 1:
            number = 0
        elif self.registers[0x60] & 0x04 and not flags & 2:
            number = 1
        else:
            self.lost += 1
            self.registers[0x2D] |= 0x80
            return
        at = 0x61 + 16 * number
        self.registers[at] = identifier >> 3
        self.registers[at + 1] = (identifier & 7) << 5 | (0x08 if extended else 0)
        self.registers[at + 4] = len(data)
        self.registers[at + 5 : at + 5 + len(data)] = data
        self.registers[0x2C] |= 1 << number
