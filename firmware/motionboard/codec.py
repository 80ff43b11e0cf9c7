"""The board's twins of COBS and the checksums, and unaligned access to frames, in viper.

Buffers are preallocated by the caller and never sliced (a slice allocates). Lengths are
checked here, because viper checks no bounds.
"""

from array import array

import micropython

from idmwire.crc import crc16 as _crc16_of

# CRC-16 of one byte with start 0; CRC-32 of one nibble. Built once from the reference.
_TABLE16 = array("H", [_crc16_of(bytes((byte,)), 0) for byte in range(256)])
_TABLE32 = array("i", [0] * 16)


def _fill_table32():
    for nibble in range(16):
        value = nibble
        for _ in range(4):
            value = (value >> 1) ^ 0xEDB88320 if value & 1 else value >> 1
        _TABLE32[nibble] = value - 0x100000000 if value & 0x80000000 else value


_fill_table32()


@micropython.viper
def _cobs_encode(data: ptr8, n: int, out: ptr8) -> int:
    code_at = 0
    at = 1
    i = 0
    while i < n:
        byte = data[i]
        if byte:
            out[at] = byte
            at += 1
        # A block ends at a zero, or when it is full and more follows.
        if byte == 0:
            out[code_at] = at - code_at
            code_at = at
            at += 1
        elif at - code_at == 255 and i + 1 < n:
            out[code_at] = 255
            code_at = at
            at += 1
        i += 1
    out[code_at] = at - code_at
    return at


def cobs_encode(data, n, out):
    """COBS of data[:n] and a closing zero into `out`; the bytes written."""
    if len(out) < n + n // 254 + 2:
        raise ValueError("buffer of %d bytes for a frame of %d" % (len(out), n))
    size = _cobs_encode(data, n, out)
    out[size] = 0
    return size + 1


@micropython.viper
def _cobs_decode(data: ptr8, n: int, out: ptr8) -> int:
    size = 0
    at = 0
    while at < n:
        code = data[at]
        end = at + code
        if code == 0 or end > n:
            return -1
        at += 1
        while at < end:
            byte = data[at]
            if byte == 0:
                return -1
            out[size] = byte
            size += 1
            at += 1
        if code < 255 and at < n:
            out[size] = 0
            size += 1
    return size


def cobs_decode(data, n, out):
    """Decodes data[:n] (no closing zero) into `out`; the bytes written, -1 where it is no encoding."""
    if len(data) < n or len(out) < n:
        raise ValueError("buffer of %d bytes for a frame of %d" % (len(out), n))
    return _cobs_decode(data, n, out)


@micropython.viper
def _crc16(data: ptr8, n: int, table: ptr16) -> int:
    crc = 0xFFFF
    i = 0
    while i < n:
        crc = ((crc << 8) & 0xFFFF) ^ table[(crc >> 8) ^ data[i]]
        i += 1
    return crc


def crc16(data, n):
    """CRC-16 of data[:n]."""
    return _crc16(data, n, _TABLE16)


# A CRC-32 needs all 32 bits, which would be a heap object: it is written and compared in place.
@micropython.viper
def _crc32(data: ptr8, n: int, table: ptr32, out: ptr8) -> int:
    crc = -1
    i = 0
    while i < n:
        byte = data[i]
        crc = ((crc >> 4) & 0x0FFFFFFF) ^ table[(crc ^ byte) & 15]
        crc = ((crc >> 4) & 0x0FFFFFFF) ^ table[(crc ^ (byte >> 4)) & 15]
        i += 1
    same = 1
    i = 0
    while i < 4:
        byte = (((crc >> (8 * i)) & 0xFF) ^ 0xFF)
        if out[i] != byte:
            same = 0
        out[i] = byte
        i += 1
    return same


def crc32_into(data, n, out):
    """Writes the CRC-32 of data[:n], little-endian, into out[0:4]; True where it stood there already."""
    return _crc32(data, n, _TABLE32, out) != 0


@micropython.viper
def _copy(dst: ptr8, dst_at: int, src: ptr8, src_at: int, n: int):
    i = 0
    while i < n:
        dst[dst_at + i] = src[src_at + i]
        i += 1


def copy(dst, dst_at, src, src_at, n):
    """dst[dst_at:dst_at + n] = src[src_at:src_at + n] without a slice."""
    if dst_at < 0 or src_at < 0 or n < 0 or dst_at + n > len(dst) or src_at + n > len(src):
        raise ValueError("copy of %d bytes beyond a buffer" % n)
    _copy(dst, dst_at, src, src_at, n)


@micropython.viper
def get16(data: ptr8, at: int) -> int:
    """The u16 at data[at]."""
    return data[at] | (data[at + 1] << 8)


@micropython.viper
def get30(data: ptr8, at: int) -> int:
    """The u32 at data[at], its upper two bits dropped so that it is a small integer."""
    return data[at] | (data[at + 1] << 8) | (data[at + 2] << 16) | ((data[at + 3] & 0x3F) << 24)


@micropython.viper
def above30(data: ptr8, at: int) -> int:
    """The upper two bits of the u32 at data[at]: not zero where get30 dropped something."""
    return data[at + 3] >> 6


@micropython.viper
def put16(data: ptr8, at: int, value: int):
    """Writes a u16."""
    data[at] = value & 0xFF
    data[at + 1] = (value >> 8) & 0xFF


@micropython.viper
def put32(data: ptr8, at: int, value: int):
    """Writes the low 32 bits of a small integer."""
    data[at] = value & 0xFF
    data[at + 1] = (value >> 8) & 0xFF
    data[at + 2] = (value >> 16) & 0xFF
    data[at + 3] = (value >> 24) & 0xFF


@micropython.viper
def words_to_bytes(data: ptr8, at: int, words: ptr32, first: int, n: int):
    """Copies n int32 into a frame, little-endian."""
    i = 0
    while i < n:
        value = words[first + i]
        p = at + 4 * i
        data[p] = value & 0xFF
        data[p + 1] = (value >> 8) & 0xFF
        data[p + 2] = (value >> 16) & 0xFF
        data[p + 3] = (value >> 24) & 0xFF
        i += 1


@micropython.viper
def bytes_to_words(words: ptr32, first: int, data: ptr8, at: int, n: int):
    """Copies n int32 out of a frame."""
    i = 0
    while i < n:
        p = at + 4 * i
        words[first + i] = data[p] | (data[p + 1] << 8) | (data[p + 2] << 16) | (data[p + 3] << 24)
        i += 1


# Control words of `take`: bytes held, 1 while a run too long is being skipped, runs skipped.
HELD = 0
SKIPPING = 1
OVERFLOWS = 2


@micropython.viper
def take(frame: ptr8, room: int, control: ptr32, chunk: ptr8, at: int, n: int) -> int:
    """Moves bytes of chunk[at:n] into `frame` up to a zero.

    Returns where to go on in the chunk when a frame is complete, else -1. The streaming twin of
    idmwire.framing.Splitter.
    """
    held = control[0]
    skipping = control[1]
    while at < n:
        byte = chunk[at]
        at += 1
        if byte == 0:
            control[0] = held
            if held and skipping == 0:
                control[1] = 0
                return at
            held = 0
            skipping = 0
        elif skipping == 0:
            if held >= room:
                skipping = 1
                held = 0
                control[2] = control[2] + 1
            else:
                frame[held] = byte
                held += 1
    control[0] = held
    control[1] = skipping
    return -1
