# The drive on the board's own pins, on a motor with inertia, friction, resistance and back-EMF.

import gc
import struct
import time

import bench as benches
import micropython
from bench import Bench
from scripted import LinkPort, line
from support import raises

from drives import direct, slcan
from drives.direct import Bridge, Node

COUNTS_PER_RAD = 1310720 / 6.283185307179586
RATED_NM = 10.0
SUPPLY_V, OHM, NM_PER_A = 24.0, 2.0, 5.0
INERTIA, VISCOUS, COULOMB = 0.02, 0.05, 0.3
FULL_SCALE = 10000


class Pin:
    def __init__(self, motor, sign):
        self._motor, self._sign = motor, sign

    def duty_u16(self, duty):
        assert 0 <= duty <= 65535
        self._motor.duty[self._sign] = duty


class Motor:
    # One millisecond a step, in ten parts; joint side of a geared brushed motor.
    def __init__(self):
        self.duty = [0, 0]
        self.angle = self.speed = self.current = 0.0
        self.load = 0.0
        self.bridge = Bridge(self, Pin(self, 0), Pin(self, 1), self, FULL_SCALE)

    def value(self):
        return int(self.angle * COUNTS_PER_RAD)

    def read_u16(self):
        rated = RATED_NM / NM_PER_A
        return min(65535, max(0, 32768 + int(self.current / rated * 1000 / FULL_SCALE * 32768)))

    def step(self):
        assert not (self.duty[0] and self.duty[1]), "both sides of the bridge on"
        for _ in range(10):
            volt = SUPPLY_V * (self.duty[0] - self.duty[1]) / 65535
            self.current = (volt - NM_PER_A * self.speed) / OHM
            torque = NM_PER_A * self.current - VISCOUS * self.speed - self.load
            if self.speed or abs(torque) > COULOMB:
                sign = 1 if (self.speed or torque) > 0 else -1
                before = self.speed
                self.speed += (torque - sign * COULOMB) / INERTIA * 1e-4
                if before * self.speed < 0:
                    self.speed = 0.0
            self.angle += self.speed * 1e-4

    @property
    def off(self):
        return self.duty == [0, 0]


VOLT = 65535 / SUPPLY_V
# An error of a radian asks for 20 rad/s; back-EMF of a count a millisecond; the resistance's voltage of a per mille.
POSITION_GAIN = round(64 * VOLT * 20 * NM_PER_A / COUNTS_PER_RAD)
VELOCITY_GAIN = round(64 * VOLT * NM_PER_A * 1000 / COUNTS_PER_RAD)
TORQUE_GAIN = round(64 * VOLT * OHM * RATED_NM / NM_PER_A / 1000)


def make_node(motor, position_gain=POSITION_GAIN):
    return Node(motor.bridge, position_gain, VELOCITY_GAIN, TORQUE_GAIN, current_most=5000)


class Master:
    # Speaks CiA 402 as text, without the board's own drives.
    def __init__(self, node, motor):
        self.node, self.motor = node, motor
        self.target = self.offset = self.control = 0
        self.buffer = bytearray(128)

    def put(self, *frames):
        text = b"".join([line(*frame) for frame in frames])
        self.node.write(text, len(text))

    def get(self):
        return bytes(self.buffer[: self.node.readinto(self.buffer)])

    def cycle(self, n=1):
        for _ in range(n):
            self.put((0x201, struct.pack("<Hih", self.control, self.target, self.offset)), (0x080, b""))
            said = self.get()
            # Every so often a heartbeat behind it.
            assert (said[:5], said[22:]) in ((b"t1818", b""), (b"t1818", line(0x701, b"\x05"))), said
            data = bytes([int(said[5 + 2 * i : 7 + 2 * i], 16) for i in range(8)])
            self.status, self.counts, self.current = struct.unpack("<Hih", data)
            self.state = self.status & 0x6F
            self.motor.step()

    def enable(self):
        for self.control in (6, 7, 15, 15):
            self.target = self.motor.value()
            self.cycle()
        assert self.state == 0x27


def make():
    motor = Motor()
    return Master(make_node(motor), motor), motor


def test_states_go_up_one_by_one_and_down_at_once():
    master, motor = make()
    seen = []
    for master.control in (15, 15, 15, 7, 6, 15, 15, 0):
        master.cycle()
        seen.append(master.state)
        assert motor.off or master.state == 0x27
    # Not enabled by a controlword alone that goes all the way: READY comes from shutdown.
    assert seen == [0x40, 0x40, 0x40, 0x40, 0x21, 0x23, 0x27, 0x40]


def test_sdo_writes_are_answered():
    master, _ = make()
    master.put((0x601, b"\x2f\x60\x60\x00\x08\x00\x00\x00"))
    assert master.get() == line(0x581, b"\x60\x60\x60\x00\x00\x00\x00\x00")
    master.put((0x602, b"\x2f\x60\x60\x00\x08\x00\x00\x00"))
    assert master.get() == b""


def ramp(master, offset):
    # The largest position error in counts of a run at 1 rad/s, once it is up to speed.
    master.enable()
    worst = 0
    for k in range(1000):
        master.target = int(min(k, 100) / 100 * k / 1000 * COUNTS_PER_RAD) + 0
        master.offset = offset
        master.cycle()
        if k > 300:
            worst = max(worst, abs(master.target - master.counts))
    return worst


