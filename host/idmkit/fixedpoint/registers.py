"""Names for a program's values: registers for those that are used most, and few other locals.

A value lives from its statement to the last one that reads it. For one register the values that live at different
times and are read most often are found exactly (weighted interval scheduling), then for the next register among
the rest. What is left gets numbered locals, each used again as soon as its value is dead; and where a function
would have more of them than MicroPython takes, words of a scratch array.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

Statement = tuple[int, bool, list[int]]
"""Place of a value, whether it gets a name, the named values that it reads."""


MOST = 128
"""Locals of one function: on armv6m and x86 the frame's offsets end not far above."""
SCRATCH = "w"


class Locals:
    """`names`: the name of every named value; `count` of the locals beside registers, `scratch` of the words."""

    def __init__(self, statements: Sequence[Statement], registers: Sequence[str]) -> None:
        self.names: dict[int, str] = {}
        self._numbers = 0
        begin = {place: k for k, (place, named, _) in enumerate(statements) if named}
        end = dict(begin)
        reads: Counter[int] = Counter()
        for k, (_, _, read) in enumerate(statements):
            reads.update(read)
            end.update(dict.fromkeys(read, k))
        left = list(begin)
        for register in registers:
            chosen = _most_read([(begin[p], end[p], reads[p], p) for p in left])
            self.names.update(dict.fromkeys(chosen, register))
            left = [place for place in left if place not in self.names]
        self._number(statements, end)

    @property
    def count(self) -> int:
        """Numbered locals."""
        return min(self._numbers, MOST)

    @property
    def scratch(self) -> int:
        """Words of the scratch array."""
        return self._numbers - self.count

    def _number(self, statements: Sequence[Statement], end: dict[int, int]) -> None:
        free: list[str] = []
        alive: dict[int, str] = {}
        for k, (place, named, read) in enumerate(statements):
            free += [alive.pop(dead) for dead in sorted({arg for arg in read if arg in alive and end[arg] == k})]
            if not named or place in self.names:
                continue
            if not free:
                free.append(f"v{self._numbers}" if self._numbers < MOST else f"{SCRATCH}[{self._numbers - MOST}]")
                self._numbers += 1
            self.names[place] = free.pop()
            if end[place] == k:
                free.append(self.names[place])
            else:
                alive[place] = self.names[place]


def _most_read(lives: Sequence[tuple[int, int, int, int]]) -> list[int]:
    """Places of (begin, end, reads, place) that do not overlap, with the largest sum of reads.

    One may begin in the statement that reads another last: a value is stored after its statement is computed.
    """
    order = sorted(lives, key=lambda life: (life[1], life[0]))
    ends = [life[1] for life in order]
    best: list[tuple[int, int, int]] = [(0, -1, 0)]
    for k, (begin, _, reads, _) in enumerate(order):
        before = min(bisect_right(ends, begin), k)
        with_it = best[before][0] + reads
        best.append((with_it, k, before) if with_it > best[k][0] else (best[k][0], -1, k))
    chosen = []
    k = len(order)
    while k > 0:
        _, life, k = best[k]
        if life >= 0:
            chosen.append(order[life][3])
    return chosen
