"""Writing a robot's settings, and an identified model, to its board."""

from __future__ import annotations

from collections.abc import Mapping

from idmkit.bench.bench import Bench
from idmkit.board.settings import CompiledModel, parameter_image
from idmkit.errors import ModelError
from idmkit.link.images import Written, write_image


def write_settings(bench: Bench, *, store: bool = False) -> Written:
    """Settings without a model (DynamicModel 0): what an identification run needs; stored only if wanted."""
    return _write(bench, None, {}, store=store)


def write_model(bench: Bench, program: CompiledModel, values: Mapping[str, float], *, store: bool = True) -> Written:
    """Settings and model parameters (SI, by their keys): staged, read back, applied and, if wanted, stored.

    Raises ModelError where the board carries another compiled model.
    """
    carried = bench.board.hello.program_hash
    if carried != program.hash:
        has = f"the compiled model 0x{carried:08x}" if carried else "no compiled model"
        raise ModelError(
            f"the board has {has}, the robot file compiles to 0x{program.hash:08x}; "
            f"put the robot's model on the board first"
        )
    return _write(bench, program, values, store=store)


def _write(bench: Bench, program: CompiledModel | None, values: Mapping[str, float], *, store: bool) -> Written:
    image = parameter_image(bench.robot, program, values)
    written = write_image(bench.board, image, store=store)
    if bench.virtual:
        # The first cycles bring the drives' first answers.
        bench.run(2)
    return written
