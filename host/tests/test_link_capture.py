"""Captures over a line that loses blocks, acknowledgements and requests; the array is right and the counts are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fake_board import FakeBoard, channel_value
from scripted_port import Script, ScriptedPort, Unplugged, connect

from idmkit.errors import LinkError
from idmkit.link.blocks import BlockStore
from idmkit.link.capture import Capture, CaptureResult, start_capture
from idmkit.link.client import Board
from idmkit.link.refusals import Refusal
from idmwire import channels, framing, messages

FOUR = [("position_command", 0), ("position_feedback", 0), ("torque_command", 0), ("torque_feedback", 0)]
BLOCK = messages.CODES["capture_block"]
PER_BLOCK = 30
"""Samples of four channels in a block of 480 bytes."""


def kind_of(wire: bytes) -> int:
    return framing.PlainCodec.decode(wire.strip(b"\0"))[0]


def expected(result: CaptureResult) -> np.ndarray:
    numbers = [(channels.channel_number(name), axis) for name, axis in result.columns]
    rows = [[channel_value(channel, axis, int(cycle)) for channel, axis in numbers] for cycle in result.cycles]
    return np.array(rows, dtype=np.int32).reshape(len(result.cycles), len(numbers))


def grant(port: GrantedPort, device: FakeBoard, cycles: int) -> None:
    """Grants cycles and returns when they have passed, held as they may be by a full ring."""
    port.act(lambda: device.grant(cycles))
    port.granted.set()
    while device.granted:
        time.sleep(0.001)
    port.settle()


def block_number(wire: bytes) -> int:
    return int.from_bytes(framing.PlainCodec.decode(wire[:-1])[2:6], "little")


class LoseBlocks:
    """A script that drops the n-th block frame, repeats counted, where `which(n)`; `lost` names the blocks."""

    def __init__(self, which: Callable[[int], bool]) -> None:
        self.which = which
        self.seen = 0
        self.lost: list[int] = []

    def __call__(self, number: int, frame: bytes) -> bytes:
        if kind_of(frame) != BLOCK:
            return frame
        self.seen += 1
        if not self.which(self.seen - 1):
            return frame
        self.lost.append(block_number(frame))
        return b""


def run(device: FakeBoard, port: GrantedPort, board: Board, samples: int, **options: int) -> CaptureResult:
    with start_capture(board, FOUR, samples=samples, **options) as capture:
        grant(port, device, 1 + samples * options.get("every", 1))
        return capture.finish()


class GrantedPort(ScriptedPort):
    """A scripted port that knows whether cycles have been granted."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.granted = threading.Event()


