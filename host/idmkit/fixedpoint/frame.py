"""Names for a program's values: few locals, and a scratch array for what is more.

A value lives from its statement to the last one that reads it; then its local is used again. Where a function would
have more locals than MicroPython takes, values go to words of an array.
"""

from __future__ import annotations

from collections.abc import Sequence

Statement = tuple[int, bool, list[int]]
"""Place of a value, whether it gets a name, the named values that it reads."""


MOST = 200
"""Locals of one function; mpy-cross refuses somewhat more, on some ports from 250 on."""
SCRATCH = "w"


class Locals:
    """`names`: the name of every named value."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.names: dict[int, str] = {}
        self._numbers = 0
        end = {place: k for k, (place, named, _) in enumerate(statements) if named}
        for k, (_, _, read) in enumerate(statements):
            end.update(dict.fromkeys(read, k))
        free: list[str] = []
        alive: dict[int, str] = {}
        for k, (place, named, read) in enumerate(statements):
            free += [alive.pop(dead) for dead in sorted({arg for arg in read if arg in alive and end[arg] == k})]
            if not named:
                continue
            if not free:
                free.append(f"v{self._numbers}" if self._numbers < MOST else f"{SCRATCH}[{self._numbers - MOST}]")
                self._numbers += 1
            self.names[place] = free.pop()
            if end[place] == k:
                free.append(self.names[place])
            else:
                alive[place] = self.names[place]

    @property
    def count(self) -> int:
        """Numbered locals."""
        return min(self._numbers, MOST)

    @property
    def scratch(self) -> int:
        """Words of the scratch array."""
        return self._numbers - self.count
