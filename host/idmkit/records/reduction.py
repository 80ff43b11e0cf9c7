"""Records much faster than the cutoff asks for, reduced: memory and time of a fit go with the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from idmkit.finding import Finding
from idmkit.records.clean import CleanRecord
from idmkit.signals import FLAT, low_pass

ENOUGH, MUCH = 25.0, 50.0
"""Sample rates in parts of the cutoff: enough to place reversals well, and so much that reducing pays."""
_PASSED = 0.4
"""Cutoff of the low-pass before, in parts of the reduced rate."""


def reduced(clean: CleanRecord, cutoff_hz: float) -> CleanRecord:
    """Every n-th row behind a flat zero-phase low-pass, where the rate is more than 50 times the cutoff (Hz).

    Stretches between gaps are reduced one by one, on one grid; a gap grows to whole rows of that grid, and a row
    counts as clipped where one of the rows around it was.
    """
    record = clean.record
    rate = record.sample_rate_hz
    if not 0 < MUCH * cutoff_hz < rate:
        return clean
    factor = int(rate / (ENOUGH * cutoff_hz))
    kept = np.arange(0, record.rows, factor)
    columns = np.stack([channel.samples for channel in record.channels], axis=1)
    smooth = np.full_like(columns, np.nan)
    for stretch in clean.segments():
        rows = stretch.stop - stretch.start
        if rows > 20 * factor:
            smooth[stretch] = low_pass(columns[stretch], rate, _PASSED * rate / factor, FLAT)
    channels = tuple(
        replace(channel, samples=np.ascontiguousarray(smooth[kept, index]))
        for index, channel in enumerate(record.channels)
    )
    missing = np.isnan(smooth[kept]).any(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], missing, [False])).astype(np.int8)))
    gaps = tuple((int(first), int(stop - first)) for first, stop in zip(edges[::2], edges[1::2], strict=True))
    blocks = np.add.reduceat(clean.clipped, kept) > 0
    text = f"{rate:.5g} Hz reduced to {rate / factor:.5g} Hz, {rate / factor / cutoff_hz:.3g} times the cutoff."
    finding = Finding("rate_reduced", "info", "", text, {"factor": factor})
    provenance = replace(record.provenance, cycles_per_row=record.provenance.cycles_per_row * factor)
    return CleanRecord(
        replace(record, sample_rate_hz=rate / factor, channels=channels, gaps=gaps, provenance=provenance),
        (*clean.findings, finding),
        blocks,
    )
