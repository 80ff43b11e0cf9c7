"""How much of a board's heap a module takes, measured where it can be: on the emulated Cortex-M3."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from idmkit.link.repl import Repl
from idmkit.rig.process import FirmwareProcess, find_micropython
from idmkit.rig.qemu import FLASH_FILE, fill_flash, find_image, qemu_command

ARCHITECTURE = "armv7m"
_PROMPT_S = 20.0
# Only what the module holds on to counts, machine code included.
_MEASURE = (
    "import gc\ngc.collect()\nbefore = gc.mem_alloc()\nimport {name}\ngc.collect()\nprint(gc.mem_alloc() - before)"
)


def module_heap(modules: Mapping[str, bytes]) -> dict[str, int]:
    """Bytes of heap that each module takes, by name; `modules` are .mpy files for ARCHITECTURE.

    Raises RigError where the emulator or its image is missing, LinkError where the board does not get as far.
    """
    image = find_image()
    with tempfile.TemporaryDirectory(prefix="idmkit-") as name:
        folder = Path(name)
        for module, data in modules.items():
            (folder / f"{module}.mpy").write_bytes(data)
        flash = folder / FLASH_FILE
        fill_flash(find_micropython(), flash, sorted(folder.glob("*.mpy")))
        process = FirmwareProcess(lambda buses: qemu_command(image, flash, buses), {}, folder)
        try:
            process.start(0)
            with Repl.enter(process.port, wait_s=_PROMPT_S) as repl:
                return {module: int(repl.run(_MEASURE.format(name=module))) for module in modules}
        finally:
            process.close()
