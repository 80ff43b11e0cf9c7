"""The way of the demo on a Cortex-M3: upload, excite, capture, identify, write back, prove; the same bits all along."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import idmkit
from idmkit.bench import RobotModel, identification_run, write_model, write_settings
from idmkit.bench.moves import move_to
from idmkit.bench.prove import fast_move, reach
from idmkit.cli.benches import virtual_bench
from idmkit.fitting import fit_record
from idmkit.records import Record
from idmkit.robot import Robot, load_robot

pytestmark = pytest.mark.emulated
ROBOTS = Path(idmkit.__file__).parent / "robots"


def brisk_crank(folder: Path) -> Robot:
    """The crank with an excitation of one second and one that settles it: an emulated cycle takes milliseconds."""
    text = (ROBOTS / "crank.toml").read_text()
    for old, new in (
        ("start = -2.5", "start = -1.5"),
        ("target = 3.5", "target = 1.5"),
        ("frequency_hz = 0.5", "frequency_hz = 1.0"),
        ("duration_s = 16.0", "duration_s = 1.0"),
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "crank.toml").write_text(text)
    return load_robot(folder / "crank.toml")


def same(one: Record, other: Record) -> None:
    assert one.provenance.first_cycle == other.provenance.first_cycle
    for a, b in zip(one.channels, other.channels, strict=True):
        np.testing.assert_array_equal(a.samples, b.samples, err_msg=a.name)


def test_the_cortex_m3_identifies_the_same_numbers(tmp_path: Path) -> None:
    robot = brisk_crank(tmp_path)
    model = RobotModel.of(robot)
    found = {}
    for emulator in (None, "mps2"):
        with virtual_bench(robot, model, folder=tmp_path / str(emulator), emulator=emulator) as (_, bench):
            assert bench.board.hello.board == (emulator or "unix")
            assert bench.board.hello.program_hash == model.program.hash
            write_settings(bench)
            run = identification_run(bench)
            fit = fit_record(run.record, robot)
            write_model(bench, model.program, model.values(fit.result.values()))
            low, high = reach(robot)
            with bench.armed():
                move_to(bench, low)
                proof = fast_move(bench, low, high, 0.02)
            found[emulator] = run.record, proof.record, fit.result
    record, proved, result = found[None]
    record_m3, proved_m3, result_m3 = found["mps2"]
    assert len(record.channels[0].samples) == 1000
    same(record, record_m3)
    assert result_m3.as_dict() == result.as_dict()
    same(proved, proved_m3)
