"""idm commission on the virtual rig: the whole way in one command, and the end of it where something is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import idmkit.cli.commission as verb
from idmkit.bench import Bench, RobotModel
from idmkit.bench.commission import Commission
from idmkit.bench.thresholds import free_motion, no_collision
from idmkit.cli.fit import REFUSED
from idmkit.cli.main import main
from idmkit.errors import IdentificationError
from idmkit.experiments.stage import Stage, stage
from idmkit.link.images import read_image
from idmkit.records import load_record
from idmkit.robot import READY_FOLDER, Robot, load_robot

ROBOT = load_robot("crank")
STEPS = [
    "board", "model", "settings", "check", "identification run", "verdict", "parameters", "delays", "proof",
    "collision thresholds",
]  # fmt: skip


@pytest.fixture(scope="module")
def here() -> Iterator[Stage]:
    """A rig whose board has the firmware and nothing else."""
    with stage(ROBOT, 1, None) as made:
        yield made


@pytest.fixture
def opened(here, monkeypatch) -> Stage:
    """`idm commission` finds this rig behind its port."""

    @contextmanager
    def open_bench(robot: Robot, model: RobotModel, port: str) -> Iterator[Bench]:
        yield Bench(robot, here.bench.board, here.bench._advance)

    monkeypatch.setattr(verb, "open_bench", open_bench)
    return here


def test_the_whole_way(opened, tmp_path, capsys):
    board = opened.bench.board
    assert board.hello.program_hash == 0
    assert main(["commission", "rig:", "--robot", "crank", "-o", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [step["step"] for step in answer["steps"]] == STEPS
    assert {step["verdict"] for step in answer["steps"]} == {"passed"}
    assert board.hello.program_hash == RobotModel.of(ROBOT).program.hash
    # All that was measured is in force, stored, and said for the robot file.
    said = dict(line.split(" = ") for line in answer["robot_file"] if " = " in line)
    for name in ("torque_error_max", "torque_error_max_rest", "torque_error_rest_cycles"):
        assert board.read(name) == pytest.approx(float(said[name]), rel=1e-3)
    assert board.read("torque_error_duration") == int(said["torque_error_duration_cycles"])
    # At rest friction may hold more than what the model says in motion.
    assert board.read("torque_error_max") < board.read("torque_error_max_rest") < ROBOT.axes[0].guards.torque_error_max
    assert board.read("torque_lead") == pytest.approx(float(said["torque_lead_cycles"]), abs=1e-3)
    assert board.read("additive_torque_delay") == int(said["additive_torque_delay_cycles"])
    assert read_image(board, "stored") == read_image(board, "applied")
    assert not board.status().applied_differs_from_stored
    page = Path(answer["files"]["page"]).read_text(encoding="utf-8")
    assert all(step in page for step in STEPS)
    assert "additive_torque_delay_cycles" in page
    assert load_record(Path(answer["files"]["record"])).rows == 16_000


def test_a_robot_file_that_is_spoiled_ends_at_the_check(opened, tmp_path, capsys):
    """The axis stands outside of what the file calls its limits; nothing has moved, and the board is as it was."""
    text = (READY_FOLDER / "crank.toml").read_text(encoding="utf-8")
    spoiled = tmp_path / "spoiled.toml"
    here = opened.bench.board.status()
    assert here.state == "disarmed"
    changed = text.replace("position_min = -6.0", "position_min = 3.0").replace("start = -2.5", "start = 5.5")
    spoiled.write_text(changed, encoding="utf-8")
    before = read_image(opened.bench.board, "applied")
    assert main(["commission", "rig:", "--robot", str(spoiled), "-o", str(tmp_path)]) == REFUSED
    out = capsys.readouterr().out
    assert "check: REFUSED" in out
    assert "outside of its limits 3 to 6; move it inside by hand" in " ".join(out.split())
    assert "STOPPED at: check" in out
    assert list(tmp_path.iterdir()) == [spoiled]
    assert read_image(opened.bench.board, "applied") == before


def test_a_torque_with_the_wrong_sign_is_not_driven_fast(opened, monkeypatch):
    import idmkit.board.settings as settings

    right = settings.conversion_factors
    monkeypatch.setattr(settings, "conversion_factors", lambda *a: (f := right(*a)) | {"feedback": -f["feedback"]})
    steps = list(Commission(opened.bench, RobotModel.of(ROBOT)).steps())
    assert [step.name for step in steps] == STEPS[:4]
    assert steps[-1].refused
    assert {finding.code for finding in steps[-1].findings} == {"torque_sign"}


def test_free_motion_that_counts_as_a_collision_is_said_and_leaves_no_fault(opened):
    bench = opened.bench
    bench.board.write("torque_error_max", 0.001)
    with (
        pytest.raises(IdentificationError, match=r"taken for a collision\..*: raise it"),
        no_collision(bench, "raise it"),
    ):
        free_motion(bench)
    assert bench.board.status().fault == ""
