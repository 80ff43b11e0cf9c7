"""Consistent Overhead Byte Stuffing (Cheshire and Baker 1999) in plain Python.

A block of up to 254 bytes without a zero is sent as its length + 1 and the bytes; a zero
is implied after every block shorter than 254 bytes except the last. The result holds no
zero, so a zero can end a frame. The host injects the `cobs` package, the board its viper
twin; this one is what both are tested against.
"""


class CobsError(ValueError):
    """The bytes are not a COBS encoding: an embedded zero or a block cut short."""


def encode(data: bytes) -> bytes:
    """`data` without zeros, one byte longer for each begun 254 bytes."""
    out = bytearray()
    start = 0
    while True:
        end = start
        while end < len(data) and end - start < 254 and data[end]:
            end += 1
        out.append(end - start + 1)
        out += data[start:end]
        if end == len(data):
            return bytes(out)
        # A full block implies no zero behind it, so a zero there begins the next block.
        start = end if end - start == 254 else end + 1


def decode(data: bytes) -> bytes:
    """The bytes that `encode` took; raises CobsError where `data` is no encoding."""
    out = bytearray()
    at = 0
    while at < len(data):
        code = data[at]
        end = at + code
        if code == 0 or end > len(data):
            raise CobsError("a block of %d bytes at %d does not fit in %d bytes" % (code, at, len(data)))
        for i in range(at + 1, end):
            if data[i] == 0:
                raise CobsError("a zero inside the frame at %d" % i)
            out.append(data[i])
        at = end
        if code < 255 and at < len(data):
            out.append(0)
    return bytes(out)