def test_it_follows_and_the_torque_offset_helps():
    master, _ = make()
    without = ramp(master, 0)
    master, _ = make()
    # What friction takes at 1 rad/s, in per mille of the rated torque.
    with_offset = ramp(master, round((COULOMB + VISCOUS) / RATED_NM * 1000))
    # Without it, the error has to make the voltage that friction takes; with it, gains rounded to 1 % are left.
    friction = (COULOMB + VISCOUS) / NM_PER_A * OHM * VOLT / (POSITION_GAIN / 64)
    assert abs(without / friction - 1) < 0.25, (without, friction)
    assert with_offset < 0.3 * without, (without, with_offset)


def test_the_current_comes_back_as_torque():
    master, motor = make()
    master.enable()
    motor.load = 4.0
    master.cycle(500)
    # At rest the motor carries the load, less what friction carries for it.
    carried = master.current * RATED_NM / 1000
    assert 4.0 - COULOMB - 0.1 <= carried <= 4.0 + COULOMB + 0.1, carried


def test_too_much_current_switches_it_off():
    master, motor = make()
    master.enable()
    motor.load = 60.0
    for _ in range(500):
        master.cycle()
        if master.state == 0x08:
            break
    assert master.state == 0x08
    assert motor.off
    # As a fault it stays until it is reset, with a rising edge.
    master.control = 15
    master.cycle(3)
    assert master.state == 0x08
    master.control = 0x80
    master.cycle()
    assert master.state == 0x40


def test_a_quick_stop_stands_and_then_lets_go():
    master, motor = make()
    master.enable()
    for k in range(300):
        master.target = int(k / 1000 * COUNTS_PER_RAD)
        master.cycle()
    assert motor.speed > 0.5
    at = master.counts
    master.control = 2
    seen = set()
    for _ in range(200):
        master.cycle()
        seen.add(master.state)
        if master.state == 0x40:
            break
    assert seen == {0x07, 0x40}
    assert motor.off
    assert abs(master.counts - at) < 0.1 * COUNTS_PER_RAD


def test_without_sync_the_bridge_is_off():
    master, motor = make()
    master.enable()
    master.target += 20000
    master.cycle(3)
    assert not motor.off
    until = time.ticks_add(time.ticks_ms(), 2 * direct._SILENCE_MS)
    while time.ticks_diff(until, time.ticks_ms()) > 0:
        master.get()
    assert motor.off
    master.cycle()
    assert master.state == 0x08


def test_positions_wrap_where_int32_does():
    master, motor = make()
    motor.angle = (2**31 - 2000) / COUNTS_PER_RAD
    motor.value = lambda: (int(motor.angle * COUNTS_PER_RAD) + 2**31) % 2**32 - 2**31
    master.enable()
    for k in range(600):
        target = 2**31 - 2000 + min(k, 500) * 20
        master.target = (target + 2**31) % 2**32 - 2**31
        master.cycle()
    assert master.state == 0x27
    assert master.counts < 0
    assert abs(master.target - master.counts) < 0.1 * COUNTS_PER_RAD


def test_gains_that_would_overflow_are_refused():
    assert raises(ValueError, make_node, Motor(), direct.GAIN_MOST + 1)


def test_nothing_allocates():
    class Still:
        def counts(self):
            return 1000

        def current(self):
            return -3

        def drive(self, duty):
            pass

    node = Node(Still(), 300, 300, 300, 5000)
    text = line(0x201, struct.pack("<Hih", 15, -2000000000, -300)) + line(0x080, b"")
    n = len(text)
    buffer = bytearray(128)
    gc.collect()
    micropython.heap_lock()
    try:
        for _ in range(50):
            node.write(text, n)
            node.readinto(buffer)
    finally:
        micropython.heap_unlock()


class MotorBoard:
    # The whole firmware on a board that is its own drive; its time is that of SYNC.
    NAME = "script"
    RING_BLOCKS = 8
    BOOT_WINDOW_MS = 0
    granted = True

    def __init__(self, n, store, link_bytes, buses):
        assert n == buses == 1
        self.link = LinkPort(link_bytes)
        self.store = store
        self.motor = Motor()
        self.can = self.buses = (self,)
        self.drives = (self,)
        self._node = make_node(self.motor)
        self._time = False

    def sleep(self, milliseconds):
        pass

    def serve(self):
        pass

    def grant(self):
        self.motor.step()
        self._time = True
        return True

    def write(self, buffer, n):
        self._node.write(buffer, n)

    def readinto(self, buffer):
        n = self._node.readinto(buffer)
        if n == 0 and self._time:
            self._time = False
            n = slcan.put_frame(buffer, 0, 0x100, buffer, 0)
        return n


def test_the_whole_firmware_moves_it():
    usual = benches.Board
    benches.Board = MotorBoard
    try:
        bench = Bench(position_error_max=2**22)
    finally:
        benches.Board = usual
    bench.arm()
    began = bench.board.motor.value()
    bench.move([2**21], 1000)
    bench.cycle(1300)
    assert (bench.state, bench.fault) == ("holding", None)
    turned = (bench.board.motor.value() - began) / 1310720
    assert abs(turned - 0.125) < 0.01, turned
    # An axis that is held fast is a position error, and the bridge goes off.
    bench.board.motor.load = 50.0
    bench.move([2**22], 400)
    bench.cycle(900)
    assert bench.state == "stopped_by_fault", bench.state
    bench.cycle(600)
    assert bench.board.motor.off
