"""Identification records: what is written is what was fitted, and it can be identified from again."""

import numpy as np
import pytest
from simulated import identification_run, measured

from idmkit.cli.main import main
from idmkit.errors import RecordError
from idmkit.fitting import fit_record
from idmkit.records import load_record, save_record
from idmkit.softmc.rec import SIGNALS, identification_record, load_rec, measured_part, save_rec


@pytest.fixture(scope="module")
def crank():
    motion = identification_run("crank")
    record = measured(motion, 7)
    fit = fit_record(record, motion.robot)
    return record, fit, motion.robot


def test_the_signals_are_those_of_the_fit(crank):
    record, fit, robot = crank
    rec = identification_record(record, fit, robot)
    signals = {channel.name: channel.samples for channel in rec.channels}
    assert list(signals) == [name for name, _ in SIGNALS.values()]
    assert np.array_equal(signals["torque_feedback"], record.channel("crank", "torque").samples)
    error, used = signals["torque_model_error"], fit.observations.row
    assert np.array_equal(np.flatnonzero(np.isfinite(error)), used)
    assert error[used] == pytest.approx(signals["torque_model"][used] - signals["torque_filtered"][used])
    moving = fit.observations.moving[0]
    largest = np.abs(error[used][moving]).max() / np.abs(signals["torque_filtered"][used][moving]).max()
    assert 100 * largest == pytest.approx(fit.result.axes[0].max_relative_error_percent)


def test_it_is_written_read_and_identified_from_again(crank, tmp_path):
    record, fit, robot = crank
    rec = identification_record(record, fit, robot)
    save_rec(rec, tmp_path / "IDNT1.REC", group="CRANK", elements=["A1"])
    lines = (tmp_path / "IDNT1.REC").read_text().splitlines()
    assert lines[1] == "'Sample time = 0.001 s"
    assert lines[2].startswith("A1.tfbRaw[Nm] A1.pfbRaw[rad] A1.tfb[Nm]")
    back = load_rec(tmp_path / "IDNT1.REC", ["crank"])
    assert back.sample_rate_hz == pytest.approx(record.sample_rate_hz)
    for ours, theirs in zip(rec.channels, back.channels, strict=True):
        assert (ours.name, ours.unit) == (theirs.name, theirs.unit)
        assert theirs.samples == pytest.approx(ours.samples, rel=1e-9, abs=1e-12, nan_ok=True)
    # Ten digits of position are differentiated twice at 1 kHz.
    assert fit_record(measured_part(back), robot).estimate.values == pytest.approx(fit.estimate.values, rel=1e-6)


def test_the_command_writes_draws_and_reads(crank, tmp_path, capsys):
    record, _, _ = crank
    npz, rec, back, picture = (tmp_path / name for name in ("r.npz", "IDNT1.REC", "b.npz", "r.png"))
    save_record(record, npz)
    assert main(["rec", str(npz), "--robot", "crank", "-o", str(rec)]) == 0
    assert main(["rec", str(rec), "-o", str(back), "--axes", "crank", "--figure", str(picture)]) == 0
    assert "torque_model_error" in capsys.readouterr().out
    assert load_record(back).axes == ("crank",)
    assert picture.read_bytes().startswith(b"\x89PNG")


GOOD = "'Sample time = 0.004 s\nA1.tfbRaw[Nm] A1.pfbRaw[rad]\n1 2\n3 4\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("A1.tfbRaw[Nm]", "A1.torque[Nm]", "one of the signals tfbRaw"),
        ("A1.tfbRaw[Nm]", "A1.tfbRaw[lbf]", "an SI unit"),
        ("A1.tfbRaw[Nm]", "A1.tfbRaw[rad]", "is not a quantity in its SI unit"),
        ("0.004 s", "fast", "needs a line"),
        ("3 4", "3 x", "from line 3"),
        ("3 4", "3", "from line 3"),
        ("1 2\n3 4\n", "", "no line of names with samples"),
    ],
)
def test_broken_files_are_refused_in_a_sentence(tmp_path, old, new, words):
    path = tmp_path / "IDNT1.REC"
    path.write_text(GOOD)
    assert load_rec(path).rows == 2
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(RecordError, match=words):
        load_rec(path)


def test_binary_and_missing_files_and_wrong_names_are_refused(tmp_path):
    (tmp_path / "bin.REC").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecordError, match="is no text"):
        load_rec(tmp_path / "bin.REC")
    with pytest.raises(RecordError, match="cannot be read"):
        load_rec(tmp_path / "none.REC")
    (tmp_path / "good.REC").write_text(GOOD)
    with pytest.raises(RecordError, match="give one for each"):
        load_rec(tmp_path / "good.REC", ["a", "b"])
