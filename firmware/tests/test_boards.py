# Every board's file, on modules that stand in for those of its chip: it imports, and its ports carry what they should.
# That a board runs is for the board to show; here are no pins.

import os
import sys

import fake_mcp2515

from drives import direct, slcan
from drives.text_port import TextPort

BOARDS = ("esp32", "esp32_direct", "pyboard", "rpi_pico", "rpi_pico2", "rpi_pico_mcp2515")


class Stream:
    # A stream of a chip: bytes that have come, bytes that went.
    def __init__(self, *arguments, **options):
        self.arguments = arguments
        self.come = b""
        self.gone = b""
        self.room = 1000

    def readinto(self, buffer):
        if not self.come:
            return None
        n = min(len(buffer), len(self.come))
        buffer[:n] = self.come[:n]
        self.come = self.come[n:]
        return n

    def write(self, buffer, *place):
        at, n = place if len(place) == 2 else (0, place[0] if place else len(buffer))
        n = min(n, self.room)
        self.gone += bytes(buffer[at : at + n])
        self.room -= n
        return n

    @property
    def buffer(self):
        return self


class Module:
    # Whatever is asked for.
    def __init__(self, **parts):
        for name in parts:
            setattr(self, name, parts[name])


class Poll:
    def __init__(self):
        self._streams = []

    def register(self, stream, flag):
        self._streams.append((stream, flag))

    def ipoll(self, _wait):
        for stream, flag in self._streams:
            if (stream.come if flag == 1 else stream.room):
                yield stream, flag


class Pin:
    IN, OUT = 0, 1

    def __init__(self, number, mode=IN, value=0):
        self.number = number

    def __call__(self, level):
        chip(level)


class Memory(dict):
    def __getitem__(self, address):
        return self.get(address, 0)


class Dog:
    def __init__(self, timeout):
        self.timeout = timeout

    def feed(self):
        pass


class Sensor:
    def __init__(self, pin):
        pass

    def read_u16(self):
        return 32768


class Counter:
    def __init__(self, number, a, b):
        self.pins = (a.number, b.number)

    def value(self):
        return 4321


class Pwm:
    def __init__(self, pin, freq, duty_u16):
        self.duty = duty_u16

    def duty_u16(self, duty):
        self.duty = duty


class Can:
    # The chip's controller: three mailboxes, the lowest identifier first; two FIFOs, one used.
    NORMAL, MASK16 = "normal", "mask16"

    def __init__(self, number, mode, **rates):
        self.made = (number, mode, rates)
        self.mailboxes = []
        self.fifo = []
        self.filtered = False
        self.memory = None

    def setfilter(self, bank, mode, fifo, params):
        self.filtered = (bank, mode, fifo, params) == (0, "mask16", 0, (0, 0, 0, 0))

    def info(self, found):
        assert len(found) == 8
        found[5], found[6] = len(self.mailboxes), len(self.fifo)

    def send(self, data, identifier):
        assert len(self.mailboxes) < 3
        self.mailboxes.append((identifier, bytes(data)))

    def on_the_wire(self):
        self.mailboxes.sort()
        return self.mailboxes.pop(0)

    def recv(self, fifo, got, timeout):
        assert (fifo, timeout) == (0, 0)
        identifier, data, extended = self.fifo.pop(0)
        got[0], got[1], got[2], got[3] = identifier, extended, False, 0
        # As the chip's module does: into the memory behind the view, which becomes as long as the data.
        if self.memory is None:
            self.memory = got[4]
        self.memory[: len(data)] = data
        got[4] = self.memory[: len(data)]


chip = fake_mcp2515.FakeMcp2515()
console_in, console_out = Stream(), Stream()


def spi(number, rate, sck, mosi, miso):
    assert rate <= 10000000, "more than the MCP2515 bears"
    return chip


def make(name):
    # A board, freshly imported on the modules that stand in.
    chip.__init__()
    console_in.__init__()
    console_out.__init__()
    stand_in = {
        "machine": Module(
            UART=Stream, Pin=Pin, SPI=spi, WDT=Dog, ADC=Sensor, Encoder=Counter, PWM=Pwm,
            mem16=Memory(), mem32=Memory()),
        "pyb": Module(USB_VCP=Stream, CAN=Can),
        "select": Module(poll=Poll, POLLIN=1, POLLOUT=4),
        "sys": Module(stdin=console_in, stdout=console_out),
    }
    usual = {key: sys.modules.get(key) for key in stand_in}
    for key in list(sys.modules):
        if key == "boards" or key.startswith("boards."):
            del sys.modules[key]
    sys.modules.update(stand_in)
    try:
        return getattr(__import__("boards." + name), name)
    finally:
        for key, module in usual.items():
            if module is None:
                del sys.modules[key]
            else:
                sys.modules[key] = module


def text_of(identifier, data):
    out = bytearray(32)
    return bytes(out[: slcan.put_frame(out, 0, identifier, data, len(data))])


def test_all_boards_are_here():
    folder = __file__.rsplit("/", 2)[0] + "/boards"
    files = [name[:-3] for name in os.listdir(folder) if name.endswith(".py")]
    assert sorted(files) == sorted(BOARDS + ("__init__", "mps2", "parts", "unix"))


