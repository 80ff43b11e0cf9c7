"""IDNT<group>.PRG: what a softMC identification leaves behind, a program that sets the parameters it found.

The head is comments (success, date, torque errors, cutoff, lengths, thresholds), the body assigns DynamicParameter,
friction, payload and DynamicModel. A file that is read keeps every line it has, known or not, in its place. Numbers
are written as softMC writes them, with ten digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from idmkit.errors import IdmError
from idmkit.files import write_text

ALLOWED_PERCENT = 50.0
DATE_FORMAT = "%d/%m/%y %H:%M:%S"
DEFAULT_ENCODING = "utf-8"

PROPERTIES = (
    "DynamicParameter", "ViscousFriction", "CoulombFriction", "DynamicModel", "PayloadMass", "PayloadInertia",
    "PayloadLx", "PayloadLy", "PayloadLz", "PayloadMassRMass", "PayloadMassRMassG", "PayloadMassRMassSqIxx",
)  # fmt: skip
"""What is read and written as a number; MC-Basic does not care for the case of letters."""
_KNOWN = {name.lower(): name for name in PROPERTIES}

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\.(\w+)\s*(?:\[\s*(\w+)\s*\])?\s*=\s*(.*)")
_MEANT = re.compile(rf"[A-Za-z_]\w*\.({'|'.join(PROPERTIES)})\b", re.IGNORECASE)
"""How a line begins that assigns one of these, or was meant to."""
_ATTACH = re.compile(r"attach\s+([A-Za-z_]\w*)", re.IGNORECASE)


class PrgError(IdmError):
    """An identification program that cannot be read; the text names file and line."""


@dataclass(frozen=True)
class Moving:
    """Samples above the velocity threshold of one axis; `unit` is rad/s or m/s."""

    samples: int
    threshold: float
    unit: str = "rad/s"


@dataclass(frozen=True)
class Head:
    """What the comments at the top say; None and () for lines that are not there.

    Errors in percent of the largest measured torque, one an axis; `samples` after trimming, `raw_samples` recorded.
    """

    group: str | None = None
    succeeded: bool | None = None
    date: datetime | None = None
    max_percent: tuple[float, ...] = ()
    allowed_percent: float | None = None
    mean_percent: tuple[float, ...] = ()
    cutoff_hz: float | None = None
    samples: int | None = None
    raw_samples: int | None = None
    moving: tuple[Moving, ...] = ()


@dataclass(frozen=True)
class Setting:
    """One assignment: element (group or axis), property of `PROPERTIES`, index of DynamicParameter, value."""

    element: str
    property: str
    value: float
    index: int | None = None

    def __str__(self) -> str:
        place = "" if self.index is None else f"[{self.index}]"
        value = f"{round(self.value)}" if self.property == "DynamicModel" else f"{self.value:.9e}"
        return f"{self.element}.{self.property}{place} = {value}"


@dataclass(frozen=True)
class HeadLine:
    """A comment that is written anew from `Head`; `kind` is a key of the table below."""

    kind: str


@dataclass(frozen=True)
class Prg:
    """An identification program: its head, and every line in its place."""

    head: Head
    lines: tuple[HeadLine | Setting | str, ...]
    newline: str = field(default="\n", repr=False)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The assignments in their order."""
        return tuple(line for line in self.lines if isinstance(line, Setting))

    def value(self, element: str, name: str, index: int | None = None) -> float | None:
        """The value that is assigned, None where nothing is; case of letters does not matter."""
        wanted = (element.lower(), name.lower(), index)
        for setting in self.settings:
            if (setting.element.lower(), setting.property.lower(), setting.index) == wanted:
                return setting.value
        return None

    def text(self) -> str:
        """The file's text."""
        rendered = [_HEAD[line.kind][1](self.head) if isinstance(line, HeadLine) else str(line) for line in self.lines]
        return self.newline.join([*rendered, ""])

    def save(self, path: Path) -> None:
        """Writes the file, all of it or nothing."""
        write_text(path, self.text())


