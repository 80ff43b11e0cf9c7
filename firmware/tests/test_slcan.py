# CAN frames as text: written and read alike, whatever comes in between.

import struct

from scripted import line
from support import Numbers, words

from drives import slcan
from motionboard.axis import Axes


class Node:
    # A receiver with one axis at node 5 and one at node 127.

    def __init__(self):
        self.events = words([0] * slcan.STATE_WORDS)
        self.status, self.counts, self.current = words([0, 0]), words([0, 0]), words([0, 0])
        self.axis_of_node = bytearray(b"\xff" * 128)
        self.axis_of_node[5] = 0
        self.axis_of_node[127] = 1
        self.frame = bytearray(8)
        self.others = []

    def feed(self, data):
        at = 0
        while at >= 0:
            at = slcan.receive(
                self.events, self.frame, data, at, len(data), slcan.DIGITS,
                self.axis_of_node, self.status, self.counts, self.current)
            if at >= 0:
                self.others.append((self.events[slcan.IDENTIFIER], bytes(self.frame[: self.events[slcan.LENGTH]])))

    def axis(self, axis):
        return self.status[axis], self.counts[axis], self.current[axis]

    def mail(self):
        return self.others.pop(0) if self.others else None


EDGES = (
    (0, 0, 0), (0xFFFF, -1, -1), (0x0627, 2**31 - 1, 32767), (0x8000, -(2**31), -32768), (0x1234, 0x12345678, 0x1234))


def test_transmit_pdos_with_their_signs():
    node = Node()
    for values in EDGES:
        for place, number in ((0, 5), (1, 127)):
            node.events[slcan.ANSWERED] = 0
            node.feed(line(0x180 + number, struct.pack("<Hih", *values)))
            assert node.axis(place) == values
            assert node.events[slcan.ANSWERED] == 1 << place


def test_either_case_of_the_digits():
    node = Node()
    node.feed(b"t18580AbCdEf0123456789a"[:22] + b"\r")
    node.feed(b"t1858abcdef9876543210\r")
    upper = node.axis(0)
    node.feed(b"t1858ABCDEF9876543210\r")
    assert node.axis(0) == upper == (0xCDAB, 0x547698EF - 0, 0x1032)
    node.feed(b"t5fF1a5\r")
    assert node.mail() == (0x5FF, b"\xa5")


def test_frames_are_written_as_they_are_read():
    out = bytearray(64)
    numbers = Numbers(9)
    for n in range(9):
        for _ in range(20):
            identifier, data = numbers.below(0x800), numbers.data(n)
            size = slcan.put_frame(out, 3, identifier, data, n)
            assert bytes(out[3:size]) == line(identifier, data)
            node = Node()
            node.feed(bytes(out[3:size]))
            if identifier == 0x100:
                assert node.events[slcan.TIME] == 1
            elif not (identifier in (0x185, 0x1FF) and n == 8):
                assert node.mail() == (identifier, data)


def test_commands_of_all_axes():
    axes = Axes(3)
    nodes, control = [1, 5, 127], [0, 0x000F, 0xFFFF]
    target, offset = [-(2**31), 2**31 - 1, -1], [-32768, 32767, 0]
    due = axes.array("due", 1)
    arrays = [axes.array(name, 3) for name in ("target", "offset", "control", "buses", "nodes")]
    bound = axes.bind("due", "target", "offset", "control", "buses", "nodes")
    out = bytearray(22 * 3 + 14)
    for beat in (0, 1):
        due[0] = beat
        for buses in ((0, 0, 0), (0, 1, 0), (1, 0, 2)):
            for array, values in zip(arrays, (target, offset, control, buses, nodes)):
                for axis in range(3):
                    array[axis] = values[axis]
            for bus in range(3):
                size = slcan.frames(bound, out, bus, slcan.SYNC_AND_BEAT)
                expected = b"".join([
                    line(0x200 + nodes[i], struct.pack("<Hih", control[i], target[i], offset[i]))
                    for i in range(3) if buses[i] == bus])
                assert bytes(out[:size]) == expected + line(0x080, b"") + line(0x77F, b"\x05") * beat


def test_lines_in_pieces_of_any_size():
    frames = [line(0x185, struct.pack("<Hih", k, -k * 1000, k)) for k in range(40)]
    stream = b"".join(frames)
    for size in (1, 2, 5, 21, 22, 23, 128):
        node = Node()
        for at in range(0, len(stream), size):
            node.feed(stream[at : at + size])
        assert node.axis(0) == (39, -39000, 39)
        assert node.events[slcan.ERRORS] == 0


def test_what_is_no_frame_is_counted_and_the_next_one_is_read():
    good = line(0x185, struct.pack("<Hih", 1, 2, 3))
    for noise in (
        b"T1858\r", b"t185\r", b"t1859112233445566778899\r", b"t1858112233\r", b"t185811223344556677889\r",
        b"tG858" + b"00" * 8 + b"\r", b"t1858" + b"0G" * 8 + b"\r", b"t1858" + b" 0" * 8 + b"\r", b"t185:\r",
        b"t185/\r", b"\x00\r", b"\xff" * 22 + b"\r", b"t8010\r", b"t\r", b"x" * 33 + b"\r",
        b"y" * 500 + b"\r", b"\n" + good):
        node = Node()
        node.feed(noise)
        assert node.axis(0) == (0, 0, 0), noise
        assert node.events[slcan.ERRORS] == 1, noise
        node.feed(good)
        assert node.axis(0) == (1, 2, 3), noise
    # Empty lines and an adapter's acknowledgements are nothing at all.
    node = Node()
    node.feed(b"\r\rz\r" + good + b"\rZ\r")
    assert node.events[slcan.ERRORS] == 0
    assert node.axis(0) == (1, 2, 3)


def test_a_pdo_of_another_length_or_node_is_mail():
    node = Node()
    node.feed(line(0x185, b"1234567"))
    assert node.mail() == (0x185, b"1234567")
    node.feed(line(0x186, b"12345678"))
    assert node.mail() == (0x186, b"12345678")
    assert node.events[slcan.ANSWERED] == 0
    assert node.axis(0) == (0, 0, 0)


def test_random_bytes_never_break_it():
    numbers = Numbers(21)
    node = Node()
    letters = b"t018\r58ABf" + bytes([0, 255])
    for _ in range(300):
        node.feed(bytes([numbers.any_of(letters) for _ in range(numbers.between(1, 80))]))
    node.feed(b"\r" + line(0x185, struct.pack("<Hih", 7, 8, 9)))
    assert node.axis(0) == (7, 8, 9)
