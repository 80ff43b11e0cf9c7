# Guards: each limit trips at its edge, the torque error against a filter of exact integers.

from support import Numbers, make_axes, words, wrap

from idmwire import properties
from idmwire.faults import FAULT_NAMES
from motionboard.guards import Guards, judge

NO_LIMIT = 2**30 - 1


def make_guards(n=1, **changes):
    # A model on all axes, and a feed-forward that is all there.
    changes.setdefault("dynamic_model", 1)
    changes.setdefault("feedforward_ramp", 1)
    axes, settings = make_axes(n, **changes)
    guards = Guards(axes, settings)
    guards.expect(True, False)
    guards.advance()
    return axes, settings, guards


def all_tripped(guards, stopping=False):
    # One cycle, as the controller makes it: the limits are looked at where there is a doubt.
    guards.advance()
    doubt = judge(guards.bound)
    bits = guards.check(stopping) if doubt or guards.rising else 0
    return [
        (FAULT_NAMES[event[0]], event[1], event[2], event[3])
        for guard, event in enumerate(guards.events) if bits & 1 << guard]


def tripped(guards):
    found = all_tripped(guards)
    assert len(found) < 2, found
    return found[0] if found else None


def test_the_torque_threshold_trips_beyond_its_value_on_either_side():
    axes, _, guards = make_guards(3, torque_threshold=(1000, 2000, 0))
    axes.model_output[0], axes.model_output[1] = 1000, -2000
    assert tripped(guards) is None
    axes.model_output[1] = -2001
    assert tripped(guards) == ("torque_threshold", 1, -2001, 2000)
    axes.model_output[0] = 1001
    assert tripped(guards) == ("torque_threshold", 0, 1001, 1000)


def test_an_axis_without_a_model_has_no_torque():
    axes, settings, guards = make_guards(2, dynamic_model=(0, 1), torque_threshold=1000, additive_torque_delay=0)
    axes.model_output[0], axes.model_output[1] = 2000, 1000
    assert tripped(guards) is None
    assert list(axes.torque_model) == list(axes.torque_command) == [0, 1000]


def test_the_position_error_counts_over_the_wrap():
    axes, _, guards = make_guards(1, position_error_delay=2, position_error_max=50, position_min=-(2**31) + 1)
    # The command climbs over 128 turns; the feedback follows two cycles later.
    command = [2**31 - 95 + 40 * k for k in range(6)]
    axes.position_command[0] = wrap(command[0])
    guards.restart()
    for k in range(6):
        axes.position_command[0] = wrap(command[k])
        axes.position_feedback[0] = wrap(command[max(0, k - 2)] - 7)
        assert tripped(guards) is None
        assert axes.position_error[0] == 7, k
    for error in (50, 51, -50, -51, 2**31 - 1, -(2**31)):
        axes.position_feedback[0] = wrap(axes.position_command[0] - error)
        for _ in range(2):
            judge(guards.bound)
        assert tripped(guards) == (None if abs(error) == 50 else ("position_error", 0, error, 50)), error
        assert axes.position_error[0] == error


def test_the_position_limit_trips_outside_only():
    axes, _, guards = make_guards(
        3, position_min=(-10, -(2**31) + 1, -(2**30)), position_max=(10, 2**31 - 1, 2**31 - 1))
    for position, fault in ((-10, None), (10, None), (11, 10), (-11, -10), (2**31 - 1, 10), (-(2**31), -10)):
        settle(axes, guards, 0, position)
        assert tripped(guards) == (None if fault is None else ("position_limit", 0, position, fault)), position
    settle(axes, guards, 0, 0)
    # No limits; and limits that are more than half the circle of numbers apart.
    for position in (2**31 - 1, -(2**31) + 1, 0):
        settle(axes, guards, 1, position)
        assert tripped(guards) is None
    for position, fault in ((2**31 - 1, None), (-(2**30), None), (-(2**30) - 1, -(2**30)), (0, None)):
        settle(axes, guards, 2, position)
        assert tripped(guards) == (None if fault is None else ("position_limit", 2, position, fault)), position


def settle(axes, guards, axis, position):
    # The axis stands there, and has for long.
    axes.position_command[axis] = axes.position_feedback[axis] = position
    guards.restart()
    for _ in range(2):
        guards.advance()


def test_limits_of_any_range_trip_as_integers_without_a_limit_say():
    numbers = Numbers(9)
    for _ in range(300):
        low, high = sorted([numbers.between(-(2**31) + 1, 2**31 - 1) >> numbers.below(20) for _ in range(2)])
        axes, _, guards = make_guards(1, position_min=low, position_max=high)
        for position in (low, high, low - 1, high + 1, wrap(numbers.word())):
            if -(2**31) < position < 2**31:
                settle(axes, guards, 0, position)
                assert (tripped(guards) is None) == (low <= position <= high), (low, high, position)


