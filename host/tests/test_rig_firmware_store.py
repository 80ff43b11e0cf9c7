"""The store of a real firmware process: what a restart finds, and what is said of damaged slots."""

from __future__ import annotations

from pathlib import Path

import pytest
from firmware_bench import Session, session
from runtimes import WORDS

from idmkit.link import images
from idmkit.link.refusals import Refusal
from idmwire.image import image_crc
from idmwire.slot import HEADER_BYTES, unseal


def refused_to_arm(bench: Session) -> str:
    with pytest.raises(Refusal) as caught:
        bench.board.request("arm")
    return caught.value.reason


def damage(slot: Path, held: tuple[int, bytes]) -> None:
    """Tips a bit of the set that a slot of the board's store holds: (generation, bytes)."""
    damaged = bytearray(slot.read_bytes())
    assert unseal(bytes(damaged[: HEADER_BYTES + len(held[1])])) == held
    damaged[HEADER_BYTES + 100] ^= 1
    slot.write_bytes(damaged)


@pytest.mark.parametrize("words", WORDS)
def test_a_restart_keeps_what_was_stored_and_a_damaged_slot_is_said(words: int, tmp_path: Path) -> None:
    with session(words, tmp_path) as bench:
        before = images.read_image(bench.board, "stored")
        bench.board.write("torque_threshold", 7.25)
        data = images.read_image(bench.board, "applied")
        images.store_image(bench.board, image_crc(data))
        bench.arm()
        bench.rig.restart()
        bench.board.greet_again()
        assert bench.board.status().fault == ""
        assert bench.board.read("torque_threshold") == 7.25
        assert images.read_image(bench.board, "stored") == data
        bench.arm()
        bench.disarm()
        # The newest damaged: the set before is in force. Both damaged: defaults, and a fault that says so.
        damage(tmp_path / "parameters.b" / "slot.bin", (2, data))
        bench.rig.restart()
        bench.board.greet_again()
        assert bench.board.status().fault == ""
        assert images.read_image(bench.board, "stored") == before
        damage(tmp_path / "parameters.a" / "slot.bin", (1, before))
        bench.rig.restart()
        bench.board.greet_again()
        status = bench.board.status()
        assert status.parameters_defaulted
        assert status.fault == "parameters_defaulted"
        assert refused_to_arm(bench) in ("fault_stands", "no_parameters")
        # The host's way out of it.
        image = images.unpack(data)
        images.write_image(bench.board, image)
        assert refused_to_arm(bench) == "fault_stands"
        assert bench.board.clear_fault() == "parameters_defaulted"
        bench.arm()
