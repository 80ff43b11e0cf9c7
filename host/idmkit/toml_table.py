"""Reads TOML tables field by field: each has a type and a range, what nobody asked for is refused.

Every error names file, line and field. The standard parser keeps no lines, so they are looked up in the text.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from pathlib import Path
from typing import Any, NoReturn

from idmkit.errors import TomlFileError

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_\-.\"']+)\s*=")


def _locate_lines(text: str) -> dict[str, int]:
    """Maps dotted paths of tables and keys (``axes[0].drive.gear_ratio``) to line numbers from 1."""
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    prefix = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header:
            parts = [part.strip().strip("\"'") for part in header[2].split(".")]
            path = ""
            for depth, part in enumerate(parts):
                path = f"{path}.{part}" if path else part
                if header[1] == "[[" and depth == len(parts) - 1:
                    counts[path] = counts.get(path, -1) + 1
                if path in counts:
                    path = f"{path}[{counts[path]}]"
            prefix = path
            lines.setdefault(path, number)
            continue
        key = _KEY.match(line)
        if key:
            name = ".".join(part.strip("\"'") for part in key[1].split("."))
            lines.setdefault(f"{prefix}.{name}" if prefix else name, number)
    return lines


class TomlTable:
    """One table of a TOML file; fields are taken one by one, and `finish` refuses those not taken."""

    def __init__(
        self, data: dict[str, Any], path: str, file: str, lines: dict[str, int], error: type[TomlFileError]
    ) -> None:
        self._data = data
        self._path = path
        self._file = file
        self._lines = lines
        self._error = error
        self._known: list[str] = []

    @classmethod
    def read(cls, file: Path, error: type[TomlFileError]) -> TomlTable:
        """The root table of `file`; raises `error` where the file is missing, is not UTF-8 or is not TOML."""
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as problem:
            raise error(f"cannot be read: {problem.strerror or problem}", file=file) from problem
        except UnicodeDecodeError as problem:
            raise error("is not UTF-8 text", file=file) from problem
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as problem:
            found = re.search(r"\(at line (\d+)", str(problem))
            line = int(found[1]) if found else len(text.splitlines())
            raise error(f"is not TOML: {problem}", file=file, line=line) from problem
        return cls(data, "", str(file), _locate_lines(text), error)

    def fail(self, name: str, message: str) -> NoReturn:
        """Raises the error class of this file at field `name` ("" = the table itself)."""
        path = self._join(name) if name else self._path
        line = self._lines.get(path)
        outer = path
        while line is None and outer:
            outer = outer.rpartition(".")[0]
            line = self._lines.get(outer)
        raise self._error(message, file=self._file, line=line, field=path)

    def has(self, name: str) -> bool:
        """Whether the optional field `name` is given."""
        self._note(name)
        return name in self._data

    def number(
        self,
        name: str,
        *,
        default: float | None = None,
        minimum: float = -math.inf,
        maximum: float = math.inf,
        above: float | None = None,
    ) -> float:
        """A finite number with minimum <= value <= maximum and, where given, value > above."""
        value = self._take(name, default)
        if not _is_number(value):
            self.fail(name, f"must be a finite number, is {value!r}")
        if not minimum <= value <= maximum:
            self.fail(name, f"must lie in {_interval(minimum, maximum)}, is {value:g}")
        if above is not None and not value > above:
            self.fail(name, f"must be greater than {above:g}, is {value:g}")
        return float(value)

    def integer(self, name: str, *, default: int | None = None, minimum: int, maximum: int) -> int:
        """A whole number with minimum <= value <= maximum."""
        value = self._take(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(name, f"must be a whole number, is {value!r}")
        if not minimum <= value <= maximum:
            self.fail(name, f"must lie in {minimum}..{maximum}, is {value}")
        return value

    def text(self, name: str, *, default: str | None = None, choices: tuple[str, ...] = ()) -> str:
        """A non-empty string, one of `choices` where they are given."""
        value = self._take(name, default)
        if not isinstance(value, str) or (not value and default is None):
            self.fail(name, f"must be a text, is {value!r}")
        if choices and value not in choices:
            self.fail(name, f"must be one of {', '.join(choices)}, is {value!r}{_suggestion(value, choices)}")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """A truth value."""
        value = self._take(name, default)
        if not isinstance(value, bool):
            self.fail(name, f"must be true or false, is {value!r}")
        return value

    def table(self, name: str) -> TomlTable:
        """The sub-table `name`; it must be there."""
        value = self._take(name, None)
        if not isinstance(value, dict):
            self.fail(name, f"must be a table, is {value!r}")
        return TomlTable(value, self._join(name), self._file, self._lines, self._error)

    def tables(self, name: str) -> list[TomlTable]:
        """The array of tables ``[[name]]``; it must have at least one entry."""
        value = self._take(name, None)
        if not isinstance(value, list) or not value or not all(isinstance(entry, dict) for entry in value):
            self.fail(name, f"must be one or more tables [[{self._join(name)}]]")
        return [
            TomlTable(entry, f"{self._join(name)}[{index}]", self._file, self._lines, self._error)
            for index, entry in enumerate(value)
        ]

    def raw(self, name: str) -> dict[str, Any]:
        """The sub-table `name` as it stands, for a part that checks it itself; {} if absent."""
        value = self._take(name, {})
        if not isinstance(value, dict):
            self.fail(name, f"must be a table, is {value!r}")
        return value

    def everything(self) -> dict[str, Any]:
        """All fields as they stand, for a reader that checks them itself and refuses what it does not know."""
        for name in self._data:
            self._note(name)
        return dict(self._data)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of one or more texts, all different."""
        value = self._take(name, None)
        if not isinstance(value, list) or not value or not all(isinstance(entry, str) for entry in value):
            self.fail(name, f"must be a list of texts, is {value!r}")
        if len(set(value)) != len(value):
            self.fail(name, f"must not name anything twice, is {value!r}")
        return tuple(value)

    def vector(self, name: str, size: int) -> tuple[float, ...]:
        """A list of `size` finite numbers."""
        value = self._take(name, None)
        if not isinstance(value, list) or len(value) != size or not all(_is_number(entry) for entry in value):
            self.fail(name, f"must be {size} numbers, is {value!r}")
        return tuple(float(entry) for entry in value)

    def polynomial(self, name: str, most: int) -> tuple[float, ...]:
        """A finite number, or a list of one to `most` of them; the first must not be 0."""
        value = self._take(name, None)
        listed = value if isinstance(value, list) else [value]
        if not 1 <= len(listed) <= most or not all(_is_number(entry) for entry in listed):
            self.fail(name, f"must be a number, or a list of up to {most} numbers, is {value!r}")
        if listed[0] == 0:
            self.fail(name, "must not be 0" if len(listed) == 1 else "must not begin with 0")
        return tuple(float(entry) for entry in listed)

    def square(self, name: str, size: int) -> list[list[float]]:
        """A matrix of size x size finite numbers, row by row."""
        value = self._take(name, None)
        rows = value if isinstance(value, list) and len(value) == size else []
        if not rows or not all(isinstance(row, list) and len(row) == size for row in rows):
            self.fail(name, f"must be {size} rows of {size} numbers")
        if not all(_is_number(entry) for row in rows for entry in row):
            self.fail(name, "must hold finite numbers only")
        return [[float(entry) for entry in row] for row in rows]

    def intervals(self, name: str, known: tuple[str, ...]) -> dict[str, tuple[float, float]]:
        """A sub-table whose entries are [low, high] with low <= high, keys out of `known`; {} if absent."""
        if not self.has(name):
            return {}
        table = self.table(name)
        result = {}
        for key in known:
            if not table.has(key):
                continue
            value = table._data[key]
            numbers = isinstance(value, list) and all(
                isinstance(end, (int, float)) and not isinstance(end, bool) and math.isfinite(end) for end in value
            )
            if not numbers or len(value) != 2 or value[0] > value[1]:
                table.fail(key, f"must be [low, high] with low <= high, is {value!r}")
            result[key] = (float(value[0]), float(value[1]))
        table.finish()
        return result

    def finish(self) -> None:
        """Refuses what nobody asked for, with the nearest known name."""
        for name in self._data:
            if name not in self._known:
                self.fail(
                    name,
                    f"unknown field{_suggestion(name, tuple(self._known))}; known here: {', '.join(self._known)}",
                )

    def _join(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def _note(self, name: str) -> None:
        if name not in self._known:
            self._known.append(name)

    def _take(self, name: str, default: Any) -> Any:
        self._note(name)
        if name in self._data:
            return self._data[name]
        if default is None:
            near = difflib.get_close_matches(name, self._data, n=1)
            self.fail(name, "is missing" + (f" (is {near[0]!r} meant for it?)" if near else ""))
        return default


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _interval(minimum: float, maximum: float) -> str:
    return f"[{minimum:g}, {maximum:g}]"


def _suggestion(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
