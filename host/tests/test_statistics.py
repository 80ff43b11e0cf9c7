"""Reported standard deviations are true: the plant's own parameters lie inside the intervals as often as said."""

import numpy as np
import pytest
from scipy.stats import binom
from simulated import coverage, identification_run, measured, record_of

from idmkit.fitting import fit_record

RUNS = 40


def least(runs: int) -> float:
    """Hits that a true coverage of 90 % falls below in one test of a thousand."""
    return float(binom.ppf(1e-3, runs, 0.90))


@pytest.mark.parametrize("rho", [0.0, 0.95])
@pytest.mark.parametrize(
    ("name", "parameters"), [("crank", {"I", "MgA", "Fv", "Fc"}), ("slide", {"M", "Mgcos", "Fv", "Fc"})]
)
def test_intervals_hold_the_truth_as_often_as_they_say(name, parameters, rho):
    """`make bench-intervals` does the same with 200 runs, and with an upper limit, too."""
    hits = coverage(name, range(1000, 1000 + RUNS), rho)
    assert set(hits) == parameters
    for parameter, count in hits.items():
        assert count >= least(RUNS), f"{parameter}: {count} of {RUNS}"


@pytest.mark.parametrize("name", ["crank", "slide"])
def test_parameters_of_a_noise_free_run_are_exact(name):
    motion = identification_run(name)
    estimate = fit_record(record_of(motion.robot, motion.position, motion.torque), motion.robot).estimate
    for key, value in zip(estimate.names, estimate.values, strict=True):
        # Measured: 0.006 % at most (Coulomb friction of the slide), from the drive's ripple within a cycle.
        assert value == pytest.approx(motion.truth[key.split(".")[1]], rel=2e-4)


def test_coloured_noise_is_not_taken_for_information():
    """Correlated noise makes wider intervals, by the factor that theory gives."""
    motion = identification_run("crank")
    rho = 0.8
    white, coloured = (
        np.mean([fit_record(measured(motion, seed, r), motion.robot).estimate.std for seed in range(10)], axis=0)
        for r in (0.0, rho)
    )
    # Below its corner (36 Hz here, the cutoff is 20 Hz) AR(1) noise has (1 + rho)/(1 - rho) times the spectral
    # density of white noise of the same variance. One standard deviation is known to 10 %, the mean of ten to 3 %.
    assert coloured / white == pytest.approx(np.full(4, np.sqrt((1 + rho) / (1 - rho))), rel=0.15)
