"""The two checksums of the wire, in plain Python.

CRC-16 (CCITT-FALSE: polynomial 0x1021, start 0xFFFF) guards telemetry and questions;
CRC-32 (the one of zlib: reflected 0xEDB88320) guards whatever arms, moves or writes, and
the parameter image. A host uses the C twins (binascii.crc_hqx, zlib.crc32), a board its
viper twins; the golden vectors hold all of them to these.
"""


def crc16(data: bytes, crc: int = 0xFFFF) -> int:
    """CRC-16/CCITT-FALSE of `data`; the check value of b"123456789" is 0x29B1."""
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
        crc &= 0xFFFF
    return crc


def crc32(data: bytes, crc: int = 0) -> int:
    """CRC-32 of `data` as zlib computes it; the check value of b"123456789" is 0xCBF43926."""
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0xEDB88320 if crc & 1 else crc >> 1
    return crc ^ 0xFFFFFFFF
