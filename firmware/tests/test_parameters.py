# Parameters: staged, read back, applied, stored, each a state of its own; and a slot that holds anything at all.

import os

from bench import Bench, Flash
from support import Numbers, settings_table

from idmwire import properties
from idmwire.image import ParameterImage, image_crc
from motionboard.store import Store


def first_parameter(x, p, y, sine, sh):
    y[0] = p[0]
    y[1] = 0


class Model:
    PROGRAM_HASH, N_AXES, N_PARAMETERS, PARAMETER_LIMITS = 0x1234, 1, 2, (1000, 2000)
    inverse_dynamics = staticmethod(first_parameter)


def with_model(mantissas=(10, 20), program_hash=0x1234, n=1, tables=(), **changes):
    changes.setdefault("dynamic_model", 1)
    return ParameterImage(
        "script", 1000, n, settings_table(n, **changes), program_hash, mantissas, (0.5,) * len(mantissas), 7, tables)


def flags(bench):
    bits = bench.ask("heartbeat")["flags"]
    names = ("defaulted", "differs", "model", "capturing", "ready")
    return {name for place, name in enumerate(names) if bits & 1 << place}


def read(bench, which):
    data, size = b"", 1
    while len(data) < size:
        answer = bench.ask("read_image", image=which, offset=len(data), length=100)
        size = answer["size"]
        data += answer["data"]
    return data


def recrc(data):
    from binascii import crc32

    return data[:-4] + (crc32(data[:-4]) & 0xFFFFFFFF).to_bytes(4, "little")


def test_staged_applied_and_stored_are_three_states():
    bench = Bench(ready=False)
    data = bench.image(torque_threshold=777).pack()
    assert read(bench, 0) == read(bench, 1) == read(bench, 2) == b""
    bench.stage(data)
    assert read(bench, 0) == data
    assert read(bench, 1) == read(bench, 2) == b""
    answer = bench.ask("apply", crc=image_crc(data))
    assert answer["crc"] == image_crc(data)
    assert read(bench, 1) == data
    assert read(bench, 2) == b""
    assert flags(bench) == {"differs", "ready"}
    bench.ask("store", crc=image_crc(data))
    assert read(bench, 2) == bench.flash.data == data
    assert flags(bench) == {"ready"}
    # A restart.
    again = Bench(flash=Flash(data), ready=False)
    assert flags(again) == {"ready"}
    assert again.fault is None
    assert read(again, 1) == read(again, 2) == data
    assert again.ask("read_property", property=properties.NUMBERS["torque_threshold"], axis=0)["value"] == 777


def test_a_property_that_was_written_is_stored_with_the_image():
    bench = Bench()
    number = properties.NUMBERS["position_max"]
    bench.ask("write_property", property=number, axis=0, value=2**31 - 1)
    bench.ask("write_property", property=number, axis=0, value=2**30 + 5)
    applied = read(bench, 1)
    # What is not what the host thinks it is, is not stored.
    assert bench.refusal("store", crc=image_crc(bench.image().pack())) == "bad_image"
    bench.ask("store", crc=image_crc(applied))
    again = Bench(flash=bench.flash, ready=False)
    assert again.ask("read_property", property=number, axis=0)["value"] == 2**30 + 5


def test_a_slot_with_any_byte_wrong_is_not_used_and_said():
    data = Bench(ready=False).image().pack()
    numbers = Numbers(3)
    for at in list(range(60)) + [numbers.below(len(data)) for _ in range(20)] + [len(data) - 1]:
        broken = bytearray(data)
        broken[at] ^= 1 << numbers.below(8)
        bench = Bench(flash=Flash(bytes(broken)), ready=False)
        assert bench.fault == "parameters_defaulted", at
        assert flags(bench) == {"defaulted"}
        assert bench.refusal("arm") in ("fault_stands", "no_parameters")
    for broken in (b"", b"x", data[:-1], data + b"\x00", data[:48], bytes(len(data))):
        bench = Bench(flash=Flash(broken), ready=False)
        assert bench.fault == "parameters_defaulted"
    # Settings that are applied do not make it forget: a person clears it.
    bench.host.axes = 1
    assert bench.apply(data) is None
    assert bench.refusal("arm") == "fault_stands"
    bench.ask("clear_fault")
    bench.arm()


