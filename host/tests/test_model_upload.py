"""A compiled model goes to the board over the link: tested there, refused by name, old or new after a power cut."""

from __future__ import annotations

import random
import struct
import subprocess
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import cli
import numpy as np
import pytest
from fake_board import FakeBoard
from firmware_bench import Session, model_image, refused, session
from pty_board import PtyBoard
from runtimes import ROOT, WORDS, micropython

from idmkit.board.model_file import ROWS, architecture, compile_module, make_model_file, self_test
from idmkit.errors import LinkError, ModelError
from idmkit.fixedpoint import Emulator, Program, compile_robot
from idmkit.link import images, models
from idmkit.link.capture import start_capture
from idmkit.link.client import Board
from idmkit.link.codec import HostCodec
from idmkit.link.refusals import Refusal
from idmkit.rig import Rig
from idmkit.robot import load_robot
from idmwire import framing, messages, model_file

EMULATED = "mps2"
words_of_both = pytest.mark.parametrize("words", WORDS)
boards = pytest.mark.parametrize("kind", [*WORDS, pytest.param(EMULATED, marks=pytest.mark.emulated)])
MPY = {64: 0x0B06, 32: 0x0706, EMULATED: 0x1B06}
"""sys.implementation._mpy of the runtimes, as their greeting has it."""

Kind = int | str


@cache
def program(name: str) -> Program:
    return compile_robot(load_robot(name))


@cache
def made(name: str, kind: Kind) -> bytes:
    return make_model_file(program(name), MPY[kind])


def bench_of(kind: Kind, folder: Path, **options: Any) -> AbstractContextManager[Session]:
    """A rig without a model, its board a process with 64- or 32-bit words, or a Cortex-M3 in QEMU."""
    if kind == EMULATED:
        return session(32, folder, with_model=False, emulator=EMULATED, **options)
    return session(int(kind), folder, with_model=False, **options)


def parts(data: bytes) -> tuple[bytes, bytes, model_file.Contents]:
    """Module, numbers and contents of a model file."""
    contents = model_file.contents_of(data[-model_file.TRAILER_BYTES :], len(data))
    assert contents is not None
    return data[: contents.module_bytes], data[contents.module_bytes : -model_file.TRAILER_BYTES], contents


def changed(data: bytes, module: bytes = b"", numbers: bytes = b"", **fields: int) -> bytes:
    """A model file, whole and with its checksum, in which something is another."""
    old_module, old_numbers, contents = parts(data)
    module = module or old_module
    for name, value in {"module_bytes": len(module), **fields}.items():
        setattr(contents, name, value)
    return model_file.pack(contents, module, numbers or old_numbers)


def send(board: Board, data: bytes) -> None:
    """All of a file, but no request to use it."""
    for offset in range(0, len(data), 500):
        board.request("stage_model", offset=offset, data=data[offset : offset + 500])


def reason(board: Board, data: bytes, size: int | None = None, crc: int | None = None) -> str:
    send(board, data)
    crc = model_file.file_crc(data) if crc is None else crc
    return refused(board.request, "use_model", size=len(data) if size is None else size, crc=crc)


def in_use(bench: Session) -> str:
    """Which of the models of these tests the board says it has."""
    found = bench.board.greet_again().program_hash
    return {program(name).hash: name for name in ("crank", "slide")}[found] if found else "none"


