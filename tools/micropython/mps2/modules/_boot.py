"""Mounts the board's flash: LittleFS over the memory at 0x21000000, which QEMU keeps in a file."""

import uctypes
import vfs

_START = 0x21000000
_BLOCK = 4096
_BLOCKS = 256


class Flash:
    """A block device; erasing is not needed."""

    def __init__(self):
        self._bytes = memoryview(uctypes.bytearray_at(_START, _BLOCK * _BLOCKS))

    def readblocks(self, block, buffer, offset=0):
        """Fills `buffer` from an offset into a block on."""
        at = block * _BLOCK + offset
        buffer[:] = self._bytes[at : at + len(buffer)]

    def writeblocks(self, block, buffer, offset=0):
        """Writes `buffer` from an offset into a block on."""
        at = block * _BLOCK + offset
        self._bytes[at : at + len(buffer)] = buffer

    def ioctl(self, request, _):
        """Number and size of the blocks."""
        return {4: _BLOCKS, 5: _BLOCK}.get(request, 0)


try:
    vfs.mount(vfs.VfsLfs2(Flash()), "/")
except OSError:
    vfs.VfsLfs2.mkfs(Flash())
    vfs.mount(vfs.VfsLfs2(Flash()), "/")
