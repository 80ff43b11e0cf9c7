# The delay line: whole cycles back, each axis its own number.

from support import Numbers, words

from motionboard.delay import DelayLine


def test_every_delay_of_every_axis():
    line = DelayLine(32)
    delays, out = words(list(range(32))), words([0] * 32)
    past = []
    numbers = Numbers(2)
    for k in range(100):
        now = [numbers.between(-(2**31), 2**31 - 1) for _ in range(32)]
        past.append(now)
        line.write(words(now))
        line.read(out, delays)
        for axis in range(32):
            expected = past[k - axis][axis] if k >= axis else 0
            assert out[axis] == expected, (k, axis)


def test_filled_the_whole_past_is_the_same():
    line = DelayLine(3)
    out = words([0] * 3)
    line.write(words([9, 9, 9]))
    line.fill(words([1, -2, 3]))
    for delay in range(32):
        line.read(out, words([delay] * 3))
        assert list(out) == [1, -2, 3]
    line.write(words([4, 5, 6]))
    line.read(out, words([0, 1, 31]))
    assert list(out) == [4, -2, 3]
