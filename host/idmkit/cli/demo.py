"""idm demo: the whole way on a virtual rig, with a table of what it gained."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idmkit.bench import Bench, RobotModel, write_model
from idmkit.bench.performance import position_delay
from idmkit.bench.prove import Proof, proof_cycles, prove, reach, switch_model
from idmkit.bench.stops import MARGIN, Collision, ThresholdStop, collide, threshold_stop
from idmkit.cli.benches import virtual_bench
from idmkit.cli.identify import identify
from idmkit.cli.progress import Progress
from idmkit.fitting import Fit
from idmkit.link.images import Written
from idmkit.rig import Rig
from idmkit.rig.qemu import MPS2
from idmkit.robot import Robot, load_robot

BOARDS = {"unix": None, "mps2": MPS2}
WAYS = ("without model", "identified", "true")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "robot", nargs="?", default="crank", metavar="ROBOT", help="robot file, or a ready robot (default crank)"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("idm-demo"),
        metavar="FOLDER",
        help="for record, result and figures (default idm-demo)",
    )
    parser.add_argument(
        "--board",
        choices=tuple(BOARDS),
        default="unix",
        help="the virtual board: a process (default), or a Cortex-M3 that QEMU emulates (make emulators)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the torque noise (default 1)")
    parser.add_argument("--json", action="store_true", help="print JSON")


@dataclass(frozen=True, eq=False)
class Shown:
    """All that a demo shows."""

    robot: Robot
    fit: Fit
    truth: dict[str, float]
    written: Written
    proofs: dict[str, Proof]
    stop: ThresholdStop
    collision: Collision | None
    """None for a machine: the virtual rig puts walls in the way of single axes only."""
    files: dict[str, Path]
    cycles: int

    @property
    def delay(self) -> int:
        """PositionErrorDelay of the first axis, measured."""
        return position_delay(self.proofs["without model"].sine.record, self.robot.axes[0].name)


def run(arguments: argparse.Namespace) -> int:
    """Identifies, proves, stops, and says where everything is."""
    began = time.monotonic()
    robot = load_robot(arguments.robot)
    model = RobotModel.of(robot)
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    where = " on an emulated Cortex-M3" if arguments.board == MPS2 else ""
    if not arguments.json:
        print(
            f"Virtual rig of {robot.name}: MicroPython runs the firmware{where}, MuJoCo the robot, CiA 402 drives in "
            f"between, {1e3 * robot.cycle_time_s:g} ms cycle.",
            flush=True,
        )
    shown = _show(robot, model, folder, arguments.seed, BOARDS[arguments.board])
    if arguments.json:
        print(json.dumps(_as_dict(shown)))
    else:
        _print(shown)
    # The only number that is not the same in every run stands apart.
    took = time.monotonic() - began
    print(f"\n{shown.cycles * robot.cycle_time_s:.1f} s of the robot's time in {took:.1f} s.", file=sys.stderr)
    return 0


def _show(robot: Robot, model: RobotModel, folder: Path, seed: int, emulator: str | None) -> Shown:
    with virtual_bench(robot, model, seed=seed, emulator=emulator) as (rig, bench):
        fit, files = identify(bench, robot, folder)
        truth = _truth(rig, robot)
        identified = model.values(fit.result.values())
        written = write_model(bench, model.program, identified)
        proofs = _prove(bench, model, identified, {**identified, **truth})
        stop = threshold_stop(bench, 0, *reach(robot))
        collision = _into_a_wall(bench, rig, robot) if robot.machine is None else None
        cycles = rig.cycle
    from idmkit.report.proof import save_proof

    files["proof"] = folder / f"{robot.name}_proof.png"
    save_proof(robot, fit, proofs, collision, files["proof"])
    return Shown(robot, fit, truth, written, proofs, stop, collision, files, cycles)


def _truth(rig: Rig, robot: Robot) -> dict[str, float]:
    """What the plant was measured to have, under the names of the model's parameters."""
    # What belongs to a machine as a whole stands under the robot's name, and its keys have no axis.
    whole = robot.name if robot.machine is not None else None
    return {
        name if owner == whole else f"{owner}.{name}": value
        for owner, values in rig.truth().items()
        for name, value in values.items()
        if name != "residual"
    }


def _prove(bench: Bench, model: RobotModel, identified: dict[str, float], true: dict[str, float]) -> dict[str, Proof]:
    """The same motions three times; the identified parameters stay on the board."""
    proofs: dict[str, Proof] = {}
    for way in WAYS:
        if way == "true":
            write_model(bench, model.program, {key: true[key] for key in identified}, store=False)
        else:
            switch_model(bench, on=way == "identified")
        with Progress(f"moving, {way}", proof_cycles(bench)) as progress:
            proofs[way] = prove(bench, progress.step)
    write_model(bench, model.program, identified)
    return proofs


