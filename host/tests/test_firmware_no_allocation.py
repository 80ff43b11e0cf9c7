"""The law "while armed nothing allocates": the whole firmware under a locked heap, with a compiled model.

firmware/tests/no_allocation.py is the script; a MemoryError in 10,000 armed cycles with the link served fails it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from runtimes import ROOT, WORDS, micropython
from test_rig import two_axes

from idmkit.board.posture import table_over
from idmkit.board.settings import parameter_image
from idmkit.fixedpoint import compile_robot, emit_viper
from idmwire import properties
from idmwire.slot import seal

VALUES = {
    "crank": {
        "I": 0.12, "L2": 0.16, "MgA": 3.0, "gL": 3.9, "Fv": 0.08, "Fc": 0.35,
        "payload_mass": 0.1, "payload_inertia": 0.001,
    },
    "slide": {"M": 12.0, "Mgcos": 100.0, "gcos": 8.5, "Fv": 24.0, "Fc": 18.0, "payload_mass": 0.5},
}  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
def test_nothing_allocates_while_armed(words: int, tmp_path: Path) -> None:
    robot = two_axes()
    program = compile_robot(robot)
    (tmp_path / "model.py").write_text(emit_viper(program))
    values = {}
    for parameter in program.parameters:
        axis, name = parameter.key.split(".")
        values[parameter.key] = VALUES[axis].get(name, 0.0)
    # Friction of the first axis by the place of the second.
    tables = [word for name in ("Fv", "Fc") for word in table_over(f"crank.{name}", 1, [0, 1], [0, 0.4]).words(program)]
    image = parameter_image(robot, program, values, generation=1, tables=tables)
    # The script's first axis stands at 100 turns, where positions are no small integers on 32-bit words.
    places = properties.slots(2)
    image.values[places["torque_lead"]] = 24_000
    for axis in range(2):
        image.values[places["position_min"] + axis] = -(2**31) + 1
        image.values[places["position_max"] + axis] = 2**31 - 1
    (tmp_path / "parameters.a").mkdir()
    (tmp_path / "parameters.a" / "slot.bin").write_bytes(seal(image.pack(), 1))
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
