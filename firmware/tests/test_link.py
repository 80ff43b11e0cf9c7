# The link: every frame once, whatever length, bytes and pieces it comes in, and a host that does not read.

import struct

from bench import Bench
from scripted import Codec
from support import Numbers

from idmwire import framing, messages

# Wire bytes around the packets of USB and around a block of COBS.
LENGTHS = (11, 62, 63, 64, 65, 66, 127, 128, 129, 253, 254, 255, 256, 257, 258, 320)
AWKWARD = (
    bytes(range(256)), bytes(range(255, -1, -1)), b"\x03" * 200, b"\x0a" * 200, b"\x0d\x0a" * 100, b"\x00" * 200,
    b"\xff" * 300, b"\x00\x03" * 100, b"\x11\x13\x04\x1a\x1b\x7f" * 30, b"+++\r", b"\x03\x03\x01")


def back(bench, size):
    return bench.ask("read_image", image=0, offset=0, length=size)["data"]


def counts(bench):
    return bench.ask("statistics")


def test_frames_of_every_length_both_ways():
    bench = Bench()
    for length in LENGTHS:
        # Header 2, offset 2, CRC-32 4; COBS adds one byte for each begun 254, the end one.
        size = length - 10 if length <= 256 else length - 11
        data = bytes([1 + k % 255 for k in range(size)])
        sequence = bench.host.sequence
        wire = bench.host.wire("stage", offset=0, data=data)
        # The high byte of the offset is a zero, so a block of COBS ends early: count what there is.
        assert abs(len(wire) - length) <= 1
        bench.host.write(wire)
        bench.idle()
        bench.host.listen()
        assert bench.host.understand("stage", sequence)["staged"] == size
        assert back(bench, size) == data
    assert counts(bench)["crc_errors"] == counts(bench)["cobs_errors"] == 0


def test_frames_that_end_exactly_where_a_read_does():
    # Without zeros in it a frame's length on the wire is known: 2 + payload + 2 checksum + 2.
    for length in (63, 64, 65, 128, 192):
        bench = Bench()
        # An unknown message may have any payload; its refusal shows that the frame was whole.
        body = bytes((0x7E, 0x55)) + bytes([1 + k % 250 for k in range(length - 6)])
        for last in range(1, 256):
            check = Codec.crc16(body[:-1] + bytes((last,)))
            if check & 0xFF and check >> 8:
                break
        body = body[:-1] + bytes((last,))
        wire = Codec.encode(body + struct.pack("<H", check)) + b"\x00"
        assert len(wire) == length
        for _ in range(3):
            bench.link._last_sequence = -1
            bench.host.write(wire)
            bench.link.serve()
            bench.host.listen()
            kind, sequence, payload = bench.host.answers.pop()
            assert (kind, sequence, payload) == (messages.REFUSED, 0x55, b"\x7e\x01")


def test_every_byte_value_passes_both_ways():
    bench = Bench()
    for data in AWKWARD:
        bench.ask("stage", offset=0, data=data)
        assert back(bench, len(data)) == data


def test_frames_in_pieces_of_any_size():
    for size in (1, 2, 3, 63, 64, 65):
        bench = Bench()
        for data in AWKWARD[:3]:
            sequence = bench.host.sequence
            wire = bench.host.wire("stage", offset=0, data=data)
            for at in range(0, len(wire), size):
                assert not bench.host.answers
                bench.host.write(wire[at : at + size])
                bench.link.serve()
                bench.host.listen()
            for _ in range(10):
                bench.link.serve()
            bench.host.listen()
            bench.host.understand("stage", sequence)
            assert back(bench, len(data)) == data


def test_a_repeat_is_answered_again_and_not_executed():
    bench = Bench()
    bench.arm()
    wire = bench.host.wire("move", **bench.motion_fields([1000], 50))
    answers = []
    for _ in range(3):
        bench.host.write(wire)
        bench.idle()
        bench.cycle(1)
        # An acknowledgement in between has no answer and changes nothing.
        bench.host.send("capture_received", block=0)
        bench.idle()
        bench.host.listen()
        answers.append(bench.host.answers.pop())
    assert answers[0][0] == messages.CODES["move"] | messages.ANSWER
    assert answers[0] == answers[1] == answers[2]
    bench.cycle(60)
    assert bench.command == [1000]
    assert counts(bench)["repeats"] == 2
    # So is a refusal.
    wire = bench.host.wire("arm")
    for _ in range(2):
        bench.host.write(wire)
        bench.idle()
        bench.host.listen()
        assert bench.host.answers.pop()[2] == bytes((messages.CODES["arm"], messages.REFUSAL_NUMBERS["needs_disarmed"]))
    assert counts(bench)["repeats"] == 3


