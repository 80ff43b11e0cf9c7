#!/usr/bin/env python3
"""How fast the virtual rig with the real firmware is: a PUMA's six axes, cycles of 2 ms on two buses, its model on.

One line of JSON: robot time over wall time while all axes move and thirty channels are captured (LEAST_FACTOR is the
limit), and the shares of physics, drives and the rest (firmware, bus and host together) in the wall time. Exit code 1
below the limit.
"""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "host" / "tests"))

from delay_rigs import true_values

from idmkit.bench import RobotModel, write_model
from idmkit.bench.moves import move_to
from idmkit.bench.prove import fast_move, reach
from idmkit.cli.benches import virtual_bench
from idmkit.rig.cell import Cell
from idmkit.rig.spec import SUBSTEP_S
from idmkit.robot import Robot, load_robot

LEAST_FACTOR = 0.5
CYCLE_S = 0.002
DWELL_S = 0.2
ROUNDS = 3


def six_axes() -> Robot:
    """The PUMA at half its cycle time, every second axis on another bus."""
    robot = load_robot("puma")
    axes = tuple(
        replace(axis, drive_or_none=replace(axis.drive, bus=index % 2)) for index, axis in enumerate(robot.axes)
    )
    return replace(robot, cycle_time_s=CYCLE_S, axes=axes, buses=(robot.buses[0], robot.buses[0]))


def spent_in_the_cell(robot: Robot, cycles: int) -> tuple[float, float]:
    """Wall time in s of the physics and of the drives' loops for so many cycles, without firmware and bus."""
    cell = Cell(robot, seed=1)
    steps = range(cycles * round(CYCLE_S / SUBSTEP_S))
    began = time.perf_counter()
    for _ in steps:
        cell.plant.step()
    physics = time.perf_counter() - began
    places = cell.plant.position.tolist()
    for drive, place in zip(cell.drives, places, strict=True):
        drive.servo.switch_on(place)
    began = time.perf_counter()
    for _ in steps:
        for drive, place in zip(cell.drives, places, strict=True):
            drive.servo.step(place)
    return physics, time.perf_counter() - began


def main() -> int:
    """Moves there and back."""
    robot = six_axes()
    model = RobotModel.of(robot)
    with virtual_bench(robot, model) as (rig, bench):
        write_model(bench, model.program, true_values(rig, robot, model), store=False)
        low, high = reach(robot)
        with bench.armed():
            move_to(bench, low)
            first, began = rig.cycle, time.perf_counter()
            for _ in range(ROUNDS):
                fast_move(bench, low, high, DWELL_S)
                fast_move(bench, high, low, DWELL_S)
            wall, cycles = time.perf_counter() - began, rig.cycle - first
    physics, drives = spent_in_the_cell(robot, cycles)
    factor = cycles * CYCLE_S / wall
    shares = {"physics": physics / wall, "drives": drives / wall, "rest": 1 - (physics + drives) / wall}
    figures = {"axes": len(robot.axes), "cycle_s": CYCLE_S, "cycles": cycles, "real_time_factor": round(factor, 2)}
    passed = factor >= LEAST_FACTOR
    print(json.dumps({**figures, "shares": {k: round(v, 3) for k, v in shares.items()}, "passed": passed}))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
