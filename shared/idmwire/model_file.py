"""The model file: a compiled model and its test, as it goes to a board and is kept there.

    offset   type      field
    0        bytes     the compiled module: a .mpy for the board's processor
    ...      i32       parameter sets: n_parameters mantissas each
    ...      i32       test rows: a state (4 n_axes), its torques (n_axes), the number of values limited
    end-24   u32       magic 0x4D4D4449 ("IDMM")
    end-20   u16       layout, 1
    end-18   u32       bytes of the module
    end-14   u32       program hash
    end-10   u8, u8    axes, parameter sets
    end-8    u16, u16  parameters, test rows
    end-4    u32       CRC-32 of all bytes before it

The module stands first, so MicroPython imports the file as it is: it reads no further than the module. Its second and
third byte say for which .mpy version and processor it is (sys.implementation._mpy). Row k is computed with parameter
set k modulo their number. A board that keeps the file appends a seal of its own:

    0        u32       magic 0x534D4449 ("IDMS")
    4        u32       generation, counted up with every model that the board takes
    8        u32       CRC-32 of the file's CRC-32 and the generation
"""

import struct
from binascii import crc32

MAGIC = 0x4D4D4449
LAYOUT = 1
TRAILER = "<IHIIBBHHI"
TRAILER_BYTES = struct.calcsize(TRAILER)
SEAL_MAGIC = 0x534D4449
SEAL_BYTES = 12


class Contents:
    """What a model file says about itself."""

    def __init__(
        self, module_bytes: int, program_hash: int, n_axes: int, n_sets: int, n_parameters: int, n_rows: int
    ) -> None:
        self.module_bytes = module_bytes
        self.program_hash = program_hash
        self.n_axes = n_axes
        self.n_sets = n_sets
        self.n_parameters = n_parameters
        self.n_rows = n_rows

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        words = self.n_sets * self.n_parameters + self.n_rows * (5 * self.n_axes + 1)
        return self.module_bytes + 4 * words + TRAILER_BYTES


def pack(contents: Contents, module: bytes, numbers: bytes) -> bytes:
    """The file; `numbers` are the parameter sets, then the rows, as int32. ValueError where sizes do not fit."""
    c = contents
    body = module + numbers + struct.pack(
        TRAILER[:-1], MAGIC, LAYOUT, c.module_bytes, c.program_hash, c.n_axes, c.n_sets, c.n_parameters, c.n_rows)
    if len(module) != c.module_bytes or len(body) + 4 != c.size:
        raise ValueError("%d bytes for a model file of %d" % (len(body) + 4, c.size))
    return body + struct.pack("<I", crc32(body) & 0xFFFFFFFF)


def contents_of(trailer: bytes, size: int) -> "Contents | None":
    """What the last TRAILER_BYTES of a file of `size` bytes say, None where they are of no such file."""
    if len(trailer) != TRAILER_BYTES:
        return None
    fields = struct.unpack(TRAILER, trailer)
    contents = Contents(*fields[2:8])
    return contents if fields[0] == MAGIC and fields[1] == LAYOUT and contents.size == size else None


def file_crc(data: bytes) -> int:
    """The CRC-32 that a file ends with."""
    return int.from_bytes(data[-4:], "little")


def seal(generation: int, crc: int) -> bytes:
    """What a board appends to the file that ends with `crc`."""
    counted = struct.pack("<II", crc, generation & 0xFFFFFFFF)
    return struct.pack("<I", SEAL_MAGIC) + counted[4:] + struct.pack("<I", crc32(counted) & 0xFFFFFFFF)
