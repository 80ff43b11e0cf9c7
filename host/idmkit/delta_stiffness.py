"""What gives way in a delta, as the table [model.stiffness] of a robot file says it; names are the sources' symbols.

[model.stiffness]
c_q = 8000.0                    # of each joint, Nm/rad
c_r = 2.0e6                     # of each pair of rods, N/m
R_ext = 0.3                     # highest excitation frequency over resonance frequency
Fr_max = 200.0                  # largest force of a pair of rods, N; may be left out
M_P = 0.85                      # platform, kg
M_BC = 0.3                      # one pair of rods, kg; the default is that of [model.known]
payload = 0.0                   # kg, default 0
radius = 0.4                    # what a map shows: platform within a radius and between two heights, m
z_min = -0.95
z_max = -0.6
"""

from __future__ import annotations

from dataclasses import dataclass

from idmkit.toml_table import TomlTable

_LONGEST = 10.0


@dataclass(frozen=True)
class DeltaStiffness:
    """A [model.stiffness] table, SI. `platform_mass` is with payload; `rod_force_max` is None where it is not given."""

    c_q: float
    c_r: float
    excitation_ratio: float
    rod_force_max: float | None
    platform_mass: float
    rods_mass: float
    radius: float
    z_min: float
    z_max: float


def read_delta_stiffness(table: TomlTable, weighed: float | None) -> DeltaStiffness:
    """Reads the table; `weighed` is M_BC where [model.known] has it."""
    rods = table.number("M_BC", default=weighed, minimum=0)
    if weighed is not None and rods != weighed:
        table.fail("M_BC", f"is {rods:g} kg here and {weighed:g} kg in [model.known]; say it once, there")
    found = DeltaStiffness(
        c_q=table.number("c_q", above=0),
        c_r=table.number("c_r", above=0),
        excitation_ratio=table.number("R_ext", above=0, maximum=1),
        rod_force_max=table.number("Fr_max", above=0) if table.has("Fr_max") else None,
        platform_mass=table.number("M_P", above=0) + table.number("payload", default=0.0, minimum=0),
        rods_mass=rods,
        radius=table.number("radius", above=0, maximum=_LONGEST),
        z_min=table.number("z_min", minimum=-_LONGEST, maximum=_LONGEST),
        z_max=table.number("z_max", minimum=-_LONGEST, maximum=_LONGEST),
    )
    table.finish()
    if not found.z_min < found.z_max:
        table.fail("z_max", f"must be above z_min = {found.z_min:g}, is {found.z_max:g}")
    return found
