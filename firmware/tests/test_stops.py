# Controlled stops: from any state to rest, without a jump.

from motion_driver import ACCELERATION, POSITION, TURN, VELOCITY, Driver
from support import CYCLE_S, Numbers

from motionboard.motion import HOLD, STOP


def check_stop(driver, at, acceleration_limit):
    h = driver.cycle_s
    for axis in range(driver.n):
        q, v, a = driver.si(axis)
        v0, a0 = v[at], (v[at] - v[at - 1]) / h
        cycles = driver.motion.cycles
        duration = cycles * h
        rounding = 4 * VELOCITY / h
        # The bounds of v0 (1 - quintic) + a0 T h1: 15/8 v0/T + a0 and 5.774 v0/T^2 + 3.95 a0/T.
        most = 1.875 * abs(v0) / duration + abs(a0) + rounding
        assert most <= acceleration_limit + abs(a0) + rounding
        jerk = 5.774 * abs(v0) / duration**2 + 3.95 * abs(a0) / duration + 2 * rounding / h
        for k in range(at, len(q) - 1):
            now, before = (v[k + 1] - v[k]) / h, (v[k] - v[k - 1]) / h
            assert abs(now) <= most, (k, axis)
            assert abs(now - before) / h <= jerk, (k, axis)
            # The position follows the speed: no jump, half a count of rounding.
            assert abs(q[k + 1] - q[k] - h * (v[k + 1] + v[k]) / 2) <= 1.5 * POSITION, (k, axis)
            if k + 1 < len(q) - 3:
                assert abs(a[k + 1] - now) <= 1.5 * ACCELERATION + abs(now) * 2**-20, (k, axis)
    assert driver.at(driver.v, -1) == driver.at(driver.a, -1) == [0] * driver.n
    assert driver.at(driver.q, -1) == driver.at(driver.q, -2)
    assert driver.motion.kind == HOLD


def test_a_stop_from_any_state_of_a_move_is_smooth():
    for after in (1, 2, 3, 50, 133, 250, 367, 480, 498, 499, 500):
        driver = Driver((0, 2**20))
        assert driver.move([2**24, -(2**22)], 500) is None
        driver.step(after)
        at = len(driver.q[0]) - 1
        driver.motion.stop()
        assert driver.motion.kind == STOP
        driver.run()
        check_stop(driver, at, 80)


def test_a_stop_from_any_state_of_a_sine_is_smooth():
    numbers = Numbers(4)
    for _ in range(12):
        driver = Driver((0,), numbers.any_of((0.00025, 0.001, 0.004)))
        # Up to twice the limit of the stop; the acceleration that a stop takes over ends at 512 rad/s a duration.
        frequency = numbers.any_of((0.3, 2.0, 9.0))
        amplitude = min(2**24, numbers.between(20, 160) / (TURN * frequency) ** 2 / POSITION)
        assert driver.sine([amplitude * numbers.any_of((1, -1))], [frequency], 5000) is None
        driver.step(numbers.between(2, 1000))
        at = len(driver.q[0]) - 1
        driver.motion.stop()
        driver.run()
        check_stop(driver, at, 80)


def test_a_stop_from_high_speed_takes_its_time():
    # 200 rad/s at 0.25 ms: the acceleration that would take it in one cycle is beyond int32.
    for cycle_s in (0.00025, 0.001):
        driver = Driver((0,), cycle_s, stop_acceleration=round(1000 / ACCELERATION))
        distance = round(200 * 3000 * cycle_s / 1.875 / POSITION)
        assert driver.move([distance], 3000) is None
        driver.step(1501)
        at = len(driver.q[0]) - 1
        assert abs(driver.v[0][at] * VELOCITY - 200) < 0.1
        driver.motion.stop()
        driver.run()
        assert driver.motion.cycles >= 1.875 * 200 / 1000 / cycle_s
        check_stop(driver, at, 1000)


def test_a_stop_takes_the_cycles_of_the_hardest_axis():
    driver = Driver((0, 0), stop_acceleration=(round(100 / ACCELERATION), round(5 / ACCELERATION)))
    assert driver.move([2**22, 2**22], 400) is None
    driver.step(200)
    at, speed = len(driver.q[0]) - 1, driver.v[1][-1] * VELOCITY
    driver.motion.stop()
    driver.run()
    assert driver.motion.cycles >= 1.875 * speed / 5 / CYCLE_S - 2
    check_stop(driver, at, 100)
    # A limit that would need longer than the longest stop gets that.
    driver = Driver((0,), stop_acceleration=256)
    assert driver.move([2**24], 400) is None
    driver.step(200)
    driver.motion.stop()
    assert driver.motion.cycles == 8000


def test_a_stop_is_not_begun_twice_and_cancels_what_waits():
    driver = Driver((0,))
    driver.motion.stop()
    assert not driver.motion.moving
    assert driver.move([1000], 100, start_cycle=driver.cycle + 50) is None
    driver.step(10)
    driver.motion.stop()
    assert not driver.motion.moving
    driver.step(100)
    assert set(driver.q[0]) == {0}
    assert driver.move([2**22], 400) is None
    driver.step(100)
    driver.motion.stop()
    driver.step(3)
    k, cycles = driver.motion.k, driver.motion.cycles
    driver.motion.stop()
    assert (driver.motion.k, driver.motion.cycles) == (k, cycles)


def test_a_stop_at_the_end_of_the_range_does_not_wrap():
    for sign in (1, -1):
        end = sign * (2**31 - 1)
        driver = Driver((end - sign * 2**24,), stop_acceleration=round(10 / ACCELERATION))
        assert driver.move([sign * 2**24], 100) is None
        driver.step(80)
        driver.motion.stop()
        driver.run()
        assert driver.q[0][-1] * sign > 0
        assert all(abs(b - a) < 2**20 for a, b in zip(driver.q[0], driver.q[0][1:]))
