# The board's own time: a cycle a period, late ones counted and not made up, over the wrap of the ticks.

from bench import Bench

from motionboard import clock

WRAP = 2**30


class Ticks:
    # A microsecond counter that the test moves; `cost` passes with every look at the link.

    def __init__(self, now, cost=7):
        self.now = now
        self.cost = cost
        self.served = 0

    def ticks_us(self):
        return self.now % WRAP

    def ticks_add(self, ticks, delta):
        return (ticks + delta) % WRAP

    def ticks_diff(self, a, b):
        return (a - b + WRAP // 2) % WRAP - WRAP // 2

    def idle(self, milliseconds):
        assert milliseconds == 0
        self.served += 1
        self.now += self.cost


class Timed:
    def __init__(self, now=1000, period=1000, cost=7):
        self.ticks = Ticks(now, cost)
        self.clock = clock.TimerClock(period)

    def wait(self):
        kept, clock.time = clock.time, self.ticks
        try:
            self.clock.wait(self.ticks.idle, None)
        finally:
            clock.time = kept
        return self.ticks.now

    def late(self, by):
        # The cycle, or whatever else, ends so long after the next one was due.
        self.ticks.now = self.clock._next - self.ticks.cost + by
        return self.wait()


def test_cycles_begin_a_period_apart_without_drift():
    for now in (0, 1000, WRAP - 3000, WRAP - 1):
        timed = Timed(now)
        begun = []
        for _ in range(200):
            begun.append(timed.wait() - now - 7)
            timed.ticks.now += 300
        for k, at in enumerate(begun):
            assert 0 <= at - 1000 * (k + 1) < 7, k
        assert timed.clock.overruns == timed.clock.missed == 0
        # The link is served all the time that is left.
        assert timed.ticks.served > 200 * 90


def test_late_cycles_are_counted_in_a_row_and_whole_periods_dropped():
    timed = Timed(0)
    timed.wait()
    missed = 0
    for row, late in ((1, 251), (2, 1700), (3, 5200)):
        due = timed.clock._next
        served = timed.ticks.served
        # At once, but not before the link was served.
        assert timed.late(late) == due + late
        assert timed.ticks.served == served + 1
        missed += late // 1000
        assert (timed.clock.late_in_a_row, timed.clock.missed) == (row, missed)
    assert timed.clock.overruns == 3
    assert timed.clock.latest_us == 5200
    # Back in step, the phase is the old one.
    for _ in range(3):
        timed.ticks.now += 100
        at = timed.wait()
    assert timed.clock.late_in_a_row == 0
    assert at % 1000 < 7 + 7


def test_a_link_that_takes_too_long_makes_a_cycle_late_as_well():
    # Less than a period, and with time left when the wait began.
    timed = Timed(0)
    timed.wait()
    timed.ticks.now += 100
    idle = timed.ticks.idle

    def slow(milliseconds):
        idle(milliseconds)
        timed.ticks.now += 1500

    timed.ticks.idle = slow
    timed.wait()
    assert (timed.clock.overruns, timed.clock.missed) == (1, 0)
    assert 600 <= timed.clock.latest_us <= 620


def test_every_cycle_is_counted_by_how_late_it_began():
    timed = Timed(0, cost=0)
    timed.ticks.cost = 1
    timed.wait()
    timed.ticks.cost = 0
    expected = [0] * 16
    expected[0] += 1
    for late in (0, 1, 2, 3, 4, 7, 8, 127, 128, 250, 999, 16383, 16384, 100000):
        timed.late(late)
        expected[min(15, len(bin(late)) - 2 if late else 0)] += 1
    assert list(timed.clock.lateness) == expected
    assert timed.clock.latest_us == 100000


def test_a_board_that_is_always_late_still_serves_its_link():
    timed = Timed(0)
    timed.wait()
    for _ in range(50):
        timed.ticks.now += 2500
        timed.wait()
    assert timed.ticks.served >= 50
    assert timed.clock.overruns == 50
    assert timed.clock.late_in_a_row == 50


def test_what_passed_before_the_first_cycle_is_not_late():
    timed = Timed(0)
    timed.ticks.now += 123456
    timed.wait()
    assert timed.clock.overruns == 0
    assert timed.clock.latest_us < 7


def test_late_cycles_in_a_row_are_a_fault():
    bench = Bench()
    bench.arm()
    for late, fault in ((1, None), (2, None), (0, None), (3, "cycle_overrun")):
        bench.controller.clock.late_in_a_row = late
        bench.cycle()
        assert bench.fault == fault
    assert bench.refusal("move", **bench.motion_fields([1], 10)) == "needs_armed"
    assert bench.refusal("clear_fault") == "fault_stands"
    bench.controller.clock.late_in_a_row = 0
    bench.cycle()
    bench.ask("clear_fault")
    assert bench.state == "holding"
