"""Commands over a line that drops, delays, flips, repeats, cuts and breaks."""

from __future__ import annotations

import threading

import pytest
from fake_board import FakeBoard
from scripted_port import ScriptedPort, Unplugged, connect, nothing

from idmkit.errors import LinkError
from idmkit.link.client import Board
from idmkit.link.connection import BACKOFF, RETRIES, TIMEOUT_S, Connection
from idmkit.link.refusals import NEXT_STEPS, Refusal
from idmwire import messages

THRESHOLD = 3


def write_threshold(board, value: int) -> int:
    return board.request("write_property", property=THRESHOLD, axis=0, value=value)["value"]


def test_a_clean_line_needs_no_retry() -> None:
    device = FakeBoard()
    with connect(ScriptedPort(device)) as board:
        for value in range(300):
            assert write_threshold(board, value) == value
        counts = board.statistics
    assert (counts.requests, counts.retries, counts.late, counts.unanswered) == (301, 0, 0, 0)
    assert counts.frames_received == counts.frames_sent == counts.round_trips == 301
    assert 0 < counts.round_trip_mean_s <= counts.round_trip_max_s
    assert device.executed.count("write_property") == 300


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_lost_commands_are_sent_again(lost: int) -> None:
    device = FakeBoard()
    port = ScriptedPort(device)
    with connect(port) as board:
        first = port.writes
        port.to_board = lambda number, data: b"" if number < first + lost else data
        assert write_threshold(board, 7) == 7
        assert (board.statistics.retries, device.counts["repeats"]) == (lost, 0)
    assert device.executed.count("write_property") == 1


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_lost_answers_do_not_make_the_board_act_twice(lost: int) -> None:
    device = FakeBoard()
    port = ScriptedPort(device)
    with connect(port) as board:
        first = port.frames_to_host
        port.to_host = lambda number, frame: b"" if number < first + lost else frame
        assert write_threshold(board, 7) == 7
        assert (board.statistics.retries, device.counts["repeats"]) == (lost, lost)
    assert device.executed.count("write_property") == 1


@pytest.mark.parametrize("place", range(12))
def test_flipped_bytes_are_counted_and_repaired(place: int) -> None:
    device = FakeBoard()
    port = ScriptedPort(device)
    with connect(port) as board:
        first = port.frames_to_host

        def flip(number: int, frame: bytes) -> bytes:
            if number > first:
                return frame
            broken = bytearray(frame)
            broken[place % len(frame)] ^= 0x10
            return bytes(broken)

        port.to_host = flip
        assert write_threshold(board, 7) == 7
        counts = board.statistics
        # The last byte is the delimiter: without it the frame runs into the next, and both are lost.
        assert counts.retries == (2 if place == 11 else 1)
        assert counts.crc_errors + counts.cobs_errors + counts.format_errors >= 1
    assert device.executed.count("write_property") == 1


def test_a_cut_answer_costs_one_retry() -> None:
    device = FakeBoard()
    port = ScriptedPort(device)
    with connect(port) as board:
        first = port.frames_to_host
        port.to_host = lambda number, frame: frame[:4] if number == first else frame
        # The cut answer has no delimiter, so it spoils the next frame, too.
        assert write_threshold(board, 7) == 7
        assert board.statistics.retries == 2
    assert device.executed.count("write_property") == 1


def test_noise_on_the_line_is_cut_off() -> None:
    device = FakeBoard()
    port = ScriptedPort(device)
    with connect(port) as board:
        first = port.writes
        port.to_board = lambda number, data: b"\x12\x34" + data if number == first else data
        assert write_threshold(board, 7) == 7
        assert board.statistics.retries == 1


def test_a_late_answer_is_dropped_and_counted() -> None:
    device = FakeBoard()
    port = ScriptedPort(device)
    with connect(port) as board:
        first = port.frames_to_host
        held: list[bytes] = []

        def delay(number: int, frame: bytes) -> bytes:
            if number == first:
                held.append(frame)
                return b""
            return frame + held.pop() if held else frame

        port.to_host = delay
        assert write_threshold(board, 7) == 7
        assert write_threshold(board, 8) == 8
        assert (board.statistics.retries, board.statistics.late) == (1, 1)


def test_a_board_that_falls_silent_is_named_with_command_and_time() -> None:
    port = ScriptedPort(FakeBoard())
    with connect(port) as board:
        port.to_host = nothing
        with pytest.raises(LinkError) as caught:
            write_threshold(board, 7)
        assert board.statistics.unanswered == 1
    waited = sum(TIMEOUT_S * BACKOFF**attempt for attempt in range(1 + RETRIES))
    assert f"nothing came back for write_property in 4 attempts and {waited:.1f} s" in str(caught.value)


def test_a_port_that_breaks_ends_the_wait_at_once() -> None:
    port = ScriptedPort(FakeBoard())
    board = Board(Connection(port, "scripted port", timeout_s=60.0))

    def unplug(number: int, data: bytes) -> bytes:
        raise Unplugged("device disconnected")

    port.to_board = unplug
    with pytest.raises(LinkError, match="connection to scripted port broke: device disconnected"):
        board.status()
    with pytest.raises(LinkError, match="broke"):
        board.status()
    board.close()
    assert port.closed


def test_a_refusal_says_reason_meaning_and_next_step() -> None:
    with connect(ScriptedPort(FakeBoard())) as board:
        with pytest.raises(Refusal) as caught:
            board.request("move", start_cycle=0, cycles=1, start=[0], distance=[0], velocity=[0], acceleration=[0])
        assert (caught.value.message, caught.value.reason) == ("move", "needs_armed")
        assert "only while armed" in str(caught.value)
        assert NEXT_STEPS["needs_armed"] in str(caught.value)


def test_a_refusal_is_repeated_too() -> None:
    device = FakeBoard()
    port = ScriptedPort(device)
    with connect(port) as board:
        first = port.frames_to_host
        port.to_host = lambda number, frame: b"" if number == first else frame
        with pytest.raises(Refusal, match="out_of_range"):
            board.request("read_property", property=250, axis=0)
        assert device.counts["repeats"] == 1


def test_every_refusal_has_a_next_step() -> None:
    assert set(NEXT_STEPS) == set(messages.REFUSAL_NUMBERS)
    assert "reason 99" in str(Refusal("arm", 99))


def test_many_threads_share_the_line() -> None:
    device = FakeBoard(axes=4)
    port = ScriptedPort(device)
    port.to_host = lambda number, frame: b"" if number % 9 == 8 else frame
    results: dict[int, list[int]] = {}

    def work(axis: int) -> None:
        results[axis] = [
            board.request("write_property", property=THRESHOLD, axis=axis, value=100 * axis + k)["value"]
            for k in range(20)
        ]

    with connect(port, ("revolute",) * 4) as board:
        threads = [threading.Thread(target=work, args=(axis,)) for axis in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == {axis: [100 * axis + k for k in range(20)] for axis in range(4)}
    assert device.executed.count("write_property") == 80
