"""What can be made to go wrong with the drives and buses of the rig, now or in a cycle to come: alike in every run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idmkit.rig.cell import Cell


class _Mishaps:
    def __init__(self, cell: Cell, lock: AbstractContextManager[object]) -> None:
        self._cell = cell
        self._lock = lock

    def _do(self, action: Callable[[], None], at: int | None) -> None:
        """Now, or before the answers of the cycle after `cycle` has come to `at`."""
        with self._lock:
            if at is None:
                action()
            else:
                self._cell.schedule(at, action)


class DriveMishaps(_Mishaps):
    """Of the drive of axis `index`. Without `at` things happen now, with it when the rig's `cycle` has come to it."""

    def __init__(self, cell: Cell, lock: AbstractContextManager[object], index: int) -> None:
        super().__init__(cell, lock)
        self._drive = cell.drives[index]
        self._bus = cell.buses[cell.bus_of[index]]

    def fault(self, code: int, *, at: int | None = None) -> None:
        """Trips it with a CiA 402 error `code`: power stage off, brake on, emergency message."""
        self._do(lambda: self._drive.fault(code), at)

    def open_safe_torque_off(self, opened: bool = True, *, at: int | None = None) -> None:
        """Opens the safe-torque-off circuit, or closes it: while it is open the drive does not enable."""
        self._do(lambda: self._drive.set_safe_torque_off(opened), at)

    def lose_frames(self, cycles: int, *, at: int | None = None) -> None:
        """What it sends in the next `cycles` is lost on the wire."""
        self._do(lambda: self._bus.lose(self._drive.node_id, cycles), at)

    def delay_frames(self, by: int, cycles: int, *, at: int | None = None) -> None:
        """What it sends in the next `cycles` arrives `by` cycles late."""
        self._do(lambda: self._bus.delay(self._drive.node_id, by, cycles), at)

    def jump_encoder(self, counts: int, *, at: int | None = None) -> None:
        """Its encoder reads so many counts more from then on."""
        self._do(lambda: self._drive.servo.shift_encoder(counts), at)

    def limit_torque(self, share: float, *, at: int | None = None) -> None:
        """Its current saturates at this share of its peak torque; 1 is as it was."""
        self._do(lambda: self._drive.servo.limit_torque(share), at)

    def stop_heartbeat(self, *, at: int | None = None) -> None:
        """Its heartbeat stops, while its PDOs go on."""
        self._do(self._drive.stop_heartbeat, at)

    def restart(self, *, at: int | None = None) -> None:
        """It loses its supply for a moment: everything at its default, then a boot-up message."""
        self._do(self._drive.reset, at)

    def mute(self, silent: bool = True, *, at: int | None = None) -> None:
        """Cuts it off the bus, or connects it again. Cut off, it comes to rest by itself."""
        self._do(lambda: self._drive.mute(silent), at)


class BusMishaps(_Mishaps):
    """Of bus `number`."""

    def __init__(self, cell: Cell, lock: AbstractContextManager[object], number: int) -> None:
        super().__init__(cell, lock)
        self._bus = cell.buses[number]

    def silence(self, silent: bool = True, *, at: int | None = None) -> None:
        """Cuts the wire at the board, or mends it: nothing goes through, and the drives are on their own."""
        self._do(lambda: self._bus.silence(silent), at)
