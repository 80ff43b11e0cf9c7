"""Semi-static and sequential identification, on what MuJoCo measured."""

import math
import re

import numpy as np
import pytest
from machine_runs import ideal, identification_run, measured, run, sines

from idmkit.board.posture import load_tables
from idmkit.cli.main import main
from idmkit.dynamics.puma import PumaGeometry, puma_graph
from idmkit.errors import IdentificationError
from idmkit.fitting import fit_record
from idmkit.records import save_record
from idmkit.robot import load_robot
from idmkit.sequential import fit_sequential

SLOW = 0.1
"""A tenth of the identification speed: 50 s for a period of axis 2, as softMC's example has it."""


@pytest.fixture(scope="module")
def slow_puma():
    robot = load_robot("puma")
    return ideal(robot, sines(robot, scale=SLOW), 52.0)


def gravity_of(values, poses):
    """Torques [N, 6] of model 2."""
    regressor = puma_graph(PumaGeometry(), model=2).regressor()
    columns = regressor.select([name for name in regressor.names if "." not in name])
    still = np.zeros_like(poses)
    rows, _ = columns(poses, still, still)
    return (rows @ [values[name] for name in columns.names]).T


def test_semi_static_gravity_of_the_puma(slow_puma):
    fit = fit_record(measured(slow_puma, 1), slow_puma.robot, model=2, cutoff_hz=5.0, speeds=(0.01, 0.1))
    assert fit.result.model == "PUMA 2"
    found = dict(zip(fit.estimate.names, fit.estimate.values, strict=True))
    truth = {"P1": -slow_puma.truth["g1"], "P2": -slow_puma.truth["g4"], "P3": -slow_puma.truth["g2"]}
    truth |= {"P4": -slow_puma.truth["g5"], "g3": slow_puma.truth["g3"]}
    assert found["P1"] == pytest.approx(truth["P1"], rel=0.01)
    assert found["P3"] == pytest.approx(truth["P3"], rel=0.01)
    limits = [(axis.position_min, axis.position_max) for axis in slow_puma.robot.axes]
    poses = np.random.default_rng(0).uniform(*np.array(limits).T, (200, 6))
    right, wrong = gravity_of(truth, poses), gravity_of(found, poses) - gravity_of(truth, poses)
    for axis in (1, 2):
        assert np.abs(wrong[:, axis]).max() < 0.01 * np.abs(right[:, axis]).max()
    # On axes 4 and 5 gravity is a thirtieth of friction; there the error is a few hundredths of that.
    for axis in (3, 4):
        assert np.abs(wrong[:, axis]).max() < 0.05 * slow_puma.truth[f"j{axis + 1}.Fc"]


def test_two_thresholds_leave_slow_and_fast_samples_out(slow_puma):
    fit = fit_record(measured(slow_puma, 1), slow_puma.robot, model=2, cutoff_hz=5.0, speeds=(0.01, 0.04))
    seen = fit.observations
    top = np.array([axis.velocity_max for axis in slow_puma.robot.axes])
    for k in range(6):
        speed = np.abs(seen.qd[seen.moving[k]])
        assert speed[:, k].min() > 0.01 * top[k]
        assert (speed < 0.04 * top).all()
    with pytest.raises(IdentificationError, match=r"speeds from 0\.1 to 0\.1 of velocity_max leave no sample"):
        fit_record(measured(slow_puma, 1), slow_puma.robot, model=2, speeds=(0.1, 0.1))


def test_a_model_without_dynamics_is_not_accepted_silently_on_a_fast_motion():
    motion = identification_run("puma")
    fit = fit_record(measured(motion, 1), motion.robot, model=2)
    codes = {finding.code for finding in fit.result.verdict.findings if finding.severity != "info"}
    assert codes & {"unexplained", "torque_error", "leftover", "structure"}


POSTURES = (0.0, math.pi / 4, math.pi / 2, 2.2)


@pytest.fixture(scope="module")
def one_by_one():
    robot = load_robot("two_link")
    alone = [run(robot, sines(robot, held={0: 0.0}), 6.0)]
    alone += [run(robot, sines(robot, held={1: posture}), 6.0) for posture in POSTURES]
    return [measured(motion, seed) for seed, motion in enumerate(alone)]


def test_sequential_and_simultaneous_agree_and_are_right(one_by_one):
    motion = identification_run("two_link")
    found = fit_sequential(one_by_one, motion.robot)
    assert [step.axis for step in found.steps] == [1, 0, 0, 0, 0]
    assert [step.posture for step in found.steps[1:]] == pytest.approx(POSTURES, abs=0.01)
    for name, value in found.values.items():
        assert abs(value - motion.truth[name]) < 4 * found.stds[name], name
    assert found.values["R"] == pytest.approx(motion.truth["R"], rel=0.01)
    assert found.scatter < 3
    differences = found.against(fit_record(measured(motion, 9), motion.robot))
    assert set(differences) == {"M1", "M2", "R", "j1.Fv", "j1.Fc", "j2.Fv", "j2.Fc"}
    assert max(map(abs, differences.values())) < 4


def test_the_article_s_two_postures_are_enough(one_by_one):
    motion = identification_run("two_link")
    found = fit_sequential([one_by_one[k] for k in (0, 1, 3)], motion.robot)
    assert found.scatter == 0
    assert found.values["M1"] == pytest.approx(motion.truth["M1"], rel=0.01)
    assert found.values["R"] == pytest.approx(motion.truth["R"], rel=0.01)


def test_from_the_shell(one_by_one, tmp_path, capsys):
    paths = []
    for k, record in enumerate(one_by_one):
        save_record(record, tmp_path / f"{k}.npz")
        paths.append(str(tmp_path / f"{k}.npz"))
    motion = identification_run("two_link")
    save_record(measured(motion, 9), tmp_path / "both.npz")
    arguments = ["sequential", *paths, "--robot", "two_link", "--against", str(tmp_path / "both.npz")]
    assert main([*arguments, "--tables", str(tmp_path / "tables.json")]) == 0
    text = capsys.readouterr().out
    assert re.search(r"1\.npz: j1 moves, j2 at .* rad: inertia 0\.91\d+ \+- ", text)
    assert re.search(r"R +0\.123\d* \+- .* at once +0\.123", text)
    assert "the two ways agree" in text
    assert f"{tmp_path / 'tables.json'}: M1, j1.Fv, j1.Fc over j2" in text
    inertia = load_tables(tmp_path / "tables.json")[0]
    # This arm is what its model says, so what the model leaves to the posture is nothing.
    assert inertia.values == pytest.approx([motion.truth["M1"]] * len(inertia.values), rel=0.01)


def test_records_that_do_not_fit_are_refused(one_by_one):
    robot, both = load_robot("two_link"), measured(identification_run("two_link"), 9)
    with pytest.raises(IdentificationError, match=r"record 2: both axes move \(j1 69 %, j2 77 % of their range\)"):
        fit_sequential([one_by_one[0], both], robot)
    with pytest.raises(IdentificationError, match=r"1 record\(s\) of axis 'j2' alone and 1 of axis 'j1' alone"):
        fit_sequential(one_by_one[:2], robot)
    with pytest.raises(IdentificationError, match="is no two-link arm"):
        fit_sequential(one_by_one, load_robot("scara"))
