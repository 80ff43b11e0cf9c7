"""The firmware on the virtual rig with the host's client on its port, and a port that corrupts what comes in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from runtimes import micropython

from idmkit.board.settings import parameter_image
from idmkit.fixedpoint import Program, compile_robot, emit_viper
from idmkit.link import images, motion
from idmkit.link.client import Board, Status
from idmkit.link.codec import HostCodec
from idmkit.link.connection import Connection
from idmkit.link.refusals import Refusal
from idmkit.link.transport import Port, open_port
from idmkit.rig import Rig
from idmkit.robot import Robot, load_robot
from idmwire import framing, messages
from idmwire.image import ParameterImage

MODEL = {"I": 0.12, "MgA": 3.0, "Fv": 0.08, "Fc": 0.35}
"""Close to what the rig's crank has, so that the torque error of free motion is small."""


class CorruptingPort:
    """A port that flips a bit in every `every`-th frame on its way to the host, and knows which ones these were."""

    def __init__(self, port: Port, every: int) -> None:
        self._port = port
        self._every = every
        self._held = b""
        self._ready = b""
        self._splitter = framing.Splitter()
        self.frames = 0
        self.corrupted = 0
        self.blocks: Counter[int] = Counter()
        """How often each capture block came whole."""
        self.spoilt: Counter[int] = Counter()
        """How often each capture block was corrupted."""
        self.first_spoilt: set[int] = set()
        self.asked: set[tuple[int, int]] = set()
        """(Sequence number, block) of every request for a block that the board granted."""

    @property
    def in_waiting(self) -> int:
        return self._port.in_waiting + len(self._ready)

    def read(self, size: int = 1, /) -> bytes:
        if not self._ready:
            self._held += self._port.read(max(1, self._port.in_waiting))
            *frames, self._held = self._held.split(b"\0")
            self._ready = b"".join(self._pass(frame) + b"\0" for frame in frames)
        out, self._ready = self._ready[:size], self._ready[size:]
        return out

    def write(self, data: bytes, /) -> int | None:
        return self._port.write(data)

    def close(self) -> None:
        self._port.close()

    def _pass(self, frame: bytes) -> bytes:
        if not frame:
            return frame
        self.frames += 1
        spoil = self.frames % self._every == 0
        kind, sequence, payload = framing.unpack(HostCodec, frame)
        if kind == messages.CODES["capture_block"]:
            number = int.from_bytes(payload[:4], "little")
            if spoil and not self.blocks[number] and not self.spoilt[number]:
                self.first_spoilt.add(number)
            (self.spoilt if spoil else self.blocks)[number] += 1
        elif kind == messages.CODES["capture_again"] | messages.ANSWER:
            self.asked.add((sequence, int.from_bytes(payload[:4], "little")))
        if not spoil:
            return frame
        self.corrupted += 1
        place = len(frame) // 2
        bit = 1 if frame[place] != 1 else 2
        return frame[:place] + bytes([frame[place] ^ bit]) + frame[place + 1 :]


class Session:
    """A rig, a board on its port, and time that passes with heartbeats."""

    def __init__(self, rig: Rig, robot: Robot, board: Board) -> None:
        self.rig = rig
        self.robot = robot
        self.board = board

    def go(self, cycles: int = 100, *, chunk: int = 400) -> None:
        """Lets `cycles` pass, a heartbeat before each chunk of them."""
        while cycles > 0:
            self.board.heartbeat()
            self.rig.advance(min(chunk, cycles))
            cycles -= chunk

    def arm(self) -> Status:
        self.go(3)
        return self.board.arm(between=lambda: self.go(10))

    def disarm(self) -> Status:
        return self.board.disarm(between=lambda: self.go(20))

    def settle(self, *states: str) -> Status:
        return self.board.wait_for_state(*states, between=lambda: self.go(20))

    def move(self, target: float, cycles: int) -> int:
        return motion.move(self.board, [target], cycles, start_cycle=self.board.status().cycle + 5)

    def statistics(self) -> dict[str, int]:
        return self.board.board_statistics()


def model_values(program: Program, **changes: float) -> dict[str, float]:
    """SI values of all parameters, those of the crank for whatever has them, 0 where none is known."""
    known = {**MODEL, **changes}
    return {parameter.key: known.get(parameter.key.split(".")[1], 0.0) for parameter in program.parameters}


def model_image(robot: Robot, program: Program, **changes: float) -> ParameterImage:
    return parameter_image(robot, program, model_values(program, **changes))


@contextmanager
def session(
    words: int,
    folder: Path,
    *,
    robot: str | Robot = "crank",
    with_model: bool = True,
    write: bool = True,
    port: Callable[[Port], Any] = lambda port: port,
    **options: Any,
) -> Iterator[Session]:
    """The firmware of this checkout on a rig in `folder`, greeted and, with `write`, with its settings stored."""
    described = load_robot(robot) if isinstance(robot, str) else robot
    program = compile_robot(described)
    source = emit_viper(program) if with_model else None
    joints = [axis.joint for axis in described.axes]
    with Rig(described, folder=folder, micropython=Path(micropython(words)), model_source=source, **options) as rig:
        connection = Connection(port(open_port(rig.port)), rig.port)
        with closing(connection), Board(connection, joints) as board:
            assert board.hello.word_bits == words
            if write:
                image = model_image(described, program) if with_model else parameter_image(described)
                images.write_image(board, image)
            yield Session(rig, described, board)


def refused(action: Callable[..., object], *arguments: object, **fields: object) -> str:
    with pytest.raises(Refusal) as caught:
        action(*arguments, **fields)
    return caught.value.reason


def clear(bench: Session, *, most: int = 200) -> str:
    """Clears the fault, as soon as its stop is over."""
    for _ in range(most):
        try:
            return bench.board.clear_fault()
        except Refusal as refusal:
            reason = refusal.reason
        assert reason == "fault_stands"
        bench.go(10)
    raise AssertionError("the fault cannot be cleared")
