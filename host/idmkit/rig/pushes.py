"""Somebody pushes the robot: at one axis or at its tool, from a cycle on, for some cycles."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Push:
    """`effort` (Nm or N) on the link of `axis`, or, where `axis` is None, `force` (N, x y z of the base) at the tool.

    It pushes in `cycles` cycles of the rig: those after which Cell.cycle is `first` + 1 and so on.
    """

    first: int
    cycles: int
    axis: int | None = None
    effort: float = 0.0
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def active(self, cycle: int) -> bool:
        """Whether it pushes in the cycle that begins when `cycle` cycles have passed."""
        return self.first <= cycle < self.first + self.cycles

    def over(self, cycle: int) -> bool:
        """Whether it will push no more."""
        return cycle >= self.first + self.cycles
