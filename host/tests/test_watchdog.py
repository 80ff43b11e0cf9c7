"""The chip's watchdog on the emulated Cortex-M3: it bites a program that stands still, and nobody else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from emulated import Mps2, RawRepl
from firmware_bench import refused

from idmkit.errors import LinkError
from idmkit.link.client import Board

pytestmark = pytest.mark.emulated
STAGE_MS = 1000
"""It resets when it has run down twice."""

STANDS_STILL = f"""
import boards.mps2
boards.mps2.Board.WATCHDOG_MS = {STAGE_MS}
from motionboard import commands
def status(self):
    while True:
        pass
commands.Commands.status = status
import main
"""


def test_a_program_that_stands_still_is_started_again_and_says_so(tmp_path: Path) -> None:
    with Mps2(tmp_path, []) as emulated:
        RawRepl(emulated.port).start(STANDS_STILL)
        with Board.open(emulated.port) as board:
            # A program that waits for its next cycle is none.
            time.sleep(3 * STAGE_MS / 1000)
            assert board.heartbeat().fault == ""
            with pytest.raises(LinkError, match="stopped answering"):
                board.status()
            # The image's own firmware, whose status answers.
            board.greet_again()
            status = board.status()
            assert (status.state, status.fault) == ("disarmed", "watchdog_reset")
            assert refused(board.request, "arm") in ("fault_stands", "no_parameters")
            assert board.clear_fault() == "watchdog_reset"
            assert board.status().fault == ""


def test_the_prompt_is_not_bitten(tmp_path: Path) -> None:
    with Mps2(tmp_path, []) as emulated:
        RawRepl(emulated.port).start(STANDS_STILL)
        with Board.open(emulated.port) as board:
            board.request("enter_repl")
            # Out of the raw prompt that the program was started from.
            board.connection._port.write(b"\x02")
        repl = RawRepl(emulated.port)
        repl.run("left = 'here'")
        time.sleep(3 * STAGE_MS / 1000)
        assert repl.run("print(left)").strip() == "here"
        repl.close()