def test_an_empty_slot_is_no_fault_but_no_parameters_either():
    bench = Bench(flash=Flash(None), ready=False)
    assert bench.fault is None
    assert bench.refusal("arm") == "no_parameters"


def test_silent_drives_at_start_are_no_damaged_settings():
    data = Bench(ready=False).image().pack()
    bench = Bench(flash=Flash(data), ready=False, silent=True)
    assert bench.fault is None
    assert flags(bench) == set()
    assert bench.refusal("arm") == "no_drives"
    bench.drives[0].silent = False
    bench.arm()


def test_a_stored_image_of_another_model_is_a_missing_model():
    for model in (None, Model):
        bench = Bench(flash=Flash(with_model(program_hash=0x4321).pack()), model=model, ready=False)
        assert bench.fault == "model_missing"
        assert bench.refusal("arm") in ("fault_stands", "no_parameters")
    bench = Bench(flash=Flash(with_model().pack()), model=Model, ready=False)
    assert bench.fault is None
    bench.arm()
    bench.cycle(5)
    assert bench.controller.axes.torque_model[0] == 10


def test_images_that_are_whole_but_wrong():
    good = with_model()
    bench = Bench(model=Model, ready=False)
    bench.host.axes = 1
    assert bench.apply(good) is None
    kept = read(bench, 1)
    name_at = good.pack().index(b"script")
    text = bytearray(good.pack())
    text[name_at : name_at + 2] = b"\xff\xfe"
    schema = bytearray(good.pack())
    schema[8] ^= 1
    scales = bytearray(good.pack())
    scales[40] ^= 1
    cases = [
        ("bad_image", recrc(bytes(text))),
        ("bad_image", recrc(bytes(schema))),
        ("bad_image", recrc(bytes(scales))),
        ("bad_image", with_model(mantissas=(1, 2), program_hash=0).pack()),
        ("bad_image", with_model(n=9, mantissas=(), program_hash=0).pack()),
        ("bad_image", with_model(n=0, mantissas=(), program_hash=0).pack()),
        ("bad_image", with_model(mantissas=(1001, 0)).pack()),
        ("bad_image", with_model(mantissas=(0, -2001)).pack()),
        ("wrong_program", with_model(mantissas=(1, 2, 3)).pack()),
        ("wrong_program", with_model(mantissas=()).pack()),
        ("wrong_program", with_model(program_hash=1).pack()),
        ("wrong_program", with_model(n=2).pack()),
    ]
    for table in (
        (1,), (1, 0, 0, 20, 0), (1, 0, 0, 20, 2, 5), (1, 0, 0, 20, -1, 5), (2, 0, 0, 20, 1, 5), (1, 1, 0, 20, 1, 5),
        (-1, 0, 0, 20, 1, 5), (1, 0, 0, 9, 1, 5), (1, 0, 0, 25, 1, 5), (1, 0, 2**30, 20, 1, 5), (1, 0, 0, 20, 1, 2001),
        (1, 0, 0, 20, 2, 5, -2001), (1, 0, 2**30 - 1, 10, 2, 5, 5), (1, 0, 0, 20, 1, 5, 1)
    ):
        cases.append(("bad_image", with_model(tables=table).pack()))
    cases.append(("bad_image", with_model(mantissas=(), program_hash=0, tables=(1, 0, 0, 20, 1, 5)).pack()))
    for prop in properties.PROPERTIES:
        for value in (prop[5] - 1, prop[6] + 1):
            if -(2**31) <= value < 2**31:
                cases.append(("bad_image", with_model(**{prop[1]: value}).pack()))
    for reason, data in cases:
        assert bench.apply(data) == reason
        # Nothing was taken of it.
        assert read(bench, 1) == kept
    assert bench.apply(with_model(mantissas=(-1000, 2000), tables=(1, 0, 0, 20, 2, 2000, -2000))) is None
    bench.arm()