def test_the_command_is_the_model_of_so_many_cycles_ago():
    for delay in range(17):
        axes, _, guards = make_guards(2, additive_torque_delay=(delay, 16 - delay))
        past = []
        for k in range(40):
            axes.model_output[0], axes.model_output[1] = 3 * k + 1, -5 * k - 1
            past.append((3 * k + 1, -5 * k - 1))
            judge(guards.bound)
            for axis, back in ((0, delay), (1, 16 - delay)):
                assert axes.torque_command[axis] == (past[k - back][axis] if k >= back else 0), (k, axis)


def test_the_feed_forward_comes_and_goes_on_a_ramp():
    for cycles in (1, 2, 7, 100, 4096):
        axes, settings = make_axes(1, additive_torque_delay=0, feedforward_ramp=cycles, dynamic_model=1)
        guards = Guards(axes, settings)
        axes.model_output[0] = full = -(2**29) - 12345
        before, steps = 0, 0
        guards.expect(True, False)
        while before != full:
            assert not guards.steady
            guards.advance()
            judge(guards.bound)
            now = axes.torque_command[0]
            assert before > now >= full
            # No step is larger than its share, and one unit of rounding each for share and product.
            assert before - now <= -full // cycles + -full // 32768 + 2, (cycles, steps)
            before, steps = now, steps + 1
        assert steps <= cycles
        assert guards.steady
        guards.expect(False, False)
        for _ in range(steps):
            assert not guards.steady
            guards.advance()
            judge(guards.bound)
            assert axes.torque_command[0] > before
            before = axes.torque_command[0]
        assert before == 0
        assert guards.ramp == 0
        assert guards.steady


def test_a_heartbeat_is_missed_where_one_is_due():
    axes, _, guards = make_guards(1, heartbeat_timeout=10)
    assert [judge(guards.bound) for _ in range(20)] == [0] * 20
    guards.expect(True, True)
    assert [judge(guards.bound) for _ in range(11)] == [0] * 10 + [1]
    guards.silence = 0
    assert [judge(guards.bound) for _ in range(11)] == [0] * 10 + [1]


def test_a_saturation_of_the_model_is_a_doubt():
    axes, _, guards = make_guards(1)
    axes.model_output[1] = 1
    assert judge(guards.bound) == 1


def filter_exactly(state, now, tef):
    # State in 2^-15 of a count, with integers without a limit; the product is cut as the board cuts it.
    high, low = state >> 15, state & 0x7FFF
    return state + (now - high) * tef - ((tef * low) >> 15)


def clipped(value):
    return max(-NO_LIMIT, min(NO_LIMIT, value))


def test_the_torque_error_is_filtered_exactly():
    numbers = Numbers(5)
    for tef in (1, 2, 3, 1000, 6554, 16384, 32767, 32768):
        for size in (100, 2**20, 2**30 - 1):
            axes, _, guards = make_guards(2, torque_error_filter=(tef, 32769 - tef), torque_error_delay=(0, 3))
            states, past = [0, 0], []
            for k in range(60):
                past.append([numbers.between(-size, size) for _ in range(2)])
                for axis in range(2):
                    axes.model_output[axis] = past[k][axis]
                    axes.torque_feedback[axis] = numbers.between(-size, size)
                judge(guards.bound)
                for axis, back, share in ((0, 0, tef), (1, 3, 32769 - tef)):
                    model = past[k - back][axis] if k >= back else 0
                    now = clipped(model - axes.torque_feedback[axis])
                    states[axis] = filter_exactly(states[axis], now, share)
                    assert axes.torque_error[axis] == states[axis] >> 15, (tef, size, k, axis)


def test_a_filter_of_one_is_no_filter():
    axes, _, guards = make_guards(1, torque_error_filter=32768, torque_error_delay=0)
    numbers = Numbers(6)
    for _ in range(50):
        axes.model_output[0] = numbers.between(-(2**29), 2**29)
        axes.torque_feedback[0] = numbers.between(-(2**29), 2**29)
        judge(guards.bound)
        assert axes.torque_error[0] == axes.torque_model[0] - axes.torque_feedback[0]


def test_a_slow_filter_does_not_lose_small_errors():
    # With TEF = 2^-15 an error of one count needs the wide state: it arrives in the end.
    axes, _, guards = make_guards(1, torque_error_filter=1, torque_error_delay=0)
    axes.model_output[0] = 4
    for _ in range(200000):
        judge(guards.bound)
    assert axes.torque_error[0] == 4


def test_every_torque_error_delay():
    for delay in range(32):
        axes, _, guards = make_guards(1, torque_error_delay=delay)
        for k in range(40):
            axes.model_output[0] = k + 1
            judge(guards.bound)
            assert axes.torque_error[0] == (k + 1 - delay if k >= delay else 0)


