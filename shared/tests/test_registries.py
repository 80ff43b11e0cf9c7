"""Properties, channels, faults, scales and the schema hash: sane, and the hash sees every change."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idmwire import channels, faults, properties, scales, schema
from idmwire.properties import AXIS, BOARD, PROPERTIES


def test_properties_are_numbered_and_named_once() -> None:
    assert len({prop[0] for prop in PROPERTIES}) == len({prop[1] for prop in PROPERTIES}) == len(PROPERTIES)
    assert all(0 < prop[0] < 256 for prop in PROPERTIES)
    named = [prop[2] for prop in PROPERTIES if prop[2]]
    assert len(set(named)) == len(named)


def test_properties_have_a_range_around_their_default_and_a_known_quantity() -> None:
    for _, name, _, scope, quantity, lowest, highest, default, access, _ in PROPERTIES:
        assert lowest <= default <= highest, name
        assert scope in (AXIS, BOARD)
        assert quantity in scales.SCALES
        assert access in ("write", "disarmed", "read")
        limit = scales.INT32_MAX if quantity == "position" else scales.SMALL_MAX
        assert -limit <= lowest <= highest <= limit, name


def test_a_conversion_has_a_mantissa_and_a_shift() -> None:
    stems = [prop[1].removesuffix("_mantissa") for prop in PROPERTIES if prop[1].endswith("_mantissa")]
    assert stems
    for stem in stems:
        assert properties.NUMBERS[f"{stem}_shift"] == properties.NUMBERS[f"{stem}_mantissa"] + 1


@pytest.mark.parametrize("axes", [1, 2, 6])
def test_slots_are_a_table_without_holes(axes: int) -> None:
    places = properties.slots(axes)
    sizes = {prop[1]: axes if prop[3] == AXIS else 1 for prop in PROPERTIES}
    at = 0
    for prop in PROPERTIES:
        assert places[prop[1]] == at
        at += sizes[prop[1]]
    assert places[""] == at == len(properties.defaults(axes))


def test_channels_begin_with_the_inputs_of_a_model() -> None:
    inputs = ("position_command", "velocity_command", "acceleration_command", "direction")
    assert channels.CHANNEL_NAMES[:4] == inputs
    assert len(set(channels.CHANNEL_NAMES)) == len(channels.CHANNELS)
    assert all(channel[1] in scales.SCALES and channel[2] for channel in channels.CHANNELS)
    assert channels.channel_number("torque_feedback") == channels.CHANNEL_NAMES.index("torque_feedback")
    with pytest.raises(ValueError, match="no channel is called torque"):
        channels.channel_number("torque")


def test_faults_are_numbered_once_and_have_a_reaction() -> None:
    assert len({fault[0] for fault in faults.FAULTS}) == len({fault[1] for fault in faults.FAULTS})
    assert all(0 < fault[0] < 256 for fault in faults.FAULTS)
    assert set(faults.REACTIONS.values()) <= {
        faults.NOTE, faults.CONTROLLED_STOP, faults.QUICK_STOP, faults.DISABLE}  # fmt: skip


@given(st.sampled_from(scales.SCALE_ORDER), st.floats(-1, 1))
def test_scales_there_and_back(quantity: str, share: float) -> None:
    limit = scales.INT32_MAX if quantity == "position" else scales.SMALL_MAX
    value = share * scales.from_counts(limit, quantity)
    back = scales.from_counts(scales.to_counts(value, quantity), quantity)
    # Rounding to the nearest count: half a count.
    assert abs(back - value) <= scales.from_counts(1, quantity) / 2


@pytest.mark.parametrize("quantity", scales.SCALE_ORDER)
def test_scales_end_where_the_wire_ends(quantity: str) -> None:
    limit = scales.INT32_MAX if quantity == "position" else scales.SMALL_MAX
    for sign in (1, -1):
        assert scales.to_counts(sign * scales.from_counts(limit, quantity), quantity) == sign * limit
        with pytest.raises(ValueError, match="outside the wire's range"):
            scales.to_counts(sign * scales.from_counts(limit + 1, quantity), quantity)


def test_exponents_are_signed_bytes() -> None:
    assert all(-128 <= exponent < 128 for exponent in scales.exponents())
    assert len(scales.exponents()) == len(scales.SCALE_ORDER) == 5


def test_the_hash_is_of_the_text() -> None:
    text = schema.canonical()
    assert math.log2(schema.SCHEMA_HASH + 1) <= 32
    for part in ("message 34 move", "property 3 torque_threshold", "channel torque_error", "fault 2 collision",
                 "refusal 6 stale_start", "scale position -24", "states disarmed", "images staged"):  # fmt: skip
        assert part in text
