"""The picture of a delta's resonance over its workspace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from idmkit.files import replacing
from idmkit.stiffness.delta import SoftDelta
from idmkit.stiffness.workspace import Section

LEVELS = 12


def save_map(delta: SoftDelta, parts: tuple[Section, Section], what: str, path: Path) -> None:
    """Draws both sections with one scale; `what` says which resonance they show."""
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(
        f"{delta.name}: {what}, Hz   (c_q {delta.robot.c_q:.4g} Nm/rad, c_r {delta.robot.c_r:.4g} N/m, "
        f"{delta.robot.mass:.3g} kg)",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    values = np.concatenate([section.resonance_hz.ravel() for section in parts])
    values = values[np.isfinite(values)]
    levels = MaxNLocator(LEVELS).tick_values(values.min(), max(values.max(), values.min() + 1e-6))
    plots = figure.subplots(1, 2)
    for plot, section in zip(plots, parts, strict=True):
        shown = np.ma.masked_invalid(section.resonance_hz)
        filled = plot.contourf(section.across, section.along, shown, levels=levels, cmap="viridis")
        lines = plot.contour(
            section.across, section.along, shown, levels=levels[1:-1:2], colors="white", linewidths=0.6
        )
        plot.clabel(lines, fmt="%g", fontsize=8)
        plot.set(title=section.title, xlabel=section.labels[0], ylabel=section.labels[1])
        plot.set_aspect("equal")
        plot.spines[["top", "right"]].set_visible(False)
    bar = figure.colorbar(filled, ax=list(plots), shrink=0.9)
    bar.set_label("resonance, Hz")
    kind = path.suffix.lower().lstrip(".") or "png"
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110, format=kind, metadata={"Software": None} if kind == "png" else None)
