"""Procedures on a board of the virtual rig, in granted time; and how a bench copes with time that passes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from idmkit.bench import Bench, RobotModel, capture_while, write_model
from idmkit.bench import bench as bench_module
from idmkit.bench import run as run_module
from idmkit.bench.moves import move_to, positions
from idmkit.bench.performance import named
from idmkit.bench.prove import prove, reach, switch_model
from idmkit.bench.run import IDENTIFICATION, TRACKING
from idmkit.bench.stops import MARGIN, SHARE, collide, threshold_stop
from idmkit.cli.benches import virtual_bench
from idmkit.errors import IdentificationError, LinkError
from idmkit.link.blocks import CYCLES, CaptureCounts
from idmkit.link.capture import CaptureResult, Gap
from idmkit.link.refusals import Refusal
from idmkit.rig import Rig
from idmkit.robot import load_robot
from idmwire.messages import REFUSAL_NUMBERS

ROBOT = load_robot("crank")
COUNT = 2 * np.pi * 2.0**-24
TORQUE_COUNT = 2.0**-16


@pytest.fixture(scope="module")
def stand() -> Iterator[tuple[Rig, Bench]]:
    """A crank whose board has the parameters that it is built from."""
    model = RobotModel.of(ROBOT)
    with virtual_bench(ROBOT, model) as (rig, bench):
        true = {"I": 0.12003, "L2": 0.16, "MgA": 3.00083, "gL": 3.92266, "Fv": 0.08, "Fc": 0.35}
        write_model(bench, model.program, model.values({f"crank.{name}": value for name, value in true.items()}))
        yield rig, bench


@pytest.fixture
def bench(stand: tuple[Rig, Bench]) -> Iterator[Bench]:
    """The bench; whatever a test did, it leaves the board disarmed, without a fault, with the limits it had."""
    bench = stand[1]
    limits = ("torque_threshold", "torque_error_max", "dynamic_model")
    before = [bench.board.read(name) for name in limits]
    yield bench
    status = bench.board.status()
    assert (status.state, status.fault) == ("disarmed", "")
    assert [bench.board.read(name) for name in limits] == before


@pytest.fixture
def rig(stand: tuple[Rig, Bench]) -> Rig:
    return stand[0]


def test_a_move_ends_where_it_was_told_to(bench: Bench) -> None:
    with bench.armed():
        for target in (0.5, -0.25):
            move_to(bench, [target])
            assert positions(bench)[0] == pytest.approx(target, abs=COUNT)
            assert bench.board.status().state == "holding"


def test_the_model_tracks_and_settles_better_than_none(bench: Bench) -> None:
    with_model = prove(bench)
    switch_model(bench, on=False)
    without = prove(bench)
    switch_model(bench, on=True)
    assert with_model.tracking[0].rms < 0.1 * without.tracking[0].rms
    fast, slow = with_model.settling[0], without.settling[0]
    assert fast is not None
    assert slow is None or fast < slow
    # The proof's motion is another one than the identification's, within the limits.
    command = named(with_model.sine.record, "crank", "position_command")
    (low,), (high,) = reach(ROBOT)
    assert (command.min(), command.max()) == pytest.approx((low, high), abs=2 * COUNT)
    speed = np.abs(np.diff(command)).max() / ROBOT.cycle_time_s
    assert speed <= ROBOT.axes[0].velocity_max


def test_a_torque_threshold_stops_a_move(bench: Bench) -> None:
    low, high = reach(ROBOT)
    stop = threshold_stop(bench, 0, low, high)
    assert stop.fault.fault == "torque_threshold"
    assert stop.fault.limit == pytest.approx(SHARE * stop.needed, abs=TORQUE_COUNT)
    assert abs(stop.fault.value) > stop.fault.limit
    assert stop.at_rest
    # A stop from speed v at the robot's acceleration takes v^2 / 2a, and one more cycle to begin.
    axis = ROBOT.axes[0]
    assert 0 < stop.travel < axis.velocity_max**2 / (2 * axis.acceleration_max) + axis.velocity_max * ROBOT.cycle_time_s


def test_a_threshold_that_nothing_trips_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("idmkit.bench.stops.SHARE", 1.5)
    low, high = reach(ROBOT)
    with pytest.raises(IdentificationError, match="in the fault torque_threshold, but the board reports none"):
        threshold_stop(bench, 0, low, high)


def ends(bench: Bench) -> tuple[list[float], list[float], float]:
    low, high = reach(bench.robot)
    return low, high, (low[0] + high[0]) / 2


def test_a_wall_is_found(bench: Bench, rig: Rig) -> None:
    low, high, middle = ends(bench)
    ahead = bench.board.status().cycle - rig.cycle
    contact = []

    def contact_cycle() -> int | None:
        cycle = rig.contact_cycle(0)
        assert cycle is not None
        contact.append(cycle + ahead)
        return contact[0]

    found = collide(bench, 0, low, high, lambda up: rig.place_wall(0, middle if up else None), contact_cycle)
    assert found.fault.fault == "collision"
    assert found.threshold == MARGIN * found.free_error
    assert abs(found.fault.value) > found.threshold
    assert found.delay_cycles == found.fault.cycle - contact[0] > 0
    position = named(found.run.record, "crank", "position_feedback")
    # It goes no further into the wall, which is soft, than its speed takes it until the collision is found.
    assert position.max() < middle + np.abs(np.diff(position)).max() * (found.delay_cycles + 1)


def test_a_wall_that_is_not_there_is_said(bench: Bench) -> None:
    low, high, _ = ends(bench)
    walls = []
    with pytest.raises(IdentificationError, match="in the fault collision, but the board reports none"):
        collide(bench, 0, low, high, walls.append, lambda: None)
    assert walls == [True, False]


def test_an_error_while_armed_is_the_one_that_is_shown(bench: Bench) -> None:
    seen = []

    def fail() -> None:
        with bench.armed():
            seen.append(bench.board.status().state)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert seen == ["holding"]
    assert bench.board.status().state == "disarmed"


def test_every_nth_cycle_is_captured(bench: Bench) -> None:
    with bench.armed():
        each = capture_while(bench, TRACKING, 100, lambda _: None)
        third = capture_while(bench, TRACKING, 100, lambda _: None, every=3, skip=7, date="2026-11-30")
    assert (each.record.rows, third.record.rows) == (100, 34)
    assert third.record.sample_rate_hz == pytest.approx(1000 / 3)
    assert [channel.name for channel in third.record.channels] == list(TRACKING)
    provenance = third.record.provenance
    assert (provenance.robot, provenance.cycles_per_row, provenance.date) == ("crank", 3, "2026-11-30")
    assert provenance.first_cycle == third.first_cycle


def test_lost_samples_are_no_numbers(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lossy:
        def __init__(self, board: Any, columns: Any, *, every: int, samples: int, start_cycle: int) -> None:
            data = np.ones((samples, len(columns)), dtype=np.int32)
            counts = CaptureCounts(len(columns))
            gaps = (Gap(3, 2),)
            self.result = CaptureResult(tuple(columns), start_cycle, every, data, gaps, counts, ("revolute",))

        def __enter__(self) -> Lossy:
            return self

        def __exit__(self, *_: object) -> None: ...

        def finish(self) -> CaptureResult:
            return self.result

    monkeypatch.setattr(run_module, "start_capture", Lossy)
    record = capture_while(bench, IDENTIFICATION, 10, lambda _: None).record
    assert record.gaps == ((3, 2),)
    for channel in record.channels:
        assert np.flatnonzero(np.isnan(channel.samples)).tolist() == [3, 4]


@dataclass
class Clock:
    """A board of which only the time is of interest: it passes by some cycles from look to look."""

    cycle: int = 0
    pace: int = 10
    looks: list[int] = field(default_factory=list)

    def status(self) -> Clock:
        self.cycle = (self.cycle + self.pace) % CYCLES
        self.looks.append(self.cycle)
        return self


def on_its_own_clock(clock: Any) -> Bench:
    return Bench(ROBOT, clock)


@pytest.mark.parametrize("first", [0, CYCLES - 25])
def test_time_that_passes_by_itself_is_waited_for(first: int) -> None:
    """Also over the cycle at which a board's number begins anew."""
    clock, told = Clock(first), []
    on_its_own_clock(clock).run(50, told.append)
    assert told == [10, 20, 30, 40, 50]
    on_its_own_clock(clock).run_until((first + 100) % CYCLES)
    # One look more than needed, at most.
    assert 100 <= (clock.cycle - first) % CYCLES <= 110


