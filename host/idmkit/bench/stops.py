"""Defined stops, shown: a torque threshold that trips, and a collision that is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from idmkit.bench.bench import Bench
from idmkit.bench.moves import move_time, move_to
from idmkit.bench.performance import named
from idmkit.bench.prove import fast_move
from idmkit.bench.run import COLLISION, Run, capture_while
from idmkit.errors import IdentificationError
from idmkit.link import motion
from idmkit.link.blocks import CYCLES
from idmkit.link.history import FaultRecord, read_faults

MARGIN = 3.0
"""A collision threshold above the largest torque error of free motion: the error of a motion not yet tried."""
SHARE = 0.6
"""The torque threshold of the shown stop, as a share of the torque that the same move needs."""
COLLISION_SPEED = 0.4
"""The move into the wall, against the fastest one."""
AFTER_S = 0.5


@dataclass(frozen=True)
class ThresholdStop:
    """A move whose model torque passed TorqueThreshold. `travel` is the way from the trip to rest, rad or m."""

    fault: FaultRecord
    needed: float
    travel: float
    at_rest: bool


@dataclass(frozen=True, eq=False)
class Collision:
    """A move into a wall. `delay_cycles` from the first contact to the latched fault, None where contact is unknown."""

    threshold: float
    free_error: float
    fault: FaultRecord
    delay_cycles: int | None
    peak_torque: float
    run: Run


def threshold_stop(bench: Bench, axis: int, start: list[float], target: list[float]) -> ThresholdStop:
    """Lowers TorqueThreshold of `axis` below what a fast move needs, moves, and puts it back.

    The model must be on. Raises IdentificationError when nothing trips.
    """
    board = bench.board
    name = bench.robot.axes[axis].name
    before = board.read("torque_threshold", axis)
    with bench.armed():
        move_to(bench, start)
        free = fast_move(bench, start, target, AFTER_S)
        needed = float(np.abs(named(free.record, name, "torque_command")).max())
        move_to(bench, start)
        board.write("torque_threshold", SHARE * needed, axis)
        try:
            run = fast_move_into_fault(bench, start, target)
        finally:
            board.write("torque_threshold", before, axis)
        fault = _newest(bench, "torque_threshold")
        board.clear_fault()
    command = named(run.record, name, "position_command")
    tripped = (fault.cycle - run.first_cycle) % CYCLES
    return ThresholdStop(fault, needed, float(abs(command[-1] - command[tripped])), bool(np.ptp(command[-50:]) == 0.0))


def collide(
    bench: Bench,
    axis: int,
    start: list[float],
    target: list[float],
    place_wall: Callable[[bool], None],
    contact_cycle: Callable[[], int | None],
) -> Collision:
    """Moves freely, sets TorqueErrorMax above the largest error seen, puts the wall up and moves again.

    `place_wall(up)` puts a wall in the way or takes it away, `contact_cycle()` says in which board cycle it was first
    touched. The model must be on. Raises IdentificationError when the collision is not found.
    """
    board = bench.board
    name = bench.robot.axes[axis].name
    limit = board.read("torque_error_max", axis)
    board.write("torque_error_enable", 1, axis)
    try:
        with bench.armed():
            move_to(bench, start)
            free = fast_move_into_fault(bench, start, target, COLLISION_SPEED)
            error = float(np.abs(named(free.record, name, "torque_error")).max())
            bench.settle()
            move_to(bench, start)
            board.write("torque_error_max", MARGIN * error, axis)
            place_wall(True)
            try:
                run = fast_move_into_fault(bench, start, target, COLLISION_SPEED)
                fault = _newest(bench, "collision")
                contact = contact_cycle()
            finally:
                place_wall(False)
            board.clear_fault()
    finally:
        board.write("torque_error_max", limit, axis)
    return Collision(
        MARGIN * error,
        error,
        fault,
        None if contact is None else fault.cycle - contact,
        float(np.abs(named(run.record, name, "torque_feedback")).max()),
        run,
    )


def fast_move_into_fault(bench: Bench, start: list[float], target: list[float], speed: float = 1.0) -> Run:
    """A fast move that may end in a fault; recorded with AFTER_S behind it. Does not wait for the axes to hold."""
    cycles = bench.cycles(move_time(bench.robot, start, target) / speed)
    return capture_while(
        bench,
        (*COLLISION, "torque_command"),
        cycles + bench.cycles(AFTER_S),
        lambda cycle: motion.move(bench.board, target, cycles, start_cycle=cycle),
    )


def _newest(bench: Bench, expected: str) -> FaultRecord:
    status = bench.board.status()
    if status.fault != expected:
        raise IdentificationError(
            f"the move should have ended in the fault {expected}, but the board reports {status.fault or 'none'}; "
            f"look at its torque error and thresholds"
        )
    # Milder faults that came after it are remembered, too.
    return next(record for record in read_faults(bench.board) if record.fault == expected)
