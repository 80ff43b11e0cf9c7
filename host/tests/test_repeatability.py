"""Repeatability, held to the table that the Axystems pages publish."""

import json
from dataclasses import replace

import numpy as np
import pytest
from simulated import identification_run, measured

from idmkit.cli.main import main
from idmkit.errors import IdmError
from idmkit.records import save_record
from idmkit.repeatability import repeatability
from idmkit.verdict import ParameterResult, Result, Verdict

# Joint 2 of a DR1200-4S, identified ten times in a row.
TABLE = {
    "Theta": (
        0.1344732,
        0.1345419,
        0.1345093,
        0.1345672,
        0.1345354,
        0.1345903,
        0.1346014,
        0.1346407,
        0.1345969,
        0.1346543,
    ),
    "Fv": (
        0.3389793,
        0.3383904,
        0.3334403,
        0.3398903,
        0.3346488,
        0.3314771,
        0.3246576,
        0.3281108,
        0.3239006,
        0.3223137,
    ),
    "Fc": (
        3.8477142,
        3.8244827,
        3.8569023,
        3.7731432,
        3.7522782,
        3.7464159,
        3.7571930,
        3.7361262,
        3.7094229,
        3.7282359,
    ),
    "lmg": (
        2.0104706,
        2.0297676,
        2.0208896,
        2.0273873,
        2.0209898,
        2.0335845,
        2.0183868,
        2.0274325,
        2.0246346,
        2.0401946,
    ),
}


def result(values, std=None):
    parameters = tuple(ParameterResult(f"j2.{name}", value, std, None, "1") for name, value in values.items())
    return Result("dr1200", "joint 2", "ols", 1000, 250.0, 20.0, 9.80665, parameters, (), Verdict(True, ()))


def published():
    return [result({name: column[k] for name, column in TABLE.items()}) for k in range(10)]


@pytest.mark.parametrize(
    ("name", "mean", "variation", "std_percent"),
    [
        ("Theta", 0.1345711, 0.13, 0.042),
        ("Fv", 0.3315809, 5.30, 1.98),
        ("Fc", 3.7731915, 3.91, 1.37),
        ("lmg", 2.0253738, 1.47, 0.41),
    ],
)
def test_the_published_means_and_variations(name, mean, variation, std_percent):
    found = repeatability(published(), [str(k) for k in range(1, 11)])
    parameter = next(p for p in found.parameters if p.name == f"j2.{name}")
    assert parameter.mean == pytest.approx(mean, abs=5.1e-8)
    assert parameter.range_percent == pytest.approx(variation, abs=0.0051)
    assert parameter.std_percent == pytest.approx(std_percent, abs=0.0051)


def test_the_published_friction_falls():
    findings = repeatability(published(), [str(k) for k in range(10)]).findings
    falling = {finding.message.split()[0]: finding for finding in findings if "falls" in finding.message}
    assert set(falling) == {"Fv", "Fc"}
    assert falling["Fc"].evidence["drift_percent"] == pytest.approx(-3.9, abs=0.5)
    assert "Warm the machine up" in falling["Fv"].next_step


def test_honest_scatter_makes_no_finding_and_hidden_scatter_does():
    rng = np.random.default_rng(1)
    honest = [result({"I": 1 + 0.01 * rng.standard_normal()}, 0.01) for _ in range(20)]
    found = repeatability(honest, [""] * 20)
    assert found.findings == ()
    assert found.parameters[0].excess == pytest.approx(1, abs=0.5)
    hidden = [replace(r, parameters=(replace(r.parameters[0], std=0.002),)) for r in honest]
    (finding,) = repeatability(hidden, [""] * 20).findings
    assert (finding.code, finding.axis) == ("scatter", "j2")


def test_false_alarms_are_as_rare_as_said():
    alarms = 0
    for seed in range(300):
        values = 1 + 0.01 * np.random.default_rng(seed).standard_normal(10)
        alarms += len(repeatability([result({"I": v}, 0.01) for v in values], [""] * 10).findings)
    # Two tests of 1e-3 each, 300 times: 0.6 expected; five or more in less than one case of a thousand.
    assert alarms < 5


def test_what_cannot_be_compared_is_refused():
    one, other = published()[:2]
    with pytest.raises(IdmError, match="cannot repeat"):
        repeatability([one], ["a"])
    with pytest.raises(IdmError, match="not of one robot"):
        repeatability([one, replace(other, model="joint 3")], ["a", "b"])
    with pytest.raises(IdmError, match="no parameter in common"):
        repeatability([one, replace(other, parameters=())], ["a", "b"])


def test_the_command_prints_the_table(tmp_path, capsys):
    paths = [tmp_path / f"run{k}.json" for k in range(10)]
    for path, run in zip(paths, published(), strict=True):
        run.save(path)
    assert main(["repeatability", *map(str, paths)]) == 0
    out = capsys.readouterr().out
    assert "0.1345711" in out
    assert "5.301" in out
    assert "Fc falls by" in out
    assert main(["repeatability", "--json", *map(str, paths)]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"][3]["mean"] == pytest.approx(2.0253738)


def test_records_are_identified_first(tmp_path, capsys):
    motion, paths = identification_run("crank"), []
    for seed in range(3):
        paths.append(str(tmp_path / f"record{seed}.npz"))
        save_record(measured(motion, seed), tmp_path / f"record{seed}.npz")
    assert main(["repeatability", *paths, "--robot", "crank", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == ["record0", "record1", "record2"]
    inertia = next(parameter for parameter in found["parameters"] if parameter["name"] == "crank.I")
    assert inertia["mean"] == pytest.approx(motion.truth["I"], rel=0.01)
    # Three runs of one motion with honest standard deviations: chi-square of two degrees, 0.01 to 0.999.
    assert 0.05 < inertia["excess"] < 3.0
    assert main(["repeatability", *paths]) == 1
    assert "record0.npz is a record; say of which robot it is (--robot)" in capsys.readouterr().err
    assert main(["repeatability", *paths, "--robot", "crank", "--model", "7"]) == 1
    assert "no dynamic model 7 for a revolute axis" in capsys.readouterr().err
