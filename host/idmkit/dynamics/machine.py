"""Robots with one model for all their axes: the frame that SCARA, delta, PUMA and the two-link arm share.

A machine's equation gives the torque of its bodies; viscous and Coulomb friction belong to each axis, the payload
to the robot. Every model is linear in its parameters as soon as the payload has values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import casadi as ca

from idmkit.dynamics.friction import friction_torque
from idmkit.dynamics.graph import Graph, Parameter
from idmkit.errors import ModelError

STANDARD_GRAVITY = 9.80665

Table = tuple[tuple[str, str], ...]
"""Names and units of parameters."""
_FRICTION_UNITS = {"revolute": ("Nm s/rad", "Nm"), "prismatic": ("N s/m", "N")}


@dataclass(frozen=True)
class State:
    """SX vectors [n] of position, velocity and acceleration, and the payload's symbols by name."""

    q: Any
    qd: Any
    qdd: Any
    payload: Mapping[str, Any]


def machine_graph(
    axes: Sequence[tuple[str, str]],
    model: Table,
    payload: Table,
    equation: Callable[..., Any],
    numbers: Sequence[int | None],
) -> Graph:
    """Graph of a machine with axes (name, "revolute" or "prismatic").

    `equation(state, *model parameters)` returns the torques [n] without friction. Parameters in order: the model's,
    Fv and Fc of each axis, the payload's. `numbers` are softMC's, None where it has no such parameter; what is behind
    their end has none either.
    """
    n = len(axes)
    q, qd, qdd, direction = (ca.SX.sym(name, n) for name in ("q", "qd", "qdd", "direction"))
    own = [
        Parameter(name, unit, "model", None, number)
        for (name, unit), number in zip(model, chain(numbers, repeat(None)), strict=False)
    ]
    friction = [
        Parameter(name, unit, "friction", axis)
        for axis, joint in axes
        for name, unit in zip(("Fv", "Fc"), _FRICTION_UNITS[joint], strict=True)
    ]
    carried = [Parameter(name, unit, "payload") for name, unit in payload]
    parameters = [*own, *friction, *carried]
    symbols = [ca.SX.sym(parameter.key) for parameter in parameters]
    load = dict(zip((name for name, _ in payload), symbols[len(own) + len(friction) :], strict=True))
    tau = ca.vertcat(equation(State(q, qd, qdd, load), *symbols[: len(own)]))
    coefficients = symbols[len(own) : len(own) + len(friction)]
    tau += ca.vertcat(
        *[friction_torque(coefficients[2 * k], coefficients[2 * k + 1], qd[k], direction[k]) for k in range(n)]
    )
    return Graph(
        axes=tuple(name for name, _ in axes),
        revolute=tuple(joint == "revolute" for _, joint in axes),
        parameters=tuple(parameters),
        q=q,
        qd=qd,
        qdd=qdd,
        direction=direction,
        theta=ca.vertcat(*symbols),
        tau=tau,
    )


def named(axes: Sequence[str], joints: Sequence[str], machine: str) -> list[tuple[str, str]]:
    """Names and kinds of a machine's axes; raises ModelError where there are not as many names as joints."""
    if len(axes) != len(joints):
        raise ModelError(f"{machine}: {len(axes)} axis names for {len(joints)} joints; name each joint once")
    return list(zip(axes, joints, strict=True))
