"""Motions that do not fit into one message: coefficients that stand on the board before they start, streamed points."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from idmkit.link.client import Board

WORDS_AT_ONCE = 120
POINT_BYTES = 480
"""Bytes of words or points in a message: less than the longest frame that a board takes."""

Words = Sequence[tuple[int, Sequence[int]]]


@dataclass(frozen=True)
class StreamRoom:
    """What a board says to points: the number of the one it wants next, and how many it has room for."""

    next: int
    free: int


def write_words(board: Board, words: Words) -> None:
    """Writes int32 words, (offset, words) each, into the board's motion data. The axes must hold."""
    for offset, part in words:
        for at in range(0, len(part), WORDS_AT_ONCE):
            some = part[at : at + WORDS_AT_ONCE]
            board.request("motion_data", offset=offset + at, words=struct.pack(f"<{len(some)}i", *some))


def fourier(
    board: Board, start: Sequence[int], *, harmonics: int, period_cycles: int, cycles: int, start_cycle: int = 0
) -> int:
    """Starts the series whose coefficients have been written, at `start` in counts; returns its start cycle."""
    answer = board.request(
        "fourier", start_cycle=start_cycle, cycles=cycles, period=period_cycles, harmonics=harmonics, start=start
    )
    return int(answer["start_cycle"])


def trapezoid(board: Board, start: Sequence[int], *, cycles: int, start_cycle: int = 0) -> int:
    """Starts the moves that have been written, at `start` in counts; returns its start cycle."""
    return int(board.request("trapezoid", start_cycle=start_cycle, cycles=cycles, start=start)["start_cycle"])


def stream_points(board: Board, first: int, points: Sequence[Sequence[int]], *, total: int = 0) -> StreamRoom:
    """Sends `points` [k, n] in counts, the first of which is number `first`; 0 begins a new stream while nothing moves.

    `total` says how many there are in all, 0 while that is not known. Points the board has already do no harm.
    """
    flat = [count for point in points for count in point]
    answer = board.request("stream_points", first=first, total=total, points=struct.pack(f"<{len(flat)}i", *flat))
    return StreamRoom(int(answer["next"]), int(answer["free"]))


def points_at_once(board: Board) -> int:
    """How many points fit into one message."""
    return POINT_BYTES // (4 * board.axes)


def stream(board: Board, start: Sequence[int], *, start_cycle: int = 0) -> int:
    """Starts the motion along the points that have been sent; returns its start cycle."""
    return int(board.request("stream", start_cycle=start_cycle, start=start)["start_cycle"])
