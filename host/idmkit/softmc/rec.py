"""IDNT<group>.REC: what an identification worked on, eight signals an axis, as softMC's page lists them.

tfbRaw, pfbRaw as recorded; tfb, pfb, vfb, afb after the low-pass; tcmd, the torque of the identified model; te = tcmd -
tfb. The page names the signals and not the form of the file: here it is text, a head of comments, a line of names with
units, a line a sample, nan where there is no value (the ends that the filter costs).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import RecordError
from idmkit.files import replacing
from idmkit.fitting import Fit
from idmkit.identify import Observations, predicted
from idmkit.records import AxisLimits, Channel, Provenance, Record, clean
from idmkit.records.quantities import JOINT_OF_UNIT, UNITS
from idmkit.robot import Robot
from idmkit.signals import edge_rows, low_pass

SIGNALS = {
    "tfbRaw": ("torque_feedback", "torque"),
    "pfbRaw": ("position_feedback", "position"),
    "tfb": ("torque_filtered", "torque"),
    "pfb": ("position_filtered", "position"),
    "vfb": ("velocity_filtered", "velocity"),
    "afb": ("acceleration_filtered", "acceleration"),
    "tcmd": ("torque_model", "torque"),
    "te": ("torque_model_error", "torque"),
}
"""softMC's signal: channel of a record, quantity."""
MEASURED = ("tfbRaw", "pfbRaw")
_SAMPLE_TIME = "'Sample time ="
_NAME = re.compile(r"([A-Za-z_]\w*)\.(\w+)\[([^\]]+)\]")


def identification_record(record: Record, fit: Fit, robot: Robot) -> Record:
    """The eight signals of every axis, over all rows of the record that `fit` was made from."""
    if record.time is not None:
        record = clean(record, {axis.name: _limits(robot, k) for k, axis in enumerate(robot.axes)}).record
    observations = fit.observations
    model = predicted(observations.regressor, fit.estimate.values)
    channels = []
    for k, axis in enumerate(observations.axes):
        torque = observations.torque[k]
        signals = {
            "tfbRaw": record.channel(axis, "torque").samples,
            "pfbRaw": record.channel(axis, "position").samples,
            "tfb": _on_rows(torque, observations.row, record.rows),
            "pfb": _on_rows(observations.q[:, k], observations.row, record.rows),
            "vfb": _on_rows(_smooth(observations.qd[:, k], observations), observations.row, record.rows),
            "afb": _on_rows(_smooth(observations.qdd[:, k], observations), observations.row, record.rows),
            "tcmd": _on_rows(model[k], observations.row, record.rows),
            "te": _on_rows(model[k] - torque, observations.row, record.rows),
        }
        for signal, samples in signals.items():
            name, quantity = SIGNALS[signal]
            channels.append(Channel(name, quantity, UNITS[quantity][not fit.revolute[k]], axis, samples))
    provenance = replace(record.provenance, robot=robot.name)
    return Record(record.sample_rate_hz, tuple(channels), gaps=record.gaps, provenance=provenance)


def measured_part(record: Record) -> Record:
    """What was measured, tfbRaw and pfbRaw: a record to identify from again."""
    names = [SIGNALS[signal][0] for signal in MEASURED]
    channels = tuple(channel for channel in record.channels if channel.name in names)
    if not channels:
        raise RecordError(f"the record has none of {', '.join(MEASURED)}: there is nothing to identify from")
    return replace(record, channels=channels)


def save_rec(record: Record, path: Path, *, group: str, elements: Sequence[str]) -> None:
    """Writes the signals of `record` that softMC knows; `elements` are softMC's names of the record's axes."""
    if len(elements) != len(record.axes):
        raise RecordError(
            f"{len(elements)} axis name(s) for the record's axes {', '.join(record.axes)}; give one for each"
        )
    names = dict(zip(record.axes, elements, strict=True))
    signal_of = {name: signal for signal, (name, _) in SIGNALS.items()}
    known = [channel for channel in record.channels if channel.name in signal_of]
    columns = [f"{names[channel.axis]}.{signal_of[channel.name]}[{channel.unit}]" for channel in known]
    table = np.stack([channel.samples for channel in known], axis=1)
    with replacing(path) as temporary, temporary.open("w", encoding="ascii") as file:
        file.write(f"'Identification record of {group}\n{_SAMPLE_TIME} {1 / record.sample_rate_hz:.10g} s\n")
        file.write(" ".join(columns) + "\n")
        np.savetxt(file, table, fmt="%.10g")


