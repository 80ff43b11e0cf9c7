# Conversions between the drives' units and the board's, and the sine, against integers without a limit and floats.

import math

from support import Numbers, make_axes, positions, words, wrap

from drives import units
from idmwire.sine import SINE
from motionboard.fixed import SH, sincos

EDGES = [0, 1, -1, 2, -2, 0x7FFF, 0x8000, -0x8000, 0xFFFF, -0x10000, 2**30 - 1, 2**30, -(2**30), 2**31 - 1, -(2**31)]
MANTISSAS = [0, 1, -1, 0x7FFF, 0x8000, -0x7FFF, -0x8000, 2**15 + 1, 2**29, 2**30 - 1, 1 - 2**30, -(2**29)]


def check(values, mantissa, shift):
    for value, found in zip(values, positions(values, mantissa, shift)):
        exact = (value * mantissa * 2 + 2**shift) >> (shift + 1)
        # fixed.py: to within 2, by a factor good to 2^-31; rounded.
        assert abs(wrap(found - exact)) <= 2 + abs(value) / 2**31, (value, mantissa, shift)


def test_positions_at_the_edges_with_every_shift():
    for mantissa in MANTISSAS:
        for shift in range(1, 46):
            check(EDGES, mantissa, shift)


def test_positions_of_any_counts():
    numbers = Numbers(7)
    for _ in range(100):
        values = [wrap(numbers.word() >> numbers.below(32)) for _ in range(8)]
        mantissa = numbers.between(1 - 2**30, 2**30 - 1) >> numbers.below(30)
        check(values, mantissa, numbers.between(1, 45))


def test_targets_are_converted_alike():
    numbers = Numbers(8)
    for _ in range(100):
        mantissa, shift = numbers.between(1 - 2**30, 2**30 - 1), numbers.between(28, 45)
        axes, settings = make_axes(3, counts_mantissa=mantissa, counts_shift=shift)
        drives = units.Units(axes, settings)
        for axis in range(3):
            axes.position_command[axis] = wrap(numbers.word())
        units.write(drives.writes)
        for axis in range(3):
            value = axes.position_command[axis]
            exact = (value * mantissa * 2 + 2**shift) >> (shift + 1)
            assert abs(wrap(drives.target[axis] - exact)) <= 2 + abs(value) / 2**31, (value, mantissa, shift)


def test_torques_to_and_from_16_bits():
    # From 0.05 Nm to 5 kNm rated, both ways round.
    for rated in (0.05, 0.7, 10, 33, 480, 5000):
        for sign in (1, -1):
            feedback, offset = rated / 1000 * 2**16 * sign, 1000 / rated / 2**16 * sign
            changes = {}
            for name, factor in (("feedback", feedback), ("offset", offset)):
                shift = 15
                while abs(factor) * 2 ** (shift + 1) < 2**30 and shift < 45:
                    shift += 1
                changes[name + "_mantissa"] = min(round(factor * 2**shift), 2**30 - 1)
                changes[name + "_shift"] = shift
            if abs(feedback) * 2**15 >= 2**30:
                continue
            axes, settings = make_axes(1, **changes)
            drives = units.Units(axes, settings)
            for current in (0, 1, -1, 2, 999, -1000, 3000, -3000, 32767, -32768):
                drives.current[0] = current
                units.read(drives.reads)
                exact = current * feedback
                # A factor of 15 bits, and half a count.
                assert abs(axes.torque_feedback[0] - exact) <= abs(exact) * 2**-15 + 0.5, (rated, current)
                axes.torque_command[0] = round(current / offset)
                units.write(drives.writes)
                # A factor of 15 bits, a quarter of a per mille for the torque's own 16 bits, and half a one; at the end
                # of its range both signs reach as far.
                error = drives.offset[0] - current
                assert abs(error) <= abs(current) * 2**-15 + 0.75 + (current == -32768), (rated, current, error)
            cut = drives.saturations
            for torque in (round(32800 / offset), round(-32800 / offset), 2**30 - 1, 1 - 2**30):
                if abs(torque) < 2**30:
                    axes.torque_command[0] = torque
                    units.write(drives.writes)
                    beyond = abs(torque * offset) > 32768
                    assert not beyond or 32766 <= drives.offset[0] * (1 if torque * offset > 0 else -1) <= 32767
                    cut += beyond
            assert drives.saturations == cut


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
