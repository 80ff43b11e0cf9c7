"""Delays and lead, measured with the real firmware on drives whose delays are known."""

import json

import pytest
from cli import idm
from delay_rigs import late_bench, late_robot, true_values

from idmkit.bench import RobotModel, write_model
from idmkit.bench.delays import LEAD, WHOLE, WITHOUT, common_lead, measure_delays, store_delays
from idmkit.cli.benches import virtual_bench
from idmkit.errors import IdentificationError

WITHIN = 0.1
"""Cycles, of every delay."""


@pytest.mark.parametrize(("setpoints", "torques"), [(0, 1), (15, 0)])
def test_delays_of_0_and_16_cycles_are_found_and_written(setpoints, torques):
    robot, best = late_robot("crank", setpoints, torques)
    with late_bench(robot) as bench:
        found = measure_delays(bench)
        store_delays(bench)
        board = bench.board
        written = board.read("additive_torque_delay") - board.read("torque_lead")
        delays = board.read("position_error_delay"), board.read("torque_error_delay")
    axis = found.axes[0]
    assert axis.torque.samples == pytest.approx(best, abs=WITHIN)
    # A millisecond a cycle: the lead is found within 0.1 ms.
    assert written == pytest.approx(best, abs=WITHIN)
    # Set-points: two cycles for the cubic, the buffer, and one until the answer is there. Torque: the mean over a cycle
    # is half a cycle old, and the model looked ahead by the lead.
    assert axis.position.samples == pytest.approx(setpoints + 3, abs=0.01)
    assert axis.torque_error.samples == pytest.approx(setpoints + 3.5 + found.torque_lead, abs=WITHIN)
    assert delays == (setpoints + 3, round(axis.torque_error.samples))
    rms = {name: way.tracking[0].rms for name, way in found.ways.items()}
    assert rms[LEAD] < rms[WHOLE] < 0.05 * rms[WITHOUT]


def test_one_lead_serves_axes_that_differ():
    lead, whole = common_lead([3.2, 5.18, 2.22])
    assert whole == [4, 6, 3]
    assert lead == pytest.approx(0.8, abs=1e-9)
    lead, whole = common_lead([-0.3, 16.0])
    assert whole == [0, 16]
    assert lead == pytest.approx(0.15, abs=1e-9)
    with pytest.raises(IdentificationError, match=r"16\.4 cycles after its command; the board can from -1 to 16"):
        common_lead([3.0, 16.4])


def test_parameters_that_are_not_the_robots_are_noticed():
    robot, _ = late_robot("crank", 2, 0)
    model = RobotModel.of(robot)
    with virtual_bench(robot, model) as (rig, bench):
        values = true_values(rig, robot, model)
        weak = {key: 0.3 * value for key, value in values.items()}
        write_model(bench, model.program, weak, store=False)
        bench.board.write("torque_error_enable", 0)
        with pytest.raises(IdentificationError, match="% of the tracking error of 'crank' away"):
            measure_delays(bench)


def test_idm_delays_identifies_measures_and_writes():
    done = idm("delays", "crank", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    _, best = late_robot("crank", 2, 0)
    axis = answer["axes"][0]
    assert axis["additive_torque_delay"] - answer["torque_lead_cycles"] == pytest.approx(best, abs=WITHIN)
    assert axis["misfit_cycles"] == pytest.approx(0.0, abs=1e-6)
