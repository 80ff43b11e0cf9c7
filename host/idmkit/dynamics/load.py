"""A serial arm as a robot file describes it, in the table [model] with kind = "serial".

[model]
kind = "serial"
gravity_direction = [0, 0, -1]      # in which things fall, in the base frame: how the arm is mounted
urdf = "arm.urdf"                   # beside the robot file; tip = "link" where the file branches,
                                    # cad_inertials = false where it holds no masses
# or, instead of urdf:
# convention = "modified"           # or "standard"
# dh = [{ joint = "revolute", a = 0, alpha = 0, d = 0.3, theta = 0 }, ...]
position_offset = [0, -1.5708, ...] # rad, m: the geometry's position = the axis' position + offset; default 0
joint_motor = [[32, 0, ...], ...]   # motor = joint_motor @ joint; only where motors move several joints
terms = ["Ia", "Fv", "Fc", "offset"]
springs = ["j2"]                    # axes with a spring
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idmkit.dynamics.base_parameters import BaseParameters, base_parameters
from idmkit.dynamics.chain import Chain, gravity_vector
from idmkit.dynamics.coupling import JointMotor
from idmkit.dynamics.dh import Row, chain_from_dh
from idmkit.dynamics.graph import Graph
from idmkit.dynamics.serial import TERMS, preferred_order, serial_graph
from idmkit.dynamics.urdf import Urdf, read_urdf
from idmkit.errors import ModelError

_FIELDS = {
    "kind", "gravity_direction", "urdf", "tip", "cad_inertials", "convention", "dh", "position_offset", "joint_motor",
    "terms", "springs",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class SerialModel:
    """A serial arm with what its joints and motors add. `urdf` is the file it was read from, if any."""

    chain: Chain
    terms: tuple[str, ...]
    springs: tuple[str, ...]
    motors: JointMotor | None
    urdf: Urdf | None

    def graph(self) -> Graph:
        """The graph of all parameters."""
        return serial_graph(self.chain, terms=self.terms, springs=self.springs, motors=self.motors)

    def base(self, graph: Graph, *, keep: Sequence[str] = ()) -> BaseParameters:
        """Base parameters of the model's graph; `keep`: keys that should stand by themselves."""
        return base_parameters(graph.regressor(), order=preferred_order(self.chain, graph), keep=keep)


def read_serial_model(
    table: Mapping[str, Any], folder: Path, axes: Sequence[tuple[str, str]], gravity: float
) -> SerialModel:
    """Builds the arm of a [model] table.

    `folder` holds the robot file; `axes` are (name, "revolute" or "prismatic") from the base; `gravity` in m/s^2.
    Raises ModelError that begins with the field.
    """
    unknown = sorted(set(table) - _FIELDS)
    if unknown:
        raise ModelError(f"{unknown[0]}: unknown field; there are {', '.join(sorted(_FIELDS))}")
    if "gravity_direction" not in table:
        raise ModelError(
            "gravity_direction: is missing; say in which direction things fall in the base frame, [0, 0, -1] for an "
            "arm on the floor: the mounting decides which parameters can be identified"
        )
    fall = gravity_vector(_numbers(table, "gravity_direction", 3), gravity)
    names = [name for name, _ in axes]
    urdf = None
    if ("urdf" in table) == ("dh" in table):
        raise ModelError("urdf: give the geometry either by a URDF file (urdf) or by a table (dh with convention)")
    if "urdf" in table:
        urdf = read_urdf(
            folder / str(table["urdf"]),
            fall,
            tip=table.get("tip"),
            need_inertials=bool(table.get("cad_inertials", True)),
        )
        chain = urdf.chain
    else:
        chain = chain_from_dh("dh", [_row(row) for row in table["dh"]], table.get("convention"), fall)
    chain = chain.renamed(names)
    for (name, kind), joint in zip(axes, chain.joints, strict=True):
        if kind != joint.kind:
            raise ModelError(f"axis {name!r} is {kind}, but the geometry has a {joint.kind} joint in its place")
    if "position_offset" in table:
        chain = chain.with_zero(_numbers(table, "position_offset", len(axes)))
    motors = JointMotor.from_rows(table["joint_motor"]) if "joint_motor" in table else None
    return SerialModel(
        chain=chain,
        terms=tuple(table.get("terms", TERMS)),
        springs=tuple(table.get("springs", ())),
        motors=motors,
        urdf=urdf,
    )


def _numbers(table: Mapping[str, Any], field: str, count: int) -> list[float]:
    values = table[field]
    if not isinstance(values, list) or len(values) != count or not all(_is_number(value) for value in values):
        raise ModelError(f"{field}: must be {count} numbers, is {values!r}")
    return [float(value) for value in values]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _row(row: Any) -> Row:
    names = ("a", "alpha", "d", "theta")
    if (
        not isinstance(row, dict)
        or set(row) != {"joint", *names}
        or row["joint"] not in ("revolute", "prismatic")
        or not all(_is_number(row[name]) for name in names)
    ):
        raise ModelError(
            f'dh: a row is {{ joint = "revolute" or "prismatic", a, alpha, d, theta }} in m and rad, not {row!r}'
        )
    return Row(row["joint"], *(float(row[name]) for name in names))
