# The MCP2515 against a chip made from its data sheet, and frames as text through it.

import gc

import micropython
from fake_mcp2515 import FakeMcp2515
from support import Numbers, raises

from drives import slcan
from drives.mcp2515 import Mcp2515, timing
from drives.text_port import TextPort

MHZ = 1000000


def text_of(identifier, data):
    out = bytearray(32)
    return bytes(out[: slcan.put_frame(out, 0, identifier, data, len(data))])


def make(bitrate=MHZ):
    chip = FakeMcp2515()
    return chip, Mcp2515(chip, chip, 16 * MHZ, bitrate)


def random_frame(numbers):
    return numbers.below(0x800), numbers.data(numbers.below(9))


def test_it_starts_in_normal_mode_with_the_bit_rate_asked_for():
    for bitrate in (MHZ, 500000, 250000, 125000):
        chip, _ = make(bitrate)
        assert chip.registers[0x0E] & 0xE0 == 0
        quanta, before = chip.quanta
        prescaler = chip.registers[0x2A] & 0x3F
        assert quanta * 2 * (prescaler + 1) * bitrate == 16 * MHZ
        assert 0.7 <= before / quanta <= 0.8
        # One quantum of jump width, which must be shorter than PhaseSeg2.
        assert chip.registers[0x2A] >> 6 == 0
        assert quanta - before >= 2


def test_a_bit_rate_that_the_oscillator_cannot_give_is_refused():
    assert raises(ValueError, timing, 8 * MHZ, MHZ)
    assert raises(ValueError, timing, 16 * MHZ, 300000)


def test_a_chip_that_is_not_there_is_told():
    class Nothing:
        def __call__(self, level):
            pass

        def write(self, out):
            pass

        def write_readinto(self, out, back):
            for i in range(len(back)):
                back[i] = 0xFF

    assert raises(OSError, Mcp2515, Nothing(), Nothing(), 16 * MHZ, MHZ)


def test_frames_leave_in_the_order_in_which_they_were_given():
    # Also where the bus takes one now and then, and identifiers would win over one another.
    numbers = Numbers(3)
    chip, device = make()
    port = TextPort(device)
    expected = []
    nothing = bytearray(128)
    for _ in range(200):
        frames = [random_frame(numbers) for _ in range(1 + numbers.below(4))]
        expected += frames
        line = b"".join([text_of(*frame) for frame in frames])
        port.write(line, len(line))
        for _ in range(numbers.below(5)):
            chip.transmit()
        while len(expected) - len(chip.sent) > 8:
            chip.transmit()
            port.readinto(nothing)
    while len(chip.sent) < len(expected):
        chip.transmit()
        port.readinto(nothing)
    assert chip.sent == expected
    assert port.dropped == 0


def test_frames_that_arrive_come_as_text():
    numbers = Numbers(4)
    chip, device = make()
    port = TextPort(device)
    buffer = bytearray(128)
    for _ in range(200):
        frames = [random_frame(numbers) for _ in range(1 + numbers.below(2))]
        for frame in frames:
            chip.arrive(*frame)
        n = port.readinto(buffer)
        assert bytes(buffer[:n]) == b"".join([text_of(*frame) for frame in frames])
        assert port.readinto(buffer) == 0
    assert chip.lost == 0


def test_two_frames_are_held_and_a_third_is_lost():
    chip, device = make()
    port = TextPort(device)
    for identifier in (0x181, 0x182, 0x183):
        chip.arrive(identifier, b"12345678")
    buffer = bytearray(128)
    n = port.readinto(buffer)
    assert bytes(buffer[:n]) == text_of(0x181, b"12345678") + text_of(0x182, b"12345678")
    assert chip.lost == 1


def test_frames_of_others_are_left_out():
    chip, device = make()
    data = bytearray(8)
    chip.arrive(0x181, b"1", extended=True)
    assert device.receive(data) == -1
    chip.arrive(0x181, b"1")
    assert device.receive(data) == 0x181 | 1 << 11


def test_a_bus_that_acknowledges_nothing_blocks_nobody():
    chip, device = make()
    port = TextPort(device)
    line = text_of(0x201, b"12345678")
    for _ in range(100):
        port.write(line, len(line))
    # Three in the chip, 16 waiting; the newest ones.
    assert port.dropped == 100 - 3 - 16
    for _ in range(19):
        assert chip.transmit()
        port.readinto(bytearray(128))
    assert not chip.transmit()


def test_lines_that_are_no_frames_go_nowhere():
    chip, device = make()
    port = TextPort(device)
    line = b"\r" + b"T0000000180\r" + b"t1819\r" + b"t18\r" + b"t1812AB\r" + text_of(0x7FF, b"\xab\xcd")
    port.write(line, len(line))
    chip.transmit()
    assert chip.sent == [(0x7FF, b"\xab\xcd")]


def test_nothing_allocates():
    # What is measured is the driver; the chip here is Python, so it is swapped for one that does nothing.
    class Spi:
        def __call__(self, level):
            pass

        def write(self, out):
            pass

        def write_readinto(self, out, back):
            back[1] = 0x01 if out[0] == 0xA0 else 0x30

    _, device = make()
    device._spi = device._select = Spi()
    port = TextPort(device)
    line = text_of(0x201, b"12345678") + text_of(0x80, b"")
    n = len(line)
    buffer = bytearray(128)
    gc.collect()
    micropython.heap_lock()
    try:
        for _ in range(50):
            port.write(line, n)
            port.readinto(buffer)
    finally:
        micropython.heap_unlock()
