"""The one form every dynamic model is written in: torque as a CasADi expression, and a table of its parameters.

A `Graph` serves the identification (through `Graph.regressor`) and the fixed-point compiler. Both read the same
expression, so the board runs what was identified.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from idmkit.dynamics.regressor import Regressor, linear_form
from idmkit.errors import ModelError

Kind = Literal["model", "friction", "payload"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model.

    `name` is the field's symbol ("MgA"), `unit` its SI unit, `kind` what it describes, `axis` the name of the
    axis it belongs to (None: of the whole robot), `number` its index in softMC's DynamicParameter (from 1; None
    where softMC keeps it in another property).
    """

    name: str
    unit: str
    kind: Kind
    axis: str | None = None
    number: int | None = None

    @property
    def key(self) -> str:
        """Unique in a graph: "axis.name", or the bare name of a parameter of the whole robot."""
        return self.name if self.axis is None else f"{self.axis}.{self.name}"


@dataclass(frozen=True, eq=False)
class Graph:
    """Inverse dynamics of a robot with n axes and p parameters.

    `q`, `qd`, `qdd`, `direction` [n] and `theta` [p] are CasADi SX symbols, `tau` [n] the SX expression of what
    the motors must supply: rad, rad/s, rad/s^2, Nm on revolute axes, m, m/s, m/s^2, N on prismatic ones,
    joint side. `direction` in {-1, 0, 1} is the sign of the velocity as Coulomb friction sees it. `tau` is
    linear in the parameters as soon as the payload has values.
    """

    axes: tuple[str, ...]
    revolute: tuple[bool, ...]
    parameters: tuple[Parameter, ...]
    q: Any
    qd: Any
    qdd: Any
    direction: Any
    theta: Any
    tau: Any

    def __post_init__(self) -> None:
        keys = self.keys
        if len(set(keys)) != len(keys):
            raise ModelError(f"parameters {', '.join(keys)} are not unique; give every axis its own name")

    @property
    def n_axes(self) -> int:
        """Number of axes n."""
        return len(self.axes)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the p parameters, in the order of `theta`."""
        return tuple(parameter.key for parameter in self.parameters)

    def keys_of(self, kind: Kind) -> tuple[str, ...]:
        """Keys of the parameters of one kind, in the order of `theta`."""
        return tuple(parameter.key for parameter in self.parameters if parameter.kind == kind)

    def no_payload(self) -> dict[str, float]:
        """Values that say: nothing is mounted."""
        return dict.fromkeys(self.keys_of("payload"), 0.0)

    def regressor(self, known: Mapping[str, float] | None = None) -> Regressor:
        """The linear form tau = Y theta + offset for the parameters that are not in `known` (default: no payload).

        Raises ModelError for a key that the graph lacks, and when tau is not linear in what is left.
        """
        return linear_form(self, self.no_payload() if known is None else known)

    def index(self, key: str) -> int:
        """Place of a parameter in `theta`; ModelError names the nearest choice."""
        try:
            return self.keys.index(key)
        except ValueError:
            raise ModelError(f"the model has no parameter {key!r}; it has {', '.join(self.keys)}") from None
