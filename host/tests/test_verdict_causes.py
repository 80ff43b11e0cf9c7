"""The causes that softMC's page lists, each made on purpose, each found; and nothing found where nothing is."""

import json
from dataclasses import replace

import numpy as np
import pytest
from machine_runs import SECONDS, loaded, run, sines
from machine_runs import identification_run as machine_run
from machine_runs import measured as machine_measured
from simulated import identification_run, measured, record_of

from idmkit.cli.main import main
from idmkit.dynamics.delta import DeltaGeometry, delta_graph
from idmkit.dynamics.two_link import two_link_graph
from idmkit.fitting import fit_record
from idmkit.identify import equations_of, fit_least_squares, observe
from idmkit.payload import fit_payload
from idmkit.records import AxisLimits, Channel, Record, clean, save_record
from idmkit.verdict.causes import cause_findings, facts_of
from idmkit.verdict.excitation import AxisFacts
from idmkit.verdict.torque_errors import torque_errors
from idmkit.verdict.torque_scale import torque_scales


@pytest.fixture(scope="module")
def crank():
    return identification_run("crank")


def causes(fit, robot):
    errors = torque_errors(fit.observations, fit.estimate)
    facts = [facts_of(axis) for axis in robot.axes]
    return {finding.code: finding for finding in cause_findings(fit.observations, fit.estimate, errors, facts)}