def load_prg(path: Path) -> Prg:
    """Reads a file; raises PrgError for a line of a known kind that makes no sense."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise PrgError(f"{path} cannot be read: {problem.strerror or problem}") from problem
    try:
        text = data.decode(DEFAULT_ENCODING)
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return parse_prg(text, path.name)


def parse_prg(text: str, name: str = "PRG") -> Prg:
    """Parses the text of a file; `name` stands in error messages."""
    newline = "\r\n" if "\r\n" in text else "\n"
    found: dict[str, object] = {}
    lines: list[HeadLine | Setting | str] = []
    seen: set[tuple[str, str, int | None]] = set()
    for number, line in enumerate(text.removesuffix(newline).split(newline), start=1):
        place = f"{name}:{number}"
        parsed = _head_line(line, found, place) or _setting(line, place) or line
        if isinstance(parsed, Setting):
            key = (parsed.element.lower(), parsed.property, parsed.index)
            if key in seen:
                raise PrgError(f"{place}: {str(parsed).partition(' =')[0]} is set twice; keep the line that holds")
            seen.add(key)
        lines.append(parsed)
    if not seen:
        raise PrgError(f"{name} sets no dynamic parameters: it is no identification program")
    return Prg(Head(**found), tuple(lines), newline)  # type: ignore[arg-type]  # the parsers below fit the fields


def compose_prg(head: Head, attached: tuple[str, ...], blocks: list[list[Setting]]) -> Prg:
    """A new program in softMC's layout: head, then the blocks of settings between attach and detach."""
    for setting in (setting for block in blocks for setting in block):
        if not math.isfinite(setting.value):
            raise PrgError(f"{setting.element}.{setting.property} = {setting.value} cannot be written: no number")
    lines: list[HeadLine | Setting | str] = [HeadLine(kind) for kind, (_, _, has) in _HEAD.items() if has(head)]
    lines += ["", "PROGRAM CONTINUE", *(f"ATTACH {element}" for element in attached), ""]
    for block in blocks:
        lines += [*block, ""]
    lines += [*(f"DETACH {element}" for element in attached), "TERMINATE PROGRAM"]
    return Prg(head, tuple(lines))


def attached_elements(prg: Prg) -> tuple[str, ...]:
    """The elements of the ATTACH lines."""
    texts = (line.strip() for line in prg.lines if isinstance(line, str))
    return tuple(match[1] for text in texts if (match := _ATTACH.fullmatch(text)))


def _setting(line: str, place: str) -> Setting | None:
    match = _ASSIGNMENT.fullmatch(line.strip())
    if match is None or match[2].lower() not in _KNOWN:
        if _MEANT.match(line.strip()):
            raise PrgError(
                f'{place}: cannot be understood: {line.strip()!r}; softMC writes "ELEMENT.PROPERTY = number"'
            )
        return None
    element, written, index, value = match.groups()
    name = _KNOWN[written.lower()]
    if not re.fullmatch(_NUMBER, value.strip()) or not math.isfinite(float(value)):
        raise PrgError(f"{place}: {element}.{name} is set to {value.strip()!r}, which is no number")
    if (name == "DynamicParameter") != (index is not None) or (index is not None and not index.isdigit()):
        raise PrgError(f"{place}: {name} " + ("needs a number in [ ]" if name == "DynamicParameter" else "has no [ ]"))
    if index is not None and int(index) < 1:
        raise PrgError(f"{place}: DynamicParameter[{index}]: softMC counts from 1")
    if name == "DynamicModel" and not float(value).is_integer():
        raise PrgError(f"{place}: DynamicModel must be a whole number, is {value.strip()}")
    return Setting(element, name, float(value), None if index is None else int(index))


def _head_line(line: str, found: dict[str, object], place: str) -> HeadLine | None:
    """Takes what a comment of the head says into `found`; None for any other line."""
    text = line.strip()
    for kind, (begin, _, _) in _HEAD.items():
        if not text.lower().startswith(begin.lower()):
            continue
        try:
            said = _PARSERS[kind](text[len(begin) :].strip())
        except (ValueError, TypeError, IndexError) as problem:
            raise PrgError(f'{place}: cannot be understood: {text!r}; softMC writes "{begin} ..."') from problem
        found.update(said)
        return HeadLine(kind)
    return None


def _outcome(text: str) -> dict[str, object]:
    match = re.fullmatch(r"(.+?) (succeeded|failed)\W*", text, re.IGNORECASE)
    if match is None:
        raise ValueError(text)
    return {"group": match[1], "succeeded": match[2].lower() == "succeeded"}


