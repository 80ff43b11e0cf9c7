# The golden vectors under MicroPython: idmwire and the board's viper codec against the same files as the host's tests.

import json
from array import array
from binascii import unhexlify

from support import positions, wrap

from idmwire import cobs, crc, framing, image, messages, schema
from motionboard import codec

GOLDEN = "/".join(__file__.split("/")[:-3] + ["shared", "tests", "golden"])
ROOM = framing.MAX_WIRE + 1


def load(name):
    with open(GOLDEN + "/" + name + ".json") as file:
        return json.load(file)


def raises(kind, function, *arguments):
    try:
        function(*arguments)
    except kind:
        return True
    return False


def test_cobs():
    vectors = load("cobs")
    for row in vectors["valid"]:
        data, encoded = unhexlify(row["data"]), unhexlify(row["encoded"])
        assert cobs.encode(data) == encoded
        assert cobs.decode(encoded) == data
    for row in vectors["invalid"]:
        assert raises(cobs.CobsError, cobs.decode, unhexlify(row))


def test_viper_cobs():
    vectors = load("cobs")
    # What stood in the buffer before, and what stands behind, must not matter.
    wire, back = bytearray(b"\xaa" * ROOM), bytearray(b"\xaa" * ROOM)
    for row in vectors["valid"]:
        data, encoded = unhexlify(row["data"]), unhexlify(row["encoded"])
        size = codec.cobs_encode(data, len(data), wire)
        assert wire[:size] == encoded + b"\x00"
        size = codec.cobs_decode(encoded, len(encoded), back)
        assert back[:size] == data
    for row in vectors["invalid"]:
        encoded = unhexlify(row)
        assert codec.cobs_decode(encoded, len(encoded), back) == -1


def test_viper_cobs_keeps_within_its_buffers():
    data = b"\x01" * 254
    assert raises(ValueError, codec.cobs_encode, data, 254, bytearray(255))
    assert raises(ValueError, codec.cobs_decode, data, 255, bytearray(300))
    assert raises(ValueError, codec.cobs_decode, data, 254, bytearray(253))


def test_crc():
    for row in load("crc"):
        data = unhexlify(row["data"])
        assert "%04x" % crc.crc16(data) == row["crc16"]
        assert "%08x" % crc.crc32(data) == row["crc32"]


def test_viper_crc():
    for row in load("crc"):
        data = unhexlify(row["data"])
        assert "%04x" % codec.crc16(data, len(data)) == row["crc16"]
        # In place and little-endian: not there yet, then there.
        place = bytearray(int(row["crc32"], 16).to_bytes(4, "little"))
        assert codec.crc32_into(data, len(data), place)
        place[3] ^= 0x80
        assert not codec.crc32_into(data, len(data), place)
        assert codec.crc32_into(data, len(data), place)


def meaning(name, fields):
    kinds = {field[0]: field[1] for message in messages.MESSAGES if message[1] == name for field in message[4]}
    values = {}
    for key, value in fields.items():
        if kinds[key].endswith("s"):
            value = unhexlify(value)
        elif isinstance(value, list):
            value = tuple(value)
        values[key] = value
    return values


def test_frames():
    vectors = load("frames")
    axes = vectors["axes"]
    assert len({row["name"] for row in vectors["frames"]}) == len(messages.MESSAGES)
    for row in vectors["frames"]:
        name, wire = row["name"], unhexlify(row["wire"])
        values = meaning(name, row["fields"])
        payload = messages.pack_payload(name, axes, values)
        assert framing.pack(framing.PlainCodec, messages.CODES[name], row["sequence"], payload) == wire, name
        frames = framing.Splitter().feed(b"\x00" + wire)
        assert frames == [wire[:-1]], name
        assert framing.unpack(framing.PlainCodec, frames[0]) == (messages.CODES[name], row["sequence"], payload), name
        got = messages.unpack_payload(name, axes, payload)
        for key, value in values.items():
            # Text of a fixed size comes back with zeros behind it.
            assert got[key] == value or got[key].rstrip(b"\x00") == value.rstrip(b"\x00"), (name, key)


def test_images():
    for row in load("images"):
        data = unhexlify(row["image"])
        got = image.unpack(data)
        assert got.robot == row["robot"]
        assert got.n_axes == row["axes"]
        assert got.values == row["values"]
        assert got.program_hash == row["program_hash"]
        assert list(got.mantissas) == row["mantissas"]
        assert list(got.tables) == row["tables"]
        assert got.generation == row["generation"]
        # engineering is a copy for people, in float64, which a board may not have: the bytes pass through.
        for at in range(len(data)):
            broken = bytearray(data)
            broken[at] ^= 1
            assert raises(image.ImageError, image.check, bytes(broken)), at


def test_viper_conversions():
    for row in load("conversions"):
        got = positions(row["values"], row["mantissa"], row["shift"])
        for value, found, result in zip(row["values"], got, row["results"]):
            # fixed.py: to within 2, by a factor good to 2^-31; rounded.
            assert abs(wrap(found - result)) <= 2 + abs(value) / 2**31, row


def test_schema():
    with open(GOLDEN + "/schema.txt") as file:
        assert file.read() == schema.canonical()
    assert raises(ValueError, messages.pack_payload, "read_property", 1, {"property": 256, "axis": 0})


def test_viper_splitter_cuts_as_the_plain_one():
    wires = [unhexlify(row["wire"]) for row in load("frames")["frames"]]
    longest, too_long = b"\x01" * framing.MAX_WIRE, b"\x01" * (framing.MAX_WIRE + 1)
    stream = b"\x00".join(wires + [longest, too_long, wires[0]])
    plain = framing.Splitter()
    expected = plain.feed(stream)
    frame, control = bytearray(framing.MAX_WIRE), array("i", [0, 0, 0])
    for size in (1, 7, 64, 500, len(stream)):
        got = []
        for start in range(0, len(stream), size):
            chunk = stream[start : start + size]
            at = 0
            while at >= 0:
                at = codec.take(frame, framing.MAX_WIRE, control, chunk, at, len(chunk))
                if at >= 0:
                    got.append(bytes(frame[: control[codec.HELD]]))
                    control[codec.HELD] = 0
        assert got == expected, size
    assert control[codec.OVERFLOWS] == 5 * plain.overflows == 5
