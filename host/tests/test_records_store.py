import json
import zipfile

import numpy as np
import pytest

from idmkit.errors import IdmError, RecordError
from idmkit.files import replacing, write_text
from idmkit.records import Channel, Provenance, Record, load_record, save_record


def record(**changes):
    rows = 50
    rng = np.random.default_rng(0)
    channels = (
        Channel("position_feedback", "position", "rad", "a", rng.standard_normal(rows)),
        Channel("torque_feedback", "torque", "Nm", "a", rng.standard_normal(rows), delay_s=5e-4),
        Channel("torque_command", "torque", "Nm", "a", rng.standard_normal(rows)),
    )
    provenance = Provenance("crank", "rig", "0.1.0", "2026-01-01", first_cycle=7, cycles_per_row=2)
    given = {"sample_rate_hz": 1000.0, "channels": channels, "gaps": ((3, 2),), "provenance": provenance}
    return Record(**{**given, **changes})


def test_a_record_comes_back_as_it_was(tmp_path):
    before = record(time=np.linspace(0, 1, 50))
    before.channels[0].samples[3:5] = np.nan
    save_record(before, tmp_path / "r.npz")
    after = load_record(tmp_path / "r.npz")
    assert (after.sample_rate_hz, after.gaps, after.provenance) == (1000.0, ((3, 2),), before.provenance)
    assert np.array_equal(after.time, before.time)
    for one, other in zip(after.channels, before.channels, strict=True):
        assert (one.name, one.quantity, one.unit, one.axis, one.delay_s) == (
            other.name,
            other.quantity,
            other.unit,
            other.axis,
            other.delay_s,
        )
        assert np.array_equal(one.samples, other.samples, equal_nan=True)


def test_equal_records_are_equal_files_whenever_they_are_written(tmp_path, monkeypatch):
    save_record(record(), tmp_path / "one.npz")
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2040, 5, 6, 7, 8, 9, 0, 0, 0))
    save_record(record(), tmp_path / "other.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "other.npz").read_bytes()


def test_numpy_alone_can_read_a_record(tmp_path):
    save_record(record(), tmp_path / "r.npz")
    with np.load(tmp_path / "r.npz", allow_pickle=False) as archive:
        header = json.loads(str(archive["header"]))
        assert header["channels"][1] == {
            "axis": "a",
            "delay_s": 5e-4,
            "name": "torque_feedback",
            "quantity": "torque",
            "unit": "Nm",
        }
        assert archive["channel_1"].shape == (50,)


def test_the_measured_channel_is_found_among_commands():
    assert record().channel("a", "torque").name == "torque_feedback"
    with pytest.raises(RecordError, match="no measured velocity of axis 'a'; it has position_feedback"):
        record().channel("a", "velocity")
    with pytest.raises(RecordError, match="no channel of axis 'b'; it has axes a"):
        record().channel("b", "torque")


def test_channels_must_fit_each_other():
    samples = np.zeros(50)
    with pytest.raises(RecordError, match="differ in length"):
        record(channels=(*record().channels, Channel("x", "torque", "Nm", "b", np.zeros(49))))
    with pytest.raises(RecordError, match="need different names"):
        record(channels=(*record().channels, record().channels[0]))
    with pytest.raises(RecordError, match="is not a quantity in its SI unit"):
        Channel("position", "position", "deg", "a", samples)
    with pytest.raises(RecordError, match="one row of float64"):
        Channel("position", "position", "rad", "a", samples.astype(np.float32))
    with pytest.raises(RecordError, match="rate must be positive"):
        record(sample_rate_hz=0.0)


def test_what_is_no_record_is_said_to_be_none(tmp_path):
    path = tmp_path / "r.npz"
    with pytest.raises(RecordError, match="cannot be read: No such file"):
        load_record(path)
    path.write_bytes(b"not a zip")
    with pytest.raises(RecordError, match="no record of this program, or it is damaged"):
        load_record(path)
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(RecordError, match="no record of this program"):
        load_record(tmp_path / "array.npy")
    np.savez(path, something=np.zeros(3))
    with pytest.raises(RecordError, match="no record of this program"):
        load_record(path)
    save_record(record(), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(RecordError, match="damaged"):
        load_record(path)


def test_another_schema_is_refused_with_both_numbers(tmp_path):
    save_record(record(), tmp_path / "r.npz")
    with np.load(tmp_path / "r.npz") as archive:
        arrays = dict(archive)
    arrays["header"] = np.array(str(arrays["header"]).replace('"schema": 1', '"schema": 9'))
    np.savez(tmp_path / "r.npz", **arrays)
    with pytest.raises(RecordError, match="has record schema 9, this program reads 1"):
        load_record(tmp_path / "r.npz")


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("before")
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        raise ZeroDivisionError(temporary.write_text("half"))
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    write_text(path, "after")
    assert path.read_text() == "after"
    with pytest.raises(IdmError, match="cannot be written"):
        write_text(tmp_path / "missing" / "out.txt", "x")


def test_the_archive_names_no_time_and_no_machine(tmp_path):
    save_record(record(), tmp_path / "r.npz")
    with zipfile.ZipFile(tmp_path / "r.npz") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.create_system for entry in archive.infolist()} == {3}
