# The whole firmware, main.py included, with the heap locked whenever the board is armed: what allocates raises
# MemoryError. Only the scripted peers (host, drives) work with the heap unlocked, inside the board's `sleep`.
#
# host/tests/test_firmware_no_allocation.py starts this, with a compiled model and a stored image in IDM_STORE.

import os
import sys

import micropython
from bench import TURN, motion_fields, sine_fields
from scripted import Bus, CanPort, Host, LinkPort, Refused

import boards
from idmwire import channels, faults, framing, messages, properties
from motionboard import controller as controller_module

CYCLES = 10000
STATES = messages.STATES
# The axes of the image: one that turns, one that slides.
UNIT = (TURN, 1.0)
COUNTS_PER_TURN = 1310720
PAIRS = bytes([0, 0, 6, 0, 4, 0, 7, 0])
COLLISION_MAX = 2**22


class Abort(BaseException):
    # The script has failed: not for the firmware to catch.
    pass


class Lock:
    # Locks the heap outside the peers while `armed`.

    def __init__(self):
        self.armed = False
        self.held = False

    def release(self):
        if self.held:
            micropython.heap_unlock()
            self.held = False

    def take(self):
        if self.armed:
            self.held = True
            micropython.heap_lock()


class Board:
    NAME = "script"
    RING_BLOCKS = 8
    BOOT_WINDOW_MS = 0
    granted = True
    bitten = False

    def __init__(self):
        self.link = LinkPort(2048)
        self.can = (CanPort(),)
        self.store = os.getenv("IDM_STORE")
        self.bus = Bus(self.can[0], (1, 2))
        self.bus.drives[0].counts = 100 * COUNTS_PER_TURN
        self.lock = Lock()
        self.host = Host(self.link, None, 2)
        self.done = False
        self.connected = False
        self.armed_cycles = 0
        self.script = script(self)
        Board.last = self

    def watchdog(self):
        return self

    def feed(self):
        self.fed = True

    def stop(self):
        assert self.fed

    def sleep(self, milliseconds):
        self.lock.release()
        self.bus.serve()
        self.host.listen()
        self.connected = self.connected or self.bus.sync_waiting
        if self.connected:
            try:
                next(self.script, None)
            except Exception as error:
                raise Abort(error)
        self.lock.take()

    # Steps of a script: each `yield` lets the board go on

    def ask(self, name, **fields):
        host = self.host
        sequence = host.sequence
        host.write(host.wire(name, **fields))
        while not host.answers:
            yield
        return host.understand(name, sequence)

    def refused(self, reason, name, **fields):
        got = None
        try:
            yield from self.ask(name, **fields)
        except Refused as error:
            got = error.args[0]
        assert got == reason, (name, got, reason)

    def cycle(self, cycles=1):
        for _ in range(cycles):
            assert self.bus.grant()
            self.armed_cycles += self.lock.armed
            yield
            while not self.bus.sync_waiting:
                self.bus.serve()
                if not self.bus.sync_waiting:
                    yield

    def beat(self, cycles):
        # Cycles with heartbeats and acknowledgements between them.
        for done in range(0, cycles, 20):
            yield from self.ask("heartbeat")
            yield from self.cycle(min(20, cycles - done))
            if self.host.blocks:
                self.host.send("capture_received", block=self.host.blocks[-1]["block"] + 1)
                self.host.blocks.clear()

    def until(self, state, most=1200):
        while True:
            status = yield from self.ask("status")
            if STATES[status["state"]] == state:
                return
            assert most > 0, (state, STATES[status["state"]], status["fault"])
            most -= 1
            yield from self.beat(1)

    def arm(self):
        yield from self.ask("arm")
        self.lock.armed = True
        yield from self.until("holding")

    def write(self, name, value, axis=0):
        yield from self.ask("write_property", property=properties.NUMBERS[name], axis=axis, value=value)

    def start(self):
        return list((yield from self.ask("status"))["position_command"])


def script(board):
    yield from board.cycle(3)
    assert (yield from board.ask("hello", major=1, minor=0))["program_hash"]
    yield from board.refused(None, "stage", offset=0, data=b"12345678")
    for axis in range(2):
        yield from board.write("torque_error_enable", 0, axis)
        yield from board.write("torque_threshold", 2**30 - 1, axis)
    while board.armed_cycles < CYCLES:
        yield from board.arm()
        yield from questions(board)
        yield from motions(board)
        yield from nobody_reads(board)
        yield from bad_lines(board)
        yield from mild_faults(board)
        yield from collision(board)
    yield from board.arm()
    yield from board.ask("disarm")
    yield from board.until("disarmed")
    board.lock.armed = False
    board.done = True
    yield from board.ask("enter_repl")


