"""Identification from averaged periods of the crank's sine."""

import numpy as np
import pytest
from simulated import identification_run, measured, record_of

from idmkit.errors import IdentificationError
from idmkit.periodic import fit_periodic

PERIOD_S, HARMONICS = 2.0, 12


@pytest.mark.parametrize("maximum_likelihood", [False, True])
def test_the_cranks_parameters_come_out_of_its_averaged_periods(maximum_likelihood):
    motion = identification_run("crank")
    fit = fit_periodic(measured(motion, 0), motion.robot, PERIOD_S, HARMONICS, maximum_likelihood=maximum_likelihood)
    values = {key.split(".")[1]: value for key, value in fit.result.values().items()}
    # Friction near standstill is not what the model says, and here no samples are left out: about 1 %.
    for name in ("I", "MgA", "Fv", "Fc"):
        assert values[name] == pytest.approx(motion.truth[name], rel=0.02)
    finding = next(finding for finding in fit.result.verdict.findings if finding.code == "periods")
    assert finding.evidence["periods"] == 6  # of seven whole ones the first holds the start
    assert fit.result.samples == 2000
    assert fit.result.verdict.accepted


def test_the_noise_that_the_periods_show_is_the_noise_that_was_added():
    motion = identification_run("crank")
    fit = fit_periodic(measured(motion, 1), motion.robot, PERIOD_S, HARMONICS)
    finding = next(finding for finding in fit.result.verdict.findings if finding.code == "periods")
    # Noise of 0.05 Nm, and what the loop makes of encoder steps.
    assert finding.evidence["crank_torque_noise"] == pytest.approx(motion.torque_noise, rel=0.1)


def test_one_period_says_nothing_about_noise():
    motion = identification_run("crank")
    short = record_of(motion.robot, motion.position[:3500], motion.torque[:3500])
    with pytest.raises(IdentificationError, match=r"averaging needs two"):
        fit_periodic(short, motion.robot, PERIOD_S, HARMONICS)
    with pytest.raises(IdentificationError, match="whole number of samples"):
        fit_periodic(record_of(motion.robot, motion.position, motion.torque), motion.robot, 1.99955, HARMONICS)
    with pytest.raises(IdentificationError, match="carry at most 4 harmonics, 5 are asked for"):
        fit_periodic(record_of(motion.robot, motion.position, np.roll(motion.torque, 1)), motion.robot, 0.01, 5)
