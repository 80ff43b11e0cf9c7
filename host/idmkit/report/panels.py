"""The picture of an experiment: its panels, two beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from idmkit.errors import IdmError
from idmkit.experiments.outcome import Outcome
from idmkit.files import replacing
from idmkit.report.figure import METADATA

COLOURS = ("#8a8a8a", "#e0a100", "#0b6fb8", "#c8402f", "#2f8f5b", "#7a4fb0")
WIDTHS = (3.2, 2.2, 1.3, 1.1, 1.0, 0.9)
"""Curves that lie on each other show all the same."""
BAND = "#2f8f5b"
HEIGHT = 2.9


def save_panels(outcome: Outcome, path: Path) -> None:
    """Draws all panels of an outcome; raises IdmError where `path` has no suffix of a figure."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in METADATA:
        raise IdmError(f"{path}: figures are drawn as {', '.join(METADATA)}; choose one of these suffixes")
    rows = -(-len(outcome.panels) // 2)
    figure = Figure(figsize=(11, 0.5 + HEIGHT * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{outcome.robot}: {outcome.experiment}", x=0.01, ha="left", fontsize=11)
    plots: Any = figure.subplots(rows, 2, squeeze=False)
    for plot, panel in zip(plots.flat, outcome.panels, strict=False):
        for colour, width, curve in zip(COLOURS, WIDTHS, panel.curves, strict=False):
            marker = "o" if curve.marked else None
            plot.plot(curve.x, curve.y, color=colour, lw=width, marker=marker, markersize=4, label=curve.label)
        if panel.band is not None:
            plot.axhspan(*panel.band, color=BAND, alpha=0.12, lw=0)
        if panel.logarithmic:
            plot.set_yscale("log")
        plot.set(xlabel=panel.x_label, ylabel=panel.y_label)
        plot.set_title(panel.title, loc="left", fontsize=10, pad=16)
        # In a line under the title, where no curve is.
        legend = plot.legend(
            frameon=False, fontsize=7, ncols=len(panel.curves), loc="lower left", bbox_to_anchor=(0, 1),
            borderpad=0, borderaxespad=0.3, handlelength=1.5, columnspacing=1.2,
        )  # fmt: skip
        legend.set_in_layout(False)
        plot.spines[["top", "right"]].set_visible(False)
        plot.grid(alpha=0.25)
    for plot in plots.flat[len(outcome.panels) :]:
        plot.remove()
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110, format=kind, metadata=METADATA[kind])
