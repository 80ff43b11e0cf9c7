# The wide multiplication and the sine, against integers without a limit and against floating point.

import math

from support import Numbers, words, wrap

from idmwire.sine import SINE
from motionboard.fixed import SH, scale, sincos

EDGES = [0, 1, -1, 2, -2, 0x7FFF, 0x8000, -0x8000, 0xFFFF, -0x10000, 2**30 - 1, 2**30, -(2**30), 2**31 - 1, -(2**31)]
MANTISSAS = [0, 1, -1, 0x7FFF, 0x8000, -0x7FFF, -0x8000, 2**15 + 1, 2**29, 2**30 - 1, 1 - 2**30, -(2**29)]


def product(value, mantissa, shift):
    result = (value * abs(mantissa) + (1 << (shift - 1))) >> shift
    return wrap(-result if mantissa < 0 else result)


def scaled(values, mantissas, shifts):
    n = len(values)
    got = words([0x5A5A5A5A] * (n + 1))
    scale(got, words(values), words(mantissas), words(shifts), n, SH)
    assert got[n] == 0x5A5A5A5A
    return list(got)[:n]


def test_scale_at_the_edges_with_every_shift():
    for mantissa in MANTISSAS:
        for shift in range(15, 46):
            n = len(EDGES)
            expected = [product(value, mantissa, shift) for value in EDGES]
            assert scaled(EDGES, [mantissa] * n, [shift] * n) == expected, (mantissa, shift)


def test_scale_of_any_numbers():
    numbers = Numbers(7)
    for _ in range(200):
        values = [wrap(numbers.word() >> numbers.below(32)) for _ in range(8)]
        mantissas = [numbers.between(1 - 2**30, 2**30 - 1) >> numbers.below(30) for _ in range(8)]
        shifts = [numbers.between(1, 45) for _ in range(8)]
        expected = [product(*row) for row in zip(values, mantissas, shifts)]
        assert scaled(values, mantissas, shifts) == expected, (values, mantissas, shifts)


def test_scale_rounds_halves_up_and_mirrors_for_negative_mantissas():
    assert scaled([1, -1, 3, -3], [2**14] * 4, [15] * 4) == [1, 0, 2, -1]
    assert scaled([1, -1, 3, -3], [-(2**14)] * 4, [15] * 4) == [-1, 0, -2, 1]


def test_scale_works_in_place():
    values = words([1000, -1000])
    scale(values, values, words([2**29] * 2), words([30] * 2), 2, SH)
    assert list(values) == [500, -500]


def test_sine_and_cosine_within_their_bound():
    # 2^-26 is what the error of the angle sum is proved to stay below.
    numbers = Numbers(3)
    phases = [k << 24 for k in range(256)]
    phases += [(k << 24) + d for k in range(0, 256, 5) for d in (0x7FFFFF, 0x800000, 0x800001)]
    phases += [numbers.word() for _ in range(500)] + [0xFFFFFFFF, 1]
    phases = [wrap(phase) for phase in phases]
    n = len(phases)
    sine, cosine = words([0] * n), words([0] * n)
    sincos(sine, cosine, words(phases), SINE, n, SH)
    for i in range(n):
        angle = 2 * math.pi * phases[i] / 2**32
        assert abs(sine[i] / 2**28 - math.sin(angle)) < 2**-26, phases[i]
        assert abs(cosine[i] / 2**28 - math.cos(angle)) < 2**-26, phases[i]


def test_sine_is_exact_at_the_quarters():
    sine, cosine = words([0] * 4), words([0] * 4)
    sincos(sine, cosine, words([0, 2**30, -(2**31), -(2**30)]), SINE, 4, SH)
    assert list(sine) == [0, 2**28, 0, -(2**28)]
    assert list(cosine) == [2**28, 0, -(2**28), 0]
