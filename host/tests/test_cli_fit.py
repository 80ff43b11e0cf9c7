import json
import re
from pathlib import Path

import pytest

from idmkit.cli.main import VERBS, main
from idmkit.records import load_record

FOLDER = Path(__file__).parent / "data" / "dfki_simple_pendulum"
MAPPING, ROBOT = str(FOLDER / "mapping.toml"), str(FOLDER / "pendulum.toml")
GRAVITY, SPIKY = str(FOLDER / "gravcomp_data_measured.csv.gz"), str(FOLDER / "sysid_data_measured.csv.gz")


def test_a_table_is_fitted_printed_stored_and_drawn(tmp_path, capsys):
    outputs = ["--json", str(tmp_path / "r.json"), "--figure", str(tmp_path / "r.png")]
    assert main(["fit", GRAVITY, "--mapping", MAPPING, "--robot", ROBOT, "--cutoff", "20", *outputs]) == 0
    text = capsys.readouterr().out
    assert re.search(r"pendulum\.MgA +3\.31", text)
    assert "accepted" in text
    assert json.loads((tmp_path / "r.json").read_text())["robot"] == "pendulum"
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_equal_fits_give_equal_files(tmp_path):
    for name in ("one", "other"):
        outputs = ["--json", str(tmp_path / f"{name}.json"), "--figure", str(tmp_path / f"{name}.png")]
        main(["fit", SPIKY, "--mapping", MAPPING, "--robot", ROBOT, "--cutoff", "10", *outputs])
    for suffix in ("json", "png"):
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"other.{suffix}").read_bytes()


def test_a_refused_result_has_its_own_exit_code_and_is_stored_as_refused(tmp_path, capsys):
    out = tmp_path / "r.json"
    assert main(["fit", SPIKY, "--mapping", MAPPING, "--robot", ROBOT, "--cutoff", "8", "--json", str(out)]) == 3
    assert "REFUSED" in capsys.readouterr().out
    assert json.loads(out.read_text())["verdict"]["accepted"] is False


def test_an_imported_record_gives_the_same_result(tmp_path, capsys):
    record = tmp_path / "r.npz"
    assert main(["import", GRAVITY, "--mapping", MAPPING, "-o", str(record)]) == 0
    assert "30000 rows, 30.020 s" in capsys.readouterr().out
    assert load_record(record).provenance.robot == "torque-limited simple pendulum"
    for source in ([GRAVITY, "--mapping", MAPPING], [str(record)]):
        main(["fit", *source, "--robot", ROBOT, "--cutoff", "20", "--json", str(tmp_path / "out.json")])
        results = json.loads((tmp_path / "out.json").read_text())
        assert results["parameters"][2]["value"] == pytest.approx(3.3131, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "nothing.npz", "--robot", ROBOT], "nothing.npz cannot be read"),
        (["fit", GRAVITY, "--robot", ROBOT], "needs a mapping file"),
        (["fit", GRAVITY, "--mapping", MAPPING, "--robot", "crnk"], "no ready robot of this name"),
        (["fit", GRAVITY, "--mapping", MAPPING, "--robot", "crank"], "none in common"),
        (["fit", GRAVITY, "--mapping", MAPPING, "--robot", ROBOT], "--cutoff HZ"),
        (["fit", GRAVITY, "--mapping", MAPPING, "--robot", ROBOT, "--cutoff", "600"], "Nyquist"),
        (
            ["fit", GRAVITY, "--mapping", MAPPING, "--robot", ROBOT, "--cutoff", "20", "--model", "9"],
            "no dynamic model 9",
        ),
        (["fit", GRAVITY, "--mapping", ROBOT, "--robot", ROBOT, "--cutoff", "20"], "pendulum.toml"),
        (["import", "nothing.csv", "--mapping", MAPPING, "-o", "r.npz"], "nothing.csv cannot be read"),
    ],
)
def test_errors_are_a_sentence_on_stderr_and_leave_no_file(tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    if arguments[0] == "fit":
        arguments = [*arguments, "--json", "r.json", "--figure", "r.png"]
    assert main(arguments) == 1
    streams = capsys.readouterr()
    assert words in streams.err
    assert streams.err.startswith(f"idm {arguments[0]}: ")
    assert "Traceback" not in streams.err
    assert list(tmp_path.iterdir()) == []


ARM = FOLDER.parent / "dfki_double_pendulum"
ARM_FILES = ["--mapping", str(ARM / "mapping.toml"), "--robot", str(ARM / "arm.toml")]
TRAINING = str(ARM / "design_A.0_20220812_061157.csv.gz")


def test_cutoffs_are_compared_and_one_is_advised(capsys):
    assert main(["cutoffs", TRAINING, *ARM_FILES, "--at", "20", "5", "10"]) == 0
    text = capsys.readouterr().out
    lines = [line.split() for line in text.splitlines() if line.strip()[:2] in ("5 ", "10", "20")]
    assert [line[0] for line in lines] == ["5", "10", "20"]
    # Above 10 Hz the noise of the acceleration draws the inertia of the first link towards zero.
    assert lines[-1][-2] == "j1.Izz"
    assert float(lines[-1][-1]) > 3
    assert "advice: 10 Hz" in text
    assert main(["cutoffs", TRAINING, *ARM_FILES, "--at", "5"]) == 1
    assert "two different ones" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--estimator", "iv"], "no position_command of axis 'j1'"),
        (["--estimator", "ml"], "give --period S and --harmonics N"),
        (["--period", "2"], "--period needs --harmonics"),
        (["--period", "2", "--harmonics", "5", "--estimator", "huber"], "by wls or ml, not by huber"),
        (["--period", "1.23456", "--harmonics", "5"], "excite with a period of a whole number of samples"),
        (["--estimator", "essential", "--ladder"], "do not go together"),
        (["--urdf", "out.urdf"], "has no URDF to copy"),
    ],
)
def test_options_that_do_not_fit_are_a_sentence(tmp_path, capsys, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    assert main(["fit", TRAINING, *ARM_FILES, "--cutoff", "5", *options]) == 1
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_time_between_torque_and_motion_is_said_and_corrected(capsys):
    main(["fit", TRAINING, *ARM_FILES, "--cutoff", "5", "--estimator", "wls", "--skew"])
    assert re.search(r"j1: the torque describes the time -?\d+\.\d\d \+- \d\.\d\d ms before", capsys.readouterr().out)


def test_debug_shows_the_traceback(capsys):
    assert main(["fit", "nothing.npz", "--robot", ROBOT, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_every_verb_has_help(capsys):
    for verb in VERBS:
        with pytest.raises(SystemExit) as stopped:
            main([verb, "--help"])
        assert stopped.value.code == 0
        assert f"usage: idm {verb}" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