def broken_files(good: bytes) -> dict[str, tuple[str, bytes]]:
    """What is wrong: the reason that the board must give, and the file."""
    module, numbers, contents = parts(good)
    rng = random.Random(4)
    tipped = bytearray(numbers)
    tipped[-8] ^= 1  # the lowest bit of the last row's torque
    # Not in a set of the largest mantissas, with which torques are limited whatever one of them is.
    at = 4 * contents.n_parameters * (contents.n_sets - 1)
    mantissa = struct.unpack_from("<i", numbers, at)[0]
    other_mantissa = numbers[:at] + struct.pack("<i", mantissa - mantissa // 8) + numbers[at + 4 :]
    broken = {
        "another processor": ("wrong_architecture", changed(good, compile_module(program("crank"), "armv6m"))),
        "an older .mpy": ("wrong_architecture", changed(good, b"M\x05" + module[2:])),
        "no module": ("wrong_architecture", changed(good, rng.randbytes(300))),
        "another hash": ("wrong_hash", changed(good, program_hash=contents.program_hash ^ 1)),
        "a torque off by one": ("self_test_failed", changed(good, numbers=bytes(tipped))),
        "another parameter": ("self_test_failed", changed(good, numbers=other_mantissa)),
        "no test": ("self_test_failed", changed(good, numbers=numbers[: 4 * 4 * contents.n_parameters], n_rows=0)),
        "nothing of ours": ("corrupted", rng.randbytes(2000)),
        "a few bytes": ("corrupted", b"\0\0\0\0abcd"),
    }
    for at in (0, 5, len(module) // 2, len(module) + 40, len(good) - 30, len(good) - 5):
        data = bytearray(good)
        data[at] ^= 1 << rng.randrange(8)
        broken[f"byte {at}"] = ("corrupted", bytes(data))
    return broken


@boards
def test_a_model_is_used_at_once_and_after_a_restart(kind: Kind, tmp_path: Path) -> None:
    robot = load_robot("crank")
    with bench_of(kind, tmp_path) as bench:
        assert bench.board.hello.mpy_version == MPY[kind]
        assert in_use(bench) == "none"
        heard: list[int] = []
        assert models.upload_model(bench.board, made("crank", kind), heard.append) == program("crank").hash
        assert heard[-1] == len(made("crank", kind))
        assert heard == sorted(heard)
        images.write_image(bench.board, model_image(robot, program("crank")))
        bench.arm()
        bench.move(0.2, 200)
        bench.go(250)
        bench.disarm()
        assert bench.statistics()["model_saturations"] == 0
        bench.rig.restart()
        assert in_use(bench) == "crank"
        assert bench.board.hello.parameters == len(program("crank").parameters)
        bench.arm()
        bench.disarm()


@boards
def test_what_is_wrong_is_refused_by_name_and_the_model_stays(kind: Kind, tmp_path: Path) -> None:
    with bench_of(kind, tmp_path) as bench:
        models.upload_model(bench.board, made("slide", kind))
        good = made("crank", kind)
        for what, (expected, data) in broken_files(good).items():
            assert reason(bench.board, data) == expected, what
            assert in_use(bench) == "slide", what
        other_module = parts(made("slide", kind))[0]
        assert reason(bench.board, changed(good, module=other_module)) == "wrong_hash"
        assert reason(bench.board, good[:-100], size=len(good), crc=model_file.file_crc(good)) == "truncated"
        assert reason(bench.board, b"", size=0) == "truncated"
        assert reason(bench.board, good + b"\0", size=len(good), crc=model_file.file_crc(good)) == "corrupted"
        assert reason(bench.board, good, crc=1) == "corrupted"
        assert reason(bench.board, good, size=2**32 - 1) == "truncated"
        bench.rig.restart()
        assert in_use(bench) == "slide"
        # And after all that a good one is taken.
        models.upload_model(bench.board, good)
        assert in_use(bench) == "crank"


@words_of_both
def test_pieces_follow_each_other_and_only_while_disarmed(words: int, tmp_path: Path) -> None:
    with bench_of(words, tmp_path) as bench:
        board, data = bench.board, made("crank", words)
        assert refused(board.request, "stage_model", offset=4, data=b"x") == "out_of_range"
        send(board, data[:1000])
        for offset in (500, 999, 1001, 2**30 + 1000, 2**32 - 1):
            assert refused(board.request, "stage_model", offset=offset, data=b"x") == "out_of_range"
        assert refused(board.request, "stage_model", offset=2**31, data=b"x") == "out_of_range"
        bench.arm()
        assert refused(board.request, "stage_model", offset=1000, data=data[1000:1500]) == "needs_disarmed"
        assert refused(board.request, "use_model", size=1000, crc=0) == "needs_disarmed"
        bench.disarm()
        # It goes on where it was; a program that is gone begins anew.
        for offset in range(1000, len(data), 500):
            board.request("stage_model", offset=offset, data=data[offset : offset + 500])
        capture = start_capture(board, [("position_command", 0)], samples=20)
        fields = {"size": len(data), "crc": model_file.file_crc(data)}
        assert refused(board.request, "use_model", **fields) == "busy"
        bench.go(30)
        capture.finish()
        assert board.request("use_model", **fields)["program_hash"] == program("crank").hash
        assert refused(board.request, "use_model", **fields) == "truncated"
        assert in_use(bench) == "crank"
        for payload in (b"", b"abc"):
            with pytest.raises(Refusal, match="bad_length"):
                board.connection.exchange(messages.CODES["stage_model"], payload)
        with pytest.raises(Refusal, match="bad_length"):
            board.connection.exchange(messages.CODES["use_model"], b"1234567")


@boards
def test_a_power_cut_at_any_message_leaves_the_old_or_the_new_model(kind: Kind, tmp_path: Path) -> None:
    with bench_of(kind, tmp_path, write=False) as bench:
        models.upload_model(bench.board, made("slide", kind))
        data = made("crank", kind)
        pieces = range(0, len(data), 500)
        for sent in range(len(pieces) + 1):
            for offset in pieces[:sent]:
                bench.board.request("stage_model", offset=offset, data=data[offset : offset + 500])
            bench.rig.restart()
            assert in_use(bench) == "slide", sent
        # Cut while the board checks, tests and seals: after the command has gone out, without its answer. On which side
        # a cut falls is the machine's business; model_cuts.py has one in every operation.
        before, after = "slide", "crank"
        for cut in range(8 if kind == EMULATED else 16):
            wanted = made(after, kind)
            send(bench.board, wanted)
            payload = messages.pack_payload(
                "use_model", 1, {"size": len(wanted), "crc": model_file.file_crc(wanted)}
            )
            wire = framing.pack(HostCodec, messages.CODES["use_model"], 200, payload)
            bench.board.connection._port.write(wire)
            time.sleep((0.01 if kind == EMULATED else 0.0002) * cut)
            process = bench.rig._process._process
            assert process is not None
            process.kill()
            bench.rig.restart()
            found = in_use(bench)
            assert found in (before, after)
            if found == after:
                before, after = after, before


@words_of_both
def test_parameters_of_another_model_go_and_settings_stay(words: int, tmp_path: Path) -> None:
    robot = load_robot("crank")
    with bench_of(words, tmp_path) as bench:
        board = bench.board
        models.upload_model(board, made("crank", words))
        images.write_image(board, model_image(robot, program("crank")))
        board.write("torque_threshold", 12.5)
        models.upload_model(board, made("slide", words))
        assert board.read("torque_threshold") == 12.5
        image = images.applied_image(board)
        assert image is not None
        assert (image.program_hash, image.mantissas) == (0, ())
        assert board.status().applied_differs_from_stored
        assert refused(board.request, "arm") == "wrong_program"
        data = model_image(robot, program("crank")).pack()
        images.stage_image(board, data)
        assert refused(images.apply_image, board, images.image_crc(data)) == "wrong_program"
        # The model that the stored parameters belong to is back: so are they, after a restart.
        bench.rig.restart()
        assert in_use(bench) == "slide"
        assert board.status().fault == "model_missing"
        models.upload_model(board, made("crank", words))
        board.clear_fault()
        bench.go(3)
        back = images.applied_image(board)
        assert back is not None
        assert back.program_hash == program("crank").hash
        bench.arm()
        bench.disarm()


@words_of_both
def test_a_slot_that_rots_is_not_used(words: int, tmp_path: Path) -> None:
    with bench_of(words, tmp_path, write=False) as bench:
        models.upload_model(bench.board, made("slide", words))
        models.upload_model(bench.board, made("crank", words))
        newest = tmp_path / "model_b.mpy"
        data = newest.read_bytes()
        assert data.startswith(made("crank", words))
        for at in (10, len(data) - 30, len(data) - 10, len(data) - 1):
            rotten = bytearray(data)
            rotten[at] ^= 4
            newest.write_bytes(rotten)
            bench.rig.restart()
            assert in_use(bench) == "slide", at
        for left in (0, 5, 12, 100, len(data) - 1):
            newest.write_bytes(data[:left])
            bench.rig.restart()
            assert in_use(bench) == "slide", left
        newest.write_bytes(data)
        bench.rig.restart()
        assert in_use(bench) == "crank"


def test_the_test_holds_boundary_states_and_every_set_meets_every_kind() -> None:
    for name in ("crank", "two_link"):
        tested = program(name)
        sets, rows = self_test(tested)
        n = tested.n_axes
        assert rows.shape == (ROWS, 5 * n + 1)
        assert ROWS >= 64
        limits = [parameter.limit for parameter in tested.parameters]
        assert sets[0].tolist() == limits
        assert sets[1].tolist() == [-limit for limit in limits]
        states = rows[:, : 4 * n]
        assert {-(2**31), 2**31 - 1} <= set(states.ravel().tolist())
        assert np.count_nonzero(rows[:, -1]), "no state is beyond the limits"
        assert np.count_nonzero(rows[:, -1] == 0) >= ROWS // 4
        assert len(np.unique(states, axis=0)) > 0.9 * ROWS
        for k in range(len(sets)):
            torques = Emulator(tested).run(states[k :: len(sets)], sets[k])
            np.testing.assert_array_equal(torques, rows[k :: len(sets), 4 * n :])
            assert np.count_nonzero(rows[k :: len(sets), -1]) >= ROWS // 16
    again = self_test(program("crank"))
    assert all(np.array_equal(a, b) for a, b in zip(again, self_test(program("crank")), strict=True))


def test_a_mutant_of_the_program_does_not_pass(tmp_path: Path) -> None:
    """Every instruction with a constant, changed by the least: a program that differs is found by the test."""
    tested = program("two_link")
    sets, rows = self_test(tested)
    n, which = tested.n_axes, np.arange(ROWS) % 4
    found = 0
    candidates = [k for k, instruction in enumerate(tested.code) if instruction.immediate and instruction.args]
    for place in candidates:
        instruction = tested.code[place]
        immediate = (instruction.immediate[0] + 1, *instruction.immediate[1:])
        code = list(tested.code)
        code[place] = replace(instruction, immediate=immediate)
        wide = tuple((-(2**62), 2**62) for _ in code)
        mutant = replace(tested, code=tuple(code), ranges=wide)
        try:
            same = np.array_equal(Emulator(mutant).run(rows[:, : 4 * n], sets[which]), rows[:, 4 * n :])
        except IndexError:
            same = False
        found += not same
    assert found == len(candidates)


def test_what_a_host_says_of_a_board_that_it_cannot_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [architecture(mpy) for mpy in (0x0B06, 0x0706, 0x1306, 0x1B06, 0x2B06)] == [
        "x64", "x86", "armv6m", "armv7em", "xtensawin"
    ]  # fmt: skip
    with pytest.raises(ModelError, match=r"0x0306.* names no processor that models are made for"):
        architecture(0x0306)
    with pytest.raises(ModelError, match=r"takes \.mpy version 6\.2 for armv6m, the compiler makes 6\.3 for armv6m"):
        make_model_file(program("crank"), 0x1206)
    with pytest.raises(ModelError, match="mpy-cross refuses the program for nothing"):
        compile_module(program("crank"), "nothing")
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(ModelError, match="mpy-cross, which makes a board's machine code, is not installed"):
        make_model_file(program("crank"), 0x0B06)


def test_a_board_that_counts_otherwise_is_said() -> None:
    class Forgetful(FakeBoard):
        def _stage_model(self, fields: dict[str, object]) -> dict[str, object]:
            return super()._stage_model(fields) | {"staged": 7}

    with PtyBoard(FakeBoard()) as port, Board.open(port.port) as board:
        data = made("crank", 64)
        assert models.upload_model(board, data) == program("crank").hash
        assert board.hello.program_hash == program("crank").hash
        with pytest.raises(Refusal, match="corrupted, the model file on the board is not the one"):
            models.upload_model(board, data[:-1] + b"\0")
    text = "holds 7 bytes of the model where 550 were sent"
    with PtyBoard(Forgetful()) as port, Board.open(port.port) as board, pytest.raises(LinkError, match=text):
        models.upload_model(board, data)


def test_the_command_line(tmp_path: Path) -> None:
    with Rig(load_robot("crank"), folder=tmp_path, micropython=Path(micropython(64))) as rig:
        done = cli.idm("flash-model", "crank", rig.port)
        assert done.returncode == 0, done.stderr
        assert f"program 0x{program('crank').hash:08x} for x64" in done.stdout
        assert "in use" in done.stdout
        assert "belong to another model" not in done.stdout
        with Board.open(rig.port) as board:
            assert board.hello.program_hash == program("crank").hash
    missing = cli.idm("flash-model", "crank", str(tmp_path / "none"))
    cli.assert_a_clear_sentence(missing, "There is no port")


@words_of_both
def test_a_cut_in_any_operation_of_the_medium_leaves_the_old_or_the_new_model(words: int, tmp_path: Path) -> None:
    for name in ("crank", "slide"):
        (tmp_path / name).write_bytes(made(name, words))
    result = subprocess.run(
        [micropython(words), "-X", "heapsize=4M", "firmware/tests/run.py", "model_cuts"],
        cwd=ROOT,
        env={
            "MICROPYPATH": "firmware:shared:firmware/tests",
            "MODEL_FILES": f"{tmp_path / 'crank'}:{tmp_path / 'slide'}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{result.stdout}{result.stderr}"
