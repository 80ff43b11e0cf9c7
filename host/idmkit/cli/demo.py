"""idm demo: the whole way on a virtual rig, with a table of what it gained."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

from idmkit.bench import Bench, RobotModel, write_model
from idmkit.bench.performance import position_delay
from idmkit.bench.prove import Proof, prove, switch_model
from idmkit.bench.stops import Collision, ThresholdStop, collide, threshold_stop
from idmkit.cli.benches import virtual_bench
from idmkit.cli.identify import identify
from idmkit.fitting import Fit
from idmkit.rig import Rig
from idmkit.robot import Robot, load_robot

WAYS = ("without model", "identified", "true")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("robot", nargs="?", default="crank", metavar="ROBOT", help="crank (default) or slide")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("idm-demo"), metavar="FOLDER", help="(default idm-demo)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the noise (default 1)")


def run(arguments: argparse.Namespace) -> int:
    """Identifies, proves, stops, and says where everything is."""
    began = time.monotonic()
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    robot = load_robot(arguments.robot)
    model = RobotModel.of(robot)
    print(
        f"Virtual rig of {robot.name}: MicroPython runs the firmware, MuJoCo the robot, CiA 402 drives in between, "
        f"{1e3 * robot.cycle_time_s:g} ms cycle."
    )
    with virtual_bench(robot, model, seed=arguments.seed) as (rig, bench):
        fit, files = identify(bench, robot, folder)
        truth = _truth(rig, robot)
        _print_parameters(fit, truth)
        identified = model.values(fit.result.values())
        written = write_model(bench, model.program, identified)
        print(f"\nWritten back, read back and stored as generation {written.generation} (CRC 0x{written.crc:08x}).")
        proofs = _prove(bench, model, identified, {**identified, **truth})
        _print_proofs(robot, proofs, position_delay(proofs["without model"].sine.record, robot.axes[0].name))
        stop, collision = _stops(bench, rig, robot)
        cycles = rig.cycle
    _print_stops(robot, stop, collision)
    from idmkit.report.proof import save_proof

    files["proof"] = folder / f"{robot.name}_proof.png"
    save_proof(robot, fit, proofs, collision, files["proof"])
    print()
    for name, path in files.items():
        print(f"{name}: {path}")
    took = time.monotonic() - began
    print(f"\n{cycles * robot.cycle_time_s:.1f} s of the robot's time in {took:.1f} s.")
    return 0


def _truth(rig: Rig, robot: Robot) -> dict[str, float]:
    """What the plant was measured to have, under the names of the model's parameters."""
    measured = rig.truth()
    return {
        f"{axis.name}.{name}": value
        for axis in robot.axes
        for name, value in measured[axis.name].items()
        if name != "residual"
    }


def _prove(bench: Bench, model: RobotModel, identified: dict[str, float], true: dict[str, float]) -> dict[str, Proof]:
    """The same motions three times; the identified parameters stay on the board."""
    proofs: dict[str, Proof] = {}
    switch_model(bench, on=False)
    proofs["without model"] = prove(bench)
    switch_model(bench, on=True)
    proofs["identified"] = prove(bench)
    write_model(bench, model.program, {key: true[key] for key in identified}, store=False)
    proofs["true"] = prove(bench)
    write_model(bench, model.program, identified)
    return proofs


def _stops(bench: Bench, rig: Rig, robot: Robot) -> tuple[ThresholdStop, Collision]:
    """A torque threshold and a wall, both in the way of the first axis."""
    runs = [axis.identification for axis in robot.axes]
    low = [run.start + 0.1 * (run.target - run.start) for run in runs]
    high = [run.start + 0.8 * (run.target - run.start) for run in runs]
    stop = threshold_stop(bench, 0, low, high)
    ahead = bench.board.status().cycle - rig.cycle
    middle = (low[0] + high[0]) / 2

    def contact() -> int | None:
        cycle = rig.contact_cycle(0)
        return None if cycle is None else cycle + ahead

    collision = collide(bench, 0, low, high, lambda up: rig.place_wall(0, middle if up else None), contact)
    return stop, collision


def _print_parameters(fit: Fit, truth: Mapping[str, float]) -> None:
    print(f"\n  {'parameter':<12} {'identified':>12} {'std':>10} {'true':>12} {'error/std':>10}  unit")
    for parameter in fit.result.parameters:
        if parameter.std is None:
            elsewhere = f"{parameter.unit} (robot file)"
            print(f"  {parameter.name:<12} {parameter.value:>12.6g} {'-':>10} {'-':>12} {'-':>10}  {elsewhere}")
            continue
        true = truth[parameter.name]
        off = (parameter.value - true) / parameter.std
        print(
            f"  {parameter.name:<12} {parameter.value:>12.6g} {parameter.std:>10.2g} {true:>12.6g} {off:>10.2f}  "
            f"{parameter.unit}"
        )
    for axis in fit.result.axes:
        print(
            f"\n  torque error of {axis.name}: max {axis.max_relative_error_percent:.2f} %, "
            f"mean {axis.mean_relative_error_percent:.2f} % of the largest torque "
            f"({axis.moving_samples} samples above {axis.velocity_threshold:.3g}); "
            f"{'accepted' if fit.result.verdict.accepted else 'REFUSED'}"
        )


def _print_proofs(robot: Robot, proofs: Mapping[str, Proof], delay: int) -> None:
    for index, axis in enumerate(robot.axes):
        unit = "mrad" if axis.revolute else "mm"
        print(f"\n  {axis.name:<16} {'tracking error, ' + unit:>24} {'settling, ms':>14}")
        print(f"  {'':<16} {'rms':>12} {'max':>11}")
        for way in WAYS:
            error = proofs[way].tracking[index]
            settled = proofs[way].settling[index]
            text = "never" if settled is None else f"{1e3 * robot.cycle_time_s * settled:.0f}"
            print(f"  {way:<16} {1e3 * error.rms:>12.4f} {1e3 * error.largest:>11.4f} {text:>14}")
        ratio = proofs["identified"].tracking[index].rms / proofs["true"].tracking[index].rms
        print(
            f"  identified against true: {ratio:.2f} times the rms tracking error; error against the command "
            f"{delay} cycles before (PositionErrorDelay, measured); settled within "
            f"{1e3 * axis.settling.position_error:g} {unit} for {1e3 * axis.settling.time_s:g} ms"
        )


def _print_stops(robot: Robot, stop: ThresholdStop, collision: Collision) -> None:
    axis = robot.axes[0]
    unit, torque_unit = ("rad", "Nm") if axis.revolute else ("m", "N")
    print(
        f"\n  TorqueThreshold: a move that needs {stop.needed:.3g} {torque_unit} met {abs(stop.fault.limit):.3g} "
        f"{torque_unit} and came to {'rest' if stop.at_rest else 'NO REST'} {stop.travel:.4f} {unit} further on, "
        f"held there, fault latched in cycle {stop.fault.cycle}."
    )
    delay = (
        "unknown"
        if collision.delay_cycles is None
        else (f"{collision.delay_cycles} cycles = {1e3 * robot.cycle_time_s * collision.delay_cycles:g} ms")
    )
    print(
        f"  Collision: torque error {abs(collision.fault.value):.3g} {torque_unit} against "
        f"{collision.threshold:.3g} (free motion: {collision.free_error:.3g}); found {delay} after first contact."
    )