def noisy(motion, torque, std=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return record_of(motion.robot, motion.position, torque + std * rng.standard_normal(len(torque)))


@pytest.mark.parametrize("name", ["crank", "slide"])
def test_good_records_have_no_causes(name):
    motion = identification_run(name)
    for seed in range(5):
        assert causes(fit_record(measured(motion, seed), motion.robot), motion.robot) == {}


@pytest.mark.parametrize(
    ("name", "wrong", "term", "hint"),
    [
        ("crank", 1, "sine and cosine of the position", "rotary model 3"),
        ("slide", 1, "a constant", "linear model 2"),
    ],
)
def test_a_wrong_model_is_named_by_what_it_lacks(name, wrong, term, hint):
    motion = identification_run(name)
    found = causes(fit_record(measured(motion, 1), motion.robot, model=wrong), motion.robot)["model_type"]
    assert found.evidence["term"] == term
    assert found.evidence["term_percent"] > 95
    assert hint in found.next_step


def test_a_result_carries_its_causes(crank):
    record = measured(crank, 1)
    wrong = fit_record(record, crank.robot, model=1).result.verdict.findings
    assert [finding.code for finding in wrong].count("model_type") == 1
    codes = [finding.code for finding in fit_record(record, crank.robot).result.verdict.findings]
    assert set(codes) == {"without_payload"}


def test_a_payload_that_is_small_beside_its_links_is_no_wrong_torque_factor():
    """All of the measured torque is held against the drive, not what the links leave of it."""
    motion = machine_run("two_link")
    robot, _ = loaded("two_link")
    carrying = run(robot, sines(robot), SECONDS["two_link"])
    fit = fit_payload(machine_measured(carrying, 2), machine_measured(motion, 1), motion.robot)
    codes = {finding.code for finding in fit.result.verdict.findings}
    assert codes <= {"links_fixed", "payload_uncertain"}


def test_noise_is_told_from_a_wrong_model_and_explains_the_largest_error(crank):
    fit = fit_record(noisy(crank, crank.torque, std=8.0), crank.robot)
    found = causes(fit, crank.robot)
    assert set(found) == {"noise"}
    largest = fit.result.axes[0].max_relative_error_percent
    # The largest of some 600 normal errors scatters by about 10 % about its expectation.
    assert found["noise"].evidence["expected_max_percent"] == pytest.approx(largest, rel=0.3)
    assert "standard deviations" in found["noise"].next_step


def test_a_drive_that_saturates_below_its_known_peak_shows_a_plateau(crank):
    fit = fit_record(noisy(crank, np.clip(crank.torque, -4.5, 5.0), std=0.02), crank.robot)
    found = causes(fit, crank.robot)["plateau"]
    assert found.evidence["level"] == pytest.approx(5.0, rel=0.02)
    assert found.evidence["stretches"] >= 7  # a period has one, eight periods, the ends trimmed


@pytest.mark.parametrize(("factor", "severity"), [(10.0, "refusal"), (0.01, "warning")])
def test_torques_that_no_such_drive_makes_point_to_the_torque_factor(crank, factor, severity):
    robot = crank.robot
    fit = fit_record(noisy(crank, crank.torque), robot)
    scaled = replace(fit.observations, torque=factor * fit.observations.torque)
    estimate = replace(fit.estimate, values=factor * fit.estimate.values)
    errors = torque_errors(scaled, estimate)
    (found,) = cause_findings(scaled, estimate, errors, [facts_of(robot.axes[0])])
    assert (found.code, found.severity) == ("torque_factor", severity)


def test_a_machine_that_changes_is_found_by_its_halves(crank):
    later = np.arange(len(crank.torque)) > len(crank.torque) // 2
    torque = crank.torque + 0.6 * later * np.sign(np.gradient(crank.position))
    found = causes(fit_record(noisy(crank, torque), crank.robot), crank.robot)["halves_differ"]
    assert found.evidence["held_out_percent"] > 1.5 * found.evidence["fitted_percent"]


def test_motion_far_from_the_limits_is_said_without_alarm(crank):
    axis = replace(crank.robot.axes[0], velocity_max=40.0, position_min=-20.0, position_max=20.0)
    robot = replace(crank.robot, axes=(axis,))
    found = causes(fit_record(measured(crank, 2), crank.robot), robot)
    assert set(found) == {"speed_unproven", "region_unproven"}
    assert {finding.severity for finding in found.values()} == {"info"}


# Parameters that appear in the torques of several axes: the torques must fit each other.
RATE = 250.0
TWO_LINKS = {"M1": 0.9, "M2": 0.25, "R": 0.2, "j1.Fv": 0.4, "j1.Fc": 0.5, "j2.Fv": 0.2, "j2.Fc": 0.3}
DELTA = {"Theta_AB": 0.1, "gLM": 3.0, "Theta_BC": 0.01, "M_P": 1.2} | {
    f"j{k}.{name}": value for k in (1, 2, 3) for name, value in (("Fv", 0.1), ("Fc", 0.4))
}


def observed(regressor, truth, motions, factors, seed=1, noise=0.02):
    """Observations of axes on sines (centre, amplitude, Hz), axis k's torque multiplied by `factors[k]`."""
    centre, amplitude, frequency = (np.array(column) for column in zip(*motions, strict=True))
    time, w = np.arange(0, 20, 1 / RATE)[:, None], 2 * np.pi * frequency
    q = centre + amplitude * np.sin(w * time)
    matrix, _ = regressor(q, amplitude * w * np.cos(w * time), -amplitude * w**2 * np.sin(w * time))
    torque = matrix @ np.array([truth[name] for name in regressor.names])
    torque += noise * np.random.default_rng(seed).standard_normal(torque.shape)
    torque *= np.array(factors)[:, None]
    names = [f"j{k + 1}" for k in range(len(motions))]
    channels = [
        Channel(f"{quantity}_feedback", quantity, unit, axis, np.ascontiguousarray(samples))
        for k, axis in enumerate(names)
        for quantity, unit, samples in (("position", "rad", q[:, k]), ("torque", "Nm", torque[k]))
    ]
    limits = {axis: AxisLimits(True, -3.0, 3.0, 20.0, None) for axis in names}
    return observe(clean(Record(RATE, tuple(channels)), limits), names, regressor, 10.0, [0.2] * len(names))


def two_links(second_torque_factor, seed=1):
    motions = [(0.0, 1.2, 0.31), (0.0, 1.5, 0.43)]
    return observed(two_link_graph(0.4, 0.3).regressor(), TWO_LINKS, motions, (1.0, second_torque_factor), seed)


@pytest.mark.parametrize("factor", [0.5, 1.3, 2.0])
def test_a_wrong_torque_factor_of_one_axis_is_measured(factor):
    observations = two_links(factor)
    estimate = fit_least_squares(equations_of(observations))
    facts = [AxisFacts(f"j{k}", True, -3.0, 3.0, 8.0, None, None, {}) for k in (1, 2)]
    findings = cause_findings(observations, estimate, torque_errors(observations, estimate), facts)
    found = next(finding for finding in findings if finding.code == "torque_factor")
    assert (found.axis, found.evidence["against"]) == ("j2", "j1")
    assert found.evidence["scale"] == pytest.approx(factor, abs=5 * found.evidence["std"])
    assert found.evidence["std"] < 0.01 * factor


def test_of_three_axes_the_wrong_one_is_named():
    graph = delta_graph(DeltaGeometry(0.2, 0.05, 0.3, 0.8))
    regressor = graph.regressor(graph.no_payload() | {"M_BC": 0.0})
    motions = [(0.35, 0.7, 0.83), (0.35, 0.7, 1.05), (0.35, 0.7, 1.19)]
    for wrong in range(3):
        factors = [1.4 if k == wrong else 1.0 for k in range(3)]
        equations = equations_of(observed(regressor, DELTA, motions, factors))
        known = np.zeros_like(equations.torque)
        scales = {scale.axis: scale for scale in torque_scales(equations, known, fit_least_squares(equations))}
        for k, factor in enumerate(factors):
            assert scales[k].value == pytest.approx(factor, abs=5 * scales[k].std)
            assert scales[k].std < 0.01


def test_right_torque_factors_make_no_alarm():
    for seed in range(5):
        observations = two_links(1.0, seed)
        equations = equations_of(observations)
        (scale,) = torque_scales(equations, np.zeros_like(equations.torque), fit_least_squares(equations))
        assert scale.value == pytest.approx(1, abs=4 * scale.std)


def test_axes_that_share_nothing_have_no_scale_to_find():
    """Friction alone belongs to each axis."""
    observations = two_links(1.3)
    names = [name for name in observations.names if "." in name]
    equations = equations_of(observations).columns(names)
    assert torque_scales(equations, np.zeros_like(equations.torque), fit_least_squares(equations)) == []


def test_the_command_names_causes(crank, tmp_path, capsys):
    path = tmp_path / "record.npz"
    save_record(noisy(crank, crank.torque), path)
    assert main(["verdict", str(path), "--robot", "crank"]) == 0
    assert "accepted" in capsys.readouterr().out
    assert main(["verdict", str(path), "--robot", "crank", "--model", "1", "--json"]) in (0, 3)
    codes = [finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]]
    assert "model_type" in codes