def test_a_cycle_that_has_passed_is_not_waited_for() -> None:
    clock = Clock(1000)
    on_its_own_clock(clock).run_until(900)
    assert len(clock.looks) == 1


def test_time_that_stands_still_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_module, "STANDSTILL_S", 0.05)
    with pytest.raises(LinkError, match=r"cycle stands at 7 for 0.05 s. Are its drives on the bus\?"):
        on_its_own_clock(Clock(7, pace=0)).run(1)


@pytest.mark.parametrize("late", [0, 1, 2, 3])
def test_a_start_that_came_too_late_is_tried_again_with_more_time(late: int) -> None:
    clock, starts = Clock(pace=100), []

    def action(cycle: int) -> str:
        starts.append(cycle - clock.cycle)
        if len(starts) <= late:
            raise Refusal("move", REFUSAL_NUMBERS["too_late"])
        return "begun"

    if late < 3:
        assert on_its_own_clock(clock).begin(action) == "begun"
        assert len(starts) == late + 1
    else:
        with pytest.raises(Refusal, match="too_late"):
            on_its_own_clock(clock).begin(action)
    assert starts == sorted(starts)
    assert starts[0] >= bench_module.LEAD_CYCLES


def test_another_refusal_is_not_tried_again() -> None:
    starts = []

    def action(cycle: int) -> None:
        starts.append(cycle)
        raise Refusal("move", REFUSAL_NUMBERS["needs_armed"])

    with pytest.raises(Refusal, match="needs_armed"):
        on_its_own_clock(Clock()).begin(action)
    assert len(starts) == 1
