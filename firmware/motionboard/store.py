"""Where the parameter sets live on the board: two slots, each sealed with a generation and a CRC-32.

A save goes to the slot that does not hold the newest valid set, so a power cut at any moment leaves the set before
or the new one. docs/store.md says what each medium promises.
"""

import os

from idmwire import slot

CAPACITY = 4096
# Flash is programmed in pages; none of the chips here has larger ones.
_PAGE = 256
_SLOT_BYTES = (slot.HEADER_BYTES + CAPACITY + _PAGE - 1) // _PAGE * _PAGE


class Store:
    """Two slots on `where`: a folder of the file system, or a block device that holds nothing else."""

    def __init__(self, where):
        self._medium = _Files(where) if isinstance(where, str) else _Blocks(where)

    def load(self):
        """The bytes of the newest valid set, or None."""
        sets = self._sets()
        newest = _newest(sets)
        return None if newest is None else sets[newest][1]

    def previous(self):
        """The bytes of the set before the newest, or None."""
        sets = self._sets()
        newest = _newest(sets)
        before = None if newest is None else sets[1 - newest]
        return before and before[1]

    def exists(self):
        """True where something is stored, good or bad."""
        for number in (0, 1):
            try:
                if self._medium.read(number, slot.HEADER_BYTES).strip(b"\xff"):
                    return True
            except OSError:
                pass
        return False

    def save(self, data):
        """Writes the older slot and reads it back; True where the set is stored."""
        sets = self._sets()
        newest = _newest(sets)
        block = slot.seal(data, 1 if newest is None else sets[newest][0] + 1)
        number = 0 if newest is None else 1 - newest
        try:
            self._medium.write(number, block)
            return self._medium.read(number, len(block)) == block
        except OSError:
            return False

    def _sets(self):
        """What the slots hold: for each (generation, data) or None."""
        return [self._set(0), self._set(1)]

    def _set(self, number):
        try:
            size = slot.sealed_bytes(self._medium.read(number, slot.HEADER_BYTES))
            if 0 < size <= slot.HEADER_BYTES + CAPACITY:
                return slot.unseal(self._medium.read(number, size))
        except OSError:
            pass
        return None


def _newest(sets):
    """The number of the slot that holds the newest set, or None."""
    first, second = sets
    if second and (not first or slot.newer(second[0], first[0])):
        return 1
    return 0 if first else None


class _Files:
    """A file each, in a folder each, of full size from the first save on.

    A save then overwrites in place: on FAT it touches neither the table of clusters nor anything of the other slot.
    """

    def __init__(self, folder):
        self._folders = (folder + "/parameters.a", folder + "/parameters.b")

    def _path(self, number):
        return self._folders[number] + "/slot.bin"

    def _fill_up(self, number):
        """Makes the file, or what it lacks in size, blank."""
        try:
            size = os.stat(self._path(number))[6]
        except OSError:
            size = 0
        if size >= _SLOT_BYTES:
            return
        try:
            os.mkdir(self._folders[number])
        except OSError:
            # It is there; where it cannot be made, opening the file fails as well.
            pass
        with open(self._path(number), "ab") as file:
            while size < _SLOT_BYTES:
                size += file.write(b"\xff" * min(_PAGE, _SLOT_BYTES - size))

    def read(self, number, n):
        with open(self._path(number), "rb") as file:
            return file.read(n)

    def write(self, number, block):
        # Both before either holds a set: the first set is in danger at no later save.
        for each in (0, 1):
            self._fill_up(each)
        with open(self._path(number), "r+b") as file:
            file.write(block)


class _Blocks:
    """Half of a block device each, written through MicroPython's extended block protocol.

    readblocks(block, buffer, offset), writeblocks(block, buffer, offset) without an erase, ioctl for the count (4)
    and the size (5) of blocks and to erase one (6). A block must be an erase block of the chip.
    """

    def __init__(self, device):
        self._device = device
        self._per_slot = device.ioctl(4, 0) // 2
        self._block_bytes = device.ioctl(5, 0)

    def _pieces(self, number, n):
        """(block, first byte, end) of the first n bytes of a slot."""
        if n > self._per_slot * self._block_bytes:
            raise OSError
        for at in range(0, n, self._block_bytes):
            end = at + self._block_bytes
            yield number * self._per_slot + at // self._block_bytes, at, end if end < n else n

    def read(self, number, n):
        data = bytearray(n)
        view = memoryview(data)
        for block, at, end in self._pieces(number, n):
            _check(self._device.readblocks(block, view[at:end], 0))
        return bytes(data)

    def write(self, number, block):
        padded = memoryview(block + b"\xff" * (-len(block) % _PAGE))
        # From the back: the header, which makes it a set, is written last and erased first.
        for place, _, _ in self._pieces(number, len(padded)):
            _check(self._device.ioctl(6, place))
        for place, at, end in reversed(list(self._pieces(number, len(padded)))):
            _check(self._device.writeblocks(place, padded[at:end], 0))


def _check(error):
    """Some devices raise an OSError, some return its number."""
    if error:
        raise OSError(error)
