"""Records: what was measured, with units and provenance; loading, importing, checking and repairing."""

from idmkit.records.clean import CleanRecord, clean
from idmkit.records.mapping import Mapping, load_mapping
from idmkit.records.plausibility import AxisLimits
from idmkit.records.record import Channel, Provenance, Record
from idmkit.records.reduction import reduced
from idmkit.records.store import load_record, save_record
from idmkit.records.tables import import_tables

__all__ = [
    "AxisLimits",
    "Channel",
    "CleanRecord",
    "Mapping",
    "Provenance",
    "Record",
    "clean",
    "import_tables",
    "load_mapping",
    "load_record",
    "reduced",
    "save_record",
]
