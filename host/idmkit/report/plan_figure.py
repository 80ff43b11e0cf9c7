"""The figure of a plan: position, speed and acceleration of each axis with its limits, and what the sines would do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from idmkit.errors import IdmError
from idmkit.excitation.comparison import sines
from idmkit.excitation.plan import Plan
from idmkit.excitation.trapezoid import TrapezoidPlan
from idmkit.files import replacing
from idmkit.report.figure import METADATA
from idmkit.robot import Robot

PLANNED, SINE, LIMIT = "#0b6fb8", "#b0b0b0", "#c8402f"
POINTS = 4000


def save_plan_figure(plan: Plan | TrapezoidPlan, robot: Robot, path: Path) -> None:
    """Draws one period of a series, or all of a run of trapezoids, into `path` (.png, .pdf or .svg).

    Raises IdmError for another suffix or where the file cannot be written.
    """
    kind = path.suffix.lower().lstrip(".") or "png"
    if kind not in METADATA:
        raise IdmError(
            f"{path}: figures are drawn as {', '.join(METADATA)}, not as {kind}; choose one of these suffixes"
        )
    motion = plan.series if isinstance(plan, Plan) else plan.motion
    t = np.linspace(0, motion.duration_s, POINTS)
    planned, sine = motion.derivatives(t), sines(robot, t)
    count = len(robot.axes)
    figure = Figure(figsize=(12, 0.8 + 2.1 * count), layout="constrained")
    FigureCanvasAgg(figure)
    what = "one period" if isinstance(plan, Plan) else "the run"
    figure.suptitle(
        f"{plan.robot}: {what} of the plan, its limits, and the sines (grey)", x=0.01, ha="left", fontsize=11
    )
    plots: Any = figure.subplots(count, 3, sharex=True, squeeze=False)
    for j, axis in enumerate(robot.axes):
        unit = "rad" if axis.revolute else "m"
        limits = (
            (axis.position_min, axis.position_max),
            (-axis.velocity_max, axis.velocity_max),
            (-axis.acceleration_max, axis.acceleration_max),
        )
        for k, name in enumerate(("position", "speed", "acceleration")):
            plot = plots[j, k]
            plot.plot(t, sine[k, :, j], color=SINE, lw=1)
            plot.plot(t, planned[k, :, j], color=PLANNED, lw=1.2)
            for limit in limits[k]:
                plot.axhline(limit, color=LIMIT, lw=0.8, ls="--")
            plot.set_ylabel(f"{axis.name}, {unit}{('', '/s', '/s²')[k]}")
            plot.margins(x=0)
            plot.spines[["top", "right"]].set_visible(False)
            if j == 0:
                plot.set_title(name, loc="left", fontsize=10)
            if j == count - 1:
                plot.set_xlabel("time, s")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=100, format=kind, metadata=METADATA[kind])