@pytest.fixture(autouse=True)
def quiet_is_when_nothing_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mender waits for the line instead of the clock, so that every count is exact on a busy machine, too."""
    original = BlockStore.wait_for_change

    def wait(self: BlockStore, seen: int, timeout_s: float) -> int:
        for port in PORTS:
            while not port.granted.wait(0.001) and original(self, seen, 0) == seen:
                continue
            port.settle()
        return original(self, seen, 0)

    PORTS.clear()
    monkeypatch.setattr(BlockStore, "wait_for_change", wait)
    monkeypatch.setattr("idmkit.link.blocks.ASK_AGAIN_S", 0.0)


PORTS: list[GrantedPort] = []


def scripted(device: FakeBoard, **scripts: Script) -> GrantedPort:
    PORTS.append(GrantedPort(device, **scripts))
    return PORTS[-1]


def test_a_clean_capture_is_complete() -> None:
    device = FakeBoard()
    port = scripted(device)
    with connect(port) as board:
        result = run(device, port, board, 3000)
    assert np.array_equal(result.data, expected(result))
    assert result.data.shape == (3000, 4)
    assert result.gaps == ()
    counts = result.counts
    assert (counts.blocks, counts.samples, counts.missing, counts.requested, counts.repeated) == (100, 3000, 0, 0, 0)
    # 480 of 480 + 8 (number, cycle) + 4 (header, CRC) + 1 (delimiter) + 1 or 2 (COBS) bytes.
    assert 480 / 495 <= counts.payload_share <= 480 / 494
    assert list(result.cycles[[0, -1]]) == [1, 3000]


@pytest.mark.parametrize("every", [1, 3, 7])
def test_every_nth_cycle_from_a_start_cycle(every: int) -> None:
    device = FakeBoard(axes=2)
    port = scripted(device)
    columns = [("torque_feedback", 1), ("position_feedback", 0)]
    with (
        connect(port, ("revolute", "prismatic")) as board,
        start_capture(board, columns, every=every, start_cycle=20, samples=100) as capture,
    ):
        grant(port, device, 20 + 100 * every)
        result = capture.finish()
    assert np.array_equal(result.cycles, 20 + every * np.arange(100))
    assert np.array_equal(result.data, expected(result))
    turns = result.column("position_feedback", 0).astype(float) * 2.0**-24
    assert np.array_equal(result.si("position_feedback", 0), turns * (2 * np.pi))
    assert np.array_equal(result.si("torque_feedback", 1), result.data[:, 0] * 2.0**-16)


@pytest.mark.parametrize("period", [2, 5, 50])
def test_every_nth_block_lost_is_asked_for_again(period: int) -> None:
    device = FakeBoard()
    script = LoseBlocks(lambda n: n < 200 and n % period == 1)
    port = scripted(device, to_host=script)
    with connect(port) as board:
        result = run(device, port, board, 6000 + PER_BLOCK)
    assert np.array_equal(result.data, expected(result))
    counts = result.counts
    assert counts.blocks == 201
    assert counts.lost == counts.stale == 0
    # Some were lost on their repeated way, too.
    assert counts.missing == len(set(script.lost))
    assert counts.requested == device.executed.count("capture_again") == len(script.lost)
    assert counts.repeated == 0


@pytest.mark.parametrize("period", [2, 7])
def test_every_nth_block_corrupted_is_counted_as_such(period: int) -> None:
    device = FakeBoard()
    corrupted = 0

    def script(number: int, frame: bytes) -> bytes:
        nonlocal corrupted
        if kind_of(frame) != BLOCK or number % period or number < 5 or corrupted == 20:
            return frame
        corrupted += 1
        return frame[:40] + bytes([frame[40] ^ 0x5A or 1]) + frame[41:]

    port = scripted(device, to_host=script)
    with connect(port) as board:
        result = run(device, port, board, 6000)
        bad = board.statistics.crc_errors + board.statistics.cobs_errors
    assert np.array_equal(result.data, expected(result))
    # Each corrupted frame was one block on its first or on a repeated way.
    assert corrupted == bad == result.counts.requested > 10


def test_repeated_blocks_are_counted_and_change_nothing() -> None:
    device = FakeBoard()
    sent: list[int] = []

    def script(number: int, frame: bytes) -> bytes:
        if kind_of(frame) != BLOCK:
            return frame
        times = 2 if number % 3 == 0 else 1
        sent.extend([len(frame)] * times)
        return frame * times

    port = scripted(device, to_host=script)
    with connect(port) as board:
        result = run(device, port, board, 3000)
    assert np.array_equal(result.data, expected(result))
    assert result.counts.repeated == len(sent) - 100 > 0
    assert result.counts.stream_bytes == sum(sent)


def test_a_lost_last_block_is_found_in_the_quiet() -> None:
    device = FakeBoard()
    port = scripted(device, to_host=LoseBlocks(lambda n: n in (9, 10)))
    with connect(port) as board:
        result = run(device, port, board, 300)
    assert np.array_equal(result.data, expected(result))
    # Block 9 was lost twice: once on its own and once when asked for.
    assert (result.counts.blocks, result.counts.missing, result.counts.lost) == (10, 1, 0)


@pytest.mark.parametrize("lost", [7, 8])
def test_a_full_ring_behind_a_lost_block_does_not_stand_still(lost: int) -> None:
    device = FakeBoard(ring_blocks=8)
    port = scripted(device, to_host=LoseBlocks(lambda n: n == lost))
    with connect(port) as board:
        result = run(device, port, board, 1200)
    assert np.array_equal(result.data, expected(result))
    assert result.counts.missing == 1


def test_a_full_ring_behind_lost_acknowledgements_does_not_stand_still() -> None:
    device = FakeBoard(ring_blocks=8)
    received = messages.CODES["capture_received"]
    lost = 0

    def script(number: int, data: bytes) -> bytes:
        nonlocal lost
        if kind_of(data) != received or lost == 3:
            return data
        lost += 1
        return b""

    port = scripted(device, to_board=script)
    with connect(port) as board:
        result = run(device, port, board, 1200)
    assert lost == 3
    assert np.array_equal(result.data, expected(result))
    assert result.counts.lost == 0


def test_blocks_overwritten_on_the_board_are_gaps() -> None:
    device = FakeBoard(ring_blocks=2, holds_time=False)
    port = scripted(device, to_host=LoseBlocks(lambda n: n in (3, 4, 20)))
    with connect(port) as board:
        # All at once: when the loss is seen, the ring of two blocks has gone on.
        result = run(device, port, board, 900)
    assert [(gap.first, gap.samples) for gap in result.gaps] == [(90, 60), (600, 30)]
    assert (result.counts.missing, result.counts.lost, result.counts.requested) == (3, 3, 3)
    assert result.counts.blocks == 27
    marked = np.zeros(900, dtype=bool)
    for gap in result.gaps:
        marked[gap.first : gap.first + gap.samples] = True
    assert np.array_equal(result.data[~marked], expected(result)[~marked])
    assert not result.data[marked].any()


def test_stopped_early_and_started_again() -> None:
    device = FakeBoard()
    port = scripted(device)
    with connect(port) as board:
        first = start_capture(board, FOUR)
        with pytest.raises(LinkError, match="under way already"):
            start_capture(board, FOUR)
        grant(port, device, 100)
        result = first.finish()
        assert len(result.data) == 100
        assert np.array_equal(result.data, expected(result))
        again = run(device, port, board, 50)
        assert list(again.cycles[[0, -1]]) == [101, 150]
        assert np.array_equal(again.data, expected(again))


def test_nothing_captured() -> None:
    with connect(scripted(FakeBoard())) as board:
        result = start_capture(board, FOUR, start_cycle=500).finish()
    assert result.data.shape == (0, 4)
    assert result.gaps == ()
    assert result.counts.payload_share == 0


def test_progress_can_be_seen() -> None:
    device = FakeBoard()
    port = scripted(device)
    with connect(port) as board, start_capture(board, FOUR) as capture:
        grant(port, device, 90)
        assert capture.received_samples == 90
        assert capture.counts.blocks == 3


def test_leaving_early_stops_the_board() -> None:
    device = FakeBoard()
    port = scripted(device)
    with connect(port) as board:
        with start_capture(board, FOUR):
            pass
        assert device.capture is None
        assert board.connection.handlers == {}


def unfinished(port: GrantedPort, board: Board) -> Capture:
    capture = start_capture(board, FOUR)

    def unplug(number: int, data: bytes) -> bytes:
        raise Unplugged("device disconnected")

    port.to_board = unplug
    return capture


def test_a_line_that_breaks_shows_its_own_error() -> None:
    port = scripted(FakeBoard())
    board = connect(port)
    with pytest.raises(LinkError, match="device disconnected"), unfinished(port, board) as capture:
        capture.finish()
    board.close()


def test_a_block_that_never_comes_whole_ends_the_capture() -> None:
    device = FakeBoard()

    def script(number: int, frame: bytes) -> bytes:
        return b"" if kind_of(frame) == BLOCK and block_number(frame) == 2 else frame

    port = scripted(device, to_host=script)
    with connect(port) as board, start_capture(board, FOUR, samples=150) as capture:
        grant(port, device, 151)
        with pytest.raises(LinkError, match="Block 2 of the capture was asked for 6 times"):
            capture.finish()


def test_what_cannot_be_captured() -> None:
    device = FakeBoard()
    port = scripted(device)
    with connect(port) as board:
        with pytest.raises(ValueError, match="at least one channel"):
            start_capture(board, [])
        with pytest.raises(ValueError, match="no channel is called torque"):
            start_capture(board, [("torque", 0)])
        with pytest.raises(ValueError, match="no axis 1"):
            start_capture(board, [("torque_feedback", 1)])
        port.act(lambda: device.grant(10))
        with pytest.raises(Refusal, match="too_late"):
            start_capture(board, FOUR, start_cycle=5)
        assert board.connection.handlers == {}


def test_si_of_a_position_needs_the_joints() -> None:
    device = FakeBoard()
    port = scripted(device)
    with connect(port, ()) as board:
        result = run(device, port, board, 10)
    assert result.si("torque_feedback").shape == (10,)
    with pytest.raises(ValueError, match="no joint kind"):
        result.si("position_feedback")
