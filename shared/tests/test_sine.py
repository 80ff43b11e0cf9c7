"""The sine table, made again with 60 digits."""

from __future__ import annotations

from decimal import Decimal, localcontext

from idmwire.sine import SINE


def pi() -> Decimal:
    """Machin: pi = 16 arctan(1/5) - 4 arctan(1/239)."""
    return 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)


def arctan_of_inverse(x: int) -> Decimal:
    total, term, k = Decimal(0), Decimal(1) / x, 1
    while abs(term) > Decimal(10) ** -58:
        total += term / k
        term, k = -term / (x * x), k + 2
    return total


def sine(angle: Decimal) -> Decimal:
    total, term, k = Decimal(0), angle, 1
    while abs(term) > Decimal(10) ** -58:
        total += term
        term, k = -term * angle * angle / ((k + 1) * (k + 2)), k + 2
    return total


def test_the_table_is_the_rounded_sine() -> None:
    with localcontext() as context:
        context.prec = 60
        turn = 2 * pi()
        for k, entry in enumerate(SINE):
            exact = sine(turn * k / 256) * 2**30
            # Nearest integer; no exact half occurs but at multiples of 1/12 turn, which are no entries.
            assert abs(exact - entry) < Decimal("0.5"), k
    assert len(SINE) == 320
    assert SINE.itemsize == 4
