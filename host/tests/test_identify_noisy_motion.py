"""Estimators for noisy motion and for records whose channels were not taken at once."""

import numpy as np
import pytest
from scipy.signal import lfilter
from test_identify import LIMITS, RATE, TwoAxes, equations, observed, record

from idmkit.errors import IdentificationError
from idmkit.identify import equations_of, fit_least_squares, observe
from idmkit.identify.essential import fit_essential
from idmkit.identify.instrumental import commanded, fit_instrumental
from idmkit.identify.likelihood import Period, fit_maximum_likelihood
from idmkit.identify.observations import mean_direction
from idmkit.identify.skew import time_skew
from idmkit.records import Channel, Record, clean
from idmkit.signals import average_periods

AXES = ("a", "b")
POSITION_NOISE = 3e-3


def noisy(seed: int, lag: int = 7) -> Record:
    """The record of test_identify with noise on positions, and the commands that the axes follow `lag` rows later."""
    clean_record = record((0.2, 0.2), seed=seed)
    rng = np.random.default_rng(seed)
    channels = []
    for channel in clean_record.channels:
        samples = channel.samples
        if channel.quantity == "position":
            command = np.concatenate((samples[lag:], np.full(lag, samples[-1])))
            channels.append(Channel("position_command", "position", "rad", channel.axis, command))
            # Noise below the cutoff, as of a loose coupling: no filter takes it out.
            wobble = lfilter([0.2], [1, -0.8], rng.standard_normal(len(samples)))
            samples = samples + POSITION_NOISE * wobble
        channels.append(Channel(channel.name, channel.quantity, channel.unit, channel.axis, samples))
    return Record(RATE, tuple(channels))


def both(given: Record):
    cleaned = clean(given, LIMITS)
    return [
        equations_of(observe(seen, AXES, TwoAxes(), 20.0, (None, None))) for seen in (cleaned, commanded(cleaned, AXES))
    ]


def test_instruments_are_not_pulled_towards_zero_by_noise_on_the_motion():
    errors, deviations = {"ls": [], "iv": []}, []
    runs = 30
    for seed in range(runs):
        measured, instruments = both(noisy(seed))
        plain = fit_least_squares(measured, weighted=True)
        estimate = fit_instrumental(measured, instruments)
        errors["ls"].append(plain.values - TwoAxes.truth)
        errors["iv"].append(estimate.values - TwoAxes.truth)
        deviations.append(estimate.std)
    bias = {name: np.abs(np.mean(values, axis=0)) for name, values in errors.items()}
    scatter = np.std(errors["iv"], axis=0)
    inertias = [0, 3]
    assert (bias["ls"][inertias] > 10 * scatter[inertias] / np.sqrt(runs)).all()
    # Four standard errors of the mean of the runs.
    assert (bias["iv"] < 4 * scatter / np.sqrt(runs)).all()
    # 30 runs know a standard deviation to 13 %; the wobble is far from white, and the estimate leans to the safe side.
    ratio = np.mean(deviations, axis=0) / scatter
    assert (ratio > 0.7).all()
    assert (ratio < 2).all()


def test_the_lag_of_the_motion_behind_its_command_is_found():
    cleaned = clean(noisy(0, lag=11), LIMITS)
    expected = record().channels[0].samples
    found = commanded(cleaned, AXES).record.channel("a", "position").samples
    assert np.abs(found[100:-100] - expected[100:-100]).max() < 1e-9


def test_instruments_ask_for_commands_that_the_axis_follows():
    with pytest.raises(IdentificationError, match="no position_command of axis 'a'"):
        commanded(clean(record(), LIMITS), AXES)
    given = noisy(0)
    still = given.replaced({0: np.cumsum(np.random.default_rng(0).standard_normal(given.rows)) * 1e-3})
    with pytest.raises(IdentificationError, match="axis 'a' does not follow its command"):
        commanded(clean(still, LIMITS), AXES)


@pytest.mark.parametrize("rows", [-0.7, 0.0, 0.3, 2.4])
def test_the_time_between_torque_and_motion_is_estimated(rows):
    given = record((0.05, 0.05))
    grid = np.arange(given.rows)
    late = {
        k: np.interp(grid - rows, grid, channel.samples)
        for k, channel in enumerate(given.channels)
        if channel.quantity == "torque"
    }
    observations = observed(given.replaced(late))
    found = time_skew(observations, fit_least_squares(equations_of(observations), weighted=True))
    for skew in found:
        # First order in the delay: (w d)^2 / 2 is 2e-3 of a sample for 2.4 rows.
        assert abs(skew.delay_s * RATE - rows) < 4 * skew.std_s * RATE + 0.02
        assert skew.std_s * RATE < 0.1


