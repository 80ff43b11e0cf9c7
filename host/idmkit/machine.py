"""Robots with one model for all their axes, as the table [model] of a robot file describes them.

[model]
kind = "scara"                  # or "delta", "puma", "two_link"
number = 1                      # softMC's DynamicModel; a PUMA has 2, gravity and friction, too
spline = true                   # SCARA: axes 3 and 4 share a ball screw with a spline; default false
rods = "lumped"                 # delta: each rod's mass shared between elbow and platform; default "exact"

[model.geometry]                # lengths in m, all of them
L1 = 0.35                       # SCARA: L1, L2        two_link: l1, l2
L2 = 0.25                       # delta: R_A, R_P, l_A, l_B      puma: a2, a3, d2, d3, d4

[model.known]                   # parameters that are known already and stay as they are, by name
[model.parameter_ranges]        # what the compiler proves for, by name
[model.stiffness]               # delta: what gives way, see delta_stiffness
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from idmkit.delta_stiffness import DeltaStiffness, read_delta_stiffness
from idmkit.dynamics import delta, puma, scara, two_link
from idmkit.dynamics.graph import Graph
from idmkit.errors import ModelError
from idmkit.toml_table import TomlTable

_GEOMETRY = {
    "scara": ("L1", "L2"),
    "delta": ("R_A", "R_P", "l_A", "l_B"),
    "puma": ("a2", "a3", "d2", "d3", "d4"),
    "two_link": ("l1", "l2"),
}
_NUMBERS = {"scara": 1, "delta": 1, "puma": 2, "two_link": 1}
"""Models of each kind are numbered from 1."""
_LONGEST = 10.0
_SIGNED = ("a2", "a3", "d2", "d3", "d4")
"""Denavit-Hartenberg lengths may be negative."""


@dataclass(frozen=True)
class Machine:
    """A [model] table: kind and number of the model, lengths (m), parameter values that are known, ranges (SI).

    `stiffness` is a delta's, where the file has it.
    """

    kind: str
    number: int
    geometry: dict[str, float]
    spline: bool = False
    rods: str = "exact"
    known: dict[str, float] = field(default_factory=dict)
    parameter_ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    stiffness: DeltaStiffness | None = None

    def graph(self, axes: Sequence[str], gravity: float, *, number: int | None = None) -> Graph:
        """The graph for axes of these names; `number` replaces the model's. Raises ModelError."""
        number = self.number if number is None else number
        if not 1 <= number <= _NUMBERS[self.kind]:
            raise ModelError(
                f"{self.kind}: no dynamic model {number}; there is {' and '.join(map(str, _numbers(self.kind)))}"
            )
        lengths = self.geometry
        if self.kind == "scara":
            return scara.scara_graph(lengths["L1"], lengths["L2"], axes, gravity=gravity, spline=self.spline)
        if self.kind == "delta":
            return delta.delta_graph(self.delta_geometry, axes, rods=self.rods, gravity=gravity)
        if self.kind == "puma":
            return puma.puma_graph(puma.PumaGeometry(**lengths), axes, model=number, gravity=gravity)
        return two_link.two_link_graph(lengths["l1"], lengths["l2"], axes)

    @property
    def delta_geometry(self) -> delta.DeltaGeometry:
        """Geometry of a delta."""
        return delta.DeltaGeometry(**self.geometry)


def _numbers(kind: str) -> range:
    return range(1, _NUMBERS[kind] + 1)


def read_machine(table: TomlTable, kind: str, axes: Sequence[tuple[str, str]], gravity: float) -> Machine:
    """Reads a [model] table for axes (name, "revolute" or "prismatic"), and builds its graph once to be sure of it."""
    lengths = table.table("geometry")
    machine = Machine(
        kind=kind,
        number=table.integer("number", default=1, minimum=1, maximum=_NUMBERS[kind]),
        geometry={name: _length(lengths, name) for name in _GEOMETRY[kind]},
        spline=table.flag("spline", default=False) if kind == "scara" else False,
        rods=table.text("rods", default="exact", choices=("exact", "lumped")) if kind == "delta" else "exact",
    )
    lengths.finish()
    if machine.spline and len(axes) < 4:
        table.fail("spline", f"a spline turns axis 4; this SCARA has {len(axes)} axes")
    try:
        graph = machine.graph([name for name, _ in axes], gravity)
    except ModelError as problem:
        table.fail("kind" if "axis names" in str(problem) else "geometry", str(problem))
    for (name, joint), revolute in zip(axes, graph.revolute, strict=True):
        if (joint == "revolute") != revolute:
            needed = "revolute" if revolute else "prismatic"
            table.fail("kind", f"axis {name!r} is {joint}; in this place a {kind} has a {needed} one")
    own = tuple(parameter.key for parameter in graph.parameters if parameter.axis is None)
    known = {}
    if table.has("known"):
        values = table.table("known")
        known = {key: values.number(key) for key in own if values.has(key)}
        values.finish()
    ranges = table.intervals("parameter_ranges", own)
    stiffness = None
    if kind == "delta" and table.has("stiffness"):
        stiffness = read_delta_stiffness(table.table("stiffness"), known.get("M_BC"))
    table.finish()
    return replace(machine, known=known, parameter_ranges=ranges, stiffness=stiffness)


def _length(table: TomlTable, name: str) -> float:
    if name in _SIGNED:
        return table.number(name, minimum=-_LONGEST, maximum=_LONGEST)
    return table.number(name, above=0, maximum=_LONGEST)
