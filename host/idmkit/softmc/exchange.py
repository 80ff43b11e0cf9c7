"""Identification results and softMC's programs (PRG): one becomes the other.

softMC's own example has positive gravity parameters and negative friction. Whether a friction coefficient that
dissipates is positive in a file is therefore said by whoever reads or writes it: `friction` is "positive" (the
project's way, T += Fv v + Fc sign v) or "negative" (friction as the torque that acts on the joint, or a torque feedback
that counts against the motion; both need the same change).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from idmkit.dynamics.graph import Graph, Parameter
from idmkit.softmc.prg import ALLOWED_PERCENT, Head, Moving, Prg, PrgError, Setting, compose_prg
from idmkit.verdict import AxisResult, ParameterResult, Result, Verdict

Friction = Literal["positive", "negative"]

FRICTION_PROPERTIES = {"Fv": "ViscousFriction", "Fc": "CoulombFriction"}
PAYLOAD_PROPERTIES = {
    "payload_mass": "PayloadMass",
    "payload_m": "PayloadMass",
    "payload_inertia": "PayloadInertia",
    "payload_mz": "PayloadMassRMass",
    "payload_mgz": "PayloadMassRMassG",
}
UNKNOWN = float("nan")


def to_prg(
    result: Result,
    graph: Graph,
    models: Mapping[str, int],
    *,
    group: str,
    elements: Sequence[str],
    date: datetime | None,
    raw_samples: int | None = None,
    friction: Friction = "positive",
    payload: Mapping[str, float] | None = None,
) -> Prg:
    """The program that sets a result's parameters on a softMC.

    `models` maps elements (the group, or each axis) to DynamicModel; `elements` are softMC's names of the graph's axes.
    `payload` holds payload parameters by key. Parameters that the result does not have are written as 0, as softMC does
    with what a model has and the motion does not show.
    """
    found = result.values()
    values = {**dict.fromkeys(graph.keys, 0.0), **found, **(payload or {})}
    where = _Places(graph, group, elements)
    blocks: list[list[Setting]] = [[], *([] for _ in elements), []]
    for parameter in graph.parameters:
        element, name, index = where.of(parameter)
        value = values[parameter.key]
        if parameter.kind == "friction":
            value = -value if friction == "negative" else value
            blocks[1 + graph.axes.index(parameter.axis or "")].append(Setting(element, name, value))
        elif parameter.kind == "model" and name:
            blocks[0].append(Setting(element, name, value, index))
        elif name and (parameter.key in (payload or {}) or parameter.key in found):
            blocks[-1].append(Setting(element, name, value))
    blocks.append([Setting(element, "DynamicModel", number) for element, number in models.items()])
    return compose_prg(
        _head(result, graph, group, date, raw_samples), tuple(models), [block for block in blocks if block]
    )


def left_out(result: Result, graph: Graph) -> list[str]:
    """Parameters of model and friction that a result does not have; they are written as 0."""
    found = result.values()
    return [p.key for p in graph.parameters if p.kind != "payload" and p.key not in found and _has_place(p)]


def nowhere(graph: Graph) -> list[str]:
    """Parameters of the model for which softMC has no number; a softMC computes without them."""
    return [p.key for p in graph.parameters if p.kind != "payload" and not _has_place(p)]


def values_of(prg: Prg, graph: Graph, *, group: str, elements: Sequence[str], friction: Friction) -> dict[str, float]:
    """Parameter values of a program by the graph's keys, friction positive where it dissipates.

    Raises PrgError for a parameter that the program does not set, a number the model does not have (0 is nothing), and
    friction of which most is negative although `friction` is "positive".
    """
    where = _Places(graph, group, elements)
    values: dict[str, float] = {}
    missing: list[str] = []
    for parameter in graph.parameters:
        element, name, index = where.of(parameter)
        value = prg.value(element, name, index) if name else None
        if value is not None:
            values[parameter.key] = -value if parameter.kind == "friction" and friction == "negative" else value
        elif parameter.kind != "payload" and name:
            missing.append(f"{element}.{name}" + ("" if index is None else f"[{index}]"))
    if missing:
        raise PrgError(
            f"the program does not set {', '.join(missing)}, which the robot file's model has; "
            f"it sets {', '.join(dict.fromkeys(setting.element for setting in prg.settings))}. Give the names of group "
            "and axes as the program has them, and the right model"
        )
    known = {(element.lower(), index) for element, name, index in map(where.of, graph.parameters) if index is not None}
    for setting in prg.settings:
        if setting.index is not None and (setting.element.lower(), setting.index) not in known and setting.value != 0:
            raise PrgError(f"the robot file's model has no parameter {setting.index}, but the program has {setting}")
    _check_friction([values[p.key] for p in graph.parameters if p.kind == "friction" and p.key in values])
    return values


def to_result(prg: Prg, graph: Graph, values: Mapping[str, float], *, robot: str, model: str, gravity: float) -> Result:
    """A result to write to a board or to compare: values without standard deviations, the head's errors.

    What the head does not say is 0 or NaN; the verdict is softMC's own, accepted where it says nothing.
    """
    head = prg.head
    count = len(graph.axes)
    return Result(
        robot=robot,
        model=model,
        estimator="softMC",
        samples=head.samples or 0,
        sample_rate_hz=0.0,
        cutoff_hz=head.cutoff_hz or 0.0,
        gravity=gravity,
        parameters=tuple(
            ParameterResult(parameter.key, values[parameter.key], None, None, parameter.unit)
            for parameter in graph.parameters
            if parameter.key in values
        ),
        axes=tuple(
            AxisResult(
                name=axis,
                viscous_friction=values.get(f"{axis}.Fv"),
                coulomb_friction=values.get(f"{axis}.Fc"),
                velocity_threshold=head.moving[k].threshold if len(head.moving) == count else UNKNOWN,
                moving_samples=head.moving[k].samples if len(head.moving) == count else 0,
                max_relative_error_percent=head.max_percent[k] if len(head.max_percent) == count else UNKNOWN,
                mean_relative_error_percent=head.mean_percent[k] if len(head.mean_percent) == count else UNKNOWN,
                relative_error_percent=UNKNOWN,
            )
            for k, axis in enumerate(graph.axes)
        ),
        verdict=Verdict(head.succeeded is not False, ()),
    )


class _Places:
    """Which property of which element holds a parameter."""

    def __init__(self, graph: Graph, group: str, elements: Sequence[str]) -> None:
        if len(elements) != len(graph.axes):
            raise PrgError(
                f"{len(elements)} axis name(s) ({', '.join(elements)}) for the {len(graph.axes)} axes of the robot "
                f"file ({', '.join(graph.axes)}); give one name for each"
            )
        self._elements: dict[str | None, str] = {None: group, **dict(zip(graph.axes, elements, strict=True))}

    def of(self, parameter: Parameter) -> tuple[str, str, int | None]:
        """(element, property, index); property is "" for what softMC has no place for."""
        element = self._elements[parameter.axis]
        if parameter.kind == "model":
            return element, "" if parameter.number is None else "DynamicParameter", parameter.number
        table = FRICTION_PROPERTIES if parameter.kind == "friction" else PAYLOAD_PROPERTIES
        return element, table.get(parameter.name, ""), None


def _has_place(parameter: Parameter) -> bool:
    if parameter.kind == "model":
        return parameter.number is not None
    return parameter.kind != "friction" or parameter.name in FRICTION_PROPERTIES


def _check_friction(friction: Sequence[float]) -> None:
    negative = sum(value < 0 for value in friction)
    if 2 * negative > len(friction):
        raise PrgError(
            f"read this way, {negative} of {len(friction)} friction coefficients drive the motion instead of braking "
            "it; the program counts friction the other way: choose the other --friction (positive, negative)"
        )


def _head(result: Result, graph: Graph, group: str, date: datetime | None, raw_samples: int | None) -> Head:
    axes = result.axes
    if [axis.name for axis in axes] != list(graph.axes):
        raise PrgError(
            f"the result has the axes {', '.join(axis.name for axis in axes)}, the robot file {', '.join(graph.axes)}; "
            "give the robot file that the result was made with"
        )
    thresholds = _known([axis.velocity_threshold for axis in axes])
    return Head(
        group=group,
        succeeded=result.verdict.accepted,
        date=date,
        max_percent=_known([axis.max_relative_error_percent for axis in axes]),
        allowed_percent=ALLOWED_PERCENT,
        mean_percent=_known([axis.mean_relative_error_percent for axis in axes]),
        cutoff_hz=result.cutoff_hz,
        samples=result.samples,
        raw_samples=raw_samples,
        moving=tuple(
            Moving(axis.moving_samples, threshold, "rad/s" if revolute else "m/s")
            for axis, threshold, revolute in zip(axes, thresholds, graph.revolute, strict=False)
        ),
    )


def _known(percent: Sequence[float | None]) -> tuple[float, ...]:
    """The numbers, or nothing where one is not known (None in a stored result)."""
    numbers = tuple(value for value in percent if value is not None and math.isfinite(value))
    return numbers if len(numbers) == len(percent) else ()
