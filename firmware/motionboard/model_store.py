"""The compiled model: uploaded over the link, kept in two slots, tested before it is used.

A model file (idmwire.model_file) is staged into the slot that is not in use. It becomes the model when it has been
read back and has the CRC-32 that the host names, is made for this board, is the program that it says it is, and gives
the host's torques, bit by bit, for the states it brings along. Its seal is written last: a power cut at any moment
leaves the model before or the new one. Whatever is wrong has a name, and the model in use stays in use.
"""

import gc
import os
import struct
import sys
from array import array
from binascii import crc32

from idmwire import framing, model_file
from idmwire.sine import SINE
from idmwire.slot import newer
from motionboard import codec
from motionboard.fixed import SH
from motionboard.states import DISARMED

_HEAD = framing.HEADER_BYTES
# How a .mpy for this board begins. What MicroPython would load beyond that, it does not check well.
_MPY = b"M" + struct.pack("<H", getattr(sys.implementation, "_mpy", 0) & 0xFFFF)
_NAMES = ("model_a", "model_b")
_PIECE = 256


class ModelStore:
    """The handlers of the model messages; `folder` is where the two slots are files."""

    def __init__(self, controller, link, parameters, folder):
        self.controller = controller
        self.link = link
        self.parameters = parameters
        self._folder = folder
        self._slot = 1
        self._generation = 0
        self._file = None
        self._staged = 0

    def boot(self):
        """The newest model that is whole and passes its test becomes the controller's."""
        sealed = [self._sealed(0), self._sealed(1)]
        second = sealed[1] and (not sealed[0] or newer(sealed[1][0], sealed[0][0]))
        order = (1, 0) if second else (0, 1)
        if sealed[order[0]]:
            self._generation = sealed[order[0]][0]
        for slot in order:
            if sealed[slot] and self._use(slot, sealed[slot][1]) is None:
                return

    def stage_model(self):
        """A piece of a model file: at offset 0 a new one begins, else it goes on where the last piece ended."""
        link = self.link
        if self._refused(4):
            return
        offset = -1 if codec.above30(link.request, _HEAD) else codec.get30(link.request, _HEAD)
        try:
            if offset == 0:
                self._close()
                self._file = open(self._path(1 - self._slot), "wb")
            if self._file is None or offset != self._staged:
                link.refuse("out_of_range")
                return
            self._file.write(memoryview(link.request)[_HEAD + 4 : _HEAD + link.length])
        except OSError:
            self._close()
            link.refuse("store_failed")
            return
        self._staged += link.length - 4
        link.begin()
        link.put32(self._staged)
        link.finish()

    def use_model(self):
        """Checks what was staged; it becomes the model, or is refused with the reason."""
        link = self.link
        if self._refused(8):
            return
        capture = self.controller.capture
        if capture is not None and capture.running:
            link.refuse("busy")
            return
        size, crc = struct.unpack_from("<II", link.request, _HEAD)
        staged = self._staged
        self._close()
        try:
            reason = "truncated" if staged < size or not size else self._take(1 - self._slot, size, crc)
        except OSError:
            reason = "store_failed"
        gc.collect()
        if reason:
            link.refuse(reason)
            return
        link.begin()
        link.put32(self.controller.model.PROGRAM_HASH)
        link.finish()

    # Parts

    def _take(self, slot, size, crc):
        """Uses the file in a slot and seals it; the name of a refusal, or None."""
        path = self._path(slot)
        with open(path, "rb") as file:
            own = _crc(file, size - 4)
            if own != crc or int.from_bytes(file.read(4), "little") != crc or file.read(1):
                return "corrupted"
        before = self.controller.model
        reason = self._use(slot, size)
        if reason:
            return reason
        generation = self._generation + 1
        try:
            with open(path, "r+b") as file:
                file.seek(size)
                file.write(model_file.seal(generation, crc))
        except OSError:
            # The seal is not there, then.
            pass
        if self._sealed(slot) != (generation, size):
            self.controller.model = before
            self._slot = 1 - slot
            return "store_failed"
        self._generation = generation
        self.parameters.refit()
        return None

    def _sealed(self, slot):
        """(generation, size) of the whole model file in a slot, or None."""
        path = self._path(slot)
        try:
            size = os.stat(path)[6] - model_file.SEAL_BYTES
            with open(path, "rb") as file:
                own = _crc(file, size - 4)
                crc = int.from_bytes(file.read(4), "little")
                seal = file.read()
        except OSError:
            return None
        generation = int.from_bytes(seal[4:8], "little")
        return (generation, size) if own == crc and seal == model_file.seal(generation, crc) else None

    def _use(self, slot, size):
        """Makes the module in a slot the controller's model once it has passed; the name of a refusal, or None."""
        try:
            with open(self._path(slot), "rb") as file:
                file.seek(max(0, size - model_file.TRAILER_BYTES))
                contents = model_file.contents_of(file.read(model_file.TRAILER_BYTES), size)
                if contents is None:
                    return "corrupted"
                file.seek(0)
                if file.read(3) != _MPY:
                    return "wrong_architecture"
                module = self._import(_NAMES[slot])
                said = contents.program_hash, contents.n_axes, contents.n_parameters
                if said != (module.PROGRAM_HASH, module.N_AXES, module.N_PARAMETERS):
                    return "wrong_hash"
                file.seek(contents.module_bytes)
                if not _passes(module.inverse_dynamics, contents, file):
                    return "self_test_failed"
        except MemoryError:
            return "no_memory"
        except OSError:
            return "store_failed"
        except Exception:
            # Whatever a module may do that is no model.
            return "self_test_failed"
        self.controller.model = module
        self._slot = slot
        return None

    def _import(self, name):
        """The module in a slot; nobody but who uses it holds it."""
        gc.collect()
        sys.path.insert(0, self._folder)
        try:
            return __import__(name)
        finally:
            sys.path.pop(0)
            sys.modules.pop(name, None)

    def _path(self, slot):
        return self._folder + "/" + _NAMES[slot] + ".mpy"

    def _close(self):
        self._staged = 0
        file, self._file = self._file, None
        try:
            if file is not None:
                file.close()
        except OSError:
            # What is not written is not read back.
            pass

    def _refused(self, smallest):
        if self.controller.state != DISARMED:
            self.link.refuse("needs_disarmed")
        elif self.link.length < smallest:
            self.link.refuse("bad_length")
        else:
            return False
        return True


def _crc(file, n):
    """CRC-32 of the next n bytes of a file."""
    crc = 0
    while n > 0:
        piece = file.read(n if n < _PIECE else _PIECE)
        if not piece:
            break
        crc = crc32(piece, crc)
        n -= len(piece)
    return crc & 0xFFFFFFFF


def _passes(evaluate, contents, file):
    """True where the model gives, for every test row that follows in the file, the torques that stand there."""
    n = contents.n_axes
    sets = [array("i", [0] * contents.n_parameters) for _ in range(contents.n_sets)]
    for mantissas in sets:
        file.readinto(mantissas)
    state, wanted, torques = (array("i", [0] * size) for size in (4 * n, n + 1, n + 1))
    for row in range(contents.n_rows):
        if file.readinto(state) != 16 * n or file.readinto(wanted) != 4 * n + 4:
            return False
        evaluate(state, sets[row % contents.n_sets], torques, SINE, SH)
        if torques != wanted:
            return False
    return contents.n_rows > 0
