"""Records as .npz files. Equal records give equal files, bit by bit: no clock, no machine, fixed order."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from idmkit.errors import RecordError
from idmkit.files import replacing
from idmkit.records.record import Channel, Provenance, Record

SCHEMA = 1
_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The zip format cannot say "no date"; this is its first."""


def save_record(record: Record, path: Path) -> None:
    """Writes `path` (.npz), all of it or nothing: header (JSON), channel_0.., and time where the record has one."""
    header = {
        "schema": SCHEMA,
        "sample_rate_hz": record.sample_rate_hz,
        "gaps": [list(gap) for gap in record.gaps],
        "provenance": asdict(record.provenance),
        "channels": [
            {"name": c.name, "quantity": c.quantity, "unit": c.unit, "axis": c.axis, "delay_s": c.delay_s}
            for c in record.channels
        ],
    }
    arrays = {"header": np.array(json.dumps(header, sort_keys=True))}
    if record.time is not None:
        arrays["time"] = record.time
    arrays |= {f"channel_{index}": channel.samples for index, channel in enumerate(record.channels)}
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=_EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            archive.writestr(entry, buffer.getvalue())


def load_record(path: Path) -> Record:
    """Reads a record; raises RecordError where the file is missing, damaged or of another schema."""
    try:
        with path.open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                raise RecordError(f"{path} is no record of this program, or it is damaged: it is no zip archive")
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header: dict[str, Any] = json.loads(str(arrays["header"]))
    except OSError as problem:
        raise RecordError(f"{path} cannot be read: {problem.strerror or problem}") from problem
    except (ValueError, KeyError, zipfile.BadZipFile, EOFError) as problem:
        raise RecordError(f"{path} is no record of this program, or it is damaged: {problem}") from problem
    if header.get("schema") != SCHEMA:
        raise RecordError(
            f"{path} has record schema {header.get('schema')!r}, this program reads {SCHEMA}; "
            "export it again with a program of the same version"
        )
    try:
        channels = tuple(
            Channel(samples=np.ascontiguousarray(arrays[f"channel_{index}"], dtype=np.float64), **entry)
            for index, entry in enumerate(header["channels"])
        )
        return Record(
            sample_rate_hz=float(header["sample_rate_hz"]),
            channels=channels,
            time=arrays.get("time"),
            gaps=tuple((int(first), int(rows)) for first, rows in header["gaps"]),
            provenance=Provenance(**header["provenance"]),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise RecordError(f"{path} lacks a part of a record: {problem}") from problem
