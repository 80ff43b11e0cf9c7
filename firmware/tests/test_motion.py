# Motions: exact ends, rest where there should be rest, and channels that are each other's derivatives.

import math

from motion_driver import ACCELERATION, MASK, POSITION, TURN, VELOCITY, Driver, largest
from support import CYCLE_S, Numbers

from motionboard.motion import HOLD, MOVE, SINE_WAVE


def check_derivatives(driver, axis, jerk, snap):
    # Central differences: half a count of rounding at either side over two cycles, the next derivative's share of
    # cycle^2/6 (velocity) and of the same of the one after it (acceleration), and one count of the channel itself.
    h = driver.cycle_s
    q, v, a = driver.si(axis)
    shape = largest(q) * 8 * 2**-28
    # Inside the motion: at its two ends the jerk steps.
    for k in range(2, len(q) - 3):
        error = abs((q[k + 1] - q[k - 1]) / (2 * h) - v[k])
        assert error < (POSITION + shape) / (2 * h) + jerk * h * h / 6 + 2 * VELOCITY, (k, error)
        error = abs((v[k + 1] - v[k - 1]) / (2 * h) - a[k])
        assert error < (VELOCITY + largest(v) * 8 * 2**-28) / (2 * h) + snap * h * h / 6 + 2 * ACCELERATION, (k, error)


def test_a_move_ends_exactly_and_rests_at_both_ends():
    numbers = Numbers(11)
    for cycles in (2, 3, 10, 499, 1000, 5000):
        reach = min(2**24, 20000 * cycles**2)
        distance = [numbers.between(-reach, reach), 2**30 - 1 if cycles > 2000 else 12345, 0]
        start = [2**20, -(2**29), 77]
        driver = Driver(start)
        assert driver.move(distance, cycles) is None, cycles
        driver.step()
        assert driver.at(driver.q, -1) == start
        assert driver.at(driver.v, -1) == driver.at(driver.a, -1) == [0, 0, 0]
        driver.step(cycles - 1)
        assert driver.motion.moving
        driver.step()
        assert not driver.motion.moving
        assert driver.at(driver.q, -1) == [a + b for a, b in zip(start, distance)], cycles
        assert driver.at(driver.v, -1) == driver.at(driver.a, -1) == [0, 0, 0]
        assert set(driver.q[2]) == {77}
        # It never leaves the way between its ends, and turns back by rounding only.
        sign = 1 if distance[0] > 0 else -1
        way = [sign * (value - start[0]) for value in driver.q[0]]
        assert min(way) == 0
        assert max(way) == abs(distance[0])
        assert all(b - a > -2 - abs(distance[0]) / 2**25 for a, b in zip(way, way[1:]))


def test_the_longest_move_ends_exactly():
    driver = Driver((-(2**30),))
    assert driver.move([2**30 - 1], 32767) is None
    for _ in range(32767):
        driver.cycle += 1
        driver.axes.cycle[0] = driver.cycle
        driver.motion.step()
    assert driver.motion.moving
    driver.step()
    assert not driver.motion.moving
    assert driver.at(driver.q, -1) == [-1]


def test_velocity_and_acceleration_of_a_move_are_its_derivatives():
    cases = ((2**24, 500, 0.001), (-(2**26), 2000, 0.001), (2**22, 700, 0.00025), (9, 50, 0.004))
    for distance, cycles, cycle_s in cases:
        driver = Driver((-5000,), cycle_s)
        assert driver.move([distance], cycles) is None
        driver.run()
        way, duration = abs(distance) * POSITION, cycles * cycle_s
        check_derivatives(driver, 0, 60 * way / duration**3, 360 * way / duration**4)
        _, v, a = driver.si()
        # The quintic's peaks, 15/8 and 10/sqrt(3), to the rounding of the coefficients (half a count at most).
        assert abs(largest(v) - 1.875 * way / duration) < way / duration / cycles**2 * 8 + 2 * VELOCITY
        peak = 10 / math.sqrt(3)
        assert abs(largest(a) - peak * way / duration**2) < way / duration**2 * 60 / cycles + 4 * ACCELERATION
        # Jerk: the step of acceleration in a cycle, with a count of rounding at either side.
        jerk = largest([y - x for x, y in zip(a, a[1:])]) / cycle_s
        assert jerk <= 60 * way / duration**3 + 2 * ACCELERATION / cycle_s


