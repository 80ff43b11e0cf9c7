"""A progress bar on stderr for what takes longer than two seconds, where somebody watches."""

from __future__ import annotations

import sys
import time
from types import TracebackType

PATIENCE_S = 2.0
WIDTH = 32


class Progress:
    """`step(done)` of `total`; shown only on a terminal and only after PATIENCE_S."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = max(1, total)
        self._began = time.monotonic()
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            print("\r" + " " * (len(self._label) + WIDTH + 10) + "\r", end="", file=sys.stderr, flush=True)

    def step(self, done: int) -> None:
        """Shows how far it is."""
        if not sys.stderr.isatty() or time.monotonic() - self._began < PATIENCE_S:
            return
        share = min(1.0, done / self._total)
        bar = "#" * round(WIDTH * share)
        print(f"\r{self._label} [{bar:<{WIDTH}}] {100 * share:3.0f} %", end="", file=sys.stderr, flush=True)
        self._shown = True