def test_essential_parameters_are_those_that_are_known_well():
    class Padded(TwoAxes):
        """Columns that the torque does not need: one proportional to nothing real, one almost another."""

        names = (*TwoAxes.names, "waste", "double")

        def __call__(self, q, qd, qdd, direction):
            matrix, offset = super().__call__(q, qd, qdd, direction)
            waste = np.stack((np.sin(5 * q[:, 1]), np.cos(3 * q[:, 0])))[:, :, None]
            return np.concatenate((matrix, waste, matrix[:, :, :1] + 0.01 * waste), axis=2), offset

    rows = equations_of(observe(clean(record((0.3, 0.3)), LIMITS), AXES, Padded(), 20.0, (None, None)))
    full, essential = fit_least_squares(rows, weighted=True), fit_essential(rows)
    assert set(TwoAxes.names) - {"J"} <= set(essential.names)
    assert "waste" not in essential.names
    # One of the two alike is left, and it is known far better than both were.
    assert len({"J", "double"} & set(essential.names)) == 1
    relative = np.abs(essential.std / essential.values)
    assert relative.max() <= 30 * relative.min()
    assert relative.max() < 0.1 * np.abs(full.std / full.values).max()


H, K, PERIODS = 3, 400, 10


class Crank:
    """tau = I qdd - G sin q + Fv qd + Fc sign(qd)."""

    names = ("I", "G", "Fv", "Fc")
    truth = np.array([0.2, 3.0, 0.1, 0.6])

    def __call__(self, q, qd, qdd, direction):
        return np.stack((qdd[:, 0], -np.sin(q[:, 0]), qd[:, 0], direction[:, 0]), axis=1)[None], np.zeros((1, len(q)))


def averaged_period(seed: int, position_noise: float, torque_noise: float) -> Period:
    """Ten periods of four seconds, averaged; the noise variances as they are estimated from the scatter."""
    blank = Period(("a",), 100.0, H, np.zeros((K, 1)), np.zeros((K, 1)), np.ones(1), np.ones(1))
    coefficients = np.array([0.4, 0.9, -0.5, 0.2, 0.6, 0.3, -0.25])[:, None]
    q, qd, qdd = (basis @ coefficients for basis in blank.basis)
    torque = (Crank()(q, qd, qdd, mean_direction(qd, qdd, 100.0))[0] @ Crank.truth).T
    rng = np.random.default_rng(seed)
    means, variances = [], []
    for exact, noise in ((q, position_noise), (torque, torque_noise)):
        measured = np.tile(exact, (PERIODS, 1)) + noise * rng.standard_normal((PERIODS * K, 1))
        averaged = average_periods(measured, K)
        means.append(averaged.mean)
        variances.append(averaged.mean_variance)
    return Period(("a",), 100.0, H, means[0], means[1], variances[0], variances[1])


@pytest.mark.parametrize("exact_positions", [False, True])
def test_parameters_over_periods_are_unbiased_and_their_deviations_true(exact_positions):
    """With little noise on the position both are right; this is the processing of periodic excitation."""
    runs = 100
    estimates = [
        fit_maximum_likelihood(averaged_period(seed, 1e-4, 0.1), Crank(), exact_positions=exact_positions)
        for seed in range(runs)
    ]
    values = np.array([estimate.values for estimate in estimates])
    scatter = values.std(axis=0)
    assert (np.abs(values.mean(axis=0) - Crank.truth) < 4 * scatter / np.sqrt(runs)).all()
    # 100 runs know a standard deviation to 7 %.
    assert np.mean([estimate.std for estimate in estimates], axis=0) == pytest.approx(scatter, rel=0.25)


def test_maximum_likelihood_makes_use_of_the_torque_to_know_the_motion():
    """Where the position is noisy and the torque is not, the motion is better known from both: closer parameters."""
    runs = 40
    scatter = {}
    for exact in (False, True):
        values = [
            fit_maximum_likelihood(averaged_period(seed, 2e-2, 0.02), Crank(), exact_positions=exact).values
            for seed in range(runs)
        ]
        scatter[exact] = np.sqrt(np.mean((np.array(values) - Crank.truth) ** 2, axis=0))
    assert (scatter[False] < 0.7 * scatter[True])[:2].all()


def test_a_motion_that_shows_too_little_is_refused():
    period = averaged_period(0, 1e-4, 0.1)

    class Double(Crank):
        names = (*Crank.names, "I2")

        def __call__(self, q, qd, qdd, direction):
            matrix, offset = super().__call__(q, qd, qdd, direction)
            return np.concatenate((matrix, matrix[:, :, :1]), axis=2), offset

    with pytest.raises(IdentificationError, match="shows 4 of 5 parameters"):
        fit_maximum_likelihood(period, Double(), exact_positions=True)


def test_equations_keep_the_names_they_are_asked_for():
    rows = equations(record())
    assert rows.columns(("V", "J")).names == ("V", "J")
    assert np.array_equal(rows.columns(("V", "J")).regressor[:, :, 1], rows.regressor[:, :, 0])