def test_a_sine_starts_at_rest_at_an_end_of_its_path():
    for amplitude, frequency, cycles in ((2**22, 2.5, 800), (-(2**20), 7.3, 1370), (2**23, 0.5, 2000)):
        driver = Driver((123456, 0))
        assert driver.sine([amplitude, 0], [frequency, 3.0], cycles) is None
        driver.step(cycles + 1)
        assert driver.at(driver.q, 1) == [123456, 0]
        assert driver.at(driver.v, 1) == [0, 0]
        assert set(driver.q[1]) == {0}
        w = TURN * round(frequency * CYCLE_S * 2**32) / 2**32 / CYCLE_S
        size = abs(amplitude) * POSITION
        for k in range(cycles + 1):
            t = k * CYCLE_S
            ideal = amplitude * (1 - math.cos(w * t))
            # Sine and cosine are good to 2^-26; half a count each of coefficient and result.
            assert abs(driver.q[0][1 + k] - 123456 - ideal) < abs(amplitude) * 2**-25 + 1, k
            ideal = math.copysign(size, amplitude) * w * math.sin(w * t)
            assert abs(driver.v[0][1 + k] * VELOCITY - ideal) < size * w * 2**-25 + 1.5 * VELOCITY, k
            ideal = math.copysign(size, amplitude) * w * w * math.cos(w * t)
            assert abs(driver.a[0][1 + k] * ACCELERATION - ideal) < size * w * w * 2**-25 + 1.5 * ACCELERATION, k


def test_a_sine_of_whole_periods_ends_where_it_started():
    driver = Driver((0,))
    assert driver.sine([2**22], [4.0], 1000) is None
    driver.run()
    # What is left of the acceleration is bled off in eight cycles: a0 T^2/10 of way.
    a0 = 2**22 * POSITION * (TURN * 4) ** 2
    assert abs(driver.q[0][-1]) * POSITION < 1.1 * a0 * (8 * CYCLE_S) ** 2 / 10
    assert driver.v[0][-1] == driver.a[0][-1] == 0
    assert driver.motion.kind == HOLD


def test_a_motion_waits_for_its_cycle_over_the_wrap_of_cycles():
    for first in (0, MASK - 20, 2**29 - 20):
        driver = Driver((0,), cycle=first)
        begin = (driver.cycle + 40) & MASK
        assert driver.move([1000], 10, start_cycle=begin) is None
        driver.step(40)
        assert driver.cycle == begin
        assert driver.motion.kind == MOVE
        assert set(driver.q[0]) == {0}
        driver.step(10)
        assert driver.q[0][-1] == 1000


def test_what_a_motion_may_not_be():
    driver = Driver((1000, 0), position_min=(-2000, -(2**31) + 1), position_max=(2000, 2**31 - 1))
    assert driver.move([1, 1], 100, start=[1001, 0]) == "stale_start"
    assert driver.move([1, 1], 1) == "out_of_range"
    assert driver.move([1, 1], 32768) == "out_of_range"
    # To the limit, not beyond it: to the count.
    assert driver.move([1001, 0], 100) == "out_of_range"
    assert driver.move([-3001, 0], 100) == "out_of_range"
    assert driver.move([1000, 0], 100) is None
    driver.motion.stop()
    assert driver.move([-3000, 0], 100) is None
    driver.motion.stop()
    # A sine goes twice its amplitude.
    assert driver.sine([501, 0], [1.0, 1.0], 100) == "out_of_range"
    assert driver.sine([500, 0], [1.0, 1.0], 100) is None
    driver.motion.stop()
    assert driver.sine([-1501, 0], [1.0, 1.0], 100) == "out_of_range"
    assert driver.sine([-1500, 0], [1.0, 1.0], 100) is None
    driver.motion.stop()
    driver.step(200)
    assert set(driver.q[0]) == {1000}


def test_coefficients_that_leave_their_range_are_refused():
    for kind, speed, acceleration in ((MOVE, 2**29 - 1, 2**27 - 1), (SINE_WAVE, 2**30 - 1, 2**30 - 1)):
        motion = Driver((0,)).motion
        places = (motion.distance, 2**30 - 1), (motion.velocity, speed), (motion.acceleration, acceleration)
        for place, most in places:
            for value in (most, -most, most + 1, -most - 1, 2**30, -(2**30), 2**31 - 1, -(2**31)):
                motion.distance[0] = motion.velocity[0] = motion.acceleration[0] = 0
                place[0] = value
                expected = None if abs(value) <= most else "out_of_range"
                assert motion.refusal(kind, 1000) == expected, (kind, value)


