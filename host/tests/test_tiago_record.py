"""A real arm's effort as ROS publishes it: amperes, and no torque until somebody says what an ampere makes."""

from __future__ import annotations

from pathlib import Path

from idmkit.cli.main import main

FOLDER = Path(__file__).parent / "data" / "tiago_arm"


def test_effort_in_amperes_is_refused_unless_a_drive_map_is_declared(tmp_path, capsys):
    table, mapping = FOLDER / "tiago_effort.csv.gz", FOLDER / "mapping.toml"
    record = tmp_path / "record.npz"
    assert main(["import", str(table), "--mapping", str(mapping), "-o", str(record)]) == 1
    assert "amperes are not a torque: declare torque_per_ampere" in capsys.readouterr().err
    assert not record.exists()

    declared = tmp_path / "declared.toml"
    declared.write_text(mapping.read_text(encoding="utf-8") + "torque_per_ampere = 9.1\n", encoding="utf-8")
    assert main(["import", str(table), "--mapping", str(declared), "-o", str(record)]) == 0
    assert "arm_1.torque in Nm" in capsys.readouterr().out
    assert record.exists()
