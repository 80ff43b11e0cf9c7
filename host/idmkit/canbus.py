"""What a classical CAN frame costs, and what the frames of a cycle make of a bus.

A data frame with an 11-bit identifier and n bytes has 44 + 8 n bits; of these the 34 + 8 n from its start to its
checksum are stuffed, at worst one bit more for every four after the first; then the bus pauses for 3 bits.
"""

from __future__ import annotations

BITRATES = (10_000, 20_000, 50_000, 100_000, 125_000, 250_000, 500_000, 800_000, 1_000_000)
"""What adapters and drives know, bit/s."""
MAX_LOAD = 0.8
"""Share of a cycle that its own frames may fill; the rest is for heartbeats, emergencies, and repeated frames."""


def frame_bits(data_bytes: int) -> int:
    """Bits of a data frame at worst, with the pause behind it."""
    return 44 + 8 * data_bytes + (33 + 8 * data_bytes) // 4 + 3


def cycle_bits(axes: int) -> int:
    """Bits of a cycle with so many axes on a bus: a command and an answer of 8 bytes each, and the SYNC."""
    return 2 * axes * frame_bits(8) + frame_bits(0)


def load(axes: int, bitrate: int, cycle_time_s: float) -> float:
    """Share of a cycle that a bus is busy."""
    return cycle_bits(axes) / bitrate / cycle_time_s


def explain(axes: int, bitrate: int, cycle_time_s: float) -> str:
    """The arithmetic of `load`, in a line."""
    return (
        f"{2 * axes} frames of {frame_bits(8)} bits and a SYNC of {frame_bits(0)} make {cycle_bits(axes)} bits; "
        f"at {bitrate} bit/s they take {1e3 * cycle_bits(axes) / bitrate:.3g} ms of a {1e3 * cycle_time_s:g} ms cycle, "
        f"{100 * load(axes, bitrate, cycle_time_s):.0f} %"
    )
