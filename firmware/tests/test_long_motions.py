# Series, moves and streams over the link: what is refused and why, repeats, underruns, and nothing allocated.

import math

import micropython
from bench import Bench

from idmwire.messages import REFUSAL_NAMES  # noqa: F401 - the names asserted below are those of this table

PERIOD = 400
FAR = 100 * 2**24
# Coefficients in 2^-4 counts: sum l A = sum l^2 B = 0.
SERIES = (4, -(2**21), 2**22, 2**20, -(2**20))


def scaled(factor, bits):
    shift = 30 - bits
    while factor >= 1:
        factor /= 2
        shift -= 1
    while factor < 0.5:
        factor *= 2
        shift += 1
    return round(factor * 2**30), shift


def words(values):
    return b"".join([(value & 0xFFFFFFFF).to_bytes(4, "little") for value in values])


def scales(period=PERIOD):
    step = 16 * math.pi / period
    return scaled(step * 512, 27) + scaled(step * step * 512, 30)


def write_series(bench, series=SERIES, head=None):
    bench.ask("motion_data", offset=0, words=words(head or scales()))
    for axis in range(bench.n):
        bench.ask("motion_data", offset=4 + len(series) * axis, words=words(series))


def series_fields(bench, **changes):
    fields = {"start_cycle": 0, "cycles": 2 * PERIOD, "period": PERIOD, "harmonics": 2, "start": bench.command}
    fields.update(changes)
    return fields


def move_row(distance, ramp=3, constant=2, cruise=5, start=0, target=None):
    total = 6 * ramp * (ramp + constant) * (2 * ramp + constant + cruise)
    unit = 1
    while total * unit * 2 < 2**29:
        unit *= 2
    mantissa, shift = scaled(abs(distance) / (total * unit), 30)
    target = start + distance if target is None else target
    return [unit if distance > 0 else -unit, ramp, constant, cruise, target, mantissa, shift]


def write_moves(bench, rows, in_all=None):
    for axis in range(bench.n):
        table = [len(rows), len(rows) if in_all is None else in_all]
        for row in rows:
            table += row
        bench.ask("motion_data", offset=96 * axis, words=words(table))


def moves_fields(bench, **changes):
    fields = {"start_cycle": 0, "cycles": 1200, "start": bench.command}
    fields.update(changes)
    return fields


def armed(n=2, start=0, **changes):
    bench = Bench(n, **changes)
    for drive in bench.drives:
        drive.counts = start * 1310720 // 2**24
    bench.cycle(3)
    bench.arm()
    return bench


def points(bench, first, count, step=1000):
    start = bench.command[0]
    return words([start + step * (first + i) for i in range(count) for _ in range(bench.n)])


def test_a_series_runs_and_comes_back():
    bench = armed()
    write_series(bench)
    start = bench.command
    bench.ask("fourier", **series_fields(bench))
    bench.cycle(150)
    assert bench.state == "moving"
    assert bench.command[0] != start[0]
    assert bench.command[0] == bench.command[1]
    bench.cycle(2 * PERIOD - 149)
    assert bench.state == "holding"
    assert bench.command == start
    assert bench.fault is None


def test_a_series_that_is_stopped_comes_to_rest():
    bench = armed()
    write_series(bench)
    bench.ask("fourier", **series_fields(bench))
    bench.cycle(150)
    bench.ask("stop")
    bench.cycle_until("holding")
    assert bench.fault is None


def test_why_a_series_is_refused():
    bench = armed()
    write_series(bench)

    def refused(reason, **changes):
        assert bench.refusal("fourier", **series_fields(bench, **changes)) == reason, (reason, changes)

    refused("stale_start", start=[bench.command[0] + 1, bench.command[1]])
    refused("not_at_rest", cycles=2 * PERIOD - 1)
    refused("out_of_range", harmonics=0)
    refused("out_of_range", harmonics=5)
    refused("out_of_range", harmonics=9, period=2000, cycles=2000)
    refused("out_of_range", period=199, cycles=199)
    refused("out_of_range", period=2**24 + 1, cycles=2**24 + 1)
    refused("out_of_range", period=2**32 - 1)
    refused("out_of_range", cycles=2**32 - 1)
    for at in range(4):
        broken = list(SERIES)
        broken[1 + at] += 1
        write_series(bench, broken)
        refused("not_at_rest")
    for axis_words in ((16,) + SERIES[1:], (-1,) + SERIES[1:], (4, -(2**28), 2**27, 0, 0), (4, 0, 0, -(2**27), 2**25),
                       (4, -(2**31), 2**30, 0, 0)):
        write_series(bench, axis_words)
        refused("out_of_range")
    good = scales()
    for at, value in ((0, -1), (0, 2**30), (1, -5), (1, 27), (2, 2**31 - 1), (3, -5), (3, 27)):
        head = list(good)
        head[at] = value
        write_series(bench, head=head)
        refused("out_of_range")
    write_series(bench)
    refused(None)


