"""What a record is asked for, and where the rest comes from: the robot file, other parameters, or nowhere.

Some parameters show in no motion: without payload their columns vanish (L2, gL, gcos), or they are mixtures of
others' (a delta's rods beside its arms and platform). They are not identified; each is said, with its value where
one follows from elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from idmkit.dynamics.base_parameters import BaseParameters, base_parameters
from idmkit.dynamics.graph import Graph, Parameter
from idmkit.dynamics.regressor import Regressor
from idmkit.finding import Finding
from idmkit.robot import Axis, Robot
from idmkit.verdict import ParameterResult

TAKEN_AS_ZERO = ("M_BC",)
"""Where something must be, a delta's rods: their mass then is part of arms, platform and the rods' own inertia."""

Identified = dict[str, tuple[float, float]]
"""Value and standard deviation by key."""


@dataclass(frozen=True, eq=False)
class Unknowns:
    """The parameters of a graph that are to be identified.

    `regressor` has their columns; `known` are values that were given. `base` says what they stand for where others
    cannot be told from them, None where there are none such.
    """

    graph: Graph
    regressor: Regressor
    known: dict[str, float]
    base: BaseParameters | None = None


def unknowns_of(robot: Robot, graph: Graph, known: dict[str, float] | None = None) -> Unknowns:
    """The unknowns of a robot without payload, or those that are not in `known`."""
    given = {} if robot.machine is None else {k: v for k, v in robot.machine.known.items() if k in graph.keys}
    if known is None:
        known = graph.no_payload() | given
    regressor = graph.regressor(known)
    if robot.serial is not None:
        base = robot.serial.base(graph)
    else:
        limits = [(axis.position_min, axis.position_max) for axis in robot.axes]
        order = sorted(regressor.names, key=lambda name: name in TAKEN_AS_ZERO)
        base = base_parameters(regressor, order=order, position_limits=limits)
    if not base.dependent:
        return Unknowns(graph, regressor, known)
    return Unknowns(graph, regressor.select(base.names), known, base)


def results(
    unknowns: Unknowns, identified: Identified, robot: Robot
) -> tuple[tuple[ParameterResult, ...], list[Finding]]:
    """Identified parameters and those from elsewhere, in the model's order; what stays unknown is said."""
    out: list[ParameterResult] = []
    findings: list[Finding] = []
    graph, base = unknowns.graph, unknowns.base
    weighed = _weighed(unknowns, identified, robot)
    for parameter in graph.parameters:
        key = parameter.key
        if robot.serial is not None and key not in identified:
            continue  # an arm's links have many such: `idm model` shows the grouping
        if key in identified:
            value, std = identified[key]
            certain = math.isfinite(std)
            rsd = 100 * std / abs(value) if certain and value else None
            out.append(ParameterResult(key, value, std if certain else None, rsd, parameter.unit))
        elif base is not None and key in base.dependent:
            out.append(ParameterResult(key, 0.0, None, None, parameter.unit))
            findings.append(_mixed(parameter, base))
        elif key in unknowns.known and parameter.kind != "payload":
            out.append(ParameterResult(key, unknowns.known[key], None, None, parameter.unit))
            if weighed is not None and key in weighed.dependent:
                findings.append(_given(parameter, unknowns.known[key], weighed))
        elif key not in unknowns.known and key not in unknowns.regressor.names:
            found = _from_elsewhere(parameter, robot, identified)
            findings.append(_vanished(parameter, found))
            if found is not None:
                out.append(ParameterResult(key, found[0], None, None, parameter.unit))
    return tuple(out), findings


def _mixed(parameter: Parameter, base: BaseParameters) -> Finding:
    """The same torques follow for any value of the parameter, with others to match: it is taken as zero."""
    into = _direction(parameter, base)
    meanings = "; ".join(f"{name} stands for {base.expression(name)}" for name in into)
    text = f"{parameter.key} cannot be told from {', '.join(into)} by any motion and is taken as 0: {meanings}."
    step = f"Torques are right as they are. Where the value itself matters, weigh or compute {parameter.name} and give "
    step += "it in the robot file ([model.known])."
    return Finding("mixed", "info", parameter.axis or "", text, {"into": ", ".join(into), **into}, step)


def _given(parameter: Parameter, value: float, base: BaseParameters) -> Finding:
    """What the robot file says and no motion can confirm: an error of it is an error of others."""
    into = _direction(parameter, base)
    changes = ", ".join(f"{name} by {step:.4g}" for name, step in into.items())
    text = f"{parameter.key} = {value:g} {parameter.unit} is the robot file's and no motion tells it from "
    text += f"{', '.join(into)}: one {parameter.unit} more of it changes {changes}."
    step = f"Torques are right for any value. Where these values themselves matter, weigh or compute {parameter.name}."
    return Finding("given", "info", parameter.axis or "", text, {parameter.key: value, **into}, step)


def _weighed(unknowns: Unknowns, identified: Identified, robot: Robot) -> BaseParameters | None:
    """What the machine's given parameters are mixed with; None where none are given, or a payload was looked for."""
    given = [] if robot.machine is None else [key for key in robot.machine.known if key in unknowns.known]
    payload = unknowns.graph.keys_of("payload")
    if not given or any(key in payload for key in identified):
        return None
    limits = [(axis.position_min, axis.position_max) for axis in robot.axes]
    regressor = unknowns.graph.regressor(unknowns.graph.no_payload())
    return base_parameters(regressor, order=sorted(regressor.names, key=given.__contains__), position_limits=limits)


def _direction(parameter: Parameter, base: BaseParameters) -> dict[str, float]:
    """How other parameters must change for one unit more of this one, so that no torque does."""
    column = base.index(parameter.key)
    return {name: -float(row[column]) for name, row in zip(base.names, base.grouping, strict=True) if row[column]}


def _from_elsewhere(parameter: Parameter, robot: Robot, identified: Identified) -> tuple[float, str] | None:
    """(value, where from) of a parameter that only a payload would show; None where nothing says it."""
    axis = _axis(parameter, robot)
    if axis is None:
        return None
    name, length = parameter.name, axis.geometry.get("crank_length")
    if name == "L2" and length is not None:
        return length**2, "crank_length in the robot file"
    if name == "gL" and length is not None:
        return robot.gravity * length, "crank_length in the robot file"
    if name == "gcos" and "tilt" in axis.geometry:
        return robot.gravity * math.cos(axis.geometry["tilt"]), "tilt in the robot file"
    mass, weight = (identified.get(f"{axis.name}.{other}") for other in ("M", "Mgcos"))
    if name == "gcos" and mass is not None and weight is not None and mass[0] > 0:
        return weight[0] / mass[0], "Mgcos / M, which takes the motor's inertia for moved mass"
    return None


def _vanished(parameter: Parameter, found: tuple[float, str] | None) -> Finding:
    owner = parameter.axis or ""
    if parameter.kind == "payload":
        text = f"{parameter.key} does not show on this machine and is left open."
        return Finding("without_payload", "info", owner, text, {})
    text = f"{parameter.name} does not show without payload"
    if found is not None:
        text += f"; it follows from {found[1]}."
        return Finding("without_payload", "info", owner, text, {"value": found[0]})
    step = "Give the geometry in the robot file ([axes.geometry]), or identify with a payload."
    return Finding("without_payload", "info", owner, text + " and is left open.", {}, step)


def _axis(parameter: Parameter, robot: Robot) -> Axis | None:
    found: Sequence[Axis] = [axis for axis in robot.axes if axis.name == parameter.axis]
    return found[0] if found else None
