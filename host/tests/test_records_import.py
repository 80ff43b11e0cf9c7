import gzip
from pathlib import Path

import numpy as np
import pytest

from idmkit.errors import MappingFileError, RecordError
from idmkit.records import import_tables, load_mapping

TIMED = 'schema = 1\n[time]\ncolumn = "t"\nunit = "ms"\n'
POSITION = '[[channels]]\ncolumn = "q"\naxis = "a"\nquantity = "position"\nunit = "deg"\nside = "joint"\n'
TORQUE = '[[channels]]\ncolumn = "tau"\naxis = "a"\nquantity = "torque"\nunit = "mNm"\nside = "joint"\n'


def imported(folder: Path, mapping: str, *tables: str):
    paths = []
    for index, table in enumerate(tables):
        paths.append(folder / f"table{index}.csv")
        paths[-1].write_text(table)
    (folder / "map.toml").write_text(mapping)
    return import_tables(paths, load_mapping(folder / "map.toml"))


def test_units_signs_and_offsets_are_those_declared(tmp_path):
    mapping = TIMED + POSITION + "sign = -1\noffset = 1.5\ndelay_s = 0.002\n" + TORQUE
    record, findings = imported(tmp_path, mapping, "t,q,tau\n0,180,5\n4,90,7\n8,0,9\n")
    position, torque = record.channels
    assert np.allclose(position.samples, [1.5 - np.pi, 1.5 - np.pi / 2, 1.5])
    assert (position.unit, position.name, position.delay_s) == ("rad", "position", 0.002)
    assert np.allclose(torque.samples, [0.005, 0.007, 0.009])
    assert np.allclose(record.time, [0, 0.004, 0.008])
    assert record.sample_rate_hz == pytest.approx(250)
    assert record.provenance.source == "table0.csv"
    assert findings == []


def test_current_becomes_torque_only_by_a_declared_constant(tmp_path):
    current = TORQUE.replace('"mNm"', '"A"')
    with pytest.raises(MappingFileError, match=r"map\.toml:\d+: .*amperes are not a torque: declare torque_per_ampere"):
        imported(tmp_path, TIMED + current, "t,tau\n0,1\n1,2\n")
    record, _ = imported(tmp_path, TIMED + current + "torque_per_ampere = 0.5\n", "t,tau\n0,1\n1,2\n")
    assert np.allclose(record.channels[0].samples, [0.5, 1.0])


COUPLED = """
schema = 1
sample_rate_hz = 100
[joint_motor]
axes = ["five", "six"]
matrix = [[45.0, 0.0], [32.0, 32.0]]
"""


def coupled_channel(axis: str, quantity: str, unit: str, file: str) -> str:
    return (
        f'[[channels]]\nfile = "{file}"\ncolumn = "J{axis}"\naxis = "{axis}"\nquantity = "{quantity}"\n'
        f'unit = "{unit}"\nside = "motor"\n'
    )


def test_motor_side_columns_pass_the_joint_motor_matrix(tmp_path):
    mapping = COUPLED
    for axis in ("five", "six"):
        mapping += coupled_channel(axis, "position", "rad", "table0") + coupled_channel(axis, "torque", "Nm", "table1")
    joint = np.array([[0.3, -0.2], [0.5, 0.4]])
    motor = joint @ np.array([[45.0, 0.0], [32.0, 32.0]]).T
    positions = "Jfive,Jsix\n" + "\n".join(f"{a!r},{b!r}" for a, b in motor.tolist())
    record, _ = imported(tmp_path, mapping, positions, "Jfive,Jsix\n1,2\n3,4\n")
    by_name = {(c.axis, c.quantity): c.samples for c in record.channels}
    assert np.allclose(by_name["five", "position"], joint[:, 0])
    assert np.allclose(by_name["six", "position"], joint[:, 1])
    # Power is the same on both sides: the torque passes the transpose.
    assert np.allclose(by_name["five", "torque"], [45 * 1 + 32 * 2, 45 * 3 + 32 * 4])
    assert np.allclose(by_name["six", "torque"], [32 * 2, 32 * 4])


