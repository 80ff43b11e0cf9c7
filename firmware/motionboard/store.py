"""Where the parameter image lives on the board: one slot on the file system, checked by its CRC."""

import os

from idmwire import image

_SLOT = "parameters.bin"
_FRESH = "parameters.new"


class Store:
    """One stored image in a folder of the board's file system."""

    def __init__(self, folder):
        self._folder = folder

    def _path(self, name):
        return self._folder + "/" + name

    def load(self):
        """The stored image's bytes, or None where there is none or its CRC is wrong."""
        try:
            with open(self._path(_SLOT), "rb") as slot:
                data = slot.read()
            image.check(data)
        except (OSError, ValueError):
            return None
        return data

    def exists(self):
        """True where something is stored, good or bad."""
        try:
            os.stat(self._path(_SLOT))
        except OSError:
            return False
        return True

    def save(self, data):
        """Writes beside the slot, reads back, then takes its place; True where it is stored."""
        try:
            with open(self._path(_FRESH), "wb") as slot:
                slot.write(data)
            with open(self._path(_FRESH), "rb") as slot:
                if slot.read() != data:
                    return False
            os.rename(self._path(_FRESH), self._path(_SLOT))
        except OSError:
            return False
        return True
