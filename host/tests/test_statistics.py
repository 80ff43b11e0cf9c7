"""Reported standard deviations are true: the plant's own parameters lie inside the intervals as often as said."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom
from simulated import TWO_SIGMA, coverage, identification_run, measured, record_of

from idmkit.fitting import fit_record

RUNS = 40


def least(runs: int) -> float:
    """Hits that a true coverage of 90 % falls below in one test of a thousand."""
    return float(binom.ppf(1e-3, runs, 0.90))


@pytest.mark.parametrize(
    ("name", "parameters"), [("crank", {"I", "MgA", "Fv", "Fc"}), ("slide", {"M", "Mgcos", "Fv", "Fc"})]
)
def test_intervals_hold_the_truth_as_often_as_they_say(name, parameters):
    """`make bench-intervals` does the same with 200 runs, and with an upper limit, too."""
    hits = coverage(name, range(1000, 1000 + RUNS))
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
    """Correlated noise makes wider intervals, by the factor that theory gives, and they hold."""
    motion = identification_run("crank")
    rho, runs = 0.8, RUNS
    white = np.mean([fit_record(measured(motion, seed), motion.robot).estimate.std for seed in range(10)], axis=0)
    inside: dict[str, int] = {}
    ratios = []
    for seed in range(runs):
        drive = np.random.default_rng(seed).standard_normal(len(motion.torque) + 500)
        noise = np.sqrt(1 - rho**2) * lfilter([1], [1, -rho], drive)[500:]
        record = record_of(motion.robot, motion.position, motion.torque + motion.torque_noise * noise)
        estimate = fit_record(record, motion.robot).estimate
        ratios.append(estimate.std / white)
        for key, value, std in zip(estimate.names, estimate.values, estimate.std, strict=True):
            hit = abs(value - motion.truth[key.split(".")[1]]) < TWO_SIGMA * std
            inside[key] = inside.get(key, 0) + hit
    # Below its corner (36 Hz here, the cutoff is 20 Hz) AR(1) noise has (1 + rho)/(1 - rho) times the spectral
    # density of white noise of the same variance. One standard deviation is known to 10 %, the mean of ten to 3 %.
    assert np.median(ratios) == pytest.approx(np.sqrt((1 + rho) / (1 - rho)), rel=0.1)
    for name, count in inside.items():
        assert count >= least(runs), f"{name}: {count} of {runs}"
