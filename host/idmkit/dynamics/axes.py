"""Single axes: softMC's rotary models 1, 2, 3 and linear models 1, 2, 3, with friction and payload on each axis.

The equations are softMC's, written as one reads them; tau is what the motor must supply. Position 0 of rotary
model 3 is upright, the unstable equilibrium.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import casadi as ca

from idmkit.dynamics.friction import friction_torque
from idmkit.dynamics.graph import Graph, Parameter
from idmkit.errors import ModelError

Joint = Literal["revolute", "prismatic"]


@dataclass(frozen=True)
class State:
    """What an equation may use: position, acceleration, payload mass (kg) and inertia (kg m^2)."""

    pos: Any
    acc: Any
    payload_mass: Any
    payload_inertia: Any


def no_model(state: State) -> Any:
    """DynamicModel 0: no dynamics; the axis has its friction only."""
    return 0 * state.acc


def rotary_1(state: State, I: Any) -> Any:  # noqa: E741 - the symbol of the model
    """Rotary model 1, a plain rotary axis. I: total inertia about the axis."""
    return (I + state.payload_inertia) * state.acc


def rotary_2(state: State, I: Any, L2: Any) -> Any:  # noqa: E741
    """Rotary model 2, a horizontal crank. L2: square of the distance from the axis to the payload."""
    return (I + state.payload_inertia + L2 * state.payload_mass) * state.acc


def rotary_3(state: State, I: Any, L2: Any, MgA: Any, gL: Any) -> Any:  # noqa: E741
    """Rotary model 3, a vertical crank. MgA: mass, gravity, distance to its centre; gL: gravity, arm to the payload."""
    inertia = I + state.payload_inertia + L2 * state.payload_mass
    return inertia * state.acc - (MgA + state.payload_mass * gL) * ca.sin(state.pos)


def linear_1(state: State, M: Any) -> Any:
    """Linear model 1, a horizontal axis. M: moved mass."""
    return (M + state.payload_mass) * state.acc


def linear_2(state: State, M: Any, Mgcos: Any, gcos: Any) -> Any:
    """Linear model 2, a vertical or tilted axis. gcos: gravity along the axis; Mgcos: weight along the axis."""
    return (M + state.payload_mass) * state.acc + Mgcos + state.payload_mass * gcos


def linear_3(state: State, M: Any, F0: Any, k: Any, gcos: Any) -> Any:
    """Linear model 3, an axis with a spring that carries its weight. F0: weight along the axis and the spring's force
    at position 0, which no motion tells apart; k: stiffness of the spring.
    """
    return (M + state.payload_mass) * state.acc + F0 + k * state.pos + state.payload_mass * gcos


_Table = tuple[tuple[str, str], ...]
_INERTIA = ("I", "kg m^2")
_ARM_SQUARED = ("L2", "m^2")

MODELS: dict[tuple[str, int], tuple[Callable[..., Any], _Table]] = {
    ("revolute", 0): (no_model, ()),
    ("revolute", 1): (rotary_1, (_INERTIA,)),
    ("revolute", 2): (rotary_2, (_INERTIA, _ARM_SQUARED)),
    ("revolute", 3): (rotary_3, (_INERTIA, _ARM_SQUARED, ("MgA", "Nm"), ("gL", "m^2/s^2"))),
    ("prismatic", 0): (no_model, ()),
    ("prismatic", 1): (linear_1, (("M", "kg"),)),
    ("prismatic", 2): (linear_2, (("M", "kg"), ("Mgcos", "N"), ("gcos", "m/s^2"))),
    ("prismatic", 3): (linear_3, (("M", "kg"), ("F0", "N"), ("k", "N/m"), ("gcos", "m/s^2"))),
}
"""(joint, softMC's DynamicModel): the equation, and names and units of its DynamicParameter[1..]."""

_FRICTION: dict[str, _Table] = {
    "revolute": (("Fv", "Nm s/rad"), ("Fc", "Nm")),
    "prismatic": (("Fv", "N s/m"), ("Fc", "N")),
}
_PAYLOAD: _Table = (("payload_mass", "kg"), ("payload_inertia", "kg m^2"))


def axes_graph(axes: Sequence[tuple[str, str, int]]) -> Graph:
    """Graph of independent axes, each (name, "revolute" or "prismatic", softMC's DynamicModel).

    Parameters an axis: the model's own, Fv, Fc, payload_mass, payload_inertia. An axis takes the payload
    parameters its equation names and ignores the other. Raises ModelError for an unknown model.
    """
    n = len(axes)
    q, qd, qdd, direction = (ca.SX.sym(name, n) for name in ("q", "qd", "qdd", "direction"))
    parameters: list[Parameter] = []
    symbols: list[Any] = []
    tau = []
    for k, (name, joint, number) in enumerate(axes):
        equation, own = _model(name, joint, number)
        table = _parameters(name, joint, own)
        theta = [ca.SX.sym(parameter.key) for parameter in table]
        model, (viscous, coulomb, mass, inertia) = theta[: len(own)], theta[len(own) :]
        torque = equation(State(q[k], qdd[k], mass, inertia), *model)
        tau.append(torque + friction_torque(viscous, coulomb, qd[k], direction[k]))
        parameters += table
        symbols += theta
    return Graph(
        axes=tuple(name for name, _, _ in axes),
        revolute=tuple(joint == "revolute" for _, joint, _ in axes),
        parameters=tuple(parameters),
        q=q,
        qd=qd,
        qdd=qdd,
        direction=direction,
        theta=ca.vertcat(*symbols),
        tau=ca.vertcat(*tau),
    )


def _model(name: str, joint: str, number: int) -> tuple[Callable[..., Any], _Table]:
    if (joint, number) not in MODELS:
        known = ", ".join(f"{kind} {model}" for kind, model in MODELS)
        raise ModelError(f"axis {name!r}: no dynamic model {number} for a {joint} axis; there are {known}")
    return MODELS[joint, number]


def _parameters(axis: str, joint: str, own: _Table) -> list[Parameter]:
    return [
        *(Parameter(name, unit, "model", axis, number) for number, (name, unit) in enumerate(own, start=1)),
        *(Parameter(name, unit, "friction", axis) for name, unit in _FRICTION[joint]),
        *(Parameter(name, unit, "payload", axis) for name, unit in _PAYLOAD),
    ]