def load_rec(path: Path, axes: Sequence[str] | None = None) -> Record:
    """Reads a record; `axes` replaces softMC's names of the axes, in their order. Raises RecordError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as problem:
        raise RecordError(f"{path} cannot be read: {problem.strerror or problem}") from problem
    except UnicodeDecodeError as problem:
        raise RecordError(f"{path} is no text: a softMC record must be exported as text first") from problem
    head = [line for line in lines if line.startswith("'")]
    body = [line for line in lines if line.strip() and not line.startswith("'")]
    if len(body) < 2:
        raise RecordError(f"{path} has no line of names with samples below it; it is no identification record")
    columns = [_column(name, path) for name in body[0].split()]
    cells = _cells(body[1:], len(columns), lines.index(body[0]) + 2, path)
    order = tuple(dict.fromkeys(element for element, _, _ in columns))
    if axes is not None and len(axes) != len(order):
        raise RecordError(f"{path} has the axes {', '.join(order)}; {len(axes)} name(s) given, give one for each")
    names = dict(zip(order, order if axes is None else axes, strict=True))
    channels = tuple(
        Channel(*SIGNALS[signal], unit, names[element], np.ascontiguousarray(cells[:, k]))
        for k, (element, signal, unit) in enumerate(columns)
    )
    return Record(1 / _sample_time(head, path), channels, provenance=Provenance(source=path.name))


def _column(name: str, path: Path) -> tuple[str, str, str]:
    match = _NAME.fullmatch(name)
    if match is None or match[2] not in SIGNALS or match[3] not in JOINT_OF_UNIT:
        raise RecordError(
            f"{path} has a column {name!r}; columns are called A1.tfb[Nm], with one of the signals "
            f"{', '.join(SIGNALS)} and an SI unit"
        )
    return match[1], match[2], match[3]


def _cells(rows: list[str], columns: int, first_line: int, path: Path) -> NDArray[np.float64]:
    try:
        cells = np.loadtxt(rows, ndmin=2)
    except ValueError as problem:
        raise RecordError(f"{path}, from line {first_line}: {problem}") from problem
    if cells.shape[1] != columns:
        raise RecordError(f"{path} has {columns} names and {cells.shape[1]} columns")
    return np.asarray(cells, dtype=np.float64)


def _sample_time(head: list[str], path: Path) -> float:
    for line in head:
        if line.startswith(_SAMPLE_TIME):
            try:
                value = float(line.removeprefix(_SAMPLE_TIME).removesuffix("s"))
            except ValueError:
                break
            if value > 0:
                return value
    raise RecordError(f'{path} does not say its sample time; its head needs a line "{_SAMPLE_TIME} 0.004 s"')


def _on_rows(samples: NDArray[np.float64], row: NDArray[np.intp], rows: int) -> NDArray[np.float64]:
    """Samples at their rows of the record, NaN elsewhere."""
    out = np.full(rows, np.nan)
    out[row] = samples
    return out


def _smooth(samples: NDArray[np.float64], observations: Observations) -> NDArray[np.float64]:
    """Low-passed like the torque, stretch by stretch; the fit itself keeps motion sharper than its torque."""
    rate, cutoff = observations.sample_rate_hz, observations.cutoff_hz
    ends = np.flatnonzero(np.diff(observations.row) != 1) + 1
    parts = np.split(samples, ends)
    least = 2 * edge_rows(cutoff, rate) + 1
    return np.concatenate([low_pass(part, rate, cutoff) if len(part) >= least else part for part in parts])


def _limits(robot: Robot, k: int) -> AxisLimits:
    axis = robot.axes[k]
    torque_max = axis.peak_torque
    return AxisLimits(axis.revolute, axis.position_min, axis.position_max, axis.velocity_max, torque_max)
