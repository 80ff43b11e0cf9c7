"""softMC's identification programs: the published example byte by byte, what is not known, what is broken."""

import dataclasses
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idmkit.cli.main import main
from idmkit.dynamics.axes import axes_graph
from idmkit.robot import load_robot
from idmkit.softmc.exchange import to_prg, to_result, values_of
from idmkit.softmc.prg import Moving, PrgError, Setting, attached_elements, compose_prg, load_prg, parse_prg
from idmkit.verdict import AxisResult, ParameterResult, Result, Verdict, load_result

EXAMPLE = Path(__file__).parent / "data/softmc/IDNT1.PRG"
"""The example of softMC's page, without the numbers of its listing."""
CRANK = axes_graph([("crank", "revolute", 3)])
FOUND = {"crank.I": 0.12, "crank.L2": 0.16, "crank.MgA": 3.0, "crank.gL": 3.92, "crank.Fv": 0.08, "crank.Fc": 0.35}


def crank_result() -> Result:
    return Result(
        robot="crank", model="rotary 3", estimator="least squares", samples=15500, sample_rate_hz=1000.0,
        cutoff_hz=20.0, gravity=9.80665,
        parameters=tuple(ParameterResult(name, value, 0.001, 1.0, "1") for name, value in FOUND.items()),
        axes=(AxisResult("crank", 0.08, 0.35, 1.0, 14000, 4.5, 0.61, 1.2),),
        verdict=Verdict(accepted=True, findings=()),
    )  # fmt: skip


def crank_prg(**options):
    date = datetime(2026, 3, 29, 8, 17, 8)
    return to_prg(crank_result(), CRANK, {"A1": 3}, group="A1", elements=["A1"], date=date, **options)


def test_the_published_example_is_read():
    prg = load_prg(EXAMPLE)
    head = prg.head
    assert (head.group, head.succeeded, head.date) == ("PUMA", True, datetime(2017, 3, 29, 8, 17, 8))
    assert head.max_percent == (13.86, 8.70, 7.79, 17.87, 23.87, 43.85)
    assert head.mean_percent == (3.18, 1.71, 1.88, 3.59, 5.88, 12.41)
    assert (head.allowed_percent, head.cutoff_hz, head.samples, head.raw_samples) == (50.0, 20.0, 49876, 50000)
    assert head.moving[5] == Moving(29759, 0.062830, "rad/s")
    assert prg.value("puma", "dynamicparameter", 3) == 30.42091725
    assert prg.value("A6", "CoulombFriction") == -0.9724658207
    assert prg.value("PUMA", "DynamicModel") == 2
    assert attached_elements(prg) == ("PUMA",)


def test_the_published_example_is_written_back_identically():
    text = EXAMPLE.read_text()
    assert load_prg(EXAMPLE).text() == text
    assert parse_prg(text.replace("\n", "\r\n")).text() == text.replace("\n", "\r\n")


def test_the_published_example_is_composed_from_its_numbers_alone():
    prg = load_prg(EXAMPLE)
    model, *friction = (
        [s for s in prg.settings if s.element == e] for e in ("PUMA", "A1", "A2", "A3", "A4", "A5", "A6")
    )
    assert compose_prg(prg.head, ("PUMA",), [model[:-1], *friction, model[-1:]]).text() == EXAMPLE.read_text()


def test_only_the_date_changes_with_the_date():
    prg = load_prg(EXAMPLE)
    later = dataclasses.replace(prg, head=dataclasses.replace(prg.head, date=datetime(2026, 1, 2, 3, 4, 5)))
    changed = [(a, b) for a, b in zip(prg.text().splitlines(), later.text().splitlines(), strict=True) if a != b]
    assert changed == [
        ("'Identification date and time: 29/03/17 08:17:08", "'Identification date and time: 02/01/26 03:04:05")
    ]


def test_what_is_not_known_stays_in_its_place():
    lines = EXAMPLE.read_text().splitlines()
    lines.insert(9, "PUMA.VelocityScale = 50")
    lines.insert(3, "' checked by hand")
    lines.append("' end")
    text = "\n".join([*lines, ""])
    assert parse_prg(text).text() == text