def test_coefficients_are_not_written_while_something_moves():
    bench = armed()
    write_series(bench)
    bench.ask("fourier", **series_fields(bench, start_cycle=bench.controller.cycle_number + 50))
    for _ in range(2):
        assert bench.refusal("motion_data", offset=0, words=words([1])) == "busy"
        assert bench.refusal("stream_points", first=0, total=0, points=points(bench, 0, 1)) == "busy"
        bench.cycle(60)
    bench.ask("stop")
    bench.cycle_until("holding")
    assert bench.refusal("motion_data", offset=2 * 96 - 1, words=words([1])) is None
    assert bench.refusal("motion_data", offset=2 * 96, words=words([1])) == "out_of_range"
    assert bench.refusal("motion_data", offset=0, words=b"123") == "bad_length"
    bench.ask("disarm")
    bench.cycle_until("disarmed")
    assert bench.refusal("motion_data", offset=0, words=words([1])) == "needs_armed"


def test_moves_run_from_end_to_end():
    bench = armed()
    there, back = move_row(2**20), move_row(-(2**20), start=2**20, cruise=0)
    write_moves(bench, [there, back], in_all=4)
    start = bench.command
    bench.ask("trapezoid", **moves_fields(bench))
    lowest = highest = start[0]
    for _ in range(1201):
        bench.cycle()
        lowest, highest = min(lowest, bench.command[0]), max(highest, bench.command[0])
    assert bench.state == "holding"
    assert (lowest, highest) == (start[0], start[0] + 2**20)
    assert bench.command == start
    assert bench.fault is None


def test_moves_that_are_not_over_in_time_are_stopped():
    bench = armed()
    write_moves(bench, [move_row(2**20)])
    start = bench.command
    bench.ask("trapezoid", **moves_fields(bench, cycles=70))
    bench.cycle(72)
    assert bench.state == "stopping"
    before = bench.command[0]
    bench.cycle_until("holding")
    assert start[0] < before < bench.command[0] < start[0] + 2**20
    assert bench.fault is None


def test_why_moves_are_refused():
    bench = armed(position_min=(-1000, -1000), position_max=(2**21, 2**21))

    def refused(reason, rows, in_all=None):
        write_moves(bench, rows, in_all)
        assert bench.refusal("trapezoid", **moves_fields(bench)) == reason, (reason, rows, in_all)

    good = move_row(2**20)
    refused("out_of_range", [good], in_all=2)
    refused("out_of_range", [], in_all=1)
    refused("out_of_range", [good], in_all=2**16)
    refused("out_of_range", [good], in_all=-1)
    refused("out_of_range", [move_row(2**21 + 1)])
    refused("out_of_range", [move_row(-1001)])
    refused("out_of_range", [move_row(2**20, target=2**20 + 4)])
    for at, value in ((0, 0), (0, 2**28), (0, -(2**31)), (1, 0), (1, 2**14), (2, -1), (2, 2**14), (3, -1), (3, 2**20),
                      (5, -1), (5, 2**30), (6, -1), (6, 21)):
        row = list(good)
        row[at] = value
        refused("out_of_range", [row])
    # Too fast for the numbers of a knot.
    refused("out_of_range", [move_row(2**21, ramp=1, constant=0, cruise=0)])
    refused(None, [good])


def test_a_stream_goes_on_as_long_as_points_come():
    bench = armed()
    room = bench.ask("stream_points", first=0, total=0, points=points(bench, 0, 7))
    assert (room["next"], room["free"]) == (7, 57)
    assert bench.refusal("stream", start_cycle=0, start=bench.command) == "too_few_points"
    # What is there already is skipped, what is too early is not taken.
    assert bench.ask("stream_points", first=5, total=0, points=points(bench, 5, 5))["next"] == 10
    assert bench.ask("stream_points", first=12, total=0, points=points(bench, 12, 2))["next"] == 10
    bench.ask("stream", start_cycle=0, start=bench.command)
    start, sent = bench.command[0], 10
    while sent < 100:
        bench.cycle(8)
        now = bench.command[0]
        send = min(3, 100 - sent)
        chunk = words([start + 1000 * (sent + i) for i in range(send) for _ in range(2)])
        answer = bench.ask("stream_points", first=sent, total=100, points=chunk)
        sent = answer["next"]
        assert bench.state == "moving"
    assert now > start
    bench.cycle(8 * 102)
    assert bench.state == "holding"
    assert bench.command[0] == start + 99 * 1000
    assert bench.fault is None
    # Points are used once.
    assert bench.refusal("stream", start_cycle=0, start=bench.command) == "too_few_points"
    assert bench.ask("stream_points", first=100, total=0, points=points(bench, 0, 1))["next"] == 100


