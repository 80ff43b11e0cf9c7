"""Careless hosts on a real firmware: what is refused says why and changes nothing; what is lost is counted."""

from __future__ import annotations

import os
import select
import time
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from firmware_bench import Session, refused, session
from runtimes import ROOT, WORDS

from idmkit.errors import LinkError
from idmkit.link import images, motion
from idmkit.link.capture import start_capture
from idmkit.link.client import Board
from idmkit.link.codec import HostCodec
from idmkit.link.transport import Port
from idmwire import framing, messages, properties
from idmwire.image import image_crc

words_of_both = pytest.mark.parametrize("words", WORDS)
CYCLES = 2**30
TURN = 2**24
PATIENCE_S = 60.0
"""For an answer that surely comes, on a machine that may be busy."""


def everything(bench: Session) -> tuple[object, ...]:
    """All of the board that a host can see and that time does not change: states, places, properties."""
    status = vars(bench.board.status()).copy()
    for name in ("cycle", "position_feedback", "torque_feedback"):
        del status[name]
    values = [
        bench.board.request("read_property", property=number, axis=0)["value"] for number, *_ in properties.PROPERTIES
    ]
    return status, values


def stay_refused(bench: Session, reason: str, name: str, **fields: Any) -> None:
    before = everything(bench)
    assert refused(bench.board.request, name, **fields) == reason, name
    assert everything(bench) == before, name


