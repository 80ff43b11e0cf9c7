"""A sealed block: what one slot of the board's store holds.

    offset  type     field
    0       u32      magic 0x534D4449 ("IDMS")
    4       u32      generation, counted up with every save; the newer of two wins, also where the count wraps
    8       u32      size of the data in bytes
    12      u32      CRC-32 of generation, size and data
    16      bytes    data

The generation is the store's own: a set that is rolled back to is saved anew and is the newest again.
"""

import struct
from binascii import crc32

MAGIC = 0x534D4449
HEADER_BYTES = 16


def seal(data: bytes, generation: int) -> bytes:
    """The block that holds `data`."""
    counted = struct.pack("<II", generation & 0xFFFFFFFF, len(data))
    return struct.pack("<I", MAGIC) + counted + struct.pack("<I", crc32(data, crc32(counted)) & 0xFFFFFFFF) + data


def sealed_bytes(head: bytes) -> int:
    """The size of the block that starts with `head`, its first 16 bytes; 0 where none does."""
    if len(head) < HEADER_BYTES:
        return 0
    magic, _, size, _ = struct.unpack_from("<IIII", head, 0)
    return HEADER_BYTES + size if magic == MAGIC else 0


def unseal(block: bytes) -> "tuple[int, bytes] | None":
    """(generation, data) of a whole block, None for anything else."""
    if sealed_bytes(block) != len(block) or not block:
        return None
    _, generation, _, crc = struct.unpack_from("<IIII", block, 0)
    data = bytes(block[HEADER_BYTES:])
    if crc32(data, crc32(block[4:12])) & 0xFFFFFFFF != crc:
        return None
    return generation, data


def newer(generation: int, other: int) -> bool:
    """True where `generation` was counted after `other`."""
    return 0 < (generation - other) & 0xFFFFFFFF < 0x80000000
