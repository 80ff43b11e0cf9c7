"""Parameter sets: kept with date, conditions and source when they are written to a board, and compared with others."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from idmkit.errors import IdmError
from idmkit.files import write_text
from idmkit.verdict import ParameterResult, Result

SCHEMA = 1
DRIFT_PERCENT = 10.0
"""Change that is an alarm: twice what warming up did to the friction of the published table (docs/repeatability.md)."""
SIGMAS = 3.0
"""A change within so many standard deviations may be chance, and is no alarm."""


@dataclass(frozen=True)
class KeptSet:
    """What was written to a board: when (UTC, ISO 8601), under which conditions, from which record and result.

    `generation` and `crc` are the image's, so a board that reads them back is known to hold this set.
    """

    robot: str
    written: str
    conditions: str
    record: str
    result: str
    generation: int
    crc: int
    parameters: tuple[ParameterResult, ...]
    schema: int = SCHEMA


@dataclass(frozen=True)
class Change:
    """One parameter in two sets, SI. `percent` of the value before, infinite from zero; `std` of what is known."""

    name: str
    before: float
    now: float
    percent: float
    std: float
    unit: str
    alarm: bool


def keep(
    path: Path, result: Result, generation: int, crc: int, *, conditions: str, record: str, now: datetime | None = None
) -> Path:
    """Writes the set beside the result at `path`, in a file of its own that carries the date; gives its path."""
    moment = (now or datetime.now(UTC)).replace(microsecond=0)
    kept = KeptSet(
        result.robot, moment.isoformat(), conditions, record, path.name, generation, crc, tuple(result.parameters)
    )
    place = path.with_name(f"{path.stem}.set-{moment:%Y%m%dT%H%M%SZ}.json")
    write_text(place, json.dumps(asdict(kept), indent=2, ensure_ascii=False) + "\n")
    return place


def read_parameters(path: Path, robot: str) -> list[ParameterResult]:
    """The parameters of a kept set or a stored result; raises IdmError for other files and other robots."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            raise IdmError(f"{path} has schema {data['schema']!r}, this program reads {SCHEMA}")
        owner, parameters = data["robot"], [ParameterResult(**entry) for entry in data["parameters"]]
    except OSError as problem:
        raise IdmError(f"{path} cannot be read: {problem.strerror or problem}") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise IdmError(f"{path} is neither a kept set nor a result: {problem}") from problem
    if owner != robot:
        raise IdmError(f"{path} is of the robot {owner!r}, the robot file is of {robot!r}; compare like with like")
    return parameters


def compare(
    before: Sequence[ParameterResult], now: Sequence[ParameterResult], alarm_percent: float = DRIFT_PERCENT
) -> list[Change]:
    """What became of each parameter that both sets have; raises IdmError where they have none in common."""
    old = {parameter.name: parameter for parameter in before}
    changes = [_change(old[new.name], new, alarm_percent) for new in now if new.name in old]
    if not changes:
        raise IdmError("the two sets have no parameter in common; compare sets of one robot and model")
    return changes


def _change(old: ParameterResult, new: ParameterResult, alarm_percent: float) -> Change:
    step = new.value - old.value
    if step == 0.0:
        percent = 0.0
    else:
        percent = 100 * step / abs(old.value) if old.value else math.copysign(math.inf, step)
    std = math.hypot(old.std or 0.0, new.std or 0.0)
    alarm = abs(percent) > alarm_percent and abs(step) > SIGMAS * std
    return Change(new.name, old.value, new.value, percent, std, new.unit, alarm)
