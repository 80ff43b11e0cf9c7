# The board's twins of the wire's reference, on numbers at random; the golden vectors are held to in test_golden.

from array import array

from support import Numbers

from idmwire import cobs, crc, framing
from motionboard import codec


def test_cobs_of_anything():
    numbers = Numbers(1)
    wire, back = bytearray(framing.MAX_WIRE + 1), bytearray(framing.MAX_WIRE + 1)
    sizes = list(range(12)) + [253, 254, 255, 256, 507, 508, 509, 510, 560] + [numbers.below(561) for _ in range(60)]
    for size in sizes:
        for values in (1, 2, 3, 256):
            data = numbers.data(size, values)
            if values == 3:
                data = bytes([byte + 1 for byte in data])
            n = codec.cobs_encode(data, size, wire)
            assert bytes(wire[:n]) == cobs.encode(data) + b"\x00"
            assert codec.cobs_decode(wire, n - 1, back) == size
            assert bytes(back[:size]) == data


def test_what_is_no_encoding_is_refused_alike():
    numbers = Numbers(2)
    back = bytearray(framing.MAX_WIRE + 1)
    for _ in range(600):
        data = numbers.data(numbers.between(1, 40), numbers.any_of((4, 12, 256)))
        try:
            expected = cobs.decode(data)
        except cobs.CobsError:
            expected = None
        n = codec.cobs_decode(data, len(data), back)
        assert (bytes(back[:n]) if n >= 0 else None) == expected, data


def test_checksums_of_anything():
    numbers = Numbers(3)
    for size in list(range(10)) + [64, 255, 256, 560]:
        data = numbers.data(size)
        assert codec.crc16(data, size) == crc.crc16(data)
        place = bytearray(4)
        codec.crc32_into(data, size, place)
        assert int.from_bytes(place, "little") == crc.crc32(data)
        assert codec.crc32_into(data, size, place)


def test_numbers_in_frames():
    frame = bytearray(12)
    for value in (0, 1, 255, 256, 65535):
        codec.put16(frame, 3, value)
        assert codec.get16(frame, 3) == value
        assert bytes(frame[3:5]) == value.to_bytes(2, "little")
    for value in (0, 1, 2**30 - 1, -1, -(2**30)):
        codec.put32(frame, 5, value)
        assert bytes(frame[5:9]) == (value & 0xFFFFFFFF).to_bytes(4, "little")
    for value in (0, 5, 2**30 - 1, 2**30, 2**31, 2**32 - 1):
        frame[1:5] = value.to_bytes(4, "little")
        assert codec.get30(frame, 1) == value % 2**30
        assert codec.above30(frame, 1) == value // 2**30


def test_words_in_frames():
    numbers = Numbers(4)
    words = array("i", [0, -1, 2**31 - 1, -(2**31)] + [numbers.word() - 2**31 for _ in range(20)])
    for at in range(4):
        frame, back = bytearray(200), array("i", [7] * 26)
        codec.words_to_bytes(frame, at, words, 1, 23)
        assert bytes(frame[at : at + 92]) == b"".join([(w & 0xFFFFFFFF).to_bytes(4, "little") for w in words[1:]])
        assert set(frame[at + 92 :]) == {0}
        codec.bytes_to_words(back, 2, frame, at, 23)
        assert list(back) == [7, 7] + list(words[1:]) + [7]


def test_copies_stay_in_their_buffers():
    source, target = bytes(range(20)), bytearray(10)
    codec.copy(target, 2, source, 5, 8)
    assert bytes(target) == bytes([0, 0, 5, 6, 7, 8, 9, 10, 11, 12])
    for wrong in ((3, 0, 8), (-1, 0, 2), (0, 13, 8), (0, -1, 2), (0, 0, -1), (0, 0, 11)):
        try:
            codec.copy(target, wrong[0], source, wrong[1], wrong[2])
        except ValueError:
            continue
        raise AssertionError(wrong)


def test_the_streaming_splitter_cuts_anything_as_the_plain_one():
    numbers = Numbers(5)
    frame, control = bytearray(framing.MAX_WIRE), array("i", [0] * 3)
    plain = framing.Splitter()
    for _ in range(150):
        chunk = bytes([0 if numbers.below(90) == 0 else 1 + numbers.below(255) for _ in range(numbers.below(130))])
        if numbers.below(20) == 0:
            chunk += b"\x07" * 600
        got, at = [], 0
        while at >= 0:
            at = codec.take(frame, framing.MAX_WIRE, control, chunk, at, len(chunk))
            if at >= 0:
                got.append(bytes(frame[: control[codec.HELD]]))
                control[codec.HELD] = 0
        assert got == plain.feed(chunk)
    assert control[codec.OVERFLOWS] == plain.overflows > 0
