"""idm rig ROBOT: a virtual rig with the real firmware, for hosts that connect to its port."""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Callable
from pathlib import Path

from idmkit.bench import RobotModel, flash_model
from idmkit.cli.benches import open_board
from idmkit.rig import Rig
from idmkit.robot import load_robot

SLICE_S = 0.01
FAST_CYCLES = 50
MOST_BEHIND = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("robot", metavar="ROBOT", help="robot file, or the name of a ready robot")
    parser.add_argument("--realtime", action="store_true", help="as fast as the wall clock, not as fast as it can")
    parser.add_argument("--seed", type=int, default=1, help="of the noise (default 1)")
    parser.add_argument("--folder", type=Path, help="keep the board's files here (default: forgotten at the end)")


def run(arguments: argparse.Namespace) -> int:
    """Prints the port and grants time until interrupted."""
    robot = load_robot(arguments.robot)
    program = RobotModel.of(robot).program
    # A script ends the rig with a SIGTERM: the board and its folder go, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Rig(robot, seed=arguments.seed, folder=arguments.folder) as rig:
            with open_board(rig.port, robot) as board:
                if board.hello.program_hash != program.hash:
                    flash_model(board, program)
            print(f"port: {rig.port}", flush=True)
            print("Ctrl-C ends the rig. In another terminal:", flush=True)
            print(f"  idm identify {rig.port} --robot {arguments.robot}", flush=True)
            grant(rig, robot.cycle_time_s, realtime=arguments.realtime)
    except KeyboardInterrupt:
        print()
    return 0


def grant(rig: Rig, cycle_time_s: float, *, realtime: bool, done: Callable[[], bool] = lambda: False) -> None:
    """Grants time until `done`, by the wall clock or as fast as it goes; a board that runs no cycles gets none.

    While the drives are off nobody waits for the robot, and the wall clock is fast enough.
    """
    due = time.monotonic()
    while not done():
        if not rig.waiting:
            time.sleep(SLICE_S)
            due = time.monotonic()
            continue
        if not realtime and rig.powered:
            rig.advance(FAST_CYCLES)
            due = time.monotonic()
            continue
        cycles = int((time.monotonic() - due) / cycle_time_s)
        if cycles > MOST_BEHIND:
            # Time that a busy machine has lost stays lost: a host's heartbeats could not keep up with the catching up.
            due += (cycles - 1) * cycle_time_s
        elif cycles:
            rig.advance(cycles)
            due += cycles * cycle_time_s
        else:
            time.sleep(cycle_time_s)
