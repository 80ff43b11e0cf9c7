"""Machines identified from what MuJoCo and servos in closed loop measured: parameters, intervals, hold-out motions."""

from dataclasses import replace

import numpy as np
import pytest
from machine_runs import deviations, identification_run, measured, run, sines

from idmkit.dynamics.delta import unseen
from idmkit.fitting import fit_record
from idmkit.robot import Robot
from idmkit.verdict import torque_errors

TWO_SIGMA = 1.959964
HOLD_OUT_PERCENT = 2.0
"""Of the largest torque, on a motion that was not used for fitting."""


def known(robot: Robot, **values: float) -> Robot:
    """The robot with other known parameters."""
    assert robot.machine is not None
    return replace(robot, machine=replace(robot.machine, known=values))


@pytest.mark.parametrize("name", ["two_link", "scara", "delta", "puma"])
def test_parameters_and_a_hold_out_motion(name):
    motion = identification_run(name)
    fit = fit_record(measured(motion, 1), motion.robot)
    assert fit.result.verdict.accepted
    truth = np.array([motion.truth[name] for name in fit.estimate.names])
    z = (fit.estimate.values - truth) / fit.estimate.std
    # 95 % of the intervals should hold the truth. Of 7 to 44, which know of each other, one run may well lose some.
    assert np.mean(np.abs(z) < TWO_SIGMA) > 0.7
    assert np.abs(z).max() < 4.0
    other = run(motion.robot, sines(motion.robot, scale=0.83, late=3.1), 4.0)
    # What the identified model must give is the torque itself, not its noise.
    held_out = fit_record(measured(other, 2, noise=0.0), motion.robot).observations
    errors = [axis.max_percent for axis in torque_errors(held_out, fit.estimate)]
    assert max(errors) < HOLD_OUT_PERCENT


def test_what_no_motion_shows_is_named_and_the_torque_is_right_without_it():
    motion = identification_run("delta")
    record = measured(motion, 1)
    weighed = fit_record(record, motion.robot)
    unweighed = fit_record(record, known(motion.robot))
    assert weighed.result.values()["M_BC"] == 0.3
    assert unweighed.result.values()["M_BC"] == 0.0
    [finding] = [f for f in unweighed.result.verdict.findings if f.code == "mixed"]
    assert "M_BC cannot be told from Theta_AB, gLM, Theta_BC, M_P by any motion" in finding.message
    assert "M_P stands for M_P + 1.5 M_BC" in finding.message
    assert "[model.known]" in finding.next_step
    [given] = [f for f in weighed.result.verdict.findings if f.code == "given"]
    assert "M_BC = 0.3 kg is the robot file's" in given.message
    assert "weigh or compute M_BC" in given.next_step
    direction = {name: -step for name, step in unseen(motion.robot.machine.delta_geometry).items()}
    for evidence in (given.evidence, finding.evidence):
        assert all(evidence[name] == pytest.approx(direction[name], rel=1e-6) for name in direction if name != "M_BC")
    # l_A^2/2, g l_A/2, 3/2 and -l_B^2/4 times 0.3 kg.
    shift = {"Theta_AB": 0.0135, "gLM": 0.4413, "M_P": 0.45, "Theta_BC": -0.048}
    for name, value in shift.items():
        difference = unweighed.result.values()[name] - weighed.result.values()[name]
        assert difference == pytest.approx(value, rel=1e-3)
    for a, b in zip(unweighed.result.axes, weighed.result.axes, strict=True):
        assert a.max_relative_error_percent == pytest.approx(b.max_relative_error_percent, rel=1e-6)


def test_lumped_rods_leave_what_they_neglect():
    motion = identification_run("delta")
    assert motion.robot.machine is not None
    robot = replace(motion.robot, machine=replace(motion.robot.machine, rods="lumped", known={}))
    record = measured(motion, 1, noise=0.0)
    errors = [
        np.mean([axis.relative_error_percent for axis in fit_record(record, r).result.axes])
        for r in (motion.robot, robot)
    ]
    # A pair of rods of 0.3 kg turns with 0.0148 kg m^2; at these speeds that is a per cent of the torque.
    assert errors[0] < 0.2
    assert 0.3 < errors[1] < 5.0


RUNS = 30


def test_weights_pay_as_much_as_they_report():
    """A noisy joint beside a quiet one: what both show is better known by weighing, by the factor that is reported."""
    motion = identification_run("two_link")
    motion = replace(motion, noise=np.array([3.0, 0.05]))
    names, errors, reported = deviations(motion, range(RUNS))
    weighed = deviations(motion, range(RUNS), "wls")
    spread = np.std(errors, axis=0) / np.std(weighed[1], axis=0)
    promised = np.mean(reported, axis=0) / np.mean(weighed[2], axis=0)
    for name in ("M2", "R"):
        k = names.index(name)
        assert promised[k] > 1.5
        # 30 runs know each standard deviation to 13 %, their ratio to 18 % and better, since the noise is the same.
        assert spread[k] == pytest.approx(promised[k], rel=0.5)
    inside = np.abs(weighed[1]) < TWO_SIGMA * weighed[2]
    # Of 7 times 30 that know of each other; measured over 100 runs: 93 to 95 % for every machine.
    assert inside.mean() > 0.85


def test_uncertain_parameters_of_a_large_model_make_one_finding():
    motion = identification_run("puma")
    fit = fit_record(measured(motion, 1), motion.robot)
    [finding] = [f for f in fit.result.verdict.findings if f.code == "uncertain" and f.axis == ""]
    vague = [p.name for p in fit.result.parameters if p.rsd_percent is not None and p.rsd_percent > 30]
    assert set(finding.evidence["names"].split(", ")) == {name for name in vague if "." not in name}
    assert finding.message.startswith(
        f"{finding.evidence['uncertain']} of 32 parameters are uncertain by more than 30 %"
    )
    assert finding.evidence["torque_percent"] < 5
    assert fit.result.verdict.accepted


def test_a_machine_parameter_out_of_its_range_is_refused():
    motion = identification_run("two_link")
    assert motion.robot.machine is not None
    robot = replace(motion.robot, machine=replace(motion.robot.machine, parameter_ranges={"R": (0.2, 0.5)}))
    verdict = fit_record(measured(motion, 1), robot).result.verdict
    assert not verdict.accepted
    [finding] = [f for f in verdict.findings if f.code == "out_of_range"]
    assert "R = 0.123" in finding.message
    assert "[0.2, 0.5]" in finding.message
