"""The client and the real firmware on the virtual rig: a bad line changes no sample, and all is counted."""

from __future__ import annotations

import bench_link
import numpy as np
import pytest

from idmkit.board.parameters import settings_of
from idmkit.board.settings import parameter_image
from idmkit.errors import LinkError
from idmkit.link import images
from idmkit.link.client import Board
from idmkit.link.history import read_faults, read_trace
from idmkit.link.refusals import Refusal
from idmkit.rig.rig import Rig
from idmkit.robot import load_robot
from idmwire import properties

SAMPLES = 1500


def test_a_bad_line_changes_no_sample() -> None:
    # measure() itself checks every count of host and board against what was done to the line.
    clean, figures = bench_link.measure(SAMPLES, 0)
    spoiled, spoiled_figures = bench_link.measure(SAMPLES, 7)
    assert np.array_equal(clean.data, spoiled.data)
    assert clean.first_cycle == spoiled.first_cycle == 1000
    assert figures["commands_retried"] == 0
    assert spoiled_figures["spoiled_blocks"] > 3
    assert spoiled_figures["spoiled_commands"] > 3
    assert clean.counts.payload_share >= 0.95


def test_settings_survive_a_restart_only_when_they_were_stored() -> None:
    robot = load_robot("crank")
    with Rig(robot) as rig:
        with Board.open(rig.port, ("revolute",)) as board:
            with pytest.raises(Refusal, match="no_parameters"):
                board.arm()
            images.write_image(board, parameter_image(robot))
            assert board.write("torque_threshold", 12.5) == 12.5
            assert board.status().applied_differs_from_stored
        rig.restart()
        with Board.open(rig.port, ("revolute",)) as board:
            assert board.hello.robot == "crank"
            assert board.read("torque_threshold") == robot.axes[0].guards.torque_threshold
            board.write("torque_threshold", 12.5)
            assert images.store_applied(board).generation == 1
        rig.restart()
        with Board.open(rig.port, ("revolute",)) as board:
            assert board.read("torque_threshold") == 12.5
            back = images.applied_image(board)
            assert back is not None
            rows = {row.name: row.value for row in settings_of(back, board.joints)}
            assert rows["torque_threshold"] == 12.5
            for name in properties.BY_NAME:
                assert board.read(name) == rows[name]


def test_a_lost_heartbeat_is_a_fault_with_its_trace() -> None:
    robot = load_robot("crank")
    with Rig(robot) as rig, Board.open(rig.port, ("revolute",)) as board:
        images.write_image(board, parameter_image(robot))
        board.arm(between=lambda: rig.advance(10))
        assert read_faults(board) == []
        rig.advance(1100)
        assert board.status().fault == "heartbeat_lost"
        with pytest.raises(LinkError, match="Fault heartbeat_lost on axis 0: no heartbeat came"):
            board.wait_for_state("holding", between=lambda: rig.advance(1))
        (record,) = read_faults(board)
        trace = read_trace(board)
        assert trace.cycles[0] < record.cycle < trace.cycles[-1]
        assert np.array_equal(np.diff(trace.cycles), np.ones(len(trace.cycles) - 1))
        assert board.clear_fault() == "heartbeat_lost"
        board.disarm(between=lambda: rig.advance(10))
