"""The picture of an identification record: the eight signals of each axis, raw behind filtered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from idmkit.files import replacing
from idmkit.records import Record
from idmkit.report.figure import ERROR, MEASURED, MODEL

PANELS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    ("torque", (("tfbRaw", "torque_feedback", "#c4c4c4"), ("tfb", "torque_filtered", MEASURED),
                ("tcmd", "torque_model", MODEL))),
    ("te = tcmd - tfb", (("te", "torque_model_error", ERROR),)),
    ("position", (("pfbRaw", "position_feedback", "#c4c4c4"), ("pfb", "position_filtered", MEASURED))),
    ("velocity", (("vfb", "velocity_filtered", MEASURED),)),
    ("acceleration", (("afb", "acceleration_filtered", MEASURED),)),
)  # fmt: skip
"""Title of a panel: softMC's name, channel and colour of each line."""
MAX_POINTS = 6000


def save_rec_figure(record: Record, path: Path) -> None:
    """Draws one column an axis into `path`; signals that the record does not have are left out."""
    axes = record.axes
    figure = Figure(figsize=(max(8.0, 4.2 * len(axes)), 11), layout="constrained")
    FigureCanvasAgg(figure)
    plots = figure.subplots(len(PANELS), len(axes), sharex=True, squeeze=False)
    for column, axis in enumerate(axes):
        plots[0, column].set_title(axis, loc="left", fontsize=11)
        for row, (title, lines) in enumerate(PANELS):
            _panel(plots[row, column], record, axis, title, lines)
        plots[-1, column].set_xlabel("time, s")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110, metadata={"Software": None} if path.suffix == ".png" else None)


def _panel(plot: Axes, record: Record, axis: str, title: str, lines: tuple[tuple[str, str, str], ...]) -> None:
    step = max(1, record.rows // MAX_POINTS)
    unit = ""
    for label, name, colour in lines:
        for channel in record.channels:
            if (channel.axis, channel.name) == (axis, name) and np.isfinite(channel.samples).any():
                plot.plot(record.times()[::step], channel.samples[::step], color=colour, lw=1.0, label=label)
                unit = channel.unit
    plot.set_ylabel(f"{title}, {unit}" if unit else title, fontsize=9)
    plot.spines[["top", "right"]].set_visible(False)
    plot.grid(alpha=0.25)
    plot.margins(x=0)
    if len(plot.lines) > 1:
        plot.legend(frameon=False, fontsize=8, ncols=3, loc="upper right")
