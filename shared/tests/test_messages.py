"""The message registry: sane in itself, and its layouts pack and unpack."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idmwire import messages
from idmwire.framing import MAX_FRAME
from idmwire.messages import ANSWER, AXES, MESSAGES, REST, TO_BOARD, TO_HOST, pack_payload, unpack_payload

NAMES = [message[1] for message in MESSAGES]
BY_NAME = {message[1]: message for message in MESSAGES}
WITHOUT_ANSWER = {"capture_received"}
UNASKED = {"capture_block", "refused"}
# What arms, moves or writes.
GUARDED = {
    "write_property", "stage", "apply", "store", "arm", "disarm", "move", "sine", "stop", "clear_fault", "capture",
    "enter_repl", "stage_model", "use_model", "motion_data", "fourier", "trapezoid", "stream_points", "stream",
}  # fmt: skip
INTEGERS = {"B": (0, 255), "H": (0, 65535), "I": (0, 2**32 - 1), "i": (-(2**31), 2**31 - 1)}


def test_codes_and_names_are_unique() -> None:
    assert len({message[0] for message in MESSAGES}) == len(MESSAGES)
    assert len(set(NAMES)) == len(MESSAGES)


def test_every_command_has_its_answer() -> None:
    for code, name, direction, _, _ in MESSAGES:
        if direction == TO_BOARD:
            assert code < ANSWER
            if name not in WITHOUT_ANSWER:
                answer = BY_NAME[f"{name}_answer"]
                assert answer[0] == code | ANSWER
                assert answer[2] == TO_HOST


def test_every_answer_has_its_command() -> None:
    for code, name, direction, _, _ in MESSAGES:
        if direction == TO_HOST:
            assert code & ANSWER
            if name not in UNASKED:
                assert BY_NAME[name.removesuffix("_answer")][0] == code & ~ANSWER


def test_what_arms_moves_or_writes_has_the_long_checksum() -> None:
    assert {message[1] for message in MESSAGES if message[3] == 32} == GUARDED
    assert all(message[3] in (16, 32) for message in MESSAGES)


def test_fields_are_named_once_and_an_open_end_is_the_last() -> None:
    for _, name, _, _, fields in MESSAGES:
        assert len({field[0] for field in fields}) == len(fields), name
        for field in fields:
            assert field[2] in (1, AXES, REST)
            assert field[1] == "s" if field[2] == REST else struct.calcsize("<" + field[1])
        assert REST not in [field[2] for field in fields[:-1]], name


@pytest.mark.parametrize("axes", [1, 6])
def test_every_message_fits_a_frame_for_six_axes(axes: int) -> None:
    for _, name, _, bits, _ in MESSAGES:
        assert 2 + messages.payload_size(name, axes) + bits // 8 <= MAX_FRAME


def test_a_block_of_480_bytes_fits_a_frame() -> None:
    assert 2 + messages.payload_size("capture_block", 6) + 480 + 2 <= MAX_FRAME


def test_refusals_are_numbered_once_and_in_words() -> None:
    numbers = [row[0] for row in messages.REFUSALS]
    assert len(set(numbers)) == len({row[1] for row in messages.REFUSALS}) == len(numbers)
    assert all(row[2] for row in messages.REFUSALS)
    assert messages.REFUSAL_NAMES[messages.REFUSAL_NUMBERS["gone"]] == "gone"


def values_of(fields: Any, axes: int) -> st.SearchStrategy[dict[str, Any]]:
    strategies = {}
    for name, kind, count, _ in fields:
        if kind in INTEGERS:
            number = st.integers(*INTEGERS[kind])
            strategies[name] = st.tuples(*[number] * axes) if count == AXES else number
        elif count == REST:
            strategies[name] = st.binary(max_size=64)
        else:
            size = struct.calcsize(kind)
            strategies[name] = st.binary(min_size=size, max_size=size)
    return st.fixed_dictionaries(strategies)


@given(st.data(), st.sampled_from(NAMES), st.integers(1, 6))
def test_payloads_come_back(data: st.DataObject, name: str, axes: int) -> None:
    values = data.draw(values_of(BY_NAME[name][4], axes))
    payload = pack_payload(name, axes, values)
    assert unpack_payload(name, axes, payload) == values
    for field, kind, count, _ in BY_NAME[name][4]:
        if count == 1:
            at = messages.offset(name, field, axes)
            assert struct.unpack_from("<" + kind, payload, at)[0] == values[field]


def test_offset_of_an_unknown_field() -> None:
    with pytest.raises(ValueError, match="no field speed"):
        messages.offset("move", "speed", 1)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"property": 1, "axis": 0}, "lacks its field value"),
        ({"property": 1, "axis": 0, "value": 1, "unit": 2}, "no field unit"),
        ({"property": 256, "axis": 0, "value": 1}, "property of write_property cannot hold 256"),
        ({"property": 1, "axis": -1, "value": 1}, "cannot hold -1"),
        ({"property": 1, "axis": 0, "value": 2**31}, "cannot hold 2147483648"),
        ({"property": 1, "axis": 0, "value": 0.5}, "cannot hold 0.5"),
    ],
)
def test_what_a_layout_cannot_hold_is_refused(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        pack_payload("write_property", 1, fields)


def test_the_number_of_axes_is_checked() -> None:
    fields = {"start_cycle": 0, "cycles": 1, **dict.fromkeys(("start", "distance", "velocity", "acceleration"), (0, 0))}
    fields["start"] = (0,)
    with pytest.raises(ValueError, match="start of move has 1 values for 2 axes"):
        pack_payload("move", 2, fields)
    with pytest.raises(ValueError, match="distance of move cannot hold"):
        pack_payload("move", 2, fields | {"start": (0, 0), "distance": (2**31, 0)})


def test_long_text_is_refused_and_not_cut() -> None:
    values = {field[0]: b"" if field[1].endswith("s") else 0 for field in BY_NAME["hello_answer"][4]}
    with pytest.raises(ValueError, match="board of hello_answer cannot hold"):
        pack_payload("hello_answer", 0, values | {"board": b"a name of seventeen"})


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_length_is_refused(name: str) -> None:
    size = messages.payload_size(name, 2)
    open_ended = any(field[2] == REST for field in BY_NAME[name][4])
    for wrong in ([size - 1] if size else []) + ([] if open_ended else [size + 1]):
        with pytest.raises(ValueError, match=f"is no {name} for 2 axes"):
            unpack_payload(name, 2, bytes(wrong))


def test_unknown_codes_have_no_checksum_and_a_number_for_a_name() -> None:
    assert messages.crc_bits(0x77) == 0
    assert messages.message_name(0x77) == "0x77"
    assert messages.message_name(messages.CODES["arm"]) == "arm"