def test_both_copies_of_a_command_in_one_read_are_executed_once():
    bench = Bench()
    bench.arm()
    wire = bench.host.wire("move", **bench.motion_fields([1000], 50))
    bench.host.write(wire + b"\x00" + wire)
    for _ in range(3):
        bench.idle()
    bench.host.listen()
    first, second = bench.host.answers
    assert first == second
    assert first[0] == messages.CODES["move"] | messages.ANSWER
    bench.host.answers.clear()
    assert counts(bench)["repeats"] == 1


def test_the_next_command_of_the_same_kind_is_no_repeat():
    bench = Bench()
    for k in range(300):
        assert bench.ask("stage", offset=0, data=bytes((k & 0xFF,)))["staged"] == 1
        assert back(bench, 1) == bytes((k & 0xFF,))
    assert counts(bench)["repeats"] == 0


def test_a_greeting_is_always_answered_anew():
    bench = Bench(ready=False)
    bench.host.axes = 0
    bench.host.sequence = 0
    assert bench.ask("hello", major=1, minor=0)["axes"] == 0
    bench.host.axes = 1
    assert bench.apply(bench.image()) is None
    # The host starts again: the same message with the same sequence number.
    bench.host.sequence = 0
    assert bench.ask("hello", major=1, minor=0)["axes"] == 1
    # And what it says next is no repeat of what the one before it said.
    assert bench.ask("status")["cycle"] == 0
    bench.cycle(3)
    bench.host.sequence = 0
    bench.ask("hello", major=1, minor=0)
    assert bench.ask("status")["cycle"] == 3


def test_a_greeting_while_armed():
    bench = Bench()
    first = bench.ask("hello", major=1, minor=0)
    bench.arm()
    assert bench.ask("hello", major=1, minor=0) == first
    assert first["robot"].rstrip(b"\x00") == b"script"
    # Armed without a greeting since the settings came.
    bench = Bench()
    bench.arm()
    assert bench.ask("hello", major=1, minor=0) == dict(first, generation=0)


def test_a_broken_frame_is_counted_and_never_executed():
    bench = Bench()
    value = bench.ask("read_property", property=3, axis=0)["value"]
    wire = bench.host.wire("write_property", property=3, axis=0, value=12345)
    # At the end, so that the sequence number does not make them repeats.
    tried = 0
    for at in range(len(wire) - 1):
        for bit in range(8):
            broken = bytearray(wire)
            broken[at] ^= 1 << bit
            bench.host.write(bytes(broken))
            bench.idle()
            tried += 1
    bench.host.listen()
    bench.host.answers.clear()
    assert bench.ask("read_property", property=3, axis=0)["value"] == value
    seen = counts(bench)
    assert seen["crc_errors"] + seen["cobs_errors"] >= tried - 8
    assert bench.ask("write_property", property=3, axis=0, value=12345)["value"] == 12345


def test_after_noise_the_next_frame_is_heard():
    bench = Bench()
    numbers = Numbers(31)
    for _ in range(60):
        bench.host.write(numbers.data(numbers.between(1, 900)) + b"\x00")
        for _ in range(3):
            bench.idle()
        bench.host.listen()
        bench.host.answers.clear()
        assert bench.ask("status")["state"] == 0
    assert counts(bench)["overflows"] > 0


def test_unknown_messages_and_those_of_a_board():
    bench = Bench()
    known = [message[0] for message in messages.MESSAGES]
    for kind in range(256):
        if kind in known and kind < 0x80:
            continue
        bits = messages.crc_bits(kind) or 16
        body = bytes((kind, 7))
        check = Codec.crc16(body).to_bytes(2, "little") if bits == 16 else Codec.crc32(body).to_bytes(4, "little")
        bench.host.write(Codec.encode(body + check) + b"\x00")
        bench.idle()
        bench.host.listen()
        if kind & messages.ANSWER:
            # An echo of its own words: an answer to that would never end.
            assert bench.host.answers == []
        else:
            assert bench.host.answers.pop() == (messages.REFUSED, 7, bytes((kind, 1)))


def test_payloads_of_any_length_and_content_do_no_harm():
    numbers = Numbers(77)
    kinds = [m[1] for m in messages.MESSAGES if m[2] == messages.TO_BOARD and m[1] not in ("enter_repl", "apply")]
    for armed in (False, True):
        bench = Bench(2)
        if armed:
            bench.arm()
        for _ in range(1500):
            name = numbers.any_of(kinds)
            right = messages.payload_size(name, 2)
            size = numbers.any_of((0, 1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 38, 46, right, 100, 480))
            payload = numbers.data(size, numbers.any_of((1, 4, 256)))
            sequence = numbers.below(256)
            bench.host.write(framing.pack(Codec, messages.CODES[name], sequence, payload))
            bench.idle()
            bench.host.listen()
            for kind, number, _ in bench.host.answers:
                assert kind in (messages.REFUSED, messages.CODES[name] | messages.ANSWER)
                assert number == sequence
            bench.host.answers.clear()
            bench.host.blocks.clear()
            bench.controller.capture.arrived = bench.controller.capture.filled
            bench.cycle(1)
        assert bench.host.errors == []
        assert bench.fault in (None, "torque_threshold", "position_error", "collision"), bench.fault


