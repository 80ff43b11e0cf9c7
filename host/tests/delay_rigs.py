"""Rigs whose drives have other delays than the ready robot files', with their true parameters on the board."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from idmkit.bench import Bench, RobotModel, write_model
from idmkit.cli.benches import virtual_bench
from idmkit.rig import Rig
from idmkit.rig.servo import best_torque_delay
from idmkit.rig.spec import read_rig_spec
from idmkit.robot import Robot, load_robot


def late_robot(name: str, setpoints: int, torques: int) -> tuple[Robot, float]:
    """A ready robot with these buffers (cycles) in its drives, and its best torque delay in cycles."""
    robot = load_robot(name)
    rig = copy.deepcopy(robot.rig)
    for axis in rig["axes"]:
        axis.update(setpoint_buffer_cycles=setpoints, torque_buffer_cycles=torques)
    # What a longer transport looks like is no error of position.
    axes = tuple(
        replace(a, guards_or_none=replace(a.guards, position_error_max=6.0 if a.revolute else 1.0)) for a in robot.axes
    )
    robot = replace(robot, rig=rig, axes=axes)
    return robot, best_torque_delay(read_rig_spec(robot).axes[0], robot.cycle_time_s)


def true_values(rig: Rig, robot: Robot, model: RobotModel) -> dict[str, float]:
    """The parameters of the program as the plant was measured to have them."""
    whole = robot.name if robot.machine is not None else None
    known = {} if robot.machine is None else robot.machine.known
    values = {parameter.key: 0.0 for parameter in model.program.parameters} | known
    for owner, own in rig.truth().items():
        values |= {key if owner == whole else f"{owner}.{key}": value for key, value in own.items()}
    return {parameter.key: values[parameter.key] for parameter in model.program.parameters}


@contextmanager
def late_bench(robot: Robot) -> Iterator[Bench]:
    """Its bench, the model on; torque errors are not watched, since their delay is not known yet."""
    model = RobotModel.of(robot)
    with virtual_bench(robot, model) as (rig, bench):
        write_model(bench, model.program, true_values(rig, robot, model), store=False)
        for index in range(len(robot.axes)):
            bench.board.write("torque_error_enable", 0, index)
        yield bench
