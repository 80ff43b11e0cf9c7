# Power cuts in every operation of every upload of a model: afterwards the board has the model before or the new one.
#
# Run with two model files for this MicroPython: MODEL_FILES=first:second (host/tests/test_model_upload.py does).
# Where a medium promises that is docs/store.md's second table.

import os
import struct

import vfs
from cut_media import Card, Flash

from idmwire import framing, model_file
from motionboard.controller import DISARMED
from motionboard.model_store import ModelStore

PIECE = 500


class Asked:
    # A link that carries one request, and what came back: None, or the name of a refusal.

    def __init__(self):
        self.request = bytearray(framing.MAX_WIRE)
        self.length = 0
        self.refused = None

    def begin(self):
        self.refused = None

    def put32(self, value):
        pass

    def finish(self):
        pass

    def refuse(self, reason):
        self.refused = reason


class Board:
    # What a model store knows of its board, switched on.

    state = DISARMED
    capture = None
    model = None

    def __init__(self, device, kind):
        try:
            vfs.umount("/cut")
        except OSError:
            pass
        vfs.mount(kind(device), "/cut")
        self.link = Asked()
        self.models = ModelStore(self, self.link, self, "/cut")
        self.models.boot()

    def refit(self):
        pass

    @property
    def program(self):
        return self.model and self.model.PROGRAM_HASH

    def ask(self, handler, payload):
        self.link.request[framing.HEADER_BYTES : framing.HEADER_BYTES + len(payload)] = payload
        self.link.length = len(payload)
        handler()
        return self.link.refused

    def upload(self, data):
        # Stops at the first refusal, as a host does.
        for at in range(0, len(data), PIECE):
            reason = self.ask(self.models.stage_model, struct.pack("<I", at) + data[at : at + PIECE])
            if reason:
                return reason
        return self.ask(self.models.use_model, struct.pack("<II", len(data), model_file.file_crc(data)))


def files():
    found = []
    for path in os.getenv("MODEL_FILES").split(":"):
        with open(path, "rb") as file:
            found.append(file.read())
    return found


def program_of(data):
    return model_file.contents_of(data[-model_file.TRAILER_BYTES :], len(data)).program_hash


def cut_all(name, device, kind, tears=2):
    # Each operation `tears` times, with other torn bits.
    kind.mkfs(device)
    before, cuts = None, 0
    models = files()
    for data in (models[0], models[1], models[0]):
        device = device.again()
        board = Board(device, kind)
        cells = bytes(device.cells)
        device.operations = 0
        assert board.upload(data) is None
        operations, after = device.operations, bytes(device.cells)
        assert board.program == program_of(data)
        for cut in range(tears * operations):
            left = cut // tears
            device.cells[:] = cells
            device = device.again(seed=1 + cut)
            board = Board(device, kind)
            device.operations, device.left = 0, left
            # What the cut has not let be written is not read back.
            assert board.upload(data) == "store_failed", left
            assert board.program == before, "a model that is not kept is not used"
            device = device.again()
            board = Board(device, kind)
            cuts += 1
            assert board.program in (before, program_of(data)), left
            # It takes the next one.
            if cuts % 16 == 0:
                assert board.upload(models[1]) is None
                assert Board(device.again(), kind).program == program_of(models[1])
        device = device.again()
        device.cells[:] = after
        before = program_of(data)
        assert Board(device.again(), kind).program == before
    print("%s: %d cuts, 0 losses" % (name, cuts))
    return cuts


def test_every_cut_leaves_the_old_or_the_new_model():
    total = cut_all("littlefs, blocks of 512", Flash(512, 256), vfs.VfsLfs2)
    total += cut_all("littlefs, blocks of 4096", Flash(4096, 32), vfs.VfsLfs2, tears=1)
    assert total > 100


def test_on_a_card_with_fat_as_well():
    cut_all("FAT on a card", Card(512, 256), vfs.VfsFat)
