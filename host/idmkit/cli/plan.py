"""idm plan ROBOT -o PLAN.json: the motion that tells most about the parameters, within all limits, before it is run."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from idmkit.cli.progress import Progress
from idmkit.errors import IdmError, RigError
from idmkit.excitation.comparison import Comparison, compare
from idmkit.excitation.criterion import CRITERIA, ExcitedModel, excited_model
from idmkit.excitation.limits import Proof
from idmkit.excitation.plan import HARMONICS, Plan, plan_excitation
from idmkit.excitation.plan_file import save_plan
from idmkit.excitation.trapezoid import TrapezoidPlan, plan_trapezoids
from idmkit.robot import Robot, load_robot
from idmkit.robot_graph import robot_graph
from idmkit.stiffness import soft_delta
from idmkit.verdict.result import load_result

EXCITATION_RATIO = 0.3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("robot", metavar="ROBOT", help="robot file, or the name of a ready robot")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="PLAN.json", help="where the plan goes")
    parser.add_argument("--figure", type=Path, metavar="OUT.png", help="draw the motion beside its limits")
    parser.add_argument("--trapezoid", action="store_true", help="moves at several speeds instead of a Fourier series")
    parser.add_argument("--criterion", choices=CRITERIA, default="trace", help="what to minimise (default: trace)")
    parser.add_argument(
        "--parameters",
        type=Path,
        metavar="RESULT.json",
        help="nominal parameters for the torque limits (default: those of the virtual robot in the file's [rig])",
    )
    parser.add_argument("--resonance", type=float, metavar="HZ", help="lowest resonance (default: a delta's own)")
    parser.add_argument("--ratio", type=float, metavar="R_EXT", help="highest frequency over resonance (default: 0.3)")
    parser.add_argument(
        "--box", type=float, nargs=6, metavar=("X0", "X1", "Y0", "Y1", "Z0", "Z1"), help="where the tool may be, m"
    )
    parser.add_argument("--duration", type=float, metavar="S", help="length of the run (default: the robot file's)")
    parser.add_argument("--harmonics", type=int, default=HARMONICS, help="harmonics (default: %(default)s)")
    parser.add_argument("--starts", type=int, default=3, help="optimisations from different starts (default: 3)")
    parser.add_argument("--seed", type=int, default=1, help="of the starts (default: 1)")


def run(arguments: argparse.Namespace) -> int:
    """Plans, proves, compares, writes."""
    for name, least in (("harmonics", 2), ("starts", 1), ("duration", 0.1), ("resonance", 1e-3), ("ratio", 1e-3)):
        value = getattr(arguments, name)
        if value is not None and not (value >= least and math.isfinite(value)):
            raise IdmError(f"--{name} is {value:g}, but must be {least:g} at least")
    for path in (arguments.output, arguments.figure):
        # Said before the minute that a plan may take.
        if path is not None and not path.absolute().parent.is_dir():
            raise IdmError(f"{path} cannot be written: there is no folder {path.parent}")
    robot = load_robot(arguments.robot)
    model = _model(robot, arguments.parameters)
    box = None if arguments.box is None else list(zip(arguments.box[::2], arguments.box[1::2], strict=True))
    highest_hz = _highest_hz(robot, arguments.resonance, arguments.ratio)
    plan: Plan | TrapezoidPlan
    if arguments.trapezoid:
        plan = plan_trapezoids(model, box=box, highest_hz=highest_hz, duration_s=arguments.duration)
    else:
        with Progress("planning", 1000) as bar:
            plan = plan_excitation(
                model,
                criterion=arguments.criterion,
                box=box,
                highest_hz=highest_hz,
                duration_s=arguments.duration,
                harmonics=arguments.harmonics,
                starts=arguments.starts,
                seed=arguments.seed,
                progress=lambda done, total: bar.step(1000 * done // total),
            )
    motion = plan.series if isinstance(plan, Plan) else plan.motion
    save_plan(plan, arguments.output)
    _show(robot, plan, compare(model, motion, plan.duration_s))
    if model.nominal is None:
        print("  ! torques are not limited: nominal parameters are not known; give them by --parameters RESULT.json")
    if highest_hz == math.inf:
        print("  ! no resonance is known; where the robot gives way, give its lowest by --resonance HZ")
    if arguments.figure is not None:
        # Drawing takes a second to import and is often not wanted.
        from idmkit.report.plan_figure import save_plan_figure

        save_plan_figure(plan, robot, arguments.figure)
        print(f"figure: {arguments.figure}")
    print(f"plan: {arguments.output}")
    return 0


def _model(robot: Robot, result: Path | None) -> ExcitedModel:
    """Nominal parameters from a result, or parameters and torque noise of the virtual robot, or none."""
    if result is not None:
        keys = robot_graph(robot).keys
        values = {key: value for key, value in load_result(result).values().items() if key in keys}
        return excited_model(robot, nominal=values)
    if not robot.rig:
        return excited_model(robot)
    try:
        from idmkit.rig.machine_plant import build_plant
        from idmkit.rig.spec import read_rig_spec
        from idmkit.rig.truth import measure
    except RigError:
        return excited_model(robot)
    spec = read_rig_spec(robot)
    truth = measure(robot, build_plant(robot, spec))
    found = {p.key: truth.get(p.axis or robot.name, {}).get(p.name) for p in robot_graph(robot).parameters}
    nominal = {key: value for key, value in found.items() if value is not None}
    noise = [axis.torque_noise for axis in spec.axes]
    return excited_model(robot, nominal=nominal, noise=noise if all(value > 0 for value in noise) else None)


def _highest_hz(robot: Robot, resonance_hz: float | None, ratio: float | None) -> float:
    """R_ext times the resonance: given, or the lowest of a delta in its workspace; infinite where none is known."""
    if resonance_hz is not None:
        return (EXCITATION_RATIO if ratio is None else ratio) * resonance_hz
    if robot.machine is None or robot.machine.stiffness is None:
        if ratio is not None:
            raise IdmError("--ratio needs a resonance; give it by --resonance")
        return math.inf
    from idmkit.stiffness.workspace import sections

    delta = soft_delta(robot)
    lowest = min(float(np.nanmin(section.resonance_hz)) for section in sections(delta))
    return (delta.excitation_ratio if ratio is None else ratio) * lowest


def _show(robot: Robot, plan: Plan | TrapezoidPlan, found: Comparison) -> None:
    if isinstance(plan, Plan):
        series = plan.series
        reached = ", ".join("none" if value is None else f"{value:.4g}" for value in plan.outcomes)
        print(
            f"{robot.name}: {plan.periods} periods of {series.period_s:.4g} s, {series.harmonics} harmonics up to "
            f"{series.highest_hz:.4g} Hz, {plan.criterion} of the starts: {reached}"
        )
    else:
        counts = ", ".join(f"{len(moves)} of {name}" for name, moves in zip(plan.axes, plan.motion.moves, strict=True))
        print(
            f"{robot.name}: moves in {plan.duration_s:g} s: {counts}; "
            f"{100 * plan.accelerations_used:.0f} % of the accelerations"
        )
    _show_proofs(plan.proofs)
    sine, motions = found.sine, (found.planned, found.sine, found.fast_sine)
    faster = f"sines x {found.factor_to_limit:.3g}"
    print(f"\n  {f'in {found.duration_s:.4g} s':<26} {'plan':>12} {'sines':>12} {faster:>12}")
    print(f"  {'trace of scaled covariance':<26}" + "".join(f" {motion.trace:>12.4g}" for motion in motions))
    print(f"  {'log det of information':<26}" + "".join(f" {motion.logdet:>12.4g}" for motion in motions))
    print(f"  {'condition number':<26}" + "".join(f" {motion.condition:>12.4g}" for motion in motions))
    print(f"  {'weakest parameter':<26}" + "".join(f" {motion.weakest:>12}" for motion in motions))
    if found.sine.complete:
        print(
            f"  the plan's trace is {found.factor:.3g} times smaller, and {found.fast_factor:.3g} times smaller than "
            "that of sines so fast that the first axis is at a limit"
        )
    else:
        print(f"  the sines leave {sine.weakest} open")


def _show_proofs(proofs: Sequence[Proof]) -> None:
    print("\n  proved to stay within, % of each limit:")
    kinds = list(dict.fromkeys(proof.limit.kind for proof in proofs))
    for kind in kinds:
        used = [f"{proof.limit.name} {100 * proof.used:.0f}" for proof in proofs if proof.limit.kind == kind]
        print(f"    {kind:<13} {', '.join(used)}")
