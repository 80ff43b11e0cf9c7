"""The parameter image: there and back, and whatever is changed in it is noticed."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idmwire import properties, scales
from idmwire.image import HEADER, HEADER_BYTES, ImageError, ParameterImage, check, image_bytes, image_crc, unpack
from idmwire.schema import SCHEMA_HASH

INT32 = st.integers(-(2**31), 2**31 - 1)


def an_image(axes: int = 1, parameters: int = 3) -> ParameterImage:
    numbers = tuple(range(1, parameters + 1))
    return ParameterImage(
        "crank", 1000, axes, properties.defaults(axes), 0x12345678, numbers, tuple(0.5 * n for n in numbers), 7
    )


@st.composite
def images(draw: st.DrawFn) -> ParameterImage:
    axes = draw(st.integers(1, 6))
    count = properties.slots(axes)[""]
    mantissas = tuple(draw(st.lists(INT32, max_size=12)))
    floats = st.floats(allow_nan=False)
    letters = st.characters(codec="utf-8", exclude_characters="\0")
    return ParameterImage(
        draw(st.text(letters, max_size=16).filter(lambda s: len(s.encode()) <= 16)),
        draw(st.integers(0, 2**32 - 1)),
        axes,
        draw(st.lists(INT32, min_size=count, max_size=count)),
        draw(st.integers(0, 2**32 - 1)),
        mantissas,
        tuple(draw(st.lists(floats, min_size=len(mantissas), max_size=len(mantissas)))),
        draw(st.integers(0, 2**32 - 1)),
        tuple(draw(st.lists(INT32, max_size=20))),
    )


@given(images())
def test_round_trip(image: ParameterImage) -> None:
    data = image.pack()
    assert len(data) == image_bytes(image.n_axes, len(image.mantissas), len(image.tables))
    assert vars(unpack(data)) == vars(image)
    assert image_crc(data) == zlib.crc32(data[:-4])


def test_value_finds_the_property_of_an_axis() -> None:
    image = an_image(axes=3)
    image.values[properties.slots(3)["node_id"] + 2] = 5
    assert [image.value("node_id", axis) for axis in range(3)] == [0, 0, 5]


def test_every_flipped_bit_is_noticed() -> None:
    data = an_image().pack()
    for bit in range(8 * len(data)):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ImageError):
            check(bytes(broken))


def test_every_cut_is_noticed() -> None:
    data = an_image().pack()
    for size in range(len(data)):
        with pytest.raises(ImageError):
            check(data[:size])
    with pytest.raises(ImageError):
        check(data + b"\0")


FIELDS = struct.unpack(HEADER, an_image().pack()[:HEADER_BYTES])
WRONG = [
    (0, 0x504D4448, "magic"),
    (1, 1, "layout"),
    (2, 10, "says 10"),
    (3, SCHEMA_HASH ^ 1, "schema"),
    (8, -23, "scale table"),
    (9, -21, "scale table"),
    (10, -15, "scale table"),
    (11, -17, "scale table"),
    (12, -14, "scale table"),
    (13, 2, "says"),
    (14, 4, "says"),
    (15, 1, "says"),
]


@pytest.mark.parametrize(("place", "value", "text"), WRONG)
def test_a_wrong_header_under_a_right_checksum_is_named(place: int, value: int, text: str) -> None:
    head = list(FIELDS)
    head[place] = value
    body = struct.pack(HEADER, *head) + an_image().pack()[HEADER_BYTES:-4]
    with pytest.raises(ImageError, match=text):
        check(body + struct.pack("<I", zlib.crc32(body)))


def test_the_header_says_the_scale_table() -> None:
    assert FIELDS[8:13] == scales.exponents()


def test_pack_refuses_what_does_not_fit() -> None:
    with pytest.raises(ImageError, match="property values"):
        ParameterImage("a", 1000, 2, properties.defaults(1)).pack()
    with pytest.raises(ImageError, match="mantissas"):
        ParameterImage("a", 1000, 1, properties.defaults(1), 1, (1, 2), (0.5,)).pack()
    with pytest.raises(ImageError, match="longer than 16"):
        ParameterImage("seventeen letters", 1000, 1, properties.defaults(1)).pack()
