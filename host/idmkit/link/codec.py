"""The host's codec: the `cobs` package and the checksums of the standard library, all in C."""

from __future__ import annotations

import zlib
from binascii import crc_hqx

from cobs import cobs  # type: ignore[import-untyped]

from idmwire.framing import PlainCodec


class HostCodec(PlainCodec):
    """The fast twin of idmwire's codec."""

    @staticmethod
    def encode(data: bytes) -> bytes:
        """`data` without zeros."""
        return bytes(cobs.encode(data))

    @staticmethod
    def decode(data: bytes) -> bytes:
        """The bytes that `encode` took; raises ValueError where `data` is no encoding."""
        try:
            return bytes(cobs.decode(data))
        except cobs.DecodeError as error:
            raise ValueError(str(error)) from error

    @staticmethod
    def crc16(data: bytes, crc: int = 0xFFFF) -> int:
        """CRC-16/CCITT-FALSE."""
        return crc_hqx(data, crc)

    @staticmethod
    def crc32(data: bytes, crc: int = 0) -> int:
        """CRC-32 as zlib has it."""
        return zlib.crc32(data, crc)