def test_a_collision_lasts_its_cycles_in_a_row():
    axes, settings, guards = make_guards(
        2, torque_error_enable=1, torque_error_max=(100, 200), torque_error_duration=(3, 1), torque_error_delay=0)

    def now(axis, error):
        axes.torque_feedback[axis] = -error
        return tripped(guards)

    for _ in range(5):
        assert now(0, 100) is None
    assert now(0, -101) is None
    assert now(0, -101) is None
    assert now(0, 0) is None
    assert [now(0, 101) for _ in range(3)] == [None, None, ("collision", 0, 101, 100)]
    assert now(0, 0) is None
    assert now(1, -201) == ("collision", 1, -201, 200)
    write(settings, "torque_error_enable", 1, 0)
    assert now(1, -201) is None
    write(settings, "torque_error_enable", 1, 1)
    assert now(1, -201) == ("collision", 1, -201, 200)
    write(settings, "dynamic_model", 1, 0)
    assert now(1, -201) is None


def test_rest_has_a_limit_of_its_own_for_some_cycles():
    for cycles in (1, 4, 30):
        rest_limit(cycles)


def rest_limit(cycles):
    axes, settings, guards = make_guards(
        2, torque_error_enable=1, torque_error_max=(100, 300), torque_error_max_rest=(250, 50),
        torque_error_rest_cycles=cycles, torque_error_delay=0)

    def now(error, step, axis=0):
        axes.position_command[axis] += step
        axes.torque_feedback[axis] = -error
        found = tripped(guards)
        axes.torque_feedback[axis] = 0
        return found

    # The lines of the command are full of one place: it stands.
    for _ in range(33):
        assert now(250, 0) is None
    assert now(-251, 0) == ("collision", 0, -251, 250)
    # The last three equal commands have this one in front; its middle is one cycle ago, then two, ...
    for ago in range(2, cycles + 1):
        assert now(101, 7) is None, ago
    assert now(101, 7) == ("collision", 0, 101, 100)
    assert now(100, 7) is None
    # A reversal is no rest, not even with two equal commands at its end.
    for step in (5, 1, 0, -1, -5):
        assert now(101, step) == ("collision", 0, 101, 100)
    # The smaller limit at rest.
    assert now(51, 0, 1) == ("collision", 1, 51, 50)
    for _ in range(33):
        now(0, 7, 1)
    assert now(300, 7, 1) is None
    assert now(301, 7, 1) == ("collision", 1, 301, 300)
    write(settings, "torque_error_rest_cycles", 1, 0)
    for _ in range(5):
        now(0, 0, 1)
    assert now(300, 0, 1) is None
    write(settings, "torque_error_enable", 1, 0)
    assert now(2**29, 0, 1) is None


def test_a_controlled_stop_has_the_limit_of_rest():
    axes, settings, guards = make_guards(
        1, torque_error_enable=1, torque_error_max=100, torque_error_max_rest=250, torque_error_rest_cycles=2,
        torque_error_delay=0)
    for _ in range(9):
        axes.position_command[0] += 7
        judge(guards.bound)
    for error, stopping, found in ((101, False, 100), (250, True, None), (251, True, 250)):
        axes.position_command[0] += 7
        axes.torque_feedback[0] = -error
        expected = [] if found is None else [("collision", 0, error, found)]
        assert all_tripped(guards, stopping) == expected
    write(settings, "torque_error_rest_cycles", 0, 0)
    axes.position_command[0] += 7
    assert all_tripped(guards, True) == [("collision", 0, 251, 100)]


def write(settings, name, axis, value):
    assert settings.take(settings.slot(properties.BY_NAME[name], axis), words([value]))


def test_no_guard_hides_another():
    axes, _, guards = make_guards(
        2, torque_error_enable=1, torque_threshold=10, torque_error_max=20, position_error_max=30, position_max=40,
        torque_error_duration=2, torque_error_delay=0, position_error_delay=0)
    axes.model_output[0] = 11
    axes.torque_feedback[1] = 21
    axes.position_command[1] = 41
    axes.position_feedback[0], axes.position_feedback[1] = -31, 41
    others = [("torque_threshold", 0, 11, 10), ("position_error", 0, 31, 30), ("position_limit", 1, 41, 40)]
    assert all_tripped(guards) == others
    assert all_tripped(guards) == others[:1] + [("collision", 1, -21, 20)] + others[1:]


def test_a_drive_that_takes_over_the_weight_is_no_collision():
    axes, _, guards = make_guards(
        1, torque_error_enable=1, torque_error_max=20, torque_error_duration=3, feedforward_ramp=50)
    guards.restart()
    axes.torque_feedback[0] = -21
    assert [tripped(guards) for _ in range(52)] == [None] * 52
    assert tripped(guards) == ("collision", 0, 21, 20)


def test_a_restart_forgets_the_past():
    axes, _, guards = make_guards(
        1, torque_error_enable=1, torque_error_max=100, torque_error_duration=2, torque_error_filter=100)
    axes.torque_feedback[0] = 2**25
    for _ in range(2000):
        judge(guards.bound)
    assert tripped(guards) is None
    axes.position_command[0] = axes.position_feedback[0] = 777
    axes.torque_feedback[0] = 0
    guards.restart()
    judge(guards.bound)
    assert axes.torque_error[0] == 0
    assert axes.position_error[0] == 0
    assert not guards.rising