def test_a_model_is_wanted_but_the_image_brings_none():
    bench = Bench(dynamic_model=1)
    assert bench.refusal("arm") == "wrong_program"
    assert bench.fault == "model_missing"
    assert bench.refusal("arm") == "fault_stands"
    assert bench.refusal("clear_fault") == "fault_stands"
    bench.ask("write_property", property=1, axis=0, value=0)
    bench.ask("clear_fault")
    bench.arm()


def test_apply_takes_the_image_that_the_host_means():
    bench = Bench(ready=False)
    data = bench.image().pack()
    bench.stage(data)
    assert bench.refusal("apply", crc=image_crc(data) ^ 1) == "bad_image"
    assert bench.refusal("store", crc=image_crc(data)) == "no_parameters"
    bench.stage(data[:-1] + b"")
    assert bench.refusal("apply", crc=image_crc(data)) == "bad_image"


def test_staging_goes_from_front_to_back():
    bench = Bench(ready=False)
    assert bench.refusal("stage", offset=1, data=b"x") == "out_of_range"
    assert bench.ask("stage", offset=0, data=b"abc")["staged"] == 3
    assert bench.ask("stage", offset=3, data=b"def")["staged"] == 6
    assert bench.refusal("stage", offset=7, data=b"x") == "out_of_range"
    assert read(bench, 0) == b"abcdef"
    # A piece again cuts off what stood behind it.
    assert bench.ask("stage", offset=2, data=b"X")["staged"] == 3
    assert read(bench, 0) == b"abX"
    for at in range(3, 4096, 480):
        bench.ask("stage", offset=at, data=bytes(min(480, 4096 - at)))
    assert bench.refusal("stage", offset=4096, data=b"x") == "out_of_range"
    assert bench.refusal("read_image", image=0, offset=4097, length=1) == "out_of_range"
    assert bench.refusal("read_image", image=0, offset=0, length=481) == "out_of_range"
    assert bench.refusal("read_image", image=4, offset=0, length=1) == "out_of_range"
    assert bench.ask("read_image", image=0, offset=4096, length=480)["data"] == b""


def test_nothing_of_it_while_armed():
    bench = Bench()
    data = bench.image().pack()
    bench.stage(data)
    bench.arm()
    assert bench.refusal("stage", offset=0, data=b"x") == "needs_disarmed"
    assert bench.refusal("apply", crc=image_crc(data)) == "needs_disarmed"
    assert bench.refusal("store", crc=image_crc(data)) == "needs_disarmed"
    assert bench.refusal("read_image", image=0, offset=0, length=1) == "needs_disarmed"
    assert bench.refusal("enter_repl") == "needs_disarmed"


def test_a_store_that_fails_says_so_and_stays_unstored():
    bench = Bench()
    bench.flash.broken = True
    data = read(bench, 1)
    assert bench.refusal("store", crc=image_crc(data)) == "store_failed"
    assert read(bench, 2) == b""
    assert "differs" in flags(bench)
    bench.flash.broken = False
    bench.ask("store", crc=image_crc(data))
    assert "differs" not in flags(bench)


def test_the_set_that_was_stored_before_can_be_read():
    bench = Bench()
    assert read(bench, 3) == b""
    stored = []
    for value in (5, 6, 7):
        bench.ask("write_property", property=properties.BY_NAME["torque_threshold"][0], axis=0, value=value)
        stored.append(read(bench, 1))
        bench.ask("store", crc=image_crc(stored[-1]))
        assert read(bench, 2) == stored[-1]
        assert read(bench, 3) == (stored[-2] if len(stored) > 1 else b"")
    # It is staged and applied as any other, and the sets change places.
    bench.stage(stored[1])
    bench.ask("apply", crc=image_crc(stored[1]))
    bench.ask("store", crc=image_crc(stored[1]))
    assert (read(bench, 2), read(bench, 3)) == (stored[1], stored[2])


