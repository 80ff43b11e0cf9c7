"""Estimators on observations with a known answer; a linear model of two axes that needs no robot."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from idmkit.errors import IdentificationError
from idmkit.identify import equations_of, fit_huber, fit_least_squares, observe, predicted
from idmkit.identify.covariance import long_run_covariance
from idmkit.identify.observations import mean_direction
from idmkit.records import AxisLimits, Channel, Record, clean

RATE = 500.0
LIMITS = {name: AxisLimits(True, -10, 10, 100, None) for name in ("a", "b")}


class TwoAxes:
    """tau_a = J qdd_a + c qdd_b + F sign(qd_a), tau_b = c qdd_a + K qdd_b + V qd_b, and 2 Nm known on axis a."""

    names = ("J", "c", "F", "K", "V")
    truth = np.array([0.3, 0.05, 0.8, 0.2, 0.4])

    def __call__(self, q, qd, qdd, direction):
        matrix = np.zeros((2, len(q), 5))
        matrix[0, :, 0], matrix[0, :, 1], matrix[0, :, 2] = qdd[:, 0], qdd[:, 1], direction[:, 0]
        matrix[1, :, 1], matrix[1, :, 3], matrix[1, :, 4] = qdd[:, 0], qdd[:, 1], qd[:, 1]
        offset = np.zeros((2, len(q)))
        offset[0] = 2.0
        return matrix, offset


def record(noise=(0.0, 0.0), seconds=20.0, seed=0, **changes) -> Record:
    time = np.arange(round(seconds * RATE)) / RATE
    states = []
    for start, parts in ((0.3, ((1.0, 1.0), (0.5, 1.7))), (-0.2, ((0.8, 1.3), (0.6, 0.7)))):
        w = [2 * np.pi * f for _, f in parts]
        amplitudes = [a for a, _ in parts]
        q = start + sum(a * np.sin(v * time) for a, v in zip(amplitudes, w, strict=True))
        qd = sum(a * v * np.cos(v * time) for a, v in zip(amplitudes, w, strict=True))
        qdd = sum(-a * v * v * np.sin(v * time) for a, v in zip(amplitudes, w, strict=True))
        states.append((q, qd, qdd))
    q, qd, qdd = (np.stack([state[k] for state in states], axis=1) for k in range(3))
    matrix, offset = TwoAxes()(q, qd, qdd, mean_direction(qd, qdd, RATE))
    torque = predicted(matrix, TwoAxes.truth) + offset
    torque += np.asarray(noise)[:, None] * np.random.default_rng(seed).standard_normal(torque.shape)
    channels = []
    for k, name in enumerate(("a", "b")):
        channels.append(Channel("position", "position", "rad", name, q[:, k]))
        channels.append(Channel("torque", "torque", "Nm", name, torque[k]))
    return Record(RATE, tuple(channels), **changes)


def observed(given: Record, cutoff=20.0, thresholds=(None, None)):
    return observe(clean(given, LIMITS), ("a", "b"), TwoAxes(), cutoff, thresholds)


def equations(given: Record, **changes):
    return equations_of(observed(given, **changes))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_noise_free_record_gives_the_parameters(weighted):
    estimate = fit_least_squares(equations(record()), weighted=weighted)
    # The spline is exact to 1e-7 at 300 samples a period; the sign within a sample to second order.
    assert estimate.values == pytest.approx(TwoAxes.truth, rel=1e-5)
    assert estimate.rank == 5
    assert estimate.entangled == ()
    assert estimate.estimator == ("weighted least squares" if weighted else "least squares")


def test_weights_pay_when_the_noise_differs_between_axes():
    errors = {weighted: [] for weighted in (False, True)}
    reported = {weighted: [] for weighted in (False, True)}
    for seed in range(30):
        observations = observed(record((3.0, 0.03), seed=seed))
        for weighted in errors:
            estimate = fit_least_squares(equations_of(observations), weighted=weighted)
            errors[weighted].append(estimate.values[1] - TwoAxes.truth[1])
            reported[weighted].append(estimate.std[1])
    spread = {weighted: float(np.std(errors[weighted])) for weighted in errors}
    # c is seen by both axes; the noisy one has nothing to add, so its weight must vanish.
    assert spread[True] < 0.1 * spread[False]
    for weighted, values in reported.items():
        # 30 runs know a standard deviation to 13 %.
        assert np.mean(values) == pytest.approx(spread[weighted], rel=0.4)


def test_residual_noise_of_each_axis_is_reported():
    estimate = fit_least_squares(equations(record((0.5, 0.1))), weighted=True)
    # White noise behind 1/(1 + (f/20)^4) up to 250 Hz keeps 2 * 20 * 0.833 / 500 of its power.
    kept = np.sqrt(2 * 20 * 0.833 / RATE)
    assert estimate.sigma == pytest.approx(np.array([0.5, 0.1]) * kept, rel=0.1)


def test_what_the_samples_cannot_tell_apart_is_named():
    class Double(TwoAxes):
        names = (*TwoAxes.names, "J2", "nothing")

        def __call__(self, q, qd, qdd, direction):
            matrix, offset = super().__call__(q, qd, qdd, direction)
            return np.concatenate((matrix, 3 * matrix[:, :, :1], 0 * matrix[:, :, :1]), axis=2), offset

    observations = observe(clean(record((0.1, 0.1)), LIMITS), ("a", "b"), Double(), 20.0, (None, None))
    estimate = fit_least_squares(equations_of(observations))
    assert estimate.rank == 5
    assert sorted(estimate.entangled) == [("J", "J2"), ("nothing",)]
    assert np.isinf(estimate.std[[0, 5, 6]]).all()
    assert np.isfinite(estimate.std[1:5]).all()
    assert estimate.values[1:5] == pytest.approx(TwoAxes.truth[1:5], rel=0.1)


def test_shares_tell_what_matters():
    observations = observed(record())
    fitted = observations.fitted[1]
    part, whole = TwoAxes.truth[4] * observations.qd[fitted, 1], observations.torque[1, fitted]
    expected = np.sqrt(np.mean(part**2) / np.mean(whole**2))
    # The estimate has every tenth of these rows.
    assert fit_least_squares(equations_of(observations)).shares[4] == pytest.approx(expected, rel=0.03)


def test_slow_samples_and_their_neighbourhood_are_left_out():
    observations = observed(record(), thresholds=(1.0, 2.0))
    speed = np.abs(observations.qd.T)
    assert np.array_equal(observations.moving, speed > np.array([[1.0], [2.0]]))
    assert (observations.fitted <= observations.moving).all()
    slow = np.flatnonzero(~observations.moving[0])
    distance = np.abs(np.flatnonzero(observations.fitted[0])[:, None] - slow[None, :]).min(axis=1)
    assert distance.min() == RATE / 20 + 1


def test_clipped_samples_are_left_out():
    given = record()
    clipped = np.clip(given.channels[1].samples, -100, 8.0)
    estimate = fit_least_squares(equations(given.replaced({1: clipped})))
    assert estimate.values == pytest.approx(TwoAxes.truth, rel=0.02)


def test_gaps_are_bridged_by_using_what_lies_between():
    given = record()
    samples = {k: channel.samples.copy() for k, channel in enumerate(given.channels)}
    for values in samples.values():
        values[3000:3100] = np.nan
    observations = observed(given.replaced(samples))
    assert np.flatnonzero(np.diff(observations.row) != 1).size == 1
    assert fit_least_squares(equations_of(observations)).values == pytest.approx(TwoAxes.truth, rel=1e-5)


def test_a_declared_delay_of_the_torque_is_corrected():
    given = record()
    late = tuple(
        replace(c, samples=np.interp(np.arange(given.rows) - 0.5, np.arange(given.rows), c.samples), delay_s=0.5 / RATE)
        if c.quantity == "torque"
        else c
        for c in given.channels
    )
    estimate = fit_least_squares(equations(replace(given, channels=late)))
    # Linear interpolation makes the late torque; it loses (w Ts)^2 / 8 of a sine, 5e-5 here.
    assert estimate.values == pytest.approx(TwoAxes.truth, rel=1e-3)


def test_too_little_motion_is_refused_with_the_numbers():
    with pytest.raises(IdentificationError, match=r"axis 'a' moves faster than its velocity threshold 50 in 0"):
        fit_least_squares(equations(record(), thresholds=(50.0, None)))
    with pytest.raises(IdentificationError, match=r"longest stretch without gaps is 0\.4 s"):
        observed(record(seconds=0.4))


def test_the_time_of_a_reversal_is_known_to_a_fraction_of_a_sample():
    # Velocity falls from 3 to -3 units in steps of 2: the sign changes in the middle of the third sample.
    qd, qdd = np.array([3.0, 1.0, -1.0, -3.0]), np.full(4, -2 * RATE)
    assert mean_direction(qd, qdd, RATE).tolist() == [1, 1, -1, -1]
    assert mean_direction(qd - 0.5, qdd, RATE).tolist() == [1, 0.5, -1, -1]
    assert mean_direction(np.zeros(2), np.zeros(2), RATE).tolist() == [0, 0]


def test_long_run_covariance_of_white_and_coloured_scores():
    rho, count = 0.8, 40_000
    white = np.random.default_rng(0).standard_normal((count, 2))
    coloured = lfilter([1.0], [1.0, -rho], white, axis=0)
    # Standard errors about sqrt(2 bandwidth / count): 2 % with the least bandwidth, 6 % with the 60 steps it takes
    # for the coloured scores, whose spectral density at zero is 1/(1 - rho)^2.
    assert long_run_covariance(white) / count == pytest.approx(np.eye(2), abs=0.08)
    assert np.diag(long_run_covariance(coloured)) / count == pytest.approx(np.full(2, 25.0), rel=0.2)


def test_huber_is_not_pulled_by_a_contact():
    """Two seconds in twenty of a torque that is not the model's: least squares pays, Huber does not."""
    given = record((0.1, 0.1))
    pushed = given.channels[1].samples.copy()
    pushed[4000:5000] += 6.0
    rows = equations(given.replaced({1: pushed}))
    errors = [np.abs(fit(rows).values / TwoAxes.truth - 1).max() for fit in (fit_least_squares, fit_huber)]
    assert errors[1] < 0.25 * errors[0]


def test_huber_costs_little_under_normal_noise():
    rows = equations(record((0.1, 0.1)))
    plain, robust = fit_least_squares(rows, weighted=True), fit_huber(rows)
    # 95 % efficiency: 2.5 % wider intervals, known here to 10 %.
    assert robust.std == pytest.approx(plain.std, rel=0.15)
    assert np.abs(robust.values - plain.values).max() < 3 * plain.std.max()
