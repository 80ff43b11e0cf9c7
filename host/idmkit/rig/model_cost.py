"""What a compiled model takes of a board, measured where it can be: on the emulated Cortex-M3."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from idmkit.link.client import Board
from idmkit.link.repl import Repl
from idmkit.rig.process import FirmwareProcess, find_micropython
from idmkit.rig.qemu import FLASH_FILE, fill_flash, find_image, qemu_command

ARCHITECTURE = "armv7m"
ICOUNT = ("-icount", "shift=10,sleep=off")
INSTRUCTIONS_A_TICK = 40 / 1024
"""QEMU counts: one instruction lasts 2^10 ns of its time, one tick of the board's timer 40 ns."""
CALLS = 100
_PROMPT_S = 20.0
# Of the heap, what the module holds on to counts, machine code included.
_MEASURE = """
import gc, time
from array import array
from idmwire.sine import SINE
gc.collect()
before = gc.mem_alloc()
import {name} as module
gc.collect()
heap = gc.mem_alloc() - before
x, p, y = (array("i", [0] * size) for size in (4 * module.N_AXES, module.N_PARAMETERS, module.N_AXES + 1))
begun = time.ticks_cpu()
for _ in range({calls}):
    module.inverse_dynamics(x, p, y, SINE, 0)
print(heap, time.ticks_diff(time.ticks_cpu(), begun))
"""


@dataclass(frozen=True)
class ModelCost:
    """Bytes of heap, and instructions of a call, from MicroPython and back."""

    heap: int
    instructions: int


def model_costs(modules: Mapping[str, bytes]) -> dict[str, ModelCost]:
    """The cost of each module, by name; `modules` are .mpy files for ARCHITECTURE.

    Raises RigError where the emulator or its image is missing, LinkError where the board does not get as far.
    """
    image = find_image()
    with tempfile.TemporaryDirectory(prefix="idmkit-") as name:
        folder = Path(name)
        for module, data in modules.items():
            (folder / f"{module}.mpy").write_bytes(data)
        flash = folder / FLASH_FILE
        fill_flash(find_micropython(), flash, sorted(folder.glob("*.mpy")))
        process = FirmwareProcess(lambda buses: [*qemu_command(image, flash, buses), *ICOUNT], {}, folder)
        try:
            process.start(0)
            # The boot window is over at once: waiting takes no time on a board that counts instructions.
            with Board.open(process.port) as board:
                board.request("enter_repl")
            with Repl.enter(process.port, wait_s=_PROMPT_S) as repl:
                return {module: _cost(repl.run(_MEASURE.format(name=module, calls=CALLS))) for module in modules}
        finally:
            process.close()


def _cost(printed: str) -> ModelCost:
    heap, ticks = map(int, printed.split())
    return ModelCost(heap, round(ticks * INSTRUCTIONS_A_TICK / CALLS))