def test_properties_keep_their_ranges_and_their_access():
    bench = Bench(2)
    for prop in properties.PROPERTIES:
        number, low, high, access = prop[0], prop[5], prop[6], prop[8]
        axes = 2 if prop[3] == properties.AXIS else 1
        assert bench.refusal("read_property", property=number, axis=axes) == "out_of_range"
        for axis in range(axes):
            before = bench.ask("read_property", property=number, axis=axis)["value"]
            for value in (low, high):
                answer = bench.ask("write_property", property=number, axis=axis, value=value)
                assert (answer["property"], answer["axis"], answer["value"]) == (number, axis, value)
            for value in (low - 1, high + 1, -(2**31), 2**31 - 1):
                if -(2**31) <= value < 2**31 and not low <= value <= high:
                    refused = bench.refusal("write_property", property=number, axis=axis, value=value)
                    assert refused == "out_of_range", (prop[1], value)
            assert bench.ask("read_property", property=number, axis=axis)["value"] == high
            bench.ask("write_property", property=number, axis=axis, value=before)
        assert access in ("write", "disarmed")
    assert bench.refusal("read_property", property=99, axis=0) == "out_of_range"
    bench.arm()
    for prop in properties.PROPERTIES:
        value = bench.ask("read_property", property=prop[0], axis=0)["value"]
        refused = bench.refusal("write_property", property=prop[0], axis=0, value=value)
        assert refused == (None if prop[8] == "write" else "needs_disarmed")


class Folder:
    # A folder of the file system, empty at first.

    def __init__(self):
        self.root = "/tmp/idm-store-" + "".join(["%02x" % byte for byte in os.urandom(8)])
        os.mkdir(self.root)

    def file(self, slot):
        return "{}/parameters.{}/slot.bin".format(self.root, slot)

    def change(self, slot, at, data):
        with open(self.file(slot), "r+b") as file:
            file.seek(at)
            file.write(data)

    def remove(self):
        for slot in "ab":
            os.remove(self.file(slot))
            os.rmdir(self.file(slot)[:-9])
        os.rmdir(self.root)


def sets(store):
    return store.load(), store.previous()


def test_two_slots_on_a_file_system():
    folder = Folder()
    data, newer, newest = (Bench(ready=False).image(torque_threshold=k).pack() for k in (1, 2, 3))
    store = Store(folder.root)
    assert not store.exists()
    assert sets(store) == (None, None)
    try:
        assert store.save(data)
        assert store.exists()
        assert sets(store) == (data, None)
        for each, before in ((newer, data), (newest, newer), (newer, newest), (newest, newer)):
            assert store.save(each)
            assert sets(store) == (each, before)
        # The power went while the next was written: the newest is not touched by it.
        folder.change("b", 0, b"\x00" * 50)
        assert sets(Store(folder.root)) == (newest, None)
        assert store.save(data)
        assert sets(store) == (data, newest)
        # A file that went missing is made again, one that is too short is filled up.
        os.remove(folder.file("b"))
        assert store.load() == newest
        assert store.save(newer)
        assert sets(store) == (newer, newest)
        with open(folder.file("a"), "wb") as file:
            file.write(b"short")
        assert store.save(data)
        assert sets(store) == (data, newer)
        # Nothing good left, but something.
        for slot in "ab":
            folder.change(slot, 40, b"\x00\x01\x02")
        assert store.exists()
        assert sets(store) == (None, None)
    finally:
        folder.remove()
    assert not store.save(data)
    assert store.load() is None
    assert not store.exists()


def test_a_set_of_another_size_leaves_nothing_of_the_one_before():
    folder = Folder()
    store = Store(folder.root)
    try:
        for n in (4096, 10, 700, 1, 0, 4096, 4095):
            assert store.save(b"x" * n)
            assert store.load() == b"x" * n
    finally:
        folder.remove()
