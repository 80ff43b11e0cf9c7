# A board without hardware: ports that are buffers, CiA 402 drives that follow, a host that asks. What the firmware
# calls while a cycle runs (readinto, write) allocates nothing.

import struct
from binascii import crc32, hexlify, unhexlify

from idmwire import framing, messages
from motionboard import codec

NAMES = {message[0]: message[1] for message in messages.MESSAGES}


class Stream:
    # Bytes on their way in one direction; a full one takes no more.

    def __init__(self, size):
        self._data = bytearray(size)
        self._n = 0

    def put(self, data, at, n):
        if n > len(self._data) - self._n:
            n = len(self._data) - self._n
        codec.copy(self._data, self._n, data, at, n)
        self._n += n
        return n

    def get(self, buffer):
        n = self._n if self._n < len(buffer) else len(buffer)
        codec.copy(buffer, 0, self._data, 0, n)
        codec.copy(self._data, 0, self._data, n, self._n - n)
        self._n -= n
        return n

    def all(self):
        data = bytes(self._data[: self._n])
        self._n = 0
        return data


class Port:
    def __init__(self, size=4096):
        self.to_board = Stream(4096)
        self.from_board = Stream(size)

    def readinto(self, buffer):
        return self.to_board.get(buffer)


class LinkPort(Port):
    def write(self, buffer, at, n):
        return self.from_board.put(buffer, at, n)


class CanPort(Port):
    def write(self, buffer, n):
        assert self.from_board.put(buffer, 0, n) == n


def line(identifier, data):
    return b"t%03X%d" % (identifier, len(data)) + hexlify(data).upper() + b"\r"


class Drive:
    # Stands where it was told to four cycles before; as strict about its states as the rig's drives.

    def __init__(self, node):
        self.node = node
        self.state = 0x40
        self.control = self.offset = 0
        self.counts = 0
        self.current = 0
        self.targets = [0, 0]
        self.operational = False
        self.silent = False
        self.stands_in_quick_stop = 0
        self.sdos = []
        self.refuses = None
        self.device_type = 0x00020192
        self.mode = 0
        self.nmt_state = None
        self.beats = True
        self._text = b""
        self.climbs = True

    def command(self, control, target, offset):
        rising = control & ~self.control
        self.control, self.offset = control, offset
        state = self.state
        if state in (0x08, 0x0F):
            if state == 0x08 and rising & 0x80:
                self.state = 0x40
        elif not control & 2:
            self.state = 0x40
        elif not control & 4:
            if state == 0x27:
                self.state, self.stands_in_quick_stop = 0x07, 20
            elif state in (0x21, 0x23):
                self.state = 0x40
        elif state != 0x07 and self.climbs:
            self._climb(state, control)
        if self.state == 0x27:
            self.targets.append(target)
        if state != 0x27:
            self.targets = [self.counts] * 2

    def _climb(self, state, control):
        if not control & 1:
            self.state = 0x21
        elif state == 0x21:
            self.state = 0x23
        elif state == 0x23 and control & 8:
            self.state = 0x27
            self.targets = [self.counts] * 2

    def step(self):
        if self.state == 0x27 and len(self.targets) > 2:
            self.counts = self.targets.pop(0)
        elif self.state == 0x07:
            self.stands_in_quick_stop -= 1
            if self.stands_in_quick_stop == 0:
                self.state = 0x40

    def nmt(self, command):
        # What it says to that.
        self.operational = command == 1
        self.nmt_state = 5 if command == 1 else 127
        return line(0x700 + self.node, b"\0") if command == 0x82 else b""

    def sdo(self, data):
        head, index, sub = data[0], data[1] | data[2] << 8, data[3]
        answer = b"\x60" + data[1:4] + bytes(4)
        if self.refuses and self.refuses[:2] == (index, sub):
            answer = b"\x80" + data[1:4] + struct.pack("<I", self.refuses[2])
        elif head & 0xE0 == 0x20:
            self.sdos.append(data)
            if index == 0x6060:
                self.mode = data[4]
        elif head == 0x40 and index == 0x1008:
            self._text = b"a drive with a name"
            answer = b"\x41" + data[1:4] + struct.pack("<I", len(self._text))
        elif head & 0xE0 == 0x60:
            part, self._text = self._text[:7], self._text[7:]
            answer = bytes([head & 0x10 | (7 - len(part)) << 1 | (not self._text)]) + part + bytes(7 - len(part))
        else:
            answer = self._read(data[1:4], index)
        return line(0x580 + self.node, answer)

    def _read(self, multiplexer, index):
        if index == 0x1000:
            return b"\x43" + multiplexer + struct.pack("<I", self.device_type)
        if index == 0x6061:
            return b"\x4f" + multiplexer + bytes([self.mode, 0, 0, 0])
        return b"\x80" + multiplexer + struct.pack("<I", 0x06020000)

    def heartbeat(self):
        return line(0x700 + self.node, bytes([self.nmt_state]))

    def answer(self):
        return line(0x180 + self.node, struct.pack("<Hih", self.state | 0x0210, self.counts, self.current))