@given(st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), min_size=1, max_size=12))
def test_numbers_survive_with_ten_digits(values):
    settings = [Setting("R", "DynamicParameter", value, k) for k, value in enumerate(values, start=1)]
    back = parse_prg(compose_prg(load_prg(EXAMPLE).head, ("R",), [settings]).text())
    for k, value in enumerate(values, start=1):
        assert back.value("R", "DynamicParameter", k) == pytest.approx(value, rel=6e-10, abs=0)


def test_a_result_becomes_a_program_and_comes_back():
    prg = crank_prg(raw_samples=16000)
    lines = prg.text().splitlines()
    assert lines[0] == "'Dynamic parameter identification for A1 succeeded!"
    assert lines[5] == "'Signal data length = 15500 samples (raw record length = 16000 samples)"
    assert "A1.DynamicParameter[3] = 3.000000000e+00" in lines
    assert "A1.ViscousFriction = 8.000000000e-02" in lines
    assert lines[-4:] == ["A1.DynamicModel = 3", "", "DETACH A1", "TERMINATE PROGRAM"]
    back = parse_prg(prg.text())
    values = values_of(back, CRANK, group="A1", elements=["A1"], friction="positive")
    assert values == pytest.approx(FOUND)
    result = to_result(back, CRANK, values, robot="crank", model="rotary 3", gravity=9.80665)
    assert result.values() == pytest.approx(FOUND)
    assert result.axes[0].max_relative_error_percent == 4.5
    assert result.verdict.accepted


def test_the_sign_of_friction_is_said_and_never_guessed():
    prg = crank_prg(friction="negative")
    assert "A1.CoulombFriction = -3.500000000e-01" in prg.text()
    assert "A1.DynamicParameter[1] = 1.200000000e-01" in prg.text()
    where = {"group": "A1", "elements": ["A1"]}
    assert values_of(prg, CRANK, friction="negative", **where) == pytest.approx(FOUND)
    with pytest.raises(PrgError, match="2 of 2 friction coefficients drive the motion"):
        values_of(prg, CRANK, friction="positive", **where)


def test_payload_lines_are_written_and_read():
    payload = {"crank.payload_mass": 1.5, "crank.payload_inertia": 0.002}
    prg = crank_prg(payload=payload)
    assert "A1.PayloadMass = 1.500000000e+00" in prg.text()
    values = values_of(parse_prg(prg.text()), CRANK, group="A1", elements=["A1"], friction="positive")
    assert values == pytest.approx({**FOUND, **payload})


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("= 8.759309007e+01", "= 8.7593o", r"IDNT1:12: PUMA.DynamicParameter is set to '8.7593o', which is no number"),
        ("= 8.759309007e+01", "= 1e999", "is set to '1e999', which is no number"),
        ("DynamicParameter[2]", "DynamicParameter[1]", r"IDNT1:13: PUMA.DynamicParameter\[1\] is set twice"),
        ("DynamicParameter[2]", "DynamicParameter[x]", r"needs a number in \[ \]"),
        ("DynamicModel = 2", "DynamicModel = 2.5", "must be a whole number"),
        ("DynamicParameter[2]", "DynamicParameter[0]", r"IDNT1:13: DynamicParameter\[0\]: softMC counts from 1"),
        ("A1.ViscousFriction = -", "A1.ViscousFriction -", "IDNT1:19: cannot be understood: 'A1.Visc"),
        ("DynamicParameter[2] =", "DynamicParameter[2 =", r"IDNT1:13: cannot be understood: 'PUMA.DynamicP"),
        ("A6.CoulombFriction = -9.724658207e-01", "A6.CoulombFriction", "cannot be understood: 'A6.CoulombFriction'"),
        ("29/03/17", "29.03.2017", "IDNT1:2: cannot be understood"),
        ("axis 2 = 8.70 %;", "", "IDNT1:3: cannot be understood"),
        ("succeeded!", "maybe", "IDNT1:1: cannot be understood"),
        ("49876 samples", "many samples", "IDNT1:6: cannot be understood"),
    ],
)
def test_broken_lines_are_named(old, new, words):
    with pytest.raises(PrgError, match=words):
        parse_prg(EXAMPLE.read_text().replace(old, new, 1), "IDNT1")


def test_other_files_are_refused(tmp_path):
    with pytest.raises(PrgError, match="it is no identification program"):
        parse_prg("program\nsleep 100\nend program\n")
    with pytest.raises(PrgError, match="cannot be read"):
        load_prg(tmp_path / "IDNT9.PRG")


