"""What every bench must show: it identifies, it remembers, it stops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from idmkit.bench import Bench, RobotModel, write_model, write_settings
from idmkit.bench.moves import move_to
from idmkit.board.parameters import parameters_of
from idmkit.fitting import Fit
from idmkit.link import motion
from idmkit.link.client import Board
from idmkit.link.history import read_faults, read_trace
from idmkit.link.images import read_image
from idmkit.link.refusals import Refusal
from idmwire.image import image_crc, unpack

DISSIPATING = ("Fv", "Fc", "I", "M")
"""Frictions and inertias: what cannot be negative."""


@pytest.mark.moves_robot
def test_identifies(bench: Bench, identified: Fit) -> None:
    result = identified.result
    assert result.verdict.accepted, "; ".join(str(finding) for finding in result.verdict.findings)
    ranges = {
        f"{axis.name}.{name}": limits for axis in bench.robot.axes for name, limits in axis.parameter_ranges.items()
    }
    for parameter in result.parameters:
        low, high = ranges[parameter.name]
        assert low <= parameter.value <= high
        if parameter.name.split(".")[1] in DISSIPATING:
            assert parameter.value > 0


@pytest.mark.moves_robot
@pytest.mark.needs_power_cycle
def test_what_was_written_back_survives_a_restart(
    bench: Bench, identified: Fit, model: RobotModel, power_cycle: Callable[[], None]
) -> None:
    values = model.values(identified.result.values())
    written = write_model(bench, model.program, values)
    assert written.stored
    power_cycle()
    for which in ("stored", "applied"):
        data = read_image(bench.board, which)
        image = unpack(data)
        assert image_crc(data) == written.crc
        assert image.generation == written.generation == bench.board.hello.generation
        # The engineering copy of the image is float64, as the host holds it.
        assert {parameter.name: parameter.value for parameter in parameters_of(image, model.program)} == values
    assert not bench.board.status().applied_differs_from_stored


@pytest.mark.moves_robot
def test_a_lost_heartbeat_stops_the_robot(bench: Bench, board: Board) -> None:
    write_settings(bench)
    timeout = int(board.read("heartbeat_timeout"))
    runs = [axis.identification for axis in bench.robot.axes]
    with bench.armed():
        move_to(bench, [run.start for run in runs])
        long = 4 * timeout + bench.cycles(2 / min(run.frequency_hz for run in runs))

        def swing(cycle: int) -> int:
            targets, frequencies = [run.target for run in runs], [run.frequency_hz for run in runs]
            return motion.sine(board, targets, frequencies, long, start_cycle=cycle)

        bench.run_until(bench.begin(swing) + timeout)
        assert board.status().state == "moving"

        heard = board.heartbeat().cycle
        bench.run_silent(2 * timeout)
        status = board.status()
        assert (status.state, status.fault) == ("stopped_by_fault", "heartbeat_lost")
        # By the wall clock one more heartbeat may have been under way, over a network for a while.
        waited = read_faults(board)[0].cycle - heard
        assert timeout <= waited <= timeout + bench.cycles(0.3)
        _assert_it_braked_within_its_limits(bench)

        # Heartbeats that come back do not undo it: it stands still, and refuses to move.
        bench.run(timeout)
        later = board.status()
        assert (later.state, later.fault) == ("stopped_by_fault", "heartbeat_lost")
        assert later.position_command == status.position_command
        with pytest.raises(Refusal) as refused:
            motion.move(board, [run.start for run in runs], timeout)
        assert refused.value.reason == "needs_armed"

        assert board.clear_fault() == "heartbeat_lost"
        bench.settle()
    assert bench.board.status().state == "disarmed"
    assert bench.board.status().fault == ""


def _assert_it_braked_within_its_limits(bench: Bench) -> None:
    """The command around the fault has no step: what it accelerates by is what the robot file allows."""
    trace = read_trace(bench.board)
    period = bench.robot.cycle_time_s
    for index, axis in enumerate(bench.robot.axes):
        unit = 2 * np.pi * 2.0**-24 if axis.revolute else 2.0**-24
        command = trace.position_command[:, index] * unit
        # Each command is rounded to a count, so a second difference is off by two counts at most.
        acceleration = np.abs(np.diff(command, 2)) / period**2
        assert acceleration.max() <= axis.acceleration_max + 2 * unit / period**2
