"""From recorded times to a uniform grid: order, repeated stamps, jitter and gaps are found, then rows resampled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import make_interp_spline

from idmkit.errors import RecordError
from idmkit.finding import Finding
from idmkit.records.defects import Mask
from idmkit.records.record import Record, Samples

MAX_FILLED_ROWS = 5
"""Gaps of up to so many rows are interpolated; longer ones stay gaps and the fit works on what lies between."""
_GAP = 1.5
_JITTER_SAID = 0.02
_JITTER_BAD = 0.3


def check_order(time: Samples) -> None:
    """Raises RecordError where time goes backwards, naming the first place and the number of places."""
    steps = np.diff(time)
    back = np.flatnonzero(steps < 0)
    if len(back):
        row = int(back[0])
        raise RecordError(
            f"time goes backwards after row {row + 1}: {time[row]:.6f} s is followed by {time[row + 1]:.6f} s "
            f"({len(back)} place(s) in all). Rows are out of order or recordings were joined: sort or split them"
        )


def on_uniform_grid(record: Record, measured: Mask) -> tuple[Record, list[Finding]]:
    """The `measured` rows [S] of a record, resampled to a fixed rate by cubic splines; gaps stay NaN.

    The grid starts at the first measured row; its period is the mean of the steps that are no gaps. Raises
    RecordError where fewer than two rows are measured or time goes backwards.
    """
    time = record.times()[measured]
    columns = np.stack([channel.samples[measured] for channel in record.channels], axis=1)
    check_order(time)
    findings: list[Finding] = []
    steps = np.diff(time)
    repeated = int(np.sum(steps == 0))
    if repeated:
        keep = np.concatenate(([True], steps > 0))
        time, columns, steps = time[keep], columns[keep], np.diff(time[keep])
        findings.append(
            Finding(
                "repeated_times",
                "warning",
                "",
                f"{repeated} row(s) have the time of the row before and are left out.",
                {"rows": repeated},
                "Find out why the recorder stamps two rows alike.",
            )
        )
    if len(time) < 2:
        raise RecordError(f"{len(time)} usable row(s); a record needs at least two rows in time")
    nominal = float(np.median(steps))
    period = float(steps[steps < _GAP * nominal].mean())
    findings += _jitter_findings(steps[steps < _GAP * nominal], period)
    grid = time[0] + period * np.arange(int((time[-1] - time[0]) / period + 0.01) + 1)
    jumps = np.flatnonzero(np.round(steps / period) > 1)
    lost = np.round(steps[jumps] / period).astype(int) - 1
    wide = jumps[lost > MAX_FILLED_ROWS]
    resampled = np.full((len(grid), columns.shape[1]), np.nan)
    for first, last in zip(np.concatenate(([0], wide + 1)), np.concatenate((wide, [len(time) - 1])), strict=True):
        inside = (grid >= time[first] - 0.01 * period) & (grid <= time[last] + 0.01 * period)
        degree = min(3, int(last - first))
        if degree == 0 or not inside.any():
            continue
        spline = make_interp_spline(time[first : last + 1], columns[first : last + 1], k=degree)
        resampled[inside] = spline(grid[inside])
    findings += gap_findings([int(rows) for rows in lost], period)
    channels = tuple(
        replace(channel, samples=np.ascontiguousarray(resampled[:, index]))
        for index, channel in enumerate(record.channels)
    )
    return replace(record, sample_rate_hz=1 / period, channels=channels, time=None, gaps=()), findings


def gap_findings(lengths: list[int], period: float) -> list[Finding]:
    """What is said about gaps of these lengths (rows): short ones are filled, long ones cut the record."""
    short = [rows for rows in lengths if rows <= MAX_FILLED_ROWS]
    long = [rows for rows in lengths if rows > MAX_FILLED_ROWS]
    findings = []
    if short:
        findings.append(
            Finding(
                "gaps_filled",
                "info",
                "",
                f"{sum(short)} row(s) are missing in {len(short)} short gap(s) and are interpolated.",
                {"gaps": len(short), "rows": sum(short), "longest_s": max(short) * period},
            )
        )
    if long:
        findings.append(
            Finding(
                "gaps",
                "warning",
                "",
                f"{sum(long)} row(s) are missing in {len(long)} gap(s), the longest {max(long) * period:.3g} s; "
                "the parts between them are used.",
                {"gaps": len(long), "rows": sum(long), "longest_s": max(long) * period},
                "Record again, with fewer channels or a slower rate, if the gaps are many.",
            )
        )
    return findings


def _jitter_findings(steps: Samples, period: float) -> list[Finding]:
    jitter = float(np.std(steps) / period)
    if jitter < _JITTER_SAID:
        return []
    evidence = {"period_s": period, "jitter_percent": 100 * jitter, "shortest_s": float(steps.min())}
    message = f"the sample times jitter by {100 * jitter:.0f} % of the period {period:.4g} s (standard deviation)"
    if jitter < _JITTER_BAD:
        return [Finding("jitter", "info", "", message + "; resampled to a uniform rate.", evidence)]
    return [
        Finding(
            "jitter",
            "warning",
            "",
            message + "; resampled, but times of this kind are often those of arrival and not of measurement.",
            evidence,
            "Stamp the samples where they are measured.",
        )
    ]
