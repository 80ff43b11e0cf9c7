"""Products, shifts and the circular functions: int32 by proof, error within what they claim."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from idmkit.errors import ModelError
from idmkit.fixedpoint import circular
from idmkit.fixedpoint.assembler import Assembler
from idmkit.fixedpoint.emulator import execute
from idmkit.fixedpoint.product import Factor, full, narrow, split
from idmkit.fixedpoint.program import Code, Unproved
from idmwire.scales import INT32_MAX, INT32_MIN
from idmwire.sine import SINE

sizes = st.integers(0, 30).flatmap(lambda bits: st.integers(1 << bits >> 1, 1 << bits)).filter(bool)
fractions = st.floats(-1, 1)
exponents = st.integers(-30, 5)


def run(asm, x, p=()):
    """Value of every instruction at one state, held against its interval."""
    values = []
    for instruction, (low, high) in zip(asm.code, asm.ranges, strict=True):
        value = int(np.ravel(execute(instruction, [values[arg] for arg in instruction.args], x, p))[0])
        assert low <= value <= high
        assert low >= INT32_MIN
        assert high <= INT32_MAX
        values.append(np.int64(value))
    return [int(value) for value in values]


def clamped_inputs(sizes):
    asm = Assembler([])
    return asm, [asm.clamp(asm.emit(Code.LOAD, k=[k]), -size, size) for k, size in enumerate(sizes)]


def fitting(make, asm, factors):
    """The product at the finest exponent at which it is proved."""
    exponent = sum(factor.exponent for factor in factors)
    while (product := make(asm, *factors, exponent)) is None:
        exponent += 1
    return product


@pytest.mark.parametrize("floor", [False, True])
@pytest.mark.parametrize("make", [narrow, split, full])
@given(
    sizes=st.tuples(sizes, sizes),
    at=st.tuples(fractions, fractions),
    exponents=st.tuples(*[st.integers(-30, 5)] * 2),
    coarser=st.integers(0, 20),
)
def test_products_keep_their_error_and_int32(make, floor, sizes, at, exponents, coarser):
    asm, places = clamped_inputs(sizes)
    factors = [Factor(place, exponent, floor) for place, exponent in zip(places, exponents, strict=True)]
    wanted = fitting(make, asm, factors).exponent + coarser
    product = make(asm, *factors, wanted)
    assert product.exponent == wanted
    for a in (round(at[0] * sizes[0]), sizes[0], -sizes[0]):
        for b in (round(at[1] * sizes[1]), sizes[1], -sizes[1]):
            result = run(asm, np.array([[a, b]]))[product.place] * 2.0**product.exponent
            assert abs(result - a * b * 2.0 ** sum(exponents)) <= product.error


@example(sizes=(2**30, 2**30))
@given(sizes=st.tuples(sizes, sizes))
def test_wider_products_are_never_worse(sizes):
    errors = []
    exponent = 0
    for make in (narrow, split, full):
        asm, places = clamped_inputs(sizes)
        factors = [Factor(place, 0) for place in places]
        exponent = exponent or fitting(make, asm, factors).exponent + 2
        errors.append(make(asm, *factors, exponent).error)
    assert errors[0] >= errors[1] >= errors[2]
    assert errors[2] <= max(2.0**-25 * sizes[0] * sizes[1], 8), "two units of a result of 27 bits, or of four"


def test_a_product_that_does_not_fit_is_none():
    asm, places = clamped_inputs([2**30, 2**30])
    assert all(make(asm, *(Factor(place, 0) for place in places), 5) is None for make in (narrow, split, full))


def test_a_cut_that_is_there_already_is_used_again():
    asm, places = clamped_inputs([2**20, 2**20])
    first = narrow(asm, Factor(places[0], 0), Factor(places[1], 0), 10)
    count = len(asm.code)
    other = narrow(asm, Factor(places[0], 0), Factor(asm.constant(12345), 0), first.cuts[0].bits)
    assert len(asm.code) <= count + 2
    assert other.cuts[0].bits in (0, first.cuts[0].bits)


@given(size=sizes, at=fractions, bits=st.integers(1, 30))
def test_shifts_round_to_nearest_and_back_exactly(size, at, bits):
    asm, (place,) = clamped_inputs([size])
    rounded = asm.shift(place, bits)
    value = round(at * size)
    assert abs(run(asm, np.array([[value]]))[rounded] - value / 2**bits) <= 0.5
    if size << bits <= INT32_MAX:
        back = asm.shift(place, -bits)
        assert run(asm, np.array([[value]]))[back] == value << bits


@given(size=sizes, at=fractions, k=st.integers(1, 16))
def test_the_two_parts_of_a_value_make_it_again(size, at, k):
    asm, (place,) = clamped_inputs([size])
    high, low = asm.emit(Code.SHR, place, k=[k]), asm.low_bits(place, k)
    values = run(asm, np.array([[round(at * size)]]))
    assert (values[high] << k) + values[low] == values[place]


def test_what_could_leave_int32_cannot_be_made():
    asm, (a, b) = clamped_inputs([2**16, 2**16])
    with pytest.raises(Unproved, match="mul"):
        asm.emit(Code.MUL, a, b)
    with pytest.raises(ModelError, match="shl"):
        asm.shift(a, -15)
    with pytest.raises(Unproved, match="sine"):
        asm.emit(Code.SINE, a)


def circular_values(counts):
    """Sine and cosine of every angle in `counts` [S], in 2^-30, and the largest intermediate values' proof."""
    asm = Assembler([])
    angle = circular.split(asm, asm.low_bits(asm.emit(Code.LOAD, k=[0]), 24))
    places = circular.sine(asm, angle), circular.cosine(asm, angle)
    values = []
    for instruction, (low, high) in zip(asm.code, asm.ranges, strict=True):
        value = execute(instruction, [values[arg] for arg in instruction.args], counts[:, None], ())
        assert low <= np.min(value)
        assert np.max(value) <= high
        values.append(value)
    return [values[place] for place in places]


def test_sine_and_cosine_of_all_angles():
    """All 2^24: this is the proof of the bounds that the compiler relies on, ERROR and LIMIT."""
    worst = 0.0
    for start in range(0, 2**24, 2**18):
        counts = np.arange(start, start + 2**18)
        turns = counts * (2 * np.pi * 2.0**-24)
        sine, cosine = circular_values(counts)
        worst = max(
            worst, np.abs(sine * 2.0**-30 - np.sin(turns)).max(), np.abs(cosine * 2.0**-30 - np.cos(turns)).max()
        )
    assert worst <= circular.ERROR < 2.0**-20


def test_angles_wrap_at_whole_turns_and_at_the_ends_of_int32():
    counts = np.array([0, 5, 2**23, 2**24 - 1])
    for turn in (-128, -1, 1, 127):
        for here, there in zip(circular_values(counts), circular_values(counts + turn * 2**24), strict=True):
            np.testing.assert_array_equal(here, there)
    assert circular_values(np.array([INT32_MAX]))[0] == circular_values(np.array([2**24 - 1]))[0]


def test_table_is_the_sine():
    assert list(SINE) == [round(math.sin(2 * math.pi * k / 256) * 2**30) for k in range(320)]