def test_points_belong_to_where_the_axes_stood():
    bench = armed()

    def fill():
        assert bench.ask("stream_points", first=0, total=0, points=points(bench, 0, 20))["next"] == 20

    fill()
    bench.move([2**18] * 2, 50)
    bench.cycle(60)
    assert bench.refusal("stream", start_cycle=0, start=bench.command) == "stale_start"
    fill()
    bench.ask("motion_data", offset=0, words=words([1]))
    assert bench.refusal("stream", start_cycle=0, start=bench.command) == "too_few_points"
    fill()
    bench.ask("stream", start_cycle=0, start=bench.command)
    bench.cycle(50)
    bench.ask("stop")
    bench.cycle_until("holding")
    assert bench.refusal("stream", start_cycle=0, start=bench.command) == "too_few_points"
    assert bench.fault is None


def test_the_ring_takes_no_more_than_it_holds():
    bench = armed()
    sent = 0
    for _ in range(4):
        answer = bench.ask("stream_points", first=sent, total=0, points=points(bench, sent, 30, step=10))
        sent = answer["next"]
    assert (sent, answer["free"]) == (64, 0)
    bench.ask("stream", start_cycle=0, start=bench.command)
    bench.cycle(8 * 10)
    assert bench.ask("stream_points", first=64, total=0, points=b"")["free"] == 8


def test_a_stream_that_runs_dry_stops_and_is_a_fault():
    bench = armed()
    bench.ask("stream_points", first=0, total=0, points=points(bench, 0, 20))
    bench.ask("stream", start_cycle=0, start=bench.command)
    before = bench.command
    bench.cycle_until("stopped_by_fault", 400)
    assert bench.fault == "stream_underrun"
    bench.cycle(200)
    record = bench.ask("read_fault", index=0)
    assert (record["value"], record["limit"]) == (20, 21)
    # It stopped on its way, and stands.
    assert before[0] < bench.command[0] < before[0] + 20 * 1000
    assert bench.refusal("stream_points", first=20, total=0, points=words([0, 0])) == "needs_armed"
    assert bench.refusal("clear_fault") is None
    assert bench.state == "holding"
    # A new stream begins with point 0.
    assert bench.ask("stream_points", first=0, total=0, points=points(bench, 0, 3))["next"] == 3


def test_why_points_are_refused():
    bench = armed(position_min=(-1000, -1000), position_max=(5000, 5000))

    def refused(reason, data, first=0, total=0):
        assert bench.refusal("stream_points", first=first, total=total, points=data) == reason

    refused("bad_length", b"1234")
    refused("out_of_range", b"", first=2**30)
    refused("out_of_range", b"", total=2**32 - 1)
    refused("out_of_range", words([5001, 0]))
    refused("out_of_range", words([0, -1001]))
    refused(None, words([5000, -1000]))


def locked(bench):
    # The cycle and the link with the heap locked: what allocates raises MemoryError.
    serve, cycle = bench.link.serve, bench.controller.cycle

    def wrapped(function):
        def call():
            micropython.heap_lock()
            try:
                return function()
            finally:
                micropython.heap_unlock()

        return call

    bench.link.serve, bench.controller.cycle = wrapped(serve), wrapped(cycle)
    return bench


def test_nothing_allocates():
    bench = locked(armed(start=FAR, torque_lead=20000))
    assert bench.command[0] > 2**30
    write_series(bench)
    bench.ask("fourier", **series_fields(bench))
    bench.cycle(2 * PERIOD + 2)
    assert bench.state == "holding"
    there = move_row(2**20, start=bench.command[0])
    write_moves(bench, [there])
    assert bench.refusal("trapezoid", **moves_fields(bench)) is None
    bench.cycle(1202)
    assert bench.state == "holding"
    bench.ask("stream_points", first=0, total=0, points=points(bench, 0, 20))
    bench.ask("stream", start_cycle=0, start=bench.command)
    bench.cycle_until("stopped_by_fault", 400)
    bench.cycle(200)
    bench.ask("clear_fault")
    write_series(bench, (4, 1, 1, 1, 1))
    assert bench.refusal("fourier", **series_fields(bench)) == "not_at_rest"
    assert bench.fault is None
