"""The bench: one robot, its board, and how time passes there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from idmkit.errors import BoardRefused, LinkError
from idmkit.link.blocks import CYCLES
from idmkit.link.client import Board, Status
from idmkit.link.refusals import Refusal
from idmkit.robot import Robot

STANDSTILL_S = 5.0
"""Wall time without a cycle after which a board on its own clock counts as stopped."""
POLL_S = 0.01
LEAD_CYCLES = 20
"""Between a request and its start cycle, where time waits for the host."""
LEADS_S = (0.3, 1.0, 3.0)
"""The same by the wall clock, where it does not: a host that was held up tries again with more."""

T = TypeVar("T")


class Bench:
    """A robot and the board that drives it.

    On a virtual bench `advance` grants cycles (Rig.advance) and returns when they are over; heartbeats then go along
    with the cycles, so that every run is the same. On a real one it is None: time passes by itself and heartbeats
    are sent by the wall clock while the robot is armed.
    """

    def __init__(self, robot: Robot, board: Board, advance: Callable[[int], None] | None = None) -> None:
        self.robot = robot
        self.board = board
        self._advance = advance
        self._silent = threading.Event()

    def begin(self, action: Callable[[int], T]) -> T:
        """Calls `action` with a start cycle that lies ahead, and again with a later one where that had passed."""
        if self._advance is not None:
            return action((self.board.status().cycle + LEAD_CYCLES) % CYCLES)
        for lead_s in LEADS_S[:-1]:
            try:
                return action(self._soon(lead_s))
            except Refusal as refusal:
                if refusal.reason != "too_late":
                    raise
        return action(self._soon(LEADS_S[-1]))

    def _soon(self, lead_s: float) -> int:
        """The cycle in `lead_s` by the wall clock, at the pace that the board has now."""
        before = self.board.status().cycle
        began = time.monotonic()
        time.sleep(POLL_S)
        after = self.board.status().cycle
        pace = (after - before) % CYCLES / (time.monotonic() - began)
        return (after + max(LEAD_CYCLES, round(lead_s * pace))) % CYCLES

    @property
    def virtual(self) -> bool:
        """True where time is granted."""
        return self._advance is not None

    def cycles(self, seconds: float) -> int:
        """The whole cycles nearest to a time, at least one."""
        return max(1, round(seconds / self.robot.cycle_time_s))

    def run(self, cycles: int, progress: Callable[[int], None] | None = None) -> None:
        """Lets `cycles` pass with heartbeats; `progress` hears how many have passed so far.

        Raises LinkError when the board stops answering or its time stands still.
        """
        if self._advance is None:
            self._wait(cycles, progress)
            return
        # Two heartbeats in each timeout, whatever the wall clock does.
        chunk = max(1, int(self.board.read("heartbeat_timeout")) // 2)
        done = 0
        while done < cycles:
            step = min(chunk, cycles - done)
            self.board.heartbeat()
            self._advance(step)
            done += step
            if progress is not None:
                progress(done)

    def run_until(self, cycle: int, progress: Callable[[int], None] | None = None) -> None:
        """Lets time pass until the board has reached `cycle`, not at all if it has; else like `run`."""
        ahead = (cycle - self.board.status().cycle) % CYCLES
        if ahead < CYCLES // 2:
            self.run(ahead, progress)

    def run_silent(self, cycles: int) -> None:
        """Lets `cycles` pass without a heartbeat, as when the host has died."""
        if self._advance is not None:
            self._advance(cycles)
            return
        self._silent.set()
        try:
            self._wait(cycles, None)
        finally:
            self._silent.clear()

    def _wait(self, cycles: int, progress: Callable[[int], None] | None) -> None:
        first = last = self.board.status().cycle
        moved = time.monotonic()
        while (last - first) % CYCLES < cycles:
            time.sleep(min(POLL_S, cycles * self.robot.cycle_time_s))
            now = self.board.status().cycle
            if now != last:
                moved = time.monotonic()
            elif time.monotonic() - moved > STANDSTILL_S:
                raise LinkError(
                    f"The board's cycle stands at {now} for {STANDSTILL_S:g} s. Are its drives on the bus? "
                    f"A virtual rig needs somebody who grants time."
                )
            last = now
            if progress is not None:
                progress(min((last - first) % CYCLES, cycles))

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Arms, runs its body with heartbeats, disarms in the end, whatever happened."""
        if self._advance is not None:
            yield from self._armed()
            return
        with self.board.heartbeats() as self._silent:
            yield from self._armed()

    def _armed(self) -> Iterator[None]:
        self.board.arm(between=self.step)
        try:
            # Before the feed-forward is all there, the drives' loops do its work, and that looks like a collision.
            self.run(int(self.board.read("feedforward_ramp")))
            yield
        except BaseException:
            # The first error is the one to show; the board has its own ways to stop.
            with suppress(LinkError, BoardRefused):
                self.board.disarm(between=self.step)
            raise
        self.board.disarm(between=self.step)

    def step(self) -> None:
        """A few cycles between two looks at the board."""
        if self._advance is None:
            time.sleep(POLL_S)
        else:
            self.board.heartbeat()
            self._advance(10)

    def settle(self, *states: str) -> Status:
        """Waits until the board is in one of `states`, holding if none is named."""
        return self.board.wait_for_state(*(states or ("holding",)), between=self.step)
