# What is remembered of a fault: the latch, the history, and the cycles around it.

from bench import moving_bench
from support import make_axes, words

from idmwire.faults import CONTROLLED_STOP, DISABLE, FAULT_NUMBERS, NOTE, QUICK_STOP
from motionboard.faults import TRACE_CYCLES, Faults, Trace, keep

N = FAULT_NUMBERS


def event(value, limit):
    return words([0, 0, value, limit])


def held(faults):
    return [tuple(faults.history[at : at + 5]) for at in map(faults.place, range(faults.count))]


def test_the_first_of_the_hardest_is_latched():
    faults = Faults()
    assert faults.raise_fault(N["model_missing"], 0, 1, None)
    assert faults.reaction == NOTE
    assert faults.raise_fault(N["heartbeat_lost"], 1, 2, event(5, 6))
    assert not faults.raise_fault(N["torque_threshold"], 2, 3, event(-(2**31), 2**31 - 1))
    assert (faults.latched, faults.axis, faults.reaction) == (N["heartbeat_lost"], 1, CONTROLLED_STOP)
    assert faults.raise_fault(N["collision"], 3, 4, None)
    assert not faults.raise_fault(N["drive_fault"], 4, 5, None)
    assert not faults.raise_fault(N["position_limit"], 0, 6, None)
    assert (faults.latched, faults.axis, faults.reaction) == (N["collision"], 3, QUICK_STOP)
    assert faults.raise_fault(N["drive_lost"], 5, 7, None)
    assert (faults.latched, faults.axis, faults.reaction) == (N["drive_lost"], 5, DISABLE)
    # All of them are remembered, the newest first.
    assert [row[0] for row in held(faults)] == [
        N[name] for name in ("drive_lost", "position_limit", "drive_fault", "collision", "torque_threshold",
                             "heartbeat_lost", "model_missing")]
    assert held(faults)[4] == (N["torque_threshold"], 2, 3, -(2**31), 2**31 - 1)


def test_a_cause_that_lasts_is_one_fault_until_cleared():
    faults = Faults()
    for cycle in range(100):
        faults.raise_fault(N["heartbeat_lost"], 0, cycle, None)
        faults.raise_fault(N["cycle_overrun"], 0, cycle, None)
    assert [row[:3] for row in held(faults)] == [(N["cycle_overrun"], 0, 0), (N["heartbeat_lost"], 0, 0)]
    assert faults.clear() == N["heartbeat_lost"]
    assert (faults.latched, faults.axis, faults.reaction) == (0, 0, NOTE)
    assert faults.clear() == 0
    assert faults.raise_fault(N["cycle_overrun"], 0, 200, None)
    assert len(held(faults)) == 3
    assert faults.latched == N["cycle_overrun"]


def test_the_last_eight_are_remembered():
    faults = Faults()
    for k in range(20):
        faults.raise_fault(N["collision"], k % 3, k, event(k, -k))
        faults.clear()
    assert held(faults) == [(N["collision"], k % 3, k, k, -k) for k in range(19, 11, -1)]
    assert faults.place(8) == -1


def fill(trace, axes, cycles):
    for cycle in cycles:
        for axis in range(axes.n):
            axes.position_command[axis] = 4 * cycle + axis
            axes.position_feedback[axis] = 4 * cycle + axis + 1000000
            axes.torque_command[axis] = -cycle
            axes.torque_feedback[axis] = -2 * cycle
        axes.cycle[0] = cycle
        keep(trace.bound)


def traced(trace):
    rows = []
    for sample in range(trace.held):
        slot = trace.place(sample)
        at = slot * trace.words
        rows.append((trace.cycles[slot], list(trace.ring[at : at + trace.words])))
    return rows


def test_the_trace_stands_still_shortly_after_a_fault():
    axes, _ = make_axes(2)
    trace = Trace(axes)
    fill(trace, axes, range(10))
    assert [row[0] for row in traced(trace)] == list(range(10))
    assert trace.place(10) == -1
    fill(trace, axes, range(10, 100))
    trace.freeze_soon()
    fill(trace, axes, range(100, 110))
    # Another fault meanwhile does not make it longer.
    trace.freeze_soon()
    fill(trace, axes, range(110, 300))
    rows = traced(trace)
    last = 100 + TRACE_CYCLES // 4
    assert [row[0] for row in rows] == list(range(last - TRACE_CYCLES, last))
    for cycle, values in rows:
        assert values == [
            4 * cycle, 4 * cycle + 1, 4 * cycle + 1000000, 4 * cycle + 1000001, -cycle, -cycle, -2 * cycle, -2 * cycle]
    trace.release()
    assert trace.held == 0
    fill(trace, axes, range(300, 303))
    assert [row[0] for row in traced(trace)] == [300, 301, 302]


def test_a_second_fault_has_its_own_trace():
    bench = moving_bench(heartbeat_timeout=20)
    cycles = []
    for _ in range(2):
        bench.cycle(25, beat=False)
        assert bench.fault == "heartbeat_lost"
        bench.cycle(300)
        fault = bench.ask("read_fault", index=0)["cycle"]
        rows = [bench.ask("read_trace", sample=k) for k in range(bench.ask("read_trace", sample=0)["samples"])]
        assert rows[-1]["cycle"] == fault + TRACE_CYCLES // 4 - 1
        assert fault in [row["cycle"] for row in rows]
        cycles.append(fault)
        bench.ask("clear_fault")
        # Not armed anew: the axes hold on.
        bench.cycle(100)
    assert cycles[0] < cycles[1]
