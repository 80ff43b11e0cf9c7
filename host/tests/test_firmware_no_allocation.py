"""The law "while armed nothing allocates": the whole firmware under a locked heap, with a compiled model.

firmware/tests/no_allocation.py is the script; a MemoryError in 10,000 armed cycles with the link served fails it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_firmware_on_micropython import ROOT, WORDS, micropython

from idmkit.board.settings import parameter_image
from idmkit.fixedpoint import compile_robot, emit_viper
from idmkit.robot import load_robot
from idmwire import properties

VALUES = {
    "I": 0.12, "L2": 0.16, "MgA": 3.0, "gL": 3.9, "Fv": 0.08, "Fc": 0.35, "payload_mass": 0.1, "payload_inertia": 0.001,
}  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
def test_nothing_allocates_while_armed(words: int, tmp_path: Path) -> None:
    robot = load_robot("crank")
    program = compile_robot(robot)
    (tmp_path / "model.py").write_text(emit_viper(program))
    values = {parameter.key: VALUES[parameter.key.split(".")[1]] for parameter in program.parameters}
    image = parameter_image(robot, program, values, generation=1)
    # The script's axis stands at 100 turns, where positions are no small integers on 32-bit words.
    places = properties.slots(1)
    image.values[places["position_min"]], image.values[places["position_max"]] = -(2**31) + 1, 2**31 - 1
    (tmp_path / "parameters.bin").write_bytes(image.pack())
    result = subprocess.run(
        [micropython(words), "-X", "heapsize=1M", "firmware/tests/run.py", "no_allocation"],
        cwd=ROOT,
        env={
            "MICROPYPATH": f"firmware:shared:firmware/tests:{tmp_path}",
            "IDM_BOARD": "script",
            "IDM_STORE": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{result.stdout}{result.stderr}"
    assert not result.stderr
