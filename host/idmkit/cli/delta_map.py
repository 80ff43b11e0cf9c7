"""idm delta-map ROBOT: stiffness and resonance at a point, over the workspace, and from measured resonances."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from idmkit.robot import load_robot
from idmkit.stiffness import (
    FORMS,
    Form,
    SoftDelta,
    acceleration_time_of_move,
    fit_stiffness,
    load_measurements,
    minimal_acceleration_time,
    pose,
    pose_at,
    rod_forces,
    soft_delta,
)

TRIPLE = ("X", "Y", "Z")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("robot", metavar="ROBOT", help="robot file of a delta with [model.stiffness], or a ready one")
    parser.add_argument(
        "--at", type=float, nargs=3, metavar=TRIPLE, help="point of the platform, m (default: the middle)"
    )
    parser.add_argument("--direction", type=float, nargs=3, metavar=TRIPLE, help="direction (default: x, y and z)")
    parser.add_argument("--to", type=float, nargs=3, metavar=TRIPLE, help="end of a straight move that begins --at")
    parser.add_argument("--acceleration", type=float, nargs=3, metavar=TRIPLE, help="m/s^2; shows the rods' forces")
    parser.add_argument(
        "--fit", type=Path, metavar="MEASURED.csv", help="c_q and c_r from resonances x,y,z,ux,uy,uz,f_hz"
    )
    parser.add_argument(
        "--form", choices=FORMS, default=FORMS[0], help="formula for fit and map (default: %(default)s)"
    )
    parser.add_argument("--map", type=Path, metavar="OUT.png", help="draw the resonance over the workspace")
    parser.add_argument("--height", type=float, metavar="Z", help="height of the map's horizontal section, m")


def run(arguments: argparse.Namespace) -> int:
    """Fits where asked for, shows a point, draws."""
    delta = soft_delta(load_robot(arguments.robot))
    if arguments.fit is not None:
        delta = _fitted(delta, arguments.fit, arguments.form)
    space = delta.workspace
    point = arguments.at or [0.0, 0.0, (space.z_min + space.z_max) / 2]
    pose_at(delta.robot.geometry, point)
    _show_point(delta, point, arguments.direction)
    if arguments.to is not None:
        for form in FORMS:
            shortest = acceleration_time_of_move(delta.robot, point, arguments.to, delta.excitation_ratio, form)
            print(f"  move to ({_text(arguments.to)}) m: T_AccMin {1e3 * shortest:.4g} ms ({form})")
    if arguments.acceleration is not None:
        _show_forces(delta, point, arguments.acceleration)
    if arguments.map is not None:
        _draw(delta, arguments)
    return 0


def _show_point(delta: SoftDelta, point: list[float], direction: list[float] | None) -> None:
    robot = delta.robot
    directions = np.eye(3).tolist() if direction is None else [direction]
    angles = pose(robot.geometry, point).angles
    print(f"{delta.name} at ({_text(point)}) m: arms at {_text(angles)} rad, {robot.mass:g} kg moved")
    print(
        f"\n  {'direction':<16} {'formula':<11} {'joints, N/m':>12} {'rods, N/m':>12} {'both, N/m':>12} "
        f"{'resonance, Hz':>14} {'T_AccMin, ms':>13}"
    )
    for u in directions:
        for form in FORMS:
            found = robot.at(point, u, form)
            shortest = minimal_acceleration_time(found.resonance_hz, delta.excitation_ratio)
            print(
                f"  {_text(u):<16} {form:<11} {found.joints:>12.6g} {found.rods:>12.6g} {found.total:>12.6g} "
                f"{found.resonance_hz:>14.4f} {1e3 * shortest:>13.4f}"
            )
    print(f"\n  the three resonances: {', '.join(f'{f:.4f}' for f in robot.eigenfrequencies(point))} Hz")


def _show_forces(delta: SoftDelta, point: list[float], acceleration: list[float]) -> None:
    needed = delta.platform_mass * np.add(acceleration, [0, 0, delta.gravity])
    forces = rod_forces(delta.robot.geometry, point, needed)
    print(f"  forces of the rods (positive: pressure): {_text(forces)} N", end="")
    if delta.rod_force_max is None:
        print()
    else:
        worst = float(np.abs(forces).max())
        print(f"; {100 * worst / delta.rod_force_max:.0f} % of Fr_max = {delta.rod_force_max:g} N")


def _fitted(delta: SoftDelta, path: Path, form: Form) -> SoftDelta:
    measurements = load_measurements(path)
    fit = fit_stiffness(delta.robot.geometry, delta.robot.mass, measurements, form)
    print(f"{len(measurements)} resonances, {form} formula, scatter {fit.scatter_percent:.2f} %")
    for name, unit, constant in (("c_q", "Nm/rad", fit.c_q), ("c_r", "N/m", fit.c_r)):
        print(
            f"  {name} = {constant.value:.6g} +- {constant.std:.2g} {unit}, "
            f"95 % within {constant.low:.5g} .. {constant.high:.5g}"
        )
    for measured, frequency in zip(measurements, fit.frequencies_hz, strict=True):
        off = 100 * (frequency / measured.frequency_hz - 1)
        print(
            f"  ({_text(measured.point)}) along ({_text(measured.direction)}): "
            f"{measured.frequency_hz:.4g} Hz measured, {frequency:.4g} Hz fitted ({off:+.1f} %)"
        )
    print()
    return replace(delta, robot=replace(delta.robot, c_q=fit.c_q.value, c_r=fit.c_r.value))


def _draw(delta: SoftDelta, arguments: argparse.Namespace) -> None:
    # Drawing takes a second to import and is often not wanted.
    from idmkit.report.stiffness_map import save_map
    from idmkit.stiffness.workspace import sections

    parts = sections(delta, height=arguments.height, direction=arguments.direction, form=arguments.form)
    what = "lowest resonance"
    if arguments.direction is not None:
        what = f"resonance along ({_text(arguments.direction)}), {arguments.form}"
    save_map(delta, parts, what, arguments.map)
    values = np.concatenate([part.resonance_hz.ravel() for part in parts])
    print(f"  {what} in the sections: {np.nanmin(values):.4g} .. {np.nanmax(values):.4g} Hz")
    print(f"map: {arguments.map}")


def _text(values: object) -> str:
    return ", ".join(f"{value:.4g}" for value in np.asarray(values, dtype=float))