def test_a_sum_that_wraps_is_outside():
    top, bottom = 2**31 - 10, -(2**31) + 10
    for start, distance in ((top, 20), (top, 2**30 - 1), (bottom, -20), (bottom, 1 - 2**30)):
        driver = Driver((start,))
        assert driver.move([distance], 32767) == "out_of_range"
        assert driver.sine([distance // 2 + (distance > 0)], [0.01], 1000) == "out_of_range"
    # Twice the amplitude wraps right round the circle of numbers.
    driver = Driver((0,))
    assert driver.sine([2**30 - 1], [0.001], 1000) is None
    driver = Driver((2,))
    assert driver.sine([2**30 - 1], [0.001], 1000) == "out_of_range"


def test_close_to_128_turns():
    for sign in (1, -1):
        end = sign * (2**31 - 1)
        driver = Driver((end - sign * 2**22,))
        assert driver.move([sign * 2**22], 400) is None
        driver.run()
        assert driver.q[0][-1] == end
        check_derivatives(driver, 0, 60 * 2**22 * POSITION / 0.4**3, 360 * 2**22 * POSITION / 0.4**4)
        assert driver.move([sign], 400) == "out_of_range"
        assert driver.move([-sign * 2**22], 400) is None
        driver.run()
        assert driver.q[0][-1] == end - sign * 2**22


def test_an_axis_outside_its_limits_moves_nowhere_but_may_stand():
    driver = Driver((3000, 0), position_min=(-2000, -10), position_max=(2000, 10))
    assert driver.move([-1500, 0], 100) == "out_of_range"
    assert driver.move([0, 5], 100) is None


def test_the_direction_is_the_last_one_at_standstill():
    driver = Driver((0,))
    assert driver.axes.direction[0] == 0
    assert driver.move([2**20], 100) is None
    driver.run()
    assert driver.axes.direction[0] == 1
    assert driver.move([-(2**20)], 100) is None
    driver.step()
    assert driver.axes.direction[0] == 1
    driver.step()
    assert driver.axes.direction[0] == -1
    driver.run()
    assert driver.axes.direction[0] == -1


def test_holding_here_takes_the_measured_position():
    driver = Driver((0,))
    assert driver.move([2**20], 100) is None
    driver.step(50)
    driver.axes.position_feedback[0] = -99
    driver.motion.hold_here()
    driver.step()
    assert (driver.q[0][-1], driver.v[0][-1], driver.a[0][-1]) == (-99, 0, 0)
    assert not driver.motion.moving


def test_the_model_reads_a_fraction_of_a_cycle_ahead():
    # What is read ahead is the motion itself, later: to rounding, and to 4 in 2**-28 of the shapes.
    lead = 0.375
    for sine in (False, True):
        driver = Driver((1000,), torque_lead=round(lead * 2**15))
        distance, cycles = 2**22, 400
        assert (driver.sine([distance], [2.5], cycles) if sine else driver.move([distance], cycles)) is None
        for k in range(cycles - 1):
            driver.step()
            s = (k + lead) / cycles
            angle = TURN * 2.5 * CYCLE_S * (k + lead)
            shape = 1 - math.cos(angle) if sine else s**3 * (10 - 15 * s + 6 * s * s)
            assert abs(driver.axes.position_ahead[0] - 1000 - distance * shape) < 2, (sine, k)
            slope = math.sin(angle) * TURN * 2.5 if sine else 30 * (s * (1 - s)) ** 2 / (cycles * CYCLE_S)
            off = driver.axes.velocity_ahead[0] * VELOCITY - distance * POSITION * slope
            assert abs(off) < 1e-6 * abs(distance * POSITION) * 20 + 2 * VELOCITY, (sine, k, off)
        assert driver.axes.direction_ahead[0] == 1 or sine


def test_at_rest_and_in_a_stop_the_model_reads_the_command():
    driver = Driver((5,), torque_lead=2**14)
    assert driver.axes.position_ahead[0] == 5
    assert driver.sine([2**22], [1.0], 1000) is None
    driver.step(200)
    driver.motion.stop()
    while driver.motion.moving:
        driver.step()
        assert driver.axes.position_ahead[0] == driver.axes.position_command[0]
        assert driver.axes.velocity_ahead[0] == driver.axes.velocity_command[0]
    assert driver.axes.velocity_ahead[0] == 0
