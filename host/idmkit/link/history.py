"""Faults of the past and the samples around the newest one, as the board kept them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idmkit.board import units
from idmkit.board.faults import fault_text
from idmkit.link.client import Board
from idmkit.link.refusals import Refusal
from idmwire import faults


@dataclass(frozen=True)
class FaultRecord:
    """One fault. `value` is what was measured, `limit` what it was held against, in SI; NaN where neither is."""

    fault: str
    axis: int
    cycle: int
    value: float
    limit: float
    unit: str


@dataclass(frozen=True)
class Trace:
    """Samples around the newest fault: `cycles` [S]; the others [S, axes] in counts (position, torque)."""

    cycles: NDArray[np.int64]
    position_command: NDArray[np.int32]
    position_feedback: NDArray[np.int32]
    torque_command: NDArray[np.int32]
    torque_feedback: NDArray[np.int32]


def read_faults(board: Board) -> list[FaultRecord]:
    """The faults that the board remembers, the newest first."""
    records: list[FaultRecord] = []
    held = 1
    while len(records) < held:
        answer = board.request("read_fault", index=len(records))
        held = answer["count"]
        if held == 0:
            break
        name = faults.FAULT_NAMES.get(answer["fault"], f"fault {answer['fault']}")
        axis = answer["axis"]
        quantity = fault_text(name).quantity
        revolute = axis >= len(board.joints) or board.joints[axis] == "revolute"
        value, limit = (
            units.value(answer[key], quantity, revolute=revolute) if quantity else float("nan")
            for key in ("value", "limit")
        )
        unit = units.unit(quantity, revolute=revolute) if quantity else ""
        records.append(FaultRecord(name, axis, answer["cycle"], value, limit, unit))
    return records


def read_trace(board: Board) -> Trace:
    """The samples that the board kept around its newest fault, the oldest first; empty when it kept none."""
    rows: list[dict[str, Any]] = []
    held = 1
    while len(rows) < held:
        try:
            answer = board.request("read_trace", sample=len(rows))
        except Refusal as refusal:
            if refusal.reason != "out_of_range":
                raise
            break
        held = answer["samples"]
        rows.append(answer)

    def column(name: str) -> NDArray[np.int32]:
        return np.array([row[name] for row in rows], dtype=np.int32).reshape(len(rows), board.axes)

    return Trace(
        np.array([row["cycle"] for row in rows], dtype=np.int64),
        column("position_command"),
        column("position_feedback"),
        column("torque_command"),
        column("torque_feedback"),
    )
