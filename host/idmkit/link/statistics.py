"""What went over the link, as the host counted it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class LinkStatistics:
    """Counts since the port was opened; times in seconds.

    The board's own counts (frames it could not read, commands that arrived twice, cycles) are in
    `Board.board_statistics`.
    """

    frames_sent: int = 0
    frames_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    requests: int = 0
    """Commands and questions, each counted once."""
    retries: int = 0
    """Times one of them was sent again because no answer came in time."""
    unanswered: int = 0
    """Those given up."""
    late: int = 0
    """Answers to something that was no longer waited for: the other half of most retries."""
    crc_errors: int = 0
    cobs_errors: int = 0
    format_errors: int = 0
    """Frames too short, of an unknown type, or of a length their type does not have."""
    overflows: int = 0
    """Runs of bytes without a delimiter, longer than any frame."""
    echoes: int = 0
    """Frames that only a host sends: the port gives back what it is sent."""
    round_trips: int = 0
    """Answers to a first attempt; only these are timed."""
    round_trip_sum_s: float = field(default=0.0, repr=False)
    round_trip_max_s: float = 0.0

    @property
    def round_trip_mean_s(self) -> float:
        """Mean time from a command to its answer, 0 before the first."""
        return self.round_trip_sum_s / self.round_trips if self.round_trips else 0.0

    def count_error(self, reason: str) -> None:
        """Counts a frame that framing.unpack refused for `reason`."""
        if reason == "crc":
            self.crc_errors += 1
        elif reason == "cobs":
            self.cobs_errors += 1
        else:
            self.format_errors += 1

    def count_round_trip(self, seconds: float) -> None:
        """Adds the time of one answered first attempt."""
        self.round_trips += 1
        self.round_trip_sum_s += seconds
        self.round_trip_max_s = max(self.round_trip_max_s, seconds)