def questions(board):
    assert (yield from board.start())[0] > 2**30
    for name in ("status", "statistics", "heartbeat", "stop", "clear_fault"):
        yield from board.ask(name)
    yield from board.ask("hello", major=1, minor=0)
    for prop in properties.PROPERTIES:
        value = (yield from board.ask("read_property", property=prop[0], axis=0))["value"]
        reason = None if prop[8] == "write" else "needs_disarmed"
        yield from board.refused(reason, "write_property", property=prop[0], axis=0, value=value)
    yield from board.refused("out_of_range", "read_property", property=1, axis=2)
    yield from board.refused("out_of_range", "write_property", property=3, axis=0, value=-1)
    yield from board.refused("needs_disarmed", "arm")
    for name, fields in (
        ("stage", {"offset": 0, "data": b"1" * 480}), ("read_image", {"image": 1, "offset": 0, "length": 480}),
        ("apply", {"crc": 2**32 - 1}), ("store", {"crc": 2**31}), ("enter_repl", {}),
        ("stage_model", {"offset": 0, "data": b"M" * 480}), ("use_model", {"size": 2**32 - 1, "crc": 2**31})):
        yield from board.refused("needs_disarmed", name, **fields)
    start = yield from board.start()
    fields = motion_fields(start, [1000] * 2, 100, unit=UNIT)
    yield from board.refused("stale_start", "move", **dict(fields, start=[start[0] + 1] + start[1:]))
    yield from board.refused("out_of_range", "move", **dict(fields, start_cycle=2**32 - 1))
    yield from board.refused("out_of_range", "move", **dict(fields, distance=[2**31 - 1] * 2))
    yield from board.refused("too_late", "move", **dict(fields, start_cycle=1))
    yield from board.refused("out_of_range", "capture", start_cycle=0, samples=2**32 - 1, every=1, channels=PAIRS)
    yield from board.refused("out_of_range", "capture", start_cycle=0, samples=1, every=1, channels=b"\xff\x00")
    yield from board.refused("out_of_range", "capture_again", block=2**32 - 1)
    yield from board.refused(None, "read_trace", sample=0)
    yield from board.refused("out_of_range", "read_trace", sample=255)


def motions(board):
    ask = board.ask
    yield from ask("capture", start_cycle=0, samples=0, every=1, channels=PAIRS)
    yield from board.refused("busy", "capture", start_cycle=0, samples=0, every=1, channels=PAIRS)
    start = yield from board.start()
    fields = motion_fields(start, [2**22] * 2, 300, unit=UNIT)
    yield from ask("move", **fields)
    yield from board.refused("busy", "move", **fields)
    yield from board.beat(100)
    # All blocks of this capture have arrived: the last is still held, the next not there yet.
    made = (yield from ask("capture_again", block=0))["block"]
    assert made == 0
    yield from board.beat(210)
    yield from board.until("holding")
    yield from ask("capture_stop")
    # Every channel, then every third cycle of all of them, a fixed number.
    every = bytes([b for number in range(len(channels.CHANNELS)) for axis in range(2) for b in (number, axis)])
    yield from ask("capture", start_cycle=0, samples=50, every=3, channels=every)
    start = yield from board.start()
    fields = sine_fields(start, [-(2**20)] * 2, 2.0, 500, unit=UNIT)
    now = (yield from ask("status"))["cycle"]
    yield from ask("sine", **dict(fields, start_cycle=now + 30))
    yield from board.beat(330)
    yield from ask("stop")
    yield from board.until("holding")
    # A motion that waits for its cycle, and is cancelled.
    start = yield from board.start()
    now = (yield from ask("status"))["cycle"]
    yield from ask("move", **motion_fields(start, [1000] * 2, 100, unit=UNIT, start_cycle=now + 1000))
    yield from board.beat(20)
    yield from ask("stop")
    yield from board.until("holding")


def nobody_reads(board):
    # The ring fills and holds the time; answers and blocks have no room; then all is fetched.
    yield from board.ask("capture", start_cycle=0, samples=0, every=1, channels=PAIRS)
    host = board.host
    cycles = board.bus.syncs
    listen, host.listen = host.listen, lambda: None
    for _ in range(400):
        host.write(host.wire("heartbeat"))
        if board.bus.sync_waiting:
            board.bus.grant()
            board.armed_cycles += 1
        yield
        board.bus.serve()
    assert board.bus.syncs - cycles < 300, "the ring did not hold the time"
    host.listen = listen
    for _ in range(50):
        host.listen()
        host.answers.clear()
        if host.blocks:
            host.send("capture_received", block=host.blocks[-1]["block"] + 1)
        yield
        board.bus.serve()
    host.blocks.clear()
    host.errors.clear()
    statistics = yield from board.ask("statistics")
    assert statistics["capture_holds"]
    assert statistics["frames_dropped"]
    while not board.bus.sync_waiting:
        yield
        board.bus.serve()
    yield from board.ask("capture_stop")
    assert not host.errors


