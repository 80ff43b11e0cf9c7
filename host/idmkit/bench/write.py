"""Writing a robot's settings, and an identified model, to its board."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from idmkit.bench.bench import Bench
from idmkit.board.model_file import make_model_file
from idmkit.board.settings import CompiledModel, parameter_image
from idmkit.errors import IdmError, ModelError
from idmkit.fixedpoint import Program
from idmkit.link.client import Board
from idmkit.link.images import Written, apply_image, read_image, stage_image, write_image
from idmkit.link.models import upload_model
from idmwire.image import ImageError, image_crc, unpack


def flash_model(
    board: Board, program: Program, progress: Callable[[int, int], None] | None = None, *, native: bool = False
) -> int:
    """Compiles a program for the board's processor and uploads it; returns the bytes that went over.

    `progress` hears how many bytes of how many have gone; `native`: by a C compiler. Raises ModelError where there is
    no code for this board, Refusal where the board does not take it.
    """
    data = make_model_file(program, board.hello.mpy_version, native=native)
    upload_model(board, data, None if progress is None else lambda sent: progress(sent, len(data)))
    return len(data)


def write_settings(bench: Bench, *, store: bool = False) -> Written:
    """Settings without a model (DynamicModel 0): what an identification run needs; stored only if wanted."""
    return _write(bench, None, {}, store=store)


def write_model(
    bench: Bench,
    program: CompiledModel,
    values: Mapping[str, float],
    *,
    store: bool = True,
    tables: Sequence[int] = (),
) -> Written:
    """Settings, model parameters (SI, by their keys) and words of posture tables: staged, read back, applied, stored.

    Raises ModelError where the board carries another compiled model.
    """
    check_model(bench, program)
    return _write(bench, program, values, store=store, tables=tables)


def check_model(bench: Bench, program: CompiledModel) -> None:
    """Raises ModelError where the board carries another compiled model than `program`, or none."""
    carried = bench.board.hello.program_hash
    if carried != program.hash:
        has = f"the compiled model 0x{carried:08x}" if carried else "no compiled model"
        raise ModelError(
            f"the board has {has}, the robot file compiles to 0x{program.hash:08x}; "
            f"put the robot's model on the board first: `idm flash-model ROBOT PORT`"
        )


def roll_back(bench: Bench) -> Written:
    """Writes and stores, as a new generation, the set that was stored before the one that is stored now.

    Done twice it comes back to the first. Raises IdmError where the board has no such set.
    """
    data = read_image(bench.board, "previous")
    if not data:
        raise IdmError("the board has no set from before to roll back to; write a result with --write")
    try:
        image = unpack(data)
    except ImageError as problem:
        raise IdmError(f"the set from before cannot be read, and nothing was written: {problem}") from problem
    written = write_image(bench.board, image)
    _first_answers(bench)
    return written


def put_back(bench: Bench, data: bytes) -> None:
    """Applies again what `read_image` has read from the board; nothing for b"", a board that had nothing applied."""
    if data:
        stage_image(bench.board, data)
        apply_image(bench.board, image_crc(data))
        bench.board.greet_again()
        _first_answers(bench)


def _write(
    bench: Bench,
    program: CompiledModel | None,
    values: Mapping[str, float],
    *,
    store: bool,
    tables: Sequence[int] = (),
) -> Written:
    image = parameter_image(bench.robot, program, values, tables=tables)
    written = write_image(bench.board, image, store=store)
    _first_answers(bench)
    return written


def _first_answers(bench: Bench) -> None:
    """The first cycles bring the drives' first answers."""
    if bench.virtual:
        bench.run(2)
