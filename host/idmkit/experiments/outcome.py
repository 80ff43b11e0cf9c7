"""What an experiment has to show: tables, curves, and the same as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Table:
    """Rows of cells under a header; `notes` stand below."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """As it is printed: the first column to the left, the others to the right."""
        widths = [max(len(row[k]) for row in (self.header, *self.rows)) for k in range(len(self.header))]
        lines = [f"  {self.title}"]
        for row in (self.header, *self.rows):
            cells = [
                f"{row[0]:<{widths[0]}}",
                *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
            lines.append("    " + "  ".join(cells).rstrip())
        return "\n".join([*lines, *(f"    {note}" for note in self.notes)])


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a panel; `marked` shows the points."""

    label: str
    x: Floats
    y: Floats
    marked: bool = False


@dataclass(frozen=True, eq=False)
class Panel:
    """One plot; `band` shades between two levels."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    band: tuple[float, float] | None = None
    logarithmic: bool = False


@dataclass(frozen=True, eq=False)
class Outcome:
    """All of one experiment; `data` is JSON."""

    experiment: str
    robot: str
    tables: Sequence[Table]
    panels: Sequence[Panel]
    data: dict[str, Any] = field(default_factory=dict)
