"""idm check on the virtual rig: a robot that is what its file says passes, and each thing that is not shows slowly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from idmkit.bench import Bench, RobotModel, write_settings
from idmkit.bench.check import check
from idmkit.cli.benches import virtual_bench
from idmkit.cli.main import main
from idmkit.errors import IdmError
from idmkit.robot import Robot, load_robot

ROBOT = load_robot("crank")


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with virtual_bench(ROBOT, RobotModel.of(ROBOT)) as (_, bench):
        yield bench


def with_drive(**changes: float) -> Robot:
    axis = ROBOT.axes[0]
    return replace(ROBOT, axes=(replace(axis, drive_or_none=replace(axis.drive, **changes)),))


def found(bench: Bench, robot: Robot = ROBOT) -> set[tuple[str, str]]:
    """Codes and severities when the robot is believed to be `robot`."""
    own = Bench(robot, bench.board, bench._advance)
    write_settings(own)
    jogs, slow = check(own, lambda _: None)
    return {(f.code, f.severity) for f in [*(f for jog in jogs for f in jog.findings), *slow]}


def test_a_robot_that_is_what_its_file_says(bench):
    assert found(bench) == set()
    jogs, _ = check(bench, lambda _: None)
    # Coulomb and some viscous friction of the rig's crank, 0.35 Nm + 0.08 Nm s/rad at about 0.6 rad/s.
    assert jogs[0].friction == pytest.approx(0.35 + 0.08 * 0.6, abs=5 * jogs[0].friction_std)
    assert jogs[0].delay == ROBOT.axes[0].drive.position_error_delay_cycles


def test_a_torque_with_the_wrong_sign(bench, monkeypatch):
    import idmkit.board.settings as settings

    right = settings.conversion_factors
    monkeypatch.setattr(settings, "conversion_factors", lambda *a: (f := right(*a)) | {"feedback": -f["feedback"]})
    assert ("torque_sign", "refusal") in found(bench)


def test_a_torque_factor_that_no_such_crank_has(bench):
    assert ("weight", "warning") in found(bench, with_drive(rated_torque=30 * ROBOT.axes[0].drive.rated_torque))


def test_a_delay_that_is_not_the_files(bench):
    assert ("delay", "warning") in found(bench, with_drive(position_error_delay_cycles=1))


def test_an_axis_outside_of_its_limits_is_not_moved(bench):
    axis = replace(ROBOT.axes[0], position_min=1.0, position_max=2.0)
    cycle = bench.board.status().cycle
    with pytest.raises(IdmError, match=r"stands at .* outside of its limits 1 to 2"):
        check(Bench(replace(ROBOT, axes=(axis,)), bench.board, bench._advance), lambda _: None)
    assert bench.board.status().cycle == cycle
    assert bench.board.status().state == "disarmed"


def test_the_command(capsys):
    assert main(["check", "rig:", "--robot", "crank", "--yes"]) == 0
    out = capsys.readouterr().out
    assert "ready for the identification run" in out