def _per_axis(text: str, pattern: str) -> list[re.Match[str]]:
    """The entries `axis N = ...;` in order; ValueError where one is missing or not of this form."""
    entries = [entry.strip() for entry in text.split(";") if entry.strip()]
    matches = []
    for number, entry in enumerate(entries, start=1):
        match = re.fullmatch(rf"axis {number} = {pattern}", entry)
        if match is None:
            raise ValueError(entry)
        matches.append(match)
    return matches


def _max_errors(text: str) -> dict[str, object]:
    allowed = re.search(rf"\(maximal allowed = ({_NUMBER}) %\)", text)
    entries = _per_axis(text[: allowed.start()] if allowed else text, rf"({_NUMBER}) %")
    limit = {"allowed_percent": float(allowed[1])} if allowed else {}
    return {"max_percent": tuple(float(match[1]) for match in entries), **limit}


def _mean_errors(text: str) -> dict[str, object]:
    return {"mean_percent": tuple(float(match[1]) for match in _per_axis(text, rf"({_NUMBER}) %"))}


def _cutoff(text: str) -> dict[str, object]:
    return {"cutoff_hz": float(text.removesuffix("Hz"))}


def _lengths(text: str) -> dict[str, object]:
    match = re.fullmatch(r"(\d+) samples(?: \(raw record length = (\d+) samples\))?", text)
    if match is None:
        raise ValueError(text)
    return {"samples": int(match[1]), "raw_samples": None if match[2] is None else int(match[2])}


def _moving(text: str) -> dict[str, object]:
    entries = _per_axis(text, rf"(\d+) samples \(threshold = ({_NUMBER}) (\S+)\)")
    return {"moving": tuple(Moving(int(match[1]), float(match[2]), match[3]) for match in entries)}


_PARSERS: dict[str, Callable[[str], dict[str, object]]] = {
    "outcome": _outcome,
    "date": lambda text: {"date": datetime.strptime(text, DATE_FORMAT)},
    "max": _max_errors,
    "mean": _mean_errors,
    "cutoff": _cutoff,
    "length": _lengths,
    "moving": _moving,
}


def _axes(entries: list[str]) -> str:
    return " ".join(f"axis {number} = {entry};" for number, entry in enumerate(entries, start=1))


def _write_outcome(head: Head) -> str:
    return f"'Dynamic parameter identification for {head.group} {'succeeded' if head.succeeded else 'failed'}!"


def _write_date(head: Head) -> str:
    return f"'Identification date and time: {head.date:{DATE_FORMAT}}"


def _write_max(head: Head) -> str:
    allowed = "" if head.allowed_percent is None else f" (maximal allowed = {head.allowed_percent:.2f} %)"
    return f"'Max relative torque error: {_axes([f'{value:.2f} %' for value in head.max_percent])}{allowed}"


def _write_mean(head: Head) -> str:
    return f"'Mean relative torque error: {_axes([f'{value:.2f} %' for value in head.mean_percent])}"


def _write_cutoff(head: Head) -> str:
    return f"'Signal filter cutoff frequency = {head.cutoff_hz:.3f} Hz"


def _write_length(head: Head) -> str:
    raw = "" if head.raw_samples is None else f" (raw record length = {head.raw_samples} samples)"
    return f"'Signal data length = {head.samples} samples{raw}"


def _write_moving(head: Head) -> str:
    entries = [f"{m.samples} samples (threshold = {m.threshold:.6f} {m.unit})" for m in head.moving]
    return f"'Moving data length: {_axes(entries)} "  # with the blank that softMC leaves at the end


_HEAD: dict[str, tuple[str, Callable[[Head], str], Callable[[Head], bool]]] = {
    "outcome": ("'Dynamic parameter identification for", _write_outcome, lambda head: head.group is not None),
    "date": ("'Identification date and time:", _write_date, lambda head: head.date is not None),
    "max": ("'Max relative torque error:", _write_max, lambda head: bool(head.max_percent)),
    "mean": ("'Mean relative torque error:", _write_mean, lambda head: bool(head.mean_percent)),
    "cutoff": ("'Signal filter cutoff frequency =", _write_cutoff, lambda head: head.cutoff_hz is not None),
    "length": ("'Signal data length =", _write_length, lambda head: head.samples is not None),
    "moving": ("'Moving data length:", _write_moving, lambda head: bool(head.moving)),
}
"""kind: how the comment begins, how it is written, whether there is anything to write. In softMC's order."""