def bad_lines(board):
    host = board.host
    good = host.wire("status")
    host.write(good)
    host.write(good)
    for broken in (
        b"\x05abc\x00", b"\x01\x01\x01\x00", b"\xff" * 700 + b"\x00", good[:-2] + b"\x7f\x00",
        framing.pack(framing.PlainCodec, 0x7E, 1, b""), b"\x00\x00"):
        host.write(broken)
        yield
    yield from board.cycle(2)
    for noise in (b"t123\r", b"garbage\r", b"t7FF01\r", b"\x00" * 50 + b"\r", b"t0814AABBCCDD\r"):
        board.bus.say(noise)
        yield from board.cycle(1)
    drive = board.bus.drives[0]
    drive.silent = True
    yield from board.cycle(2)
    drive.silent = False
    yield from board.cycle(2)
    host.listen()
    host.answers.clear()
    statistics = yield from board.ask("statistics")
    for name in ("crc_errors", "cobs_errors", "overflows", "repeats", "drive_misses", "bus_errors"):
        assert statistics[name], name


def fault_and_clear(board, name, state):
    yield from board.until("stopped_by_fault")
    status = yield from board.ask("status")
    assert faults.FAULT_NAMES[status["fault"]] == name, (name, status)
    move = motion_fields(status["position_command"], [1000] * 2, 100, unit=UNIT)
    yield from board.refused("needs_armed", "move", **move)
    yield from board.ask("read_fault", index=0)
    yield from board.refused("fault_stands", "clear_fault")
    yield from board.beat(300)
    held = (yield from board.ask("read_trace", sample=0))["samples"]
    for sample in range(0, held, 9):
        yield from board.ask("read_trace", sample=sample)
    yield from board.ask("clear_fault")
    yield from board.until(state)


def mild_faults(board):
    threshold = properties.NUMBERS["torque_threshold"]
    before = (yield from board.ask("read_property", property=threshold, axis=0))["value"]
    start = yield from board.start()
    yield from board.ask("move", **motion_fields(start, [-(2**22)] * 2, 300, unit=UNIT))
    yield from board.beat(100)
    # Held against nothing, the model's torque is a fault, and a stop does not take the cause away.
    yield from board.write("torque_threshold", 0)
    yield from board.until("stopped_by_fault")
    yield from board.write("torque_threshold", before)
    yield from fault_and_clear(board, "torque_threshold", "holding")
    # A host that is gone.
    start = yield from board.start()
    yield from board.ask("move", **motion_fields(start, [2**20] * 2, 30000, unit=UNIT))
    yield from board.cycle(1001)
    yield from fault_and_clear(board, "heartbeat_lost", "holding")


def collision(board):
    start = yield from board.start()
    for name, value in (("torque_error_enable", 1), ("torque_error_max", COLLISION_MAX), ("torque_error_duration", 3)):
        yield from board.write(name, value)
    yield from board.ask("move", **motion_fields(start, [2**21] * 2, 300, unit=UNIT))
    yield from board.beat(40)
    drive = board.bus.drives[0]
    drive.current = 30000
    yield from fault_and_clear(board, "collision", "disarmed")
    drive.current = 0
    board.lock.armed = False
    yield from board.write("torque_error_enable", 0)
    yield


def test_the_heap_can_be_locked():
    def allocates():
        return bytearray(16)

    micropython.heap_lock()
    try:
        raised = False
        allocates()
    except MemoryError:
        raised = True
    micropython.heap_unlock()
    assert raised


def test_nothing_allocates_while_armed():
    class Module:
        pass

    module = Module()
    module.Board = Board
    boards.script = module
    sys.modules["boards.script"] = module
    failures = []
    fail = controller_module.Controller.fail

    def failed(controller):
        failures.append(1)
        return fail(controller)

    controller_module.Controller.fail = failed
    try:
        import main  # noqa: F401 - runs until the script leaves
    except Abort as abort:
        raise abort.args[0]
    board = Board.last
    board.lock.release()
    assert not failures, "the firmware met an error, see above"
    assert board.done
    assert board.armed_cycles >= CYCLES
    print("armed cycles with the heap locked:", board.armed_cycles)