def test_a_coupled_joint_needs_all_its_motors(tmp_path):
    mapping = COUPLED + coupled_channel("six", "position", "rad", "table0")
    with pytest.raises(RecordError, match="position of joint 'six' depends on the motor of 'five'"):
        imported(tmp_path, mapping, "Jsix\n1\n2\n")


def test_gzip_and_byte_order_mark_are_read(tmp_path):
    (tmp_path / "map.toml").write_text(TIMED + POSITION)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress("\ufefft,q\n0,1\n1,2\n".encode()))
    assert import_tables([path], load_mapping(tmp_path / "map.toml"))[0].rows == 2
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RecordError, match="is damaged"):
        import_tables([path], load_mapping(tmp_path / "map.toml"))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("t,q\n", "has a header but no rows"),
        ("0,1\n1,2\n", "has no header line"),
        ("t,q\n0,1\n1\n2,3\n", r"table0\.csv:3: 1 columns, the header names 2"),
        ("t,q\n0,1\n1,fast\n", r"table0\.csv:3: column 'q' holds 'fast', which is no number"),
        ("t,p\n0,1\n1,2\n", "asks for column 'q', but there is: table0.csv: t, p"),
        ("t,q,q\n0,1,1\n1,2,2\n", "has 2 columns called 'q'"),
        ("t,q\n5,1\n5,2\n", "does not advance: 2 row"),
        ("t,q\n5,1\n", "does not advance: 1 row"),
    ],
)
def test_tables_that_cannot_be_used_are_refused_with_the_place(tmp_path, table, words):
    with pytest.raises(RecordError, match=words):
        imported(tmp_path, TIMED + POSITION, table)


def test_several_tables_must_agree(tmp_path):
    with pytest.raises(RecordError, match=r"differ in rows: table0\.csv 2, table1\.csv 3"):
        imported(tmp_path, TIMED + POSITION, "t,q\n0,1\n1,2\n", "x\n1\n2\n3\n")
    with pytest.raises(RecordError, match=r"column 'q' stands in table0\.csv, table1\.csv; say which"):
        imported(tmp_path, TIMED + POSITION, "t,q\n0,1\n1,2\n", "q\n1\n2\n")


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        (POSITION, "give either a table"),
        (TIMED, r"channels: is missing"),
        (TIMED + POSITION.replace('"deg"', '"degrees"'), "'degrees' is no unit of position; known are rad, deg"),
        (TIMED + POSITION.replace('"joint"', '"motor"'), "axis 'a' is not in"),
        (TIMED + POSITION.replace('"joint"', '"left"'), "must be one of joint, motor"),
        (TIMED + POSITION + "sign = 0\n", "must be 1 or -1"),
        (TIMED + POSITION + POSITION, "axis 'a' has two channels called 'position'"),
        (TIMED + POSITION + "ofset = 1.0\n", r"unknown field \(did you mean 'offset'\?\)"),
        (TIMED + POSITION + "torque_per_ampere = 1.0\n", "belongs to a torque"),
        (COUPLED.replace("[32.0, 32.0]", "[90.0, 0.0]") + POSITION, "is singular"),
        (COUPLED.replace("[32.0, 32.0]", "[32.0]") + POSITION, "must be 2 rows of 2 numbers"),
    ],
)
def test_mapping_errors_name_the_line(tmp_path, mapping, words):
    if not mapping.strip().startswith("schema"):
        mapping = "schema = 1\n" + mapping
    path = tmp_path / "map.toml"
    path.write_text(mapping)
    with pytest.raises(MappingFileError, match=words) as caught:
        load_mapping(path)
    assert str(path) in str(caught.value)


def test_missing_cells_and_a_cut_end_survive_the_import(tmp_path):
    record, findings = imported(tmp_path, TIMED + POSITION, "t,q\n0,1\n1,\n2,n/a\n3,4\n4\n")
    assert np.isnan(record.channels[0].samples).tolist() == [False, True, True, False]
    assert [finding.code for finding in findings] == ["cut_row"]
    assert "has 1 of 2 columns" in str(findings[0])