def test_every_board_says_what_it_is():
    for name in BOARDS:
        module = make(name)
        board = module.Board()
        assert module.NAME == board.NAME == name
        assert module.PLATFORM
        assert module.MACHINE
        # Ring and heap: each block is 480 bytes, and fewer than four would be no ring.
        assert 4 <= board.RING_BLOCKS <= 128
        assert board.BOOT_WINDOW_MS == 1000
        assert board.granted is False
        assert board.store == ""
        board.sleep(1)
        watchdog = board.watchdog()
        assert (watchdog is not None) == name.startswith("rpi_pico"), name


def test_every_link_carries_all_bytes_and_waits_for_nobody():
    for name in BOARDS:
        board = make(name).Board()
        link = board.link
        inward = link._port if name == "pyboard" else console_in
        outward = link._port if name == "pyboard" else console_out
        everything = bytes(range(256))
        inward.come = everything
        got = b""
        buffer = bytearray(64)
        n = link.readinto(buffer)
        while n:
            got += bytes(buffer[:n])
            n = link.readinto(buffer)
        assert got == everything, name
        at = 3
        while at < 256:
            n = link.write(everything, at, 256 - at)
            assert n, name
            at += n
        assert outward.gone == everything[3:], name
        if not name.startswith("rpi_pico"):
            outward.room = 5
            assert link.write(everything, 0, 256) == 5
            assert link.write(everything, 5, 251) == 0


def test_a_pico_writes_only_where_the_usb_controller_has_nothing():
    for name in ("rpi_pico", "rpi_pico2"):
        module = make(name)
        board = module.Board()
        memory = sys.modules["boards.rpi_pico"].machine.mem16
        memory[0x50100090] = 0x0400
        assert board.link.write(b"12345678", 0, 8) == 0
        memory[0x50100090] = 0x8000
        assert board.link.write(b"12345678", 0, 8) == 8


def test_a_watchdog_that_bit_is_seen_and_one_that_stopped_is_not():
    for name, control, note in (("rpi_pico", 0x40058000, 0x40058018), ("rpi_pico2", 0x400D8000, 0x400D8018)):
        module = make(name)
        memory = sys.modules["boards.rpi_pico"].machine.mem32
        assert not module.Board().bitten
        board = module.Board()
        watchdog = board.watchdog()
        assert memory[note] != 0
        assert module.Board().bitten
        watchdog = board.watchdog()
        memory[control] = 1
        watchdog.stop()
        assert memory[control] == 0
        assert not module.Board().bitten


def test_a_uart_bus_carries_text():
    for name, number in (("rpi_pico", 0), ("rpi_pico2", 0), ("esp32", 1)):
        board = make(name).Board()
        bus = board.can[0]
        stream = bus.stream
        assert stream.arguments == (number, 921600)
        bus.write(b"t0800\rxxx", 6)
        assert stream.gone == b"t0800\r"
        stream.come = b"t1811AB\r"
        buffer = bytearray(64)
        assert bus.readinto(buffer) == 8
        assert bytes(buffer[:8]) == b"t1811AB\r"
        assert bus.readinto(buffer) == 0


def test_the_pyboards_own_can_sends_in_order_and_receives():
    board = make("pyboard").Board()
    assert isinstance(board.can[0], TextPort)
    can = board.can[0]._device._can
    assert can.made[:2] == (1, "normal")
    assert can.made[2]["baudrate"] == 1000000
    assert can.filtered
    frames = [(0x201, b"12345678"), (0x202, b"123"), (0x080, b"")]
    line = b"".join([text_of(*frame) for frame in frames])
    board.can[0].write(line, len(line))
    buffer = bytearray(128)
    sent = []
    for _ in frames:
        # SYNC has the lowest identifier, and must not overtake.
        sent.append(can.on_the_wire())
        board.can[0].readinto(buffer)
    assert sent == frames
    can.fifo = [(0x181, b"87654321", False), (0x1ABCDE, b"1", True), (0x182, b"", False)]
    n = board.can[0].readinto(buffer)
    assert bytes(buffer[:n]) == text_of(0x181, b"87654321")
    n = board.can[0].readinto(buffer)
    assert bytes(buffer[:n]) == text_of(0x182, b"")


def test_the_mcp2515_of_a_pico():
    board = make("rpi_pico_mcp2515").Board()
    line = text_of(0x201, b"12345678")
    board.can[0].write(line, len(line))
    assert chip.transmit()
    assert chip.sent == [(0x201, b"12345678")]


def test_the_drive_on_an_esp32s_pins():
    board = make("esp32_direct").Board()
    line = text_of(0x201, b"\x06\x00\x00\x00\x00\x00\x00\x00") + text_of(0x080, b"")
    board.can[0].write(line, len(line))
    buffer = bytearray(128)
    n = board.can[0].readinto(buffer)
    # Ready, at the encoder's 4321, no current.
    assert isinstance(board.can[0], direct.Node)
    assert bytes(buffer[:n]) == text_of(0x181, b"\x31\x02\xe1\x10\x00\x00\x00\x00")
    assert (board.can[0]._bridge._forward.duty, board.can[0]._bridge._backward.duty) == (0, 0)