HEARTBEAT_SYNCS = 100


class Bus:
    # The drives behind a CAN port. `grant` answers the waiting SYNC; without one, time stands still.

    def __init__(self, port, nodes):
        self.port = port
        self.drives = [Drive(node) for node in nodes]
        self.sync_waiting = False
        self.syncs = 0
        self._latched = {}

    def serve(self):
        for text in self.port.from_board.all().split(b"\r"):
            if text[:1] == b"t":
                self._frame(int(text[1:4], 16), unhexlify(text[5:]))

    def _frame(self, identifier, data):
        if identifier == 0x080:
            self.sync_waiting = True
            self.syncs += 1
        for drive in self.drives:
            if drive.silent:
                continue
            if identifier == 0x600 + drive.node:
                self.say(drive.sdo(data))
            elif identifier == 0 and data[1] in (0, drive.node):
                self.say(drive.nmt(data[0]))
            elif identifier == 0x200 + drive.node:
                self._latched[drive.node] = struct.unpack("<Hih", data)

    def say(self, data):
        self.port.to_board.put(data, 0, len(data))

    def grant(self):
        self.serve()
        if not self.sync_waiting:
            return False
        self.sync_waiting = False
        for drive in self.drives:
            drive.step()
            if drive.operational and not drive.silent:
                self.say(drive.answer())
                if drive.beats and self.syncs % HEARTBEAT_SYNCS == 0:
                    self.say(drive.heartbeat())
            latched = self._latched.pop(drive.node, None)
            if latched and not drive.silent:
                drive.command(*latched)
        self.say(line(0x100, bytes(6)))
        return True


class Codec(framing.PlainCodec):
    # The host's side, fast enough for many frames.

    @staticmethod
    def encode(data):
        wire = bytearray(framing.MAX_WIRE + 1)
        return bytes(wire[: codec.cobs_encode(data, len(data), wire) - 1])

    @staticmethod
    def decode(data):
        body = bytearray(len(data))
        n = codec.cobs_decode(data, len(data), body)
        if n < 0:
            raise ValueError("no encoding")
        return bytes(body[:n])

    @staticmethod
    def crc16(data):
        return codec.crc16(data, len(data))

    @staticmethod
    def crc32(data):
        return crc32(data) & 0xFFFFFFFF


class Refused(Exception):
    pass


class Host:
    # Asks over a port; `serve` lets the board work a little.

    def __init__(self, port, serve, axes=0):
        self.axes = axes
        self.sequence = 0
        self.blocks = []
        self.answers = []
        self.errors = []
        self._port = port
        self._serve = serve
        self._splitter = framing.Splitter()

    def wire(self, name, **fields):
        payload = messages.pack_payload(name, self.axes, fields)
        data = framing.pack(Codec, messages.CODES[name], self.sequence, payload)
        self.sequence = (self.sequence + 1) & 0xFF
        return data

    def write(self, data):
        assert self._port.to_board.put(data, 0, len(data)) == len(data)

    def send(self, name, **fields):
        # A message without an answer: its sequence number means nothing.
        payload = messages.pack_payload(name, self.axes, fields)
        self.write(framing.pack(Codec, messages.CODES[name], 0, payload))

    def listen(self):
        for frame in self._splitter.feed(self._port.from_board.all()):
            try:
                kind, sequence, payload = framing.unpack(Codec, frame)
            except framing.FrameError as error:
                self.errors.append(error.reason)
                continue
            if NAMES[kind] == "capture_block":
                self.blocks.append(messages.unpack_payload("capture_block", self.axes, payload))
            else:
                self.answers.append((kind, sequence, payload))

    def ask(self, name, **fields):
        sequence = self.sequence
        self.write(self.wire(name, **fields))
        for _ in range(20):
            self._serve()
            self.listen()
            if self.answers:
                return self.understand(name, sequence)
        raise OSError("no answer to " + name)

    def understand(self, name, sequence):
        kind, number, payload = self.answers.pop(0)
        assert number == sequence, (name, number, sequence)
        if kind == messages.REFUSED:
            assert payload[0] == messages.CODES[name]
            raise Refused(messages.REFUSAL_NAMES[payload[1]])
        assert NAMES[kind] == name + "_answer", (name, NAMES[kind])
        return messages.unpack_payload(name + "_answer", self.axes, payload)

    def refusal(self, name, **fields):
        try:
            self.ask(name, **fields)
        except Refused as error:
            return error.args[0]
        return None
