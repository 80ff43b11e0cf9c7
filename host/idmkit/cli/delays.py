"""idm delays ROBOT: AdditiveTorqueDelay, the torque's lead and the delays of the errors, measured and written."""

from __future__ import annotations

import argparse
import json
from typing import Any

from idmkit.bench import Bench, RobotModel, identification_run, write_model, write_settings
from idmkit.bench.delays import FITS_S, Delays, measure_delays, store_delays
from idmkit.cli.benches import PORT_HELP, VIRTUAL, open_bench
from idmkit.cli.confirm import may_move
from idmkit.errors import IdmError
from idmkit.fitting import fit_record
from idmkit.link.images import applied_image
from idmkit.robot import Robot, load_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("robot", metavar="ROBOT", help="robot file, or the name of a ready robot")
    parser.add_argument("--port", default=VIRTUAL, help=f"{PORT_HELP} (default), which is identified first")
    parser.add_argument("--yes", action="store_true", help="the robot may move: do not ask")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Measures, writes, stores."""
    robot = load_robot(arguments.robot)
    model = RobotModel.of(robot)
    with open_bench(robot, model, arguments.port) as bench:
        if arguments.port == VIRTUAL:
            _identify(bench, robot, model)
        else:
            _check_identified(bench, model)
            reach = "every axis between the start and the target of its identification run, at half its speed or more"
            may_move(bench, arguments.port, reach, yes=arguments.yes)
        found = measure_delays(bench, lambda step: None if arguments.json else print(f"  {step} ...", flush=True))
        store_delays(bench)
    if arguments.json:
        print(json.dumps(_as_dict(robot, found)))
    else:
        _print(robot, found)
    return 0


def _identify(bench: Bench, robot: Robot, model: RobotModel) -> None:
    """A virtual board is new: it gets parameters first."""
    write_settings(bench)
    fit = fit_record(identification_run(bench).record, robot)
    write_model(bench, model.program, model.values(fit.result.values()))


def _check_identified(bench: Bench, model: RobotModel) -> None:
    image = applied_image(bench.board)
    if image is None or image.program_hash != model.program.hash:
        raise IdmError(
            "the board has no parameters for this robot's model; the delays show by what the model's torque takes "
            "away: run `idm identify PORT --robot ROBOT --write` first"
        )


def _as_dict(robot: Robot, found: Delays) -> dict[str, Any]:
    return {
        "robot": robot.name,
        "cycle_time_s": robot.cycle_time_s,
        "torque_lead_cycles": found.torque_lead,
        "axes": [
            {
                "axis": axis.name,
                "torque_delay_cycles": [axis.torque.samples, axis.torque.interval],
                "position_delay_cycles": [axis.position.samples, axis.position.interval],
                "torque_error_delay_cycles": [axis.torque_error.samples, axis.torque_error.interval],
                "additive_torque_delay": axis.additive_torque_delay,
                "misfit_cycles": found.misfit(axis),
            }
            for axis in found.axes
        ],
        "ways": {
            name: [
                {"axis": axis.name, "tracking_rms": t.rms, "tracking_max": t.largest, "settling_cycles": cycles}
                for axis, t, cycles in zip(robot.axes, way.tracking, way.settling, strict=True)
            ]
            for name, way in found.ways.items()
        },
    }


def _print(robot: Robot, found: Delays) -> None:
    print(f"\n  in cycles of {1e3 * robot.cycle_time_s:g} ms, +- 95 %")
    print(f"  {'axis':<8} {'torque after command':>22} {'position':>18} {'torque error':>18}")
    for axis in found.axes:
        cells = [f"{d.samples:.3f} +- {d.interval:.3f}" for d in (axis.torque, axis.position, axis.torque_error)]
        print(f"  {axis.name:<8} {cells[0]:>22} {cells[1]:>18} {cells[2]:>18}")
    print("\n  written and stored; the same for the robot file:")
    print(f"    torque_lead_cycles = {found.torque_lead:.3f}")
    for axis in found.axes:
        fields = ", ".join(f"{name} = {cycles}" for name, cycles in axis.robot_file().items())
        print(f"    {axis.name}: {fields}")
    for axis in found.axes:
        off = found.misfit(axis) * robot.cycle_time_s
        if abs(off) > FITS_S:
            print(
                f"  ! {axis.name}: one lead serves all axes; here it is {1e3 * off:.2f} ms off, more than settling "
                f"bears ({1e3 * FITS_S:g} ms). Give the drives alike set-point buffers and current loops"
            )
    print(f"\n  {'tracking error rms, settling':<30}" + "".join(f"{axis.name:>20}" for axis in robot.axes))
    for name, way in found.ways.items():
        cells = []
        for described, t, cycles in zip(robot.axes, way.tracking, way.settling, strict=True):
            settled = "never" if cycles is None else f"{1e3 * robot.cycle_time_s * cycles:.0f} ms"
            cells.append(f"{1e3 * t.rms:.4f} {'mrad' if described.revolute else 'mm'}, {settled}")
        print(f"  {name:<30}" + "".join(f"{cell:>20}" for cell in cells))