def a_move(bench: Session, distance: int = TURN // 20, **changes: Any) -> dict[str, Any]:
    """The fields of a gentle move from where the axis stands; the board takes what the host says of speeds."""
    start = bench.board.status().position_command
    fields = {"start_cycle": 0, "cycles": 500, "start": start, "distance": [distance], "velocity": [0]}
    return fields | {"acceleration": [0]} | changes


def images_of(bench: Session) -> list[bytes]:
    return [images.read_image(bench.board, which) for which in messages.IMAGES]


@words_of_both
def test_disarmed_it_neither_moves_nor_takes_what_is_wrong(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path) as bench:
        bench.go(5)
        held = images_of(bench)
        stay_refused(bench, "needs_armed", "move", **a_move(bench))
        sine = {"start_cycle": 0, "cycles": 100, "start": [0], "amplitude": [1000], "velocity": [0]}
        stay_refused(bench, "needs_armed", "sine", **sine, acceleration=[0], phase_step=[100])
        for number, name, _, axes, _, low, high, *_ in properties.PROPERTIES:
            for value in (low - 1, high + 1):
                if -(2**31) <= value < 2**31 and properties.BY_NAME[name][8] != "read":
                    stay_refused(bench, "out_of_range", "write_property", property=number, axis=0, value=value)
            beyond = 1 if axes == properties.AXIS else 7
            stay_refused(bench, "out_of_range", "write_property", property=number, axis=beyond, value=low)
        stay_refused(bench, "out_of_range", "write_property", property=255, axis=0, value=0)
        stay_refused(bench, "out_of_range", "stage", offset=4090, data=bytes(100))
        stay_refused(bench, "out_of_range", "stage", offset=len(held[0]) + 1, data=b"x")
        stay_refused(bench, "bad_image", "apply", crc=image_crc(held[0]) ^ 1)
        stay_refused(bench, "bad_image", "store", crc=image_crc(held[1]) ^ 1)
        capture = {"start_cycle": 0, "samples": 0, "every": 1}
        stay_refused(bench, "out_of_range", "capture", **capture, channels=b"\x00\x01")
        stay_refused(bench, "out_of_range", "capture", **capture, channels=b"\xff\x00")
        stay_refused(bench, "out_of_range", "capture", **capture | {"every": 0}, channels=b"\x00\x00")
        stay_refused(bench, "out_of_range", "capture_again", block=0)
        assert images_of(bench) == held


@words_of_both
def test_enabled_it_takes_no_settings_and_no_motion_that_is_wrong(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path) as bench:
        bench.arm()
        staged = {"offset": 0, "data": b"x"}
        for name, fields in (
            ("arm", {}), ("enter_repl", {}), ("stage", staged), ("apply", {"crc": 0}), ("store", {"crc": 0}),
            ("read_image", {"image": 0, "offset": 0, "length": 1}),
        ):  # fmt: skip
            stay_refused(bench, "needs_disarmed", name, **fields)
        forbidden = [p for p in properties.PROPERTIES if p[8] == "disarmed"]
        assert forbidden
        for number, _, _, _, _, low, *_ in forbidden:
            stay_refused(bench, "needs_disarmed", "write_property", property=number, axis=0, value=low)
        high = bench.board.request("read_property", property=properties.NUMBERS["position_max"], axis=0)["value"]
        now = bench.board.status()
        stay_refused(bench, "out_of_range", "move", **a_move(bench, high - now.position_command[0] + 1))
        stay_refused(bench, "out_of_range", "move", **a_move(bench, cycles=1))
        stay_refused(bench, "stale_start", "move", **a_move(bench, start=[now.position_command[0] + 1]))
        stay_refused(bench, "too_late", "move", **a_move(bench, start_cycle=(now.cycle - 5) % CYCLES))
        bench.move(0.3, 500)
        bench.go(20)
        assert refused(bench.board.request, "move", **a_move(bench)) == "busy"
        bench.go(600)
        assert bench.settle("holding").position_command == (round(0.3 / (2 * 3.141592653589793) * TURN),)
        bench.disarm()


def test_a_second_host_is_told_so_and_changes_nothing(tmp_path: Path) -> None:
    with session(64, tmp_path) as bench:
        bench.arm()
        before = everything(bench), bench.statistics()["frames_received"]
        with pytest.raises(LinkError, match=r"is in use. Close the other program that talks to the board"):
            Board.open(bench.rig.port, ["revolute"])
        # Not a byte of it has reached the board: what it received are the questions of `everything`.
        asked = len(properties.PROPERTIES) + 2
        assert (everything(bench), bench.statistics()["frames_received"]) == (before[0], before[1] + asked)
        bench.move(0.2, 300)
        bench.go(320)
        assert bench.settle("holding").fault == ""


class LossyPort:
    """A port that loses the answers that `loses` says, by type and number."""

    def __init__(self, port: Port, loses: Callable[[int], bool]) -> None:
        self._port = port
        self._loses = loses
        self._held = b""

    @property
    def in_waiting(self) -> int:
        return self._port.in_waiting

    def read(self, size: int = 1, /) -> bytes:
        *frames, self._held = (self._held + self._port.read(size)).split(b"\0")
        return b"".join(frame + b"\0" for frame in frames if not (frame and self._loses(HostCodec.decode(frame)[0])))

    def write(self, data: bytes, /) -> int | None:
        return self._port.write(data)

    def close(self) -> None:
        self._port.close()


@words_of_both
def test_a_motion_whose_answer_is_lost_is_made_once(words: int, tmp_path: Path) -> None:
    lost = []

    def loses(kind: int) -> bool:
        first_two = kind == messages.CODES["move"] | messages.ANSWER and len(lost) < 2
        lost.extend([kind] * first_two)
        return first_two

    with session(words, tmp_path, port=lambda port: LossyPort(port, loses)) as bench:
        bench.arm()
        repeats = bench.statistics()["repeats"]
        bench.move(0.4, 400)
        assert (len(lost), bench.statistics()["repeats"]) == (2, repeats + 2)
        bench.go(450)
        assert bench.settle("holding").position_command == (round(0.4 / (2 * 3.141592653589793) * TURN),)


class RawHost:
    """A host without manners: writes bytes to the port, and reads when it likes."""

    def __init__(self, port: str) -> None:
        self._port = os.open(port, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._port)
        self.sequence = 0

    def ask(self, name: str) -> None:
        """Sends a question and does not wait for its answer."""
        os.write(self._port, framing.pack(HostCodec, messages.CODES[name], self.sequence % 256, b""))
        self.sequence += 1

    def write(self, data: bytes) -> None:
        os.write(self._port, data)

    def frames_to(self, name: str) -> list[tuple[int, int, bytes]]:
        """All frames that come, up to the first of this name."""
        found: list[tuple[int, int, bytes]] = []
        splitter = framing.Splitter()
        until = time.monotonic() + PATIENCE_S
        while not found or found[-1][0] != messages.CODES[name]:
            assert time.monotonic() < until, f"no {name} came"
            if select.select([self._port], [], [], 0.1)[0]:
                found += [framing.unpack(HostCodec, frame) for frame in splitter.feed(os.read(self._port, 65536))]
        return found

    def close(self) -> None:
        os.close(self._port)


@words_of_both
def test_a_host_that_stops_reading_costs_no_cycle_and_every_drop_is_counted(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path) as bench:
        bench.arm()
        before = bench.statistics()["frames_dropped"]
        bench.board.close()
        host = RawHost(bench.rig.port)
        try:
            # Far more answers than a terminal holds, while the robot is on.
            for _ in range(4000):
                host.ask("heartbeat")
                bench.rig.advance(1)
            host.ask("statistics")
            *answers, (_, _, counts) = host.frames_to("statistics_answer")
        finally:
            host.close()
        # What was on its way is whole and in order; of all that found no room, the newest may have waited.
        assert {kind for kind, _, _ in answers} == {messages.CODES["heartbeat"] | messages.ANSWER}
        assert [sequence for _, sequence, _ in answers[:-1]] == [k % 256 for k in range(len(answers) - 1)]
        # What the board said last is of its first thousands of cycles; by now it has made all, without a fault.
        found = messages.unpack_payload("statistics_answer", 1, counts)
        assert found["frames_dropped"] - before == 4000 - len(answers) > 0
        assert found["cycles"] >= 4000
        with Board.open(bench.rig.port, ["revolute"]) as again:
            assert (again.status().state, again.status().fault) == ("holding", "")


@words_of_both
def test_a_host_that_comes_back_after_half_a_frame_is_understood(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path) as bench:
        bench.arm()
        bench.board.close()
        gone = RawHost(bench.rig.port)
        try:
            for _ in range(5):
                gone.ask("status")
            # In the middle of a command, a byte of which the next host would be the rest.
            whole = framing.pack(HostCodec, messages.CODES["disarm"], 6, b"")
            gone.write(whole[:4])
            bench.rig.advance(3)
        finally:
            gone.close()
        with Board.open(bench.rig.port, ["revolute"]) as again:
            bench.board = again
            assert again.status().state == "holding"
            assert again.statistics.retries == 0
            counts = bench.statistics()
            assert counts["crc_errors"] + counts["cobs_errors"] == 1
            bench.move(0.2, 300)
            bench.go(320)
            bench.disarm()


def test_more_commands_than_there_are_sequence_numbers(tmp_path: Path) -> None:
    with session(64, tmp_path) as bench:
        before = bench.statistics()
        for k in range(600):
            assert bench.board.request("stage", offset=0, data=bytes([k % 256]))["staged"] == 1
        after = bench.statistics()
        assert after["repeats"] == before["repeats"]
        assert after["frames_received"] == before["frames_received"] + 601


WRAPPED = """
import sys
sys.path[:0] = [{firmware!r}, {shared!r}]
from motionboard import controller

configure = controller.Controller.configure

def late(self, image):
    connected = configure(self, image)
    self.cycle_number = 2**30 - 700
    return connected

controller.Controller.configure = late
import main
"""


@words_of_both
def test_cycle_numbers_that_begin_anew(words: int, tmp_path: Path) -> None:
    script = tmp_path / "wrapped.py"
    script.write_text(WRAPPED.format(firmware=str(ROOT / "firmware"), shared=str(ROOT / "shared")))
    with session(words, tmp_path / "store", firmware=script) as bench:
        bench.arm()
        begin = CYCLES - 400
        assert begin - 300 < bench.board.status().cycle < begin
        capture = start_capture(bench.board, [("position_command", 0)], samples=800, start_cycle=begin)
        motion.move(bench.board, [0.5], 600, start_cycle=begin + 100)
        bench.go(1200)
        result = capture.finish()
        assert (result.first_cycle, result.gaps) == (begin, ())
        assert bench.settle("holding").cycle < 1000
        positions = result.column("position_command")
        assert positions[100] == 0
        assert positions[700] == positions[-1] == round(0.5 / (2 * 3.141592653589793) * TURN)
        # And one that is told to begin behind the end of the numbers.
        motion.move(bench.board, [0.0], 300, start_cycle=bench.board.status().cycle + 5)
        bench.go(320)
        assert bench.settle("holding").fault == ""
