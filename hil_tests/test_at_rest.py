"""What every board must show without moving: who it is, that it refuses what it should, that backups bring it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from idmkit.bench import Bench, write_settings
from idmkit.board import backup
from idmkit.board.restore import restore
from idmkit.link import motion
from idmkit.link.client import Board
from idmkit.link.images import read_image, store_applied
from idmkit.link.refusals import Refusal
from idmwire.image import unpack

pytestmark = pytest.mark.usefixtures("as_it_was")


def test_it_is_the_bench_robots_board_and_speaks_this_protocol(bench: Bench) -> None:
    write_settings(bench)
    assert bench.board.mismatch is None
    assert bench.board.hello.robot == bench.robot.name
    assert bench.board.hello.axes == len(bench.robot.axes)
    status = bench.board.status()
    assert (status.state, status.fault) == ("disarmed", "")


def test_it_does_not_move_unless_it_is_armed(bench: Bench, board: Board) -> None:
    write_settings(bench)
    with pytest.raises(Refusal, match="needs_armed"):
        motion.move(board, [axis.identification.start for axis in bench.robot.axes], 1000)
    bench.run(10)
    assert board.status().state == "disarmed"


def test_a_backup_brings_the_settings_back(bench: Bench, tmp_path: Path) -> None:
    write_settings(bench, store=True)
    wanted = unpack(read_image(bench.board, "stored"))
    place = backup.keep(backup.take(bench.board), tmp_path, {})
    axis = len(bench.robot.axes) - 1
    bench.board.write("torque_threshold", bench.robot.axes[axis].guards.torque_threshold / 2, axis)
    store_applied(bench.board)
    assert unpack(read_image(bench.board, "stored")).values != wanted.values
    done = restore(bench.board, backup.load(place), place)
    assert done.notes == ()
    for which in ("stored", "applied"):
        back = unpack(read_image(bench.board, which))
        assert back.values == wanted.values
        assert (back.robot, back.program_hash, back.engineering) == (
            wanted.robot, wanted.program_hash, wanted.engineering)  # fmt: skip
    assert not bench.board.status().applied_differs_from_stored
