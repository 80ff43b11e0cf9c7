"""Object dictionary and SDO server of a CANopen slave (CiA 301): expedited transfers, segmented reading of texts."""

from __future__ import annotations

import struct
from collections.abc import Callable

FORMATS = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i"}

TOGGLE_NOT_ALTERNATED = 0x05030000
UNKNOWN_COMMAND = 0x05040001
READ_ONLY = 0x06010002
NO_OBJECT = 0x06020000
NOT_MAPPABLE = 0x06040041
MAPPING_TOO_LONG = 0x06040042
WRONG_LENGTH = 0x06070010
NO_SUBINDEX = 0x06090011
VALUE_RANGE = 0x06090030
DEVICE_STATE = 0x08000022


class SdoAbort(Exception):  # noqa: N818 - CiA 301's own word
    """An access that the server refuses, with the abort code of CiA 301."""

    def __init__(self, code: int) -> None:
        super().__init__(f"SDO abort 0x{code:08X}")
        self.code = code


class Entry:
    """One object: its value, its type and what may be done with it."""

    __slots__ = ("accept", "format", "high", "index", "low", "mappable", "size", "sub", "value", "writable")

    def __init__(
        self,
        index: int,
        sub: int,
        kind: str,
        value: int,
        *,
        writable: bool = False,
        mappable: bool = False,
        limits: tuple[int, int] | None = None,
        accept: Callable[[int], None] | None = None,
    ) -> None:
        self.index = index
        self.sub = sub
        self.format = FORMATS[kind]
        self.size = struct.calcsize(self.format)
        self.value = value
        self.writable = writable
        self.mappable = mappable
        self.low, self.high = limits if limits else (-(1 << 31), (1 << 32) - 1)
        self.accept = accept
        """Called with a new value before it is stored; raises SdoAbort to refuse it."""


class ObjectDictionary:
    """The objects of one node, by (index, subindex)."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, int], Entry] = {}
        self._texts: dict[tuple[int, int], bytes] = {}
        self._indices: set[int] = set()

    def add(self, entry: Entry) -> Entry:
        """Adds `entry` and hands it back."""
        self._entries[entry.index, entry.sub] = entry
        self._indices.add(entry.index)
        return entry

    def add_text(self, index: int, text: str) -> None:
        """Adds a read-only text at subindex 0."""
        self._texts[index, 0] = text.encode("ascii")
        self._indices.add(index)

    def __getitem__(self, key: tuple[int, int]) -> Entry:
        """The entry at (index, subindex); SdoAbort where there is none."""
        entry = self._entries.get(key)
        if entry is None:
            raise SdoAbort(NO_SUBINDEX if key[0] in self._indices else NO_OBJECT)
        return entry

    def read(self, index: int, sub: int) -> bytes:
        """The value as it travels: little-endian, or the text."""
        text = self._texts.get((index, sub))
        if text is not None:
            return text
        entry = self[index, sub]
        return struct.pack("<" + entry.format, entry.value)

    def write(self, index: int, sub: int, data: bytes) -> None:
        """Stores what a master wrote."""
        if (index, sub) in self._texts:
            raise SdoAbort(READ_ONLY)
        entry = self[index, sub]
        if not entry.writable:
            raise SdoAbort(READ_ONLY)
        if len(data) != entry.size:
            raise SdoAbort(WRONG_LENGTH)
        value: int = struct.unpack("<" + entry.format, data)[0]
        if not entry.low <= value <= entry.high:
            raise SdoAbort(VALUE_RANGE)
        if entry.accept:
            entry.accept(value)
        entry.value = value


class SdoServer:
    """Answers SDO requests, one client at a time."""

    def __init__(self, objects: ObjectDictionary) -> None:
        self._objects = objects
        self._segments = b""
        self._toggle = 0

    def answer(self, request: bytes) -> bytes | None:
        """The answer (8 bytes) to a request of 8 bytes; None to what needs none (the client's own abort)."""
        if len(request) != 8:
            return None
        command = request[0]
        index, sub = request[1] | request[2] << 8, request[3]
        try:
            if command == 0x40:
                return self._begin_read(request[1:4], self._objects.read(index, sub))
            if command & 0xEF == 0x60:
                return self._continue_read(command)
            if command & 0xE3 == 0x23 or command == 0x22:
                size = self._objects[index, sub].size if command == 0x22 else 4 - (command >> 2 & 3)
                self._objects.write(index, sub, request[4 : 4 + size])
                return b"\x60" + request[1:4] + bytes(4)
            if command == 0x80:
                self._segments = b""
                return None
            raise SdoAbort(UNKNOWN_COMMAND)
        except SdoAbort as refusal:
            return b"\x80" + request[1:4] + refusal.code.to_bytes(4, "little")

    def _begin_read(self, multiplexer: bytes, data: bytes) -> bytes:
        if len(data) <= 4:
            return bytes([0x43 | (4 - len(data)) << 2]) + multiplexer + data.ljust(4, b"\0")
        self._segments = data
        self._toggle = 0
        return b"\x41" + multiplexer + len(data).to_bytes(4, "little")

    def _continue_read(self, command: int) -> bytes:
        if not self._segments:
            raise SdoAbort(UNKNOWN_COMMAND)
        if command & 0x10 != self._toggle:
            raise SdoAbort(TOGGLE_NOT_ALTERNATED)
        part, self._segments = self._segments[:7], self._segments[7:]
        head = self._toggle | (7 - len(part)) << 1 | (not self._segments)
        self._toggle ^= 0x10
        return bytes([head]) + part.ljust(7, b"\0")
