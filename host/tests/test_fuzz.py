"""Damaged frames into both ends of the link: short forms of `make fuzz`, and the corpus of `make fuzz-coverage`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_link import check_board, check_emulated, check_host, check_random, run_board
from fuzz_streams import CORPUS, Expected, Trials, stream_of
from runtimes import ROOT, WORDS, micropython

from idmwire import messages

words_of_both = pytest.mark.parametrize("words", WORDS)
FRAMES = 10_000


@words_of_both
def test_the_board_hears_what_stands_behind_damaged_frames(words: int) -> None:
    counts = check_board(*Trials(11).stream(FRAMES), 11, Path(micropython(words)))
    # All ways of being damaged are there, and whole frames behind them.
    assert counts["frames_received"] > FRAMES
    assert min(counts.values()) > 20


@pytest.mark.emulated
def test_a_board_in_qemu_counts_the_same() -> None:
    counts = check_emulated(250, 12)
    assert counts["frames_received"] > 250


def test_the_host_hears_what_stands_behind_damaged_frames() -> None:
    counts = check_host(*Trials(13, messages.TO_HOST).stream(FRAMES))
    assert counts["frames_received"] > FRAMES


def test_a_reader_that_does_not_come_back_into_step_is_noticed() -> None:
    stream, heard = Trials(13, messages.TO_HOST).stream(100)
    with pytest.raises(AssertionError, match="not heard behind a damaged frame"):
        check_host(stream.replace(b"\0", b"\x01"), heard)


def test_random_bodies_are_no_frames() -> None:
    result = check_random(20_000, 14, Path(micropython(64)))
    assert set(result) == {"board_crc16", "host_crc16", "board_crc32"}
    assert result["board_crc32"] == {"bodies": 20_000, "accepted": 0, "limit": 0}


@words_of_both
def test_a_board_reads_the_corpus(words: int) -> None:
    streams = [stream for path in sorted(CORPUS.iterdir()) if (stream := stream_of(path.read_bytes())) is not None]
    assert len(streams) > 100
    expected = Expected()
    expected.read(b"".join(streams))
    counts, bodies = run_board(b"".join(streams), 15, Path(micropython(words)))
    assert counts == expected.counts
    assert bodies == expected.handled


def test_what_was_reached_once_holds_still() -> None:
    """In a process of its own: the firmware's link runs there in CPython."""
    done = subprocess.run(
        [sys.executable, "tools/fuzz_targets.py"], cwd=ROOT, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": "host:shared:tools"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(list(CORPUS.iterdir())) > 100
