"""Identified inertials and friction in a copy of an arm's URDF."""

from __future__ import annotations

from pathlib import Path

from idmkit.dynamics.chain import INERTIAL_NAMES, Inertial
from idmkit.dynamics.urdf_write import write_urdf
from idmkit.errors import ModelError
from idmkit.fitting import Fit
from idmkit.robot import Robot


def write_identified_urdf(fit: Fit, robot: Robot, target: Path) -> None:
    """Writes the bodies of a physically consistent fit; raises ModelError where there is no URDF or no such fit."""
    if robot.serial is None or robot.serial.urdf is None:
        raise ModelError(f"robot {robot.name!r} has no URDF to copy; its geometry must come from one ([model] urdf)")
    if fit.full is None:
        raise ModelError(
            f"{fit.result.estimator} gives base parameters, which are sums over several links; bodies that a URDF can "
            "hold come from --estimator consistent"
        )
    urdf, chain = robot.serial.urdf, robot.serial.chain
    inertials = [
        Inertial.from_parameters([fit.full[f"{joint}.{name}"] for name in INERTIAL_NAMES]) for joint in chain.names
    ]
    # The file's joints have the file's names; the fit's those of the robot file's axes, in the same order.
    names = dict(zip(chain.names, urdf.chain.names, strict=True))
    friction = {
        term: {names[axis]: fit.full[f"{axis}.{term}"] for axis in chain.names if f"{axis}.{term}" in fit.full}
        for term in ("Fv", "Fc")
    }
    write_urdf(urdf, target, inertials, viscous=friction["Fv"], coulomb=friction["Fc"])
