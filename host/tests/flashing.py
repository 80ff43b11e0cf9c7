"""What tests of flashing share: a tool that dies at a chosen moment, settings on a board without drives."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from mpremote.transport_serial import SerialTransport
from repl_boards import ReplBoard

from idmkit.board import firmware
from idmkit.board import flash as flash_module
from idmkit.board.flash import Flashed, flash
from idmkit.board.settings import parameter_image
from idmkit.link import images
from idmkit.link.client import Board
from idmkit.link.refusals import Refusal
from idmkit.link.repl import Repl
from idmkit.robot import load_robot
from idmwire.image import image_crc, unpack

GENERATION = 7
PATIENT_S = 2.0
"""An emulated board's first save takes its time, on a busy machine most of all."""


class Killed(BaseException):
    """The tool is gone: nothing is said to the board any more, the port is closed, as by the system."""


compiled = cache(firmware.firmware_files)


def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles once for all, and waits less for a board that is not there: those here answer in milliseconds."""
    monkeypatch.setattr(firmware, "firmware_files", compiled)
    monkeypatch.setattr(flash_module, "GREET_S", 0.5)
    read_until = SerialTransport.read_until

    def brief(self: SerialTransport, least: int, ending: bytes, timeout: float = 10.0, **options: object) -> bytes:
        return bytes(read_until(self, least, ending, timeout=min(timeout, 2.0), **options))

    monkeypatch.setattr(SerialTransport, "read_until", brief)


def silent(step: str, found: str) -> None:
    """Hears nothing."""


def killed_at(step: str, found: str = "") -> Callable[[str, str], None]:
    """A listener that dies when a step begins, or tells something that starts like `found`."""

    def tell(now: str, says: str) -> None:
        if now == step and says.startswith(found) and bool(found) == bool(says):
            raise Killed

    return tell


@contextlib.contextmanager
def killed_in_run(monkeypatch: pytest.MonkeyPatch, number: int, cut: Callable[[], None] | None) -> Iterator[None]:
    """Dies when code is run on the board for the number-th time: sent, not waited for. Or `cut` cuts its power."""
    run, count = Repl.run, 0

    def counted(self: Repl, code: str) -> str:
        nonlocal count
        count += 1
        if count == number:
            if cut is None:
                self._transport.exec_raw_no_follow(code)
                raise Killed
            cut()
        return run(self, code)

    with monkeypatch.context() as patch:
        patch.setattr(Repl, "run", counted)
        yield


def flashed(board: ReplBoard, folder: Path, tell: Callable[[str, str], None] = silent) -> Flashed:
    return flash(board.port, board.name, folder=folder, tell=tell, prompt_s=10.0)


def give_settings(board: ReplBoard) -> int:
    """Stores the crank's settings, with a threshold of its own; the image's CRC. Nobody answers on the bus."""
    robot = load_robot("crank")
    image = parameter_image(robot, generation=GENERATION)
    image.values[0] = 0
    data = image.pack()
    with Board.open(board.port, timeout_s=PATIENT_S) as link:
        images.stage_image(link, data)
        with pytest.raises(Refusal, match="no_drives"):
            images.apply_image(link, image_crc(data))
        link.write("torque_threshold", 3.25)
        return images.store_applied(link).crc


def assert_whole(board: ReplBoard, crc: int) -> None:
    """It runs this firmware, with the settings it had."""
    with Board.open(board.port, timeout_s=PATIENT_S) as link:
        assert link.mismatch is None
        assert (link.hello.board, link.hello.generation, link.hello.robot) == (board.name, GENERATION, "crank")
        stored = images.read_image(link, "stored")
        assert image_crc(stored) == crc
        assert unpack(stored).value("torque_threshold") == int(3.25 * 2**16)
        assert link.read("torque_threshold") == 3.25
