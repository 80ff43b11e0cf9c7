# Media that lose their power: a block device in memory, cut at any operation, and the three ways to keep a store on it.

import vfs
from support import Numbers

from motionboard.store import Store

EIO = -5


class Flash:
    # A chip: erased bytes are 0xff and a write only clears bits. `erase_blocks` blocks share an erase block; where that
    # is more than one, or a write comes without an erase, the driver reads, erases and writes, as ports with FAT on
    # internal flash do. `left` operations are carried out whole; the next one is torn, and all that follow fail. Power
    # comes back to another object: what still holds on to the old one has no device any more.

    def __init__(self, block_bytes, blocks, shared=1, cells=None, seed=1, left=None):
        self.block_bytes = block_bytes
        self.blocks = blocks
        self.shared = shared
        self.cells = bytearray(cells or b"\xff" * (block_bytes * blocks))
        self.numbers = Numbers(seed)
        self.left = left
        self.operations = 0
        self.on = True
        self.error = EIO

    def again(self, seed=1, left=None):
        # The device after power was away. Files that the cut left open are closed by the garbage collector: quietly.
        self.on = False
        self.error = 0
        return type(self)(self.block_bytes, self.blocks, self.shared, self.cells, seed, left)

    def _torn(self):
        # Counts an operation; True where the cut is in it.
        self.operations += 1
        self.on = self.left is None or self.operations <= self.left
        return not self.on

    def _erase(self, at, n):
        # An interrupted erase leaves any bits.
        self.cells[at : at + n] = self.numbers.data(n) if self._torn() else b"\xff" * n

    def _program(self, at, data):
        n = len(data)
        if self._torn():
            n = self.numbers.below(n)
            # The byte in work is half written.
            self.cells[at + n] &= data[n] | self.numbers.below(256)
        bits = int.from_bytes(self.cells[at : at + n], "little") & int.from_bytes(bytes(data[:n]), "little")
        self.cells[at : at + n] = bits.to_bytes(n, "little")

    def _replace(self, at, data):
        # Without an erase of its own: of the erase block that holds it, all is erased and written again.
        unit = self.shared * self.block_bytes
        start = at // unit * unit
        whole = bytearray(self.cells[start : start + unit])
        whole[at - start : at - start + len(data)] = data
        self._erase(start, unit)
        if self.on:
            self._program(start, whole)

    def readblocks(self, block, buffer, offset=0):
        if not self.on:
            return self.error
        at = block * self.block_bytes + offset
        buffer[:] = memoryview(self.cells)[at : at + len(buffer)]
        return 0

    def writeblocks(self, block, data, offset=None):
        if not self.on:
            return self.error
        at = block * self.block_bytes
        if offset is not None:
            self._program(at + offset, data)
        else:
            for k in range(0, len(data), self.block_bytes):
                if self.on:
                    self._replace(at + k, data[k : k + self.block_bytes])
        return 0 if self.on else self.error

    def ioctl(self, operation, argument):
        if operation == 4:
            return self.blocks
        if operation == 5:
            return self.block_bytes
        if operation == 6 and self.on:
            self._erase(argument * self.block_bytes, self.block_bytes)
        return 0 if self.on else self.error


class Card(Flash):
    # A medium that takes sectors: a write needs no erase, a torn one leaves the front new and the rest old.

    def _replace(self, at, data):
        n = self.numbers.below(len(data)) if self._torn() else len(data)
        self.cells[at : at + n] = memoryview(data)[:n]


def opened(device, kind):
    # The store on a device: in the root of a file system of this kind, or raw where that is None.
    if kind is None:
        return Store(device)
    try:
        vfs.umount("/cut")
    except OSError:
        pass
    vfs.mount(kind(device), "/cut")
    return Store("/cut")
