"""The parameter image: all that a board must know of its robot, in one checked block.

    offset  type     field
    0       u32      magic 0x504D4449 ("IDMP")
    4       u16      layout version, 2
    6       u16      size of the whole image in bytes
    8       u32      schema hash
    12      u32      program hash, 0 when no compiled model is used
    16      u32      generation, counted up by the host with every image it writes
    20      u32      cycle time in us
    24      16s      robot name, zero-padded UTF-8
    40      5 x i8   exponents of the scale table; then n_axes u8, n_parameters u16
    48      u32      words of posture tables
    52      i32      property values, in registry order, axis after axis
    ...     i32      parameter mantissas of the compiled model
    ...     f64      engineering copy of the parameters (for people; the board does not read it)
    ...     i32      posture tables (idmwire.posture)
    ...     u32      CRC-32 of all bytes before it
"""

import struct
from binascii import crc32

from idmwire import properties, scales
from idmwire.schema import SCHEMA_HASH

MAGIC = 0x504D4449
LAYOUT = 2
HEADER = "<IHHIIII16s5bBHI"
HEADER_BYTES = struct.calcsize(HEADER)


class ImageError(ValueError):
    """The bytes are not a parameter image that this side can use."""


class ParameterImage:
    """The contents of an image. Property values are counts, `engineering` are SI values.

    The engineering copy is held as its bytes: a board with shorter floats must give it back unchanged.
    """

    def __init__(
        self,
        robot: str,
        cycle_time_us: int,
        n_axes: int,
        values: "list[int]",
        program_hash: int = 0,
        mantissas: "tuple[int, ...]" = (),
        engineering: "bytes | tuple[float, ...]" = b"",
        generation: int = 0,
        tables: "tuple[int, ...]" = (),
    ) -> None:
        self.robot = robot
        self.cycle_time_us = cycle_time_us
        self.n_axes = n_axes
        self.values = values
        self.program_hash = program_hash
        self.mantissas = mantissas
        self.generation = generation
        self.tables = tables
        if not isinstance(engineering, bytes):
            engineering = struct.pack("<%dd" % len(engineering), *engineering)
        self._engineering = engineering

    @property
    def engineering(self) -> "tuple[float, ...]":
        """The parameters in SI units, as exact as this side's floats are."""
        return struct.unpack("<%dd" % (len(self._engineering) // 8), self._engineering)

    def value(self, name: str, axis: int = 0) -> int:
        """The counts of one property."""
        return self.values[properties.slots(self.n_axes)[name] + axis]

    def pack(self) -> bytes:
        """The image as bytes; raises ImageError where a part does not fit its layout."""
        if len(self.values) != properties.slots(self.n_axes)[""]:
            raise ImageError("%d property values for %d axes, the registry has %d" % (
                len(self.values), self.n_axes, properties.slots(self.n_axes)[""]))
        n_engineering = len(self._engineering) // 8
        if len(self.mantissas) != n_engineering:
            raise ImageError("%d mantissas but %d engineering values" % (len(self.mantissas), n_engineering))
        name = self.robot.encode()
        if len(name) > 16:
            raise ImageError("the robot name %s is longer than 16 bytes" % self.robot)
        size = image_bytes(self.n_axes, len(self.mantissas), len(self.tables))
        exponents = scales.exponents()
        body = struct.pack(
            HEADER, MAGIC, LAYOUT, size, SCHEMA_HASH, self.program_hash, self.generation,
            self.cycle_time_us, name, exponents[0], exponents[1], exponents[2], exponents[3], exponents[4],
            self.n_axes, len(self.mantissas), len(self.tables))
        for value in self.values:
            body += struct.pack("<i", value)
        for mantissa in self.mantissas:
            body += struct.pack("<i", mantissa)
        body += self._engineering
        for word in self.tables:
            body += struct.pack("<i", word)
        return body + struct.pack("<I", crc32(body) & 0xFFFFFFFF)


def image_bytes(n_axes: int, n_parameters: int, table_words: int = 0) -> int:
    """The size of an image."""
    return HEADER_BYTES + 4 * (properties.slots(n_axes)[""] + table_words) + 12 * n_parameters + 4


def image_crc(data: bytes) -> int:
    """The CRC-32 an image ends with."""
    return int.from_bytes(data[-4:], "little")


def check(data: bytes) -> None:
    """Raises ImageError unless `data` is a whole image of this schema and scale table."""
    if len(data) < HEADER_BYTES + 4:
        raise ImageError("%d bytes are too few for an image" % len(data))
    head = struct.unpack_from(HEADER, data, 0)
    if head[0] != MAGIC or head[1] != LAYOUT:
        raise ImageError("magic 0x%08x, layout %d: not an image of layout %d" % (head[0], head[1], LAYOUT))
    if head[2] != len(data) or len(data) != image_bytes(head[13], head[14], head[15]):
        raise ImageError("%d bytes, but the image says %d" % (len(data), head[2]))
    if crc32(data[:-4]) & 0xFFFFFFFF != image_crc(data):
        raise ImageError("the image's CRC-32 does not fit its bytes")
    if head[3] != SCHEMA_HASH:
        raise ImageError("the image is of schema 0x%08x, this side has 0x%08x" % (head[3], SCHEMA_HASH))
    if tuple(head[8:13]) != scales.exponents():
        raise ImageError("the image's scale table is not this side's")


def unpack(data: bytes) -> ParameterImage:
    """The contents of an image; raises ImageError as `check` does."""
    check(data)
    head = struct.unpack_from(HEADER, data, 0)
    n_axes, n_parameters = head[13], head[14]
    n_values = properties.slots(n_axes)[""]
    at = HEADER_BYTES
    values = list(struct.unpack_from("<%di" % n_values, data, at))
    at += 4 * n_values
    mantissas = struct.unpack_from("<%di" % n_parameters, data, at)
    at += 4 * n_parameters
    engineering = bytes(data[at : at + 8 * n_parameters])
    at += 8 * n_parameters
    tables = struct.unpack_from("<%di" % head[15], data, at)
    return ParameterImage(
        head[7].rstrip(b"\x00").decode(), head[6], n_axes, values, head[4], mantissas, engineering, head[5], tables)
