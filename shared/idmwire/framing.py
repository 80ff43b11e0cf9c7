"""Frames on the wire: type, sequence, payload, checksum, all stuffed by COBS and ended by 0x00.

    wire  = cobs(type u8 | sequence u8 | payload | crc) 0x00
    crc   = CRC-16 or CRC-32, little-endian, over type, sequence and payload;
            which of the two the message registry says

The codec (COBS and the checksums) is injected, so that a host runs C code and a board
viper code through the same framing. An empty frame is legal and ignored, so a sender may
put a 0x00 in front of a burst to cut off noise.
"""

from idmwire import cobs, crc
from idmwire.messages import crc_bits

HEADER_BYTES = 2
# The longest frame before COBS that either side has to hold.
MAX_FRAME = 560
# COBS adds one byte for each begun 254.
MAX_WIRE = MAX_FRAME + MAX_FRAME // 254 + 1


class FrameError(ValueError):
    """A frame that is not to be trusted; `reason` is the counter it belongs to."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class PlainCodec:
    """The pure Python codec, the reference of the twins."""

    encode = staticmethod(cobs.encode)
    decode = staticmethod(cobs.decode)
    crc16 = staticmethod(crc.crc16)
    crc32 = staticmethod(crc.crc32)


def pack(codec: "type[PlainCodec]", kind: int, sequence: int, payload: bytes) -> bytes:
    """The bytes on the wire for one frame, the closing 0x00 included."""
    body = bytes((kind, sequence)) + payload
    if crc_bits(kind) == 32:
        body += codec.crc32(body).to_bytes(4, "little")
    else:
        body += codec.crc16(body).to_bytes(2, "little")
    if len(body) > MAX_FRAME:
        raise FrameError("oversize", "a frame of %d bytes, the wire allows %d" % (len(body), MAX_FRAME))
    return codec.encode(body) + b"\x00"


def unpack(codec: "type[PlainCodec]", frame: bytes) -> "tuple[int, int, bytes]":
    """(type, sequence, payload) of one frame between two zeros; raises FrameError.

    The reasons: "cobs" (not an encoding), "short", "type" (unknown), "crc".
    """
    try:
        body = codec.decode(frame)
    except ValueError as error:
        raise FrameError("cobs", str(error))
    if len(body) < HEADER_BYTES + 2:
        raise FrameError("short", "a frame of %d bytes is shorter than header and checksum" % len(body))
    bits = crc_bits(body[0])
    if bits == 0:
        raise FrameError("type", "message type 0x%02x is not in the registry" % body[0])
    size = bits // 8
    if len(body) < HEADER_BYTES + size:
        raise FrameError("short", "a frame of %d bytes is shorter than header and checksum" % len(body))
    data = body[:-size]
    check = codec.crc32(data) if bits == 32 else codec.crc16(data)
    if check.to_bytes(size, "little") != body[-size:]:
        raise FrameError("crc", "the checksum of message 0x%02x does not fit its bytes" % body[0])
    return body[0], body[1], data[2:]


class Splitter:
    """Cuts a byte stream into frames at the zeros and resynchronises after noise.

    At most MAX_WIRE bytes are held; a longer run without a zero is dropped up to the next
    zero and counted in `overflows`.
    """

    def __init__(self) -> None:
        self.overflows = 0
        self._held = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> "list[bytes]":
        """The frames that `data` completes, without their zeros, empty ones left out."""
        frames: "list[bytes]" = []
        start = 0
        while True:
            end = data.find(b"\x00", start)
            if end < 0:
                self._hold(data[start:])
                return frames
            self._hold(data[start:end])
            if self._held and not self._skipping:
                frames.append(bytes(self._held))
            self._held = bytearray()
            self._skipping = False
            start = end + 1

    def _hold(self, piece: bytes) -> None:
        if self._skipping:
            return
        if len(self._held) + len(piece) > MAX_WIRE:
            self.overflows += 1
            self._skipping = True
            self._held = bytearray()
        else:
            self._held += piece
