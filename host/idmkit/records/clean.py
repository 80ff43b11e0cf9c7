"""From a record as it was taken to one that can be identified from: defects repaired with counts, or refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from idmkit.errors import RecordError
from idmkit.finding import Finding
from idmkit.records.defects import Mask, find_slow_source, find_spikes, find_stale, find_wraps, runs, unwrapped
from idmkit.records.plausibility import AxisLimits, check_units, clipping_finding, find_clipping
from idmkit.records.record import Channel, Record, Samples
from idmkit.records.timing import MAX_FILLED_ROWS, check_order, gap_findings, on_uniform_grid

_MOSTLY_MISSING = 0.2
_REPEATED_SOURCE = 0.3
_RARE = 1e-3
_CHECKED = ("position", "velocity", "acceleration", "torque")
_CLIPPED = ("velocity", "torque")


@dataclass(frozen=True, eq=False)
class CleanRecord:
    """A record at a fixed rate, `findings` about the way there, and `clipped` [S]: rows with a torque at a limit.

    Rows in `record.gaps` are NaN in every channel; elsewhere every sample is a number.
    """

    record: Record
    findings: tuple[Finding, ...]
    clipped: Mask

    def segments(self) -> list[slice]:
        """The stretches of rows between gaps."""
        measured = np.ones(self.record.rows, dtype=bool)
        for first, rows in self.record.gaps:
            measured[first : first + rows] = False
        return [slice(first, first + rows) for first, rows in runs(measured)]


def clean(record: Record, limits: Mapping[str, AxisLimits]) -> CleanRecord:
    """Checks and repairs the measured channels of the axes in `limits`; other channels are left out.

    Raises RecordError where repair would be a guess: a channel without numbers, time going backwards, values that
    only a wrong unit explains, fewer than two rows.
    """
    chosen = tuple(c for c in record.channels if c.axis in limits and c.quantity in _CHECKED)
    if not chosen:
        raise RecordError(
            f"the record has axes {', '.join(record.axes)}, the robot file {', '.join(limits)}: none in common. "
            "Give the axes of the robot file and of the record the same names"
        )
    if record.rows < 2:
        raise RecordError(f"the record has {record.rows} row(s); an identification needs seconds of motion")
    if record.time is not None and np.isfinite(record.time).all():
        check_order(record.time)
    findings: list[Finding] = []
    channels = [_clean_channel(channel, limits[channel.axis], record, findings) for channel in chosen]
    for channel in channels:
        check_units(channel, limits[channel.axis])
    clipping = [c for c in channels if c.quantity in _CLIPPED and c.measured]
    clips = [(channel, clip) for channel in clipping for clip in find_clipping(channel.samples)]
    findings += [clipping_finding(channel, clip) for channel, clip in clips]
    clipped = np.zeros(record.rows, dtype=bool)
    for channel, clip in clips:
        if channel.quantity == "torque" and clip.reason == "held":
            clipped |= clip.mask
    work = replace(record, channels=tuple(channels))
    measured = _measured_rows(work, findings)
    work = _filled(work, measured, findings)
    if work.time is None and record.time is None and not _stale_source(findings):
        return CleanRecord(work, tuple(findings), clipped)
    flag = Channel("clipped", "count", "1", work.channels[0].axis, clipped.astype(np.float64))
    uniform, timing = on_uniform_grid(replace(work, channels=(*work.channels, flag)), measured)
    findings += timing
    missing = np.isnan(uniform.channels[0].samples)
    gaps = tuple(runs(missing))
    clipped = np.nan_to_num(uniform.channels[-1].samples) > 0.01
    uniform = replace(uniform, channels=uniform.channels[:-1], gaps=gaps)
    return CleanRecord(uniform, tuple(findings), clipped)


def _clean_channel(channel: Channel, limits: AxisLimits, record: Record, findings: list[Finding]) -> Channel:
    """One channel with NaN for what is no number or a spike, wraps taken out."""
    samples = channel.samples.copy()
    in_gap = np.zeros(len(samples), dtype=bool)
    for first, rows in record.gaps:
        in_gap[first : first + rows] = True
    broken = ~np.isfinite(samples) & ~in_gap
    samples[broken] = math.nan
    count, measured = int(broken.sum()), int((~in_gap).sum())
    if count > _MOSTLY_MISSING * measured:
        raise RecordError(
            f"{channel.axis}: {channel.name} holds no number in {count} of {measured} rows; "
            "leave the channel out or record it again"
        )
    if count:
        text = f"{channel.name} holds no number in {count} row(s); short runs are interpolated, long ones are gaps."
        findings.append(Finding("not_a_number", "warning", channel.axis, text, {"rows": count}))
    if channel.quantity == "position":
        wraps = find_wraps(samples, limits.revolute)
        if wraps is not None:
            samples = unwrapped(samples, wraps)
            text = f"{channel.name} wraps {len(wraps.rows)} time(s) by {wraps.period:.6g} {channel.unit}; unwrapped."
            evidence = {"wraps": len(wraps.rows), "period": wraps.period}
            findings.append(Finding("wraps", "info", channel.axis, text, evidence))
    spikes = find_spikes(samples, continuous=channel.quantity == "position")
    if len(spikes):
        # A torque may well be spiky by itself, where a controller chatters; then the spikes are what moved the axis.
        genuine = channel.quantity == "torque" and len(spikes) > _RARE * measured
        text = f"{channel.name} has {len(spikes)} spike(s) far out of the samples around them; "
        text += "too many for disturbed messages, so they are kept." if genuine else "replaced."
        if not genuine:
            samples[spikes] = math.nan
        evidence = {"samples": len(spikes), "first_row": int(spikes[0]), "replaced": 0 if genuine else len(spikes)}
        step = (
            "Lower the controller's gain on speed." if genuine else "Look for damaged messages from drive to recorder."
        )
        findings.append(Finding("spikes", "warning", channel.axis, text, evidence, step))
    return replace(channel, samples=samples)


def _measured_rows(record: Record, findings: list[Finding]) -> Mask:
    """Rows to keep [S]: not in a gap, not stale, with a time."""
    measured = np.ones(record.rows, dtype=bool)
    for first, rows in record.gaps:
        measured[first : first + rows] = False
    if record.time is not None:
        timed = np.isfinite(record.time)
        if not timed.all():
            lost = int((~timed).sum())
            text = f"{lost} row(s) have no time and are left out."
            findings.append(Finding("rows_without_time", "warning", "", text, {"rows": lost}))
            measured &= timed
    for axis in record.axes:
        channels = [channel for channel in record.channels if channel.axis == axis and channel.measured]
        position = next((channel for channel in channels if channel.quantity == "position"), None)
        if position is None or len(channels) < 2:
            continue
        stale = find_stale([channel.samples for channel in channels], position.samples) & measured
        share = float(stale.sum() / max(measured.sum(), 1))
        if not stale.any():
            continue
        evidence = {"rows": int(stale.sum()), "percent": 100 * share}
        text = f"{int(stale.sum())} row(s) ({100 * share:.0f} %) repeat the row before while the axis moves"
        step = "Record at the rate at which the drive is read."
        if share > _REPEATED_SOURCE:
            stale, factor = find_slow_source([channel.samples for channel in channels], stale)
            text += f"; the source gives one row in {factor}, and that rate is used."
            findings.append(Finding("stale_source", "warning", axis, text, evidence, step))
        else:
            findings.append(Finding("stale_rows", "warning", axis, text + "; interpolated.", evidence, step))
        measured &= ~stale
    return measured


def _stale_source(findings: list[Finding]) -> bool:
    return any(finding.code == "stale_source" for finding in findings)


def _filled(record: Record, measured: Mask, findings: list[Finding]) -> Record:
    """Short runs of missing samples interpolated in time, long ones made gaps of the whole record.

    `measured` [S] is narrowed in place to the rows outside of gaps; with a fixed rate the gaps go to the record.
    """
    time = record.times()
    stale_source = _stale_source(findings)
    columns = {index: channel.samples.copy() for index, channel in enumerate(record.channels)}
    for samples in columns.values():
        for first, rows in runs(np.isnan(samples) & measured):
            if rows > MAX_FILLED_ROWS or first == 0 or first + rows == len(samples):
                measured[first : first + rows] = False
    if record.time is not None or stale_source:
        for samples in columns.values():
            _interpolate(samples, time, np.isnan(samples) & measured)
        return record.replaced(columns)
    holes = runs(~measured)
    gaps = tuple(
        (first, rows) for first, rows in holes if rows > MAX_FILLED_ROWS or first == 0 or first + rows == record.rows
    )
    inside = np.ones(record.rows, dtype=bool)
    for first, rows in gaps:
        inside[first : first + rows] = False
    for samples in columns.values():
        samples[~measured] = math.nan
        _interpolate(samples, time, np.isnan(samples) & inside)
    findings += gap_findings([rows for _, rows in holes], 1 / record.sample_rate_hz)
    if not inside.any():
        raise RecordError("no row of the record is measured in every channel; nothing to identify from")
    return replace(record.replaced(columns), gaps=gaps)


def _interpolate(samples: Samples, time: Samples, missing: Mask) -> None:
    """Fills the `missing` samples [S] in place, linear in time."""
    known = np.isfinite(samples) & np.isfinite(time)
    if missing.any() and known.any():
        samples[missing] = np.interp(time[missing], time[known], samples[known])