def test_a_program_of_another_model_is_refused():
    prg = parse_prg(crank_prg().text().replace("A1.DynamicParameter[4]", "A1.DynamicParameter[5]"))
    with pytest.raises(PrgError, match=r"does not set A1.DynamicParameter\[4\]"):
        values_of(prg, CRANK, group="A1", elements=["A1"], friction="positive")
    more = parse_prg(crank_prg().text().replace("\nA1.DynamicModel", "\nA1.DynamicParameter[5] = 1\nA1.DynamicModel"))
    with pytest.raises(PrgError, match="has no parameter 5"):
        values_of(more, CRANK, group="A1", elements=["A1"], friction="positive")


def test_the_command_writes_reads_and_shows(tmp_path, capsys):
    stored, program, back = (tmp_path / name for name in ("result.json", "IDNT1.PRG", "back.json"))
    crank_result().save(stored)
    assert main(["prg", str(stored), "--robot", "crank", "-o", str(program), "--friction", "negative"]) == 0
    assert main(["prg", str(program), "--robot", "crank", "-o", str(back)]) == 1
    assert "choose the other --friction" in capsys.readouterr().err
    assert main(["prg", str(program), "--robot", "crank", "-o", str(back), "--friction", "negative"]) == 0
    assert load_result(back).values() == pytest.approx(FOUND)
    assert main(["prg", str(EXAMPLE)]) == 0
    assert "PUMA: identification succeeded, 2017-03-29 08:17:08" in capsys.readouterr().out


def test_the_command_refuses_another_model_number(tmp_path, capsys):
    program = tmp_path / "IDNT1.PRG"
    program.write_text(crank_prg().text().replace("DynamicModel = 3", "DynamicModel = 2"))
    assert load_robot("crank").axes[0].dynamic_model == 3
    assert main(["prg", str(program), "--robot", "crank", "-o", str(tmp_path / "r.json")]) == 1
    assert "sets A1.DynamicModel = 2, the robot file says 3" in capsys.readouterr().err


def test_the_published_example_becomes_a_result_of_the_puma(tmp_path, capsys):
    """Gravity positive and friction braking: P1 holds the whole arm, and every axis loses energy."""
    stored, back = tmp_path / "puma.json", tmp_path / "IDNT1.PRG"
    options = ["--robot", "puma", "--model", "2", "--friction", "negative"]
    assert main(["prg", str(EXAMPLE), *options, "-o", str(stored)]) == 0
    result = load_result(stored)
    assert result.values()["P1"] == 87.59309007
    assert result.values()["j6.Fc"] == 0.9724658207
    assert [axis.max_relative_error_percent for axis in result.axes] == [13.86, 8.70, 7.79, 17.87, 23.87, 43.85]
    assert main(["prg", str(stored), *options, "--raw-samples", "50000", "-o", str(back)]) == 0
    ours, theirs = (path.read_text().splitlines() for path in (back, EXAMPLE))
    # The model has four parameters; softMC writes two more that are zero.
    theirs = [line for line in theirs if "[5]" not in line and "[6]" not in line]
    assert [line for line in ours if "date" not in line] == [line for line in theirs if "date" not in line]
    assert main(["prg", str(EXAMPLE), "--robot", "puma", "-o", str(stored)]) == 1
    assert "say --model 2" in capsys.readouterr().err


def test_what_softmc_has_no_place_for_is_said(tmp_path, capsys):
    stored = tmp_path / "scara.json"
    axis = crank_result().axes[0]
    axes = tuple(dataclasses.replace(axis, name=f"j{k}") for k in range(1, 5))
    dataclasses.replace(crank_result(), parameters=(), axes=axes).save(stored)
    assert main(["prg", str(stored), "--robot", "scara", "-o", str(tmp_path / "IDNT1.PRG")]) == 0
    out = capsys.readouterr().out
    assert "left out, because softMC has no place for it: J34" in out
    assert "written as 0, because the result does not have it: P1, P2" in out


def test_a_result_of_another_robot_is_refused(tmp_path, capsys):
    stored = tmp_path / "crank.json"
    crank_result().save(stored)
    assert main(["prg", str(stored), "--robot", "scara", "-o", str(tmp_path / "IDNT1.PRG")]) == 1
    assert "the result has the axes crank, the robot file j1" in capsys.readouterr().err
