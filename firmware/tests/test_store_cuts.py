# The store under power cuts: in every operation of every save, torn writes and interrupted erases included.
#
# What comes back afterwards is the set before or the new one: never none, never a mixture. Each test prints its cuts.

import vfs
from cut_media import Card, Flash, opened
from support import Numbers

CAPACITY = 4096
LENGTHS = (700, 700, 650, 2000, 300, CAPACITY)
SETS = [bytes([65 + k]) + Numbers(k + 1).data(n - 1) for k, n in enumerate(LENGTHS)]


def formatted(device, kind):
    if kind is not None:
        kind.mkfs(device)
    return device


def started(device, kind, seed=1, left=None):
    # The device switched on, its store opened; the cut counts from here.
    device = device.again(seed)
    store = opened(device, kind)
    device.operations = 0
    device.left = left
    return device, store


def found(device, kind):
    # (device, store, set) after power has come back; a file system that cannot be mounted holds nothing.
    device = device.again()
    try:
        store = opened(device, kind)
        return device, store, store.load()
    except OSError:
        return device, None, None


def cut_all(name, device, kind, sets=SETS, tears=1):
    # Cuts each save of a series in every operation, `tears` times with other torn bits; (cuts, losses, dead stores).
    # A store is dead where the next save fails for good.
    formatted(device, kind)
    cuts, losses, dead = 0, 0, 0
    before = None
    for data in sets:
        device, store = started(device, kind)
        cells = bytes(device.cells)
        assert store.save(data)
        assert store.load() == data
        operations, after = device.operations, bytes(device.cells)
        for left in range(operations):
            for tear in range(tears):
                device.cells[:] = cells
                device, store = started(device, kind, 1 + left * tears + tear, left)
                # What the last operation could not finish cannot have been read back.
                assert not store.save(data)
                device, store, back = found(device, kind)
                cuts += 1
                if back != data and back != before:
                    losses += 1
                elif store is None or not store.save(b"next") or store.load() != b"next":
                    dead += 1
        device.cells[:] = after
        device, _, back = found(device, kind)
        assert back == data, "a set that was stored is gone"
        before = data
    print("%s: %d cuts, %d losses, %d stores dead" % (name, cuts, losses, dead))
    return cuts, losses, dead


def test_every_cut_leaves_the_old_or_the_new_set_on_raw_slots_and_littlefs():
    total = 0
    for name, device, kind, tears in (
        ("raw, blocks of 4096", Flash(4096, 4), None, 40),
        ("raw, blocks of 512", Flash(512, 18), None, 12),
        ("littlefs, blocks of 512", Flash(512, 64), vfs.VfsLfs2, 2),
        ("littlefs, blocks of 4096", Flash(4096, 16), vfs.VfsLfs2, 2),
    ):
        cuts, losses, dead = cut_all(name, device, kind, tears=tears)
        assert losses == dead == 0
        total += cuts
    print("in all: %d cuts, 0 losses" % total)
    assert total >= 2000


def test_on_fat_a_set_is_lost_where_the_chip_erases_more_than_a_sector():
    # docs/store.md says what is asserted here.
    cuts, losses, dead = cut_all("FAT on a card", Card(512, 64), vfs.VfsFat)
    assert losses == dead == 0
    # The first save makes files and folders; a cut in it may break the file system, which then takes no set.
    cuts, losses, dead = cut_all("FAT on flash, a sector an erase block", Flash(512, 64), vfs.VfsFat)
    assert losses == 0 < dead
    cuts, losses, dead = cut_all(
        "FAT on flash, 32 sectors an erase block", Flash(512, 128, shared=32), vfs.VfsFat, SETS[:3])
    assert losses > 0


def test_three_saves_in_a_row_and_a_cut():
    cuts = 0
    for device, kind in ((Flash(4096, 4), None), (Flash(512, 64), vfs.VfsLfs2), (Card(512, 64), vfs.VfsFat)):
        formatted(device, kind)
        cells = bytes(device.cells)
        device, store = started(device, kind)
        assert all(store.save(data) for data in SETS[:3])
        operations = device.operations
        # With every cut up to one after the last operation.
        for left in range(operations + 1):
            device.cells[:] = cells
            device, store = started(device, kind, left + 1, left)
            saved = [store.save(data) for data in SETS[:3]].count(True)
            device, _, back = found(device, kind)
            cuts += 1
            assert back in [None] + SETS[:3]
            newest = SETS.index(back) + 1 if back else 0
            assert newest == saved or (newest == saved + 1 and left < operations), (saved, newest)
    print("three in a row: %d cuts" % cuts)


def test_cuts_one_after_the_other_on_the_same_medium():
    numbers = Numbers(5)
    for device, kind, most in (
        (Flash(4096, 4), None, 5), (Flash(512, 64), vfs.VfsLfs2, 50), (Card(512, 64), vfs.VfsFat, 12)
    ):
        formatted(device, kind)
        device, store = started(device, kind)
        old = SETS[0]
        assert store.save(old)
        stored = 0
        for step in range(150):
            new = b"%d" % step + SETS[step % len(SETS)][:-4]
            device, store = started(device, kind, step + 1, numbers.below(most))
            saved = store.save(new)
            stored += saved
            device, _, back = found(device, kind)
            assert back == new or (back == old and not saved), step
            old = back
        assert 0 < stored < 150


def test_a_chip_that_fails_is_no_power_cut():
    for device, kind in ((Flash(4096, 4), None), (Flash(512, 64), vfs.VfsLfs2)):
        device, store = started(formatted(device, kind), kind)
        assert store.save(SETS[0])
        assert store.save(SETS[1])
        device.left, device.operations = 0, 0
        assert not store.save(SETS[2])
        device.left, device.on = None, True
        assert store.load() == SETS[1]
        assert store.save(SETS[2])
        assert sets(store) == (SETS[2], SETS[1])


def sets(store):
    return store.load(), store.previous()


def test_raw_slots():
    device = Flash(4096, 4)
    store = opened(device, None)
    assert sets(store) == (None, None)
    assert not store.exists()
    assert store.save(SETS[0])
    assert store.exists()
    assert sets(store) == (SETS[0], None)
    assert store.save(SETS[5])
    assert sets(store) == (SETS[5], SETS[0])
    # Neither slot touches the other's erase blocks.
    assert device.cells[:4096].find(SETS[0]) > 0
    assert device.cells[8192:].find(SETS[5]) > 0
    # A bit that tips over: the set before is the newest valid one; with both gone there is something, but nothing good.
    device.cells[8192 + 50] ^= 1
    assert sets(store) == (SETS[0], None)
    device.cells[50] ^= 1
    assert sets(store) == (None, None)
    assert store.exists()
    assert store.save(SETS[1])
    assert store.load() == SETS[1]
    # Too small for a set: said so, and nothing is written.
    small = Flash(512, 4)
    assert not opened(small, None).save(SETS[3])
    assert small.operations == 0
