import random

from hypothesis import given
from hypothesis import strategies as st

from idmkit.rig.slcan import MAX_LINE, Decoder, encode, encode_all, parse

frames = st.lists(st.tuples(st.integers(0, 0x7FF), st.binary(max_size=8)), max_size=20)


def test_text_is_as_other_adapters_write_it():
    assert encode(0x201, bytes([0x0F, 0, 0xAB])) == b"t20130F00AB\r"
    assert encode(0x080, b"") == b"t0800\r"
    assert parse(b"t20130f00ab") == (0x201, bytes([0x0F, 0, 0xAB]))


@given(frames, st.randoms(use_true_random=False))
def test_frames_survive_any_cutting(sent, rng):
    text = encode_all(sent)
    decoder = Decoder()
    received = []
    while text:
        length = rng.randint(1, 40)
        received += decoder.feed(text[:length])
        text = text[length:]
    assert received == sent
    assert decoder.garbage == 0


@given(st.binary(max_size=300), frames)
def test_noise_costs_at_most_the_line_that_it_touches(noise, sent):
    decoder = Decoder()
    decoder.feed(noise)
    decoder.feed(b"\r")
    assert decoder.feed(encode_all(sent)) == sent


def test_damaged_lines_are_counted_and_adapter_commands_passed_over():
    decoder = Decoder()
    lines = (b"t20", b"t2019FF", b"t2012FF", b"t201100FF", b"t2011GG", b"t8001FF", b"T000002011FF", b"\xff\xfe")
    assert decoder.feed(b"\r".join(lines) + b"\r") == []
    assert decoder.garbage == len(lines)
    assert decoder.feed(b"C\rS8\rO\r\r") == []
    assert decoder.garbage == len(lines)


def test_a_stream_without_ends_does_not_grow():
    decoder = Decoder()
    rng = random.Random(1)
    for _ in range(50):
        decoder.feed(bytes(rng.choices(range(14, 256), k=1000)))
    assert len(decoder._rest) <= MAX_LINE
    decoder.feed(b"\r")
    assert decoder.feed(encode(0x80, b"")) == [(0x80, b"")]