def test_short_payloads_are_refused():
    bench = Bench()
    for name, smallest in (
        ("read_property", 2), ("write_property", 6), ("stage", 2), ("read_image", 5), ("apply", 4), ("store", 4),
        ("capture", 10), ("capture_again", 4), ("read_fault", 1), ("read_trace", 1)):
        for size in range(smallest):
            bench.host.write(framing.pack(Codec, messages.CODES[name], size, bytes(size)))
            bench.idle()
            bench.host.listen()
            refused = bytes((messages.CODES[name], messages.REFUSAL_NUMBERS["bad_length"]))
            assert bench.host.answers.pop() == (messages.REFUSED, size, refused), (name, size)
    bench.arm()
    for name in ("move", "sine"):
        right = messages.payload_size(name, 1)
        for size in (0, right - 1, right + 1, messages.payload_size(name, 2)):
            bench.host.write(framing.pack(Codec, messages.CODES[name], size, bytes(size)))
            bench.idle()
            bench.host.listen()
            refused = bytes((messages.CODES[name], messages.REFUSAL_NUMBERS["bad_length"]))
            assert bench.host.answers.pop() == (messages.REFUSED, size, refused), (name, size)


def test_a_host_that_does_not_read_stops_nothing():
    bench = Bench(link_bytes=700)
    bench.arm()
    bench.ask("capture", start_cycle=0, samples=0, every=1, channels=b"\x00\x00")
    bench.host.listen()
    # Nobody takes anything from the port any more.
    for k in range(400):
        if k % 10 == 0:
            bench.host.write(bench.host.wire("heartbeat"))
        bench.cycle(1)
    assert bench.state == "holding"
    assert bench.fault is None
    # Then it reads again: whole frames, and the newest answer.
    seen = []
    for _ in range(10):
        bench.idle()
        bench.host.listen()
        seen += [answer[1] for answer in bench.host.answers]
        bench.host.answers.clear()
    assert bench.host.errors == []
    assert seen[-1] == (bench.host.sequence - 1) & 0xFF
    dropped = counts(bench)["frames_dropped"]
    assert dropped + len(seen) == 40
    assert [block["block"] for block in bench.host.blocks] == list(range(3))


def test_a_host_that_floods_the_port_does_not_stop_a_cycle():
    bench = Bench()
    for flood, kind in ((b"\x01\x02\x00" * 1300, "cobs_errors"), (bench.host.wire("status") * 300, "repeats")):
        before = counts(bench)[kind]
        bench.host.write(flood)
        # A frame in each call, and it says that there are more.
        for served in range(1, 41):
            bench.link.serve()
            assert getattr(bench.link, kind) - before in (served, served - 1)
            assert bench.link.busy
        for _ in range(1300):
            bench.link.serve()
            bench.host.listen()
        bench.host.answers.clear()
        assert counts(bench)[kind] - before in (1300, 299)


def test_the_longest_frame_passes_in_one_call():
    bench = Bench()
    bench.host.write(bench.host.wire("stage", offset=0, data=b"\x55" * (framing.MAX_FRAME - 8)))
    bench.link.serve()
    bench.host.listen()
    assert bench.host.answers.pop()[0] == messages.CODES["stage"] | messages.ANSWER


def test_what_is_left_to_send_says_so():
    bench = Bench()
    bench.ask("capture", start_cycle=0, samples=0, every=1, channels=b"\x00\x00" * 40)
    for _ in range(6 * 3):
        bench.bus.grant()
        bench.controller.drives.poll()
        bench.controller.cycle()
    # A frame in each call: a cycle must not wait for all of them.
    for block in range(6):
        bench.link.serve()
        assert bench.link.busy
        bench.host.listen()
        assert len(bench.host.blocks) == block + 1
    bench.link.serve()
    assert not bench.link.busy
    assert [block["block"] for block in bench.host.blocks] == list(range(6))


def test_frames_are_counted():
    bench = Bench(ready=False)
    before = counts(bench)
    for _ in range(10):
        bench.ask("heartbeat")
    after = counts(bench)
    assert after["frames_received"] - before["frames_received"] == 11
    assert after["frames_sent"] - before["frames_sent"] == 11
    assert after["frames_dropped"] == 0
