"""The link to the host: frames in, answers and capture blocks out, one piece at a time.

Nothing here blocks or allocates: the port takes and gives what it can, the rest waits for
the next call. A command is executed once; when it arrives again under the same sequence
number (its answer was lost), the last answer is sent again.
"""

from array import array

from idmwire import framing, messages
from motionboard import codec
from motionboard.capture import BLOCK_WORDS

_CHUNK = 64
# At most one frame in one call, of which the longest is so many chunks: a host that floods the port does not stop a
# cycle.
_CHUNKS = framing.MAX_WIRE // _CHUNK + 1
_HELLO = messages.CODES["hello"]
_REFUSED = messages.REFUSED
_BLOCK = messages.CODES["capture_block"]
_UNANSWERED = messages.CODES["capture_received"]
# block u32 and first cycle u32 stand before the samples.
_BLOCK_HEAD = 10


class Link:
    """One host on one port (`port.readinto(buffer)`, `port.write(buffer, at, n)`)."""

    def __init__(self, port):
        self.handlers = None
        self.capture = None
        self.request = bytearray(framing.MAX_WIRE + 1)
        self.length = 0
        self.frames_received = 0
        self.frames_sent = 0
        self.frames_dropped = 0
        self.crc_errors = 0
        self.cobs_errors = 0
        self.repeats = 0
        self.busy = False
        self._port = port
        self._chunk = bytearray(_CHUNK)
        self._chunk_n = 0
        self._chunk_at = 0
        self._frame = bytearray(framing.MAX_WIRE)
        self._control = array("i", [0] * 3)
        self._check = bytearray(4)
        self._answer = bytearray(framing.MAX_FRAME)
        self._n = 0
        self._waiting = False
        self._last_kind = -1
        self._last_sequence = -1
        self._block = bytearray(framing.MAX_FRAME)
        self._block_sequence = 0
        self._wire = bytearray(framing.MAX_WIRE + 1)
        self._wire_n = 0
        self._wire_at = 0

    @property
    def overflows(self):
        """Runs of bytes without a delimiter that were too long to be a frame."""
        return self._control[codec.OVERFLOWS]

    def serve(self):
        """Takes what has arrived, to the end of a frame, and sends what is due."""
        self._receive()
        self._send()

    # Receiving

    def _receive(self):
        for _ in range(_CHUNKS):
            if self._chunk_at == self._chunk_n:
                self._chunk_at = 0
                self._chunk_n = self._port.readinto(self._chunk)
            at = codec.take(self._frame, framing.MAX_WIRE, self._control, self._chunk, self._chunk_at, self._chunk_n)
            if at >= 0:
                self._chunk_at = at
                size = self._control[codec.HELD]
                self._control[codec.HELD] = 0
                self._take(size)
                return
            self._chunk_at = self._chunk_n
            if self._chunk_n < _CHUNK:
                return

    def _take(self, n):
        body = self.request
        size = codec.cobs_decode(self._frame, n, body)
        if size < framing.HEADER_BYTES + 2:
            self.cobs_errors += 1
            return
        kind = body[0]
        # An unknown message cannot say how it is guarded; its refusal asks for the shorter checksum.
        bits = messages.crc_bits(kind) or 16
        size -= bits // 8
        if size < framing.HEADER_BYTES or not self._checks(body, size, bits):
            self.crc_errors += 1
            return
        self.frames_received += 1
        # Its own words: a line that gives back what it is sent. An answer would come back, and so on for ever.
        if kind & messages.ANSWER:
            return
        if kind == self._last_kind and body[1] == self._last_sequence and kind != _HELLO and self._n:
            self.repeats += 1
            self._waiting = True
            return
        self.length = size - framing.HEADER_BYTES
        if kind != _UNANSWERED:
            if self._waiting:
                self.frames_dropped += 1
            self._last_kind = kind
            self._last_sequence = body[1]
            self._n = 0
        handler = self.handlers[kind]
        if handler is None:
            self.refuse("unknown_message")
        else:
            handler()

    def _checks(self, body, size, bits):
        if bits == 16:
            return codec.crc16(body, size) == codec.get16(body, size)
        codec.copy(self._check, 0, body, size, 4)
        return codec.crc32_into(body, size, self._check)

    # Answering: begin, put ..., finish

    def begin(self):
        """Begins the answer to the request."""
        self._answer[0] = self.request[0] | messages.ANSWER
        self._answer[1] = self.request[1]
        self._n = 2

    def put8(self, value):
        """Appends a u8."""
        self._answer[self._n] = value
        self._n += 1

    def put16(self, value):
        """Appends a u16."""
        codec.put16(self._answer, self._n, value)
        self._n += 2

    def put32(self, value):
        """Appends a small integer as u32 or i32."""
        codec.put32(self._answer, self._n, value)
        self._n += 4

    def put_words(self, words, first, n):
        """Appends n int32 of an array."""
        codec.words_to_bytes(self._answer, self._n, words, first, n)
        self._n += 4 * n

    def put_bytes(self, data, at, n):
        """Appends data[at:at + n]."""
        codec.copy(self._answer, self._n, data, at, n)
        self._n += n

    def finish(self):
        """The answer is complete and may go."""
        self._waiting = True

    def refuse(self, reason):
        """Answers with a refusal, by its name."""
        self._answer[0] = _REFUSED
        self._answer[1] = self.request[1]
        self._answer[2] = self.request[0]
        self._answer[3] = messages.REFUSAL_NUMBERS[reason]
        self._n = 4
        self._waiting = True

    # Sending

    def _send(self):
        """Writes what is left of a frame and one more; `busy` says that there may be another, here or to come in."""
        self.busy = self._chunk_at < self._chunk_n
        if self._write() and self._next_frame() and self._write():
            self.busy = True

    def _write(self):
        """False where the port does not take all of the frame."""
        if self._wire_at < self._wire_n:
            self._wire_at += self._port.write(self._wire, self._wire_at, self._wire_n - self._wire_at)
            if self._wire_at < self._wire_n:
                return False
            self.frames_sent += 1
        return True

    def _next_frame(self):
        if self._waiting:
            self._waiting = False
            self._seal(self._answer, self._n)
            return True
        return self._next_block()

    def _seal(self, body, n):
        codec.put16(body, n, codec.crc16(body, n))
        self._wire_n = codec.cobs_encode(body, n + 2, self._wire)
        self._wire_at = 0

    def _next_block(self):
        capture = self.capture
        if capture is None:
            return False
        block = capture.again
        capture.again = -1
        if block < 0 or not capture.holds(block):
            if capture.sent >= capture.filled:
                return False
            block = capture.sent
            capture.sent += 1
        slot = block % capture.blocks
        words = capture.words[slot]
        body = self._block
        body[0] = _BLOCK
        body[1] = self._block_sequence
        self._block_sequence = (self._block_sequence + 1) & 0xFF
        codec.put32(body, 2, block)
        codec.put32(body, 6, capture.first_cycle[slot])
        codec.words_to_bytes(body, _BLOCK_HEAD, capture.ring, slot * BLOCK_WORDS, words)
        self._seal(body, _BLOCK_HEAD + 4 * words)
        return True