def _into_a_wall(bench: Bench, rig: Rig, robot: Robot) -> Collision:
    """A wall in the way of the first axis."""
    low, high = reach(robot)
    ahead = bench.board.status().cycle - rig.cycle
    middle = (low[0] + high[0]) / 2

    def contact() -> int | None:
        cycle = rig.contact_cycle(0)
        return None if cycle is None else cycle + ahead

    return collide(bench, 0, low, high, lambda up: rig.place_wall(0, middle if up else None), contact)


def _as_dict(shown: Shown) -> dict[str, Any]:
    """The demo's numbers in SI, by name."""
    result = shown.fit.result.as_dict()
    stop, collision = shown.stop, shown.collision
    return {
        "robot": shown.robot.name,
        "parameters": [entry | {"true": shown.truth.get(entry["name"])} for entry in result["parameters"]],
        "axes": result["axes"],
        "verdict": result["verdict"],
        "stored": {"generation": shown.written.generation, "crc": shown.written.crc},
        "performance": {
            way: [
                {
                    "axis": axis.name,
                    "tracking_rms": proof.tracking[index].rms,
                    "tracking_max": proof.tracking[index].largest,
                    "settling_cycles": proof.settling[index],
                }
                for index, axis in enumerate(shown.robot.axes)
            ]
            for way, proof in shown.proofs.items()
        },
        "position_error_delay_cycles": shown.delay,
        "torque_threshold": {
            "needed": stop.needed,
            "limit": abs(stop.fault.limit),
            "travel": stop.travel,
            "at_rest": stop.at_rest,
            "cycle": stop.fault.cycle,
        },
        "collision": None
        if collision is None
        else {
            "torque_error": abs(collision.fault.value),
            "threshold": collision.threshold,
            "free_error": collision.free_error,
            "delay_cycles": collision.delay_cycles,
            "peak_torque": collision.peak_torque,
            "cycle": collision.fault.cycle,
        },
        "files": {name: str(path) for name, path in shown.files.items()},
        "cycles": shown.cycles,
    }


def _print(shown: Shown) -> None:
    _print_parameters(shown.fit, shown.truth)
    written = shown.written
    print(f"\nWritten back, read back and stored as generation {written.generation} (CRC 0x{written.crc:08x}).")
    _print_proofs(shown.robot, shown.proofs, shown.delay)
    _print_stop(shown.robot, shown.stop)
    if shown.collision is not None:
        _print_collision(shown.robot, shown.collision)
    print()
    for name, path in shown.files.items():
        print(f"{name}: {path}")


def _print_parameters(fit: Fit, truth: Mapping[str, float]) -> None:
    print(f"\n  {'parameter':<12} {'identified':>12} {'std':>10} {'true':>12} {'error/std':>10}  unit")
    for parameter in fit.result.parameters:
        if parameter.std is None:
            # It does not show without payload; where it comes from, the findings say.
            print(f"  {parameter.name:<12} {parameter.value:>12.6g} {'-':>10} {'-':>12} {'-':>10}  {parameter.unit}")
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
        print(f"  rms with the identified parameters: {ratio:.2f} times that with the true ones")
        print(
            f"  error against the command {delay} cycles before (PositionErrorDelay, measured); settled within "
            f"{1e3 * axis.settling.position_error:g} {unit} for {1e3 * axis.settling.time_s:g} ms"
        )


def _print_stop(robot: Robot, stop: ThresholdStop) -> None:
    axis = robot.axes[0]
    unit, torque_unit = ("rad", "Nm") if axis.revolute else ("m", "N")
    print(
        f"\n  TorqueThreshold: set to {abs(stop.fault.limit):.3g} {torque_unit}, it stopped a move that needs "
        f"{stop.needed:.3g} {torque_unit} in cycle {stop.fault.cycle};"
        f"\n    the axis {'came to rest' if stop.at_rest else 'did NOT rest'} {stop.travel:.4f} {unit} further on"
    )


def _print_collision(robot: Robot, collision: Collision) -> None:
    torque_unit = "Nm" if robot.axes[0].revolute else "N"
    delay = (
        "an unknown time"
        if collision.delay_cycles is None
        else f"{collision.delay_cycles} cycles ({1e3 * robot.cycle_time_s * collision.delay_cycles:g} ms)"
    )
    print(
        f"  Collision: found {delay} after the first contact with a wall;"
        f"\n    torque error {abs(collision.fault.value):.3g} {torque_unit} against a limit of "
        f"{collision.threshold:.3g}, {MARGIN:g} times that of free motion"
    )
