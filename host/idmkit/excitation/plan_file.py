"""Plans as files: JSON with what the motion is made of, and what was proved. Read back and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from idmkit.errors import IdentificationError, IdmError
from idmkit.excitation.fourier import Array, FourierSeries
from idmkit.excitation.limits import Limit, Proof
from idmkit.excitation.plan import Plan
from idmkit.excitation.trapezoid import Move, TrapezoidPlan, Trapezoids
from idmkit.files import read_json, write_text

SCHEMA = 1
REST = 1e-9
"""Speed at the ends of a series, relative to its largest amplitude: more than rounding leaves."""


def save_plan(plan: Plan | TrapezoidPlan, path: Path) -> None:
    """Writes a plan, all of it or nothing; equal plans give equal files."""
    data: dict[str, Any] = {"schema": SCHEMA, "kind": "", "robot": plan.robot, "axes": list(plan.axes)}
    if isinstance(plan, Plan):
        series = plan.series
        data |= {
            "kind": "fourier",
            "period_s": series.period_s,
            "periods": plan.periods,
            "criterion": plan.criterion,
            "seed": plan.seed,
            "outcomes": list(plan.outcomes),
            "offset": series.offset.tolist(),
            "a": series.a.tolist(),
            "b": series.b.tolist(),
        }
    else:
        motion = plan.motion
        data |= {
            "kind": "trapezoid",
            "duration_s": motion.duration_s,
            "accelerations_used": plan.accelerations_used,
            "start": motion.start.tolist(),
            "moves": [[asdict(move) for move in moves] for moves in motion.moves],
        }
    data["proofs"] = [
        asdict(proof.limit) | {"proved_low": proof.low, "proved_high": proof.high} for proof in plan.proofs
    ]
    write_text(path, json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def load_plan(path: Path) -> Plan | TrapezoidPlan:
    """Reads a plan; raises IdmError that says what is wrong with the file."""
    data = read_json(path)
    try:
        if data["schema"] != SCHEMA:
            raise IdmError(f"{path} has plan schema {data['schema']!r}, this program reads {SCHEMA}; plan again")
        axes = tuple(str(name) for name in data["axes"])
        proofs = tuple(_proof(entry) for entry in data["proofs"])
        if data["kind"] == "fourier":
            return _fourier(data, axes, proofs)
        if data["kind"] == "trapezoid":
            return _trapezoid(data, axes, proofs)
    except IdentificationError as problem:
        raise IdmError(f"{path} is no plan that can be run: {problem}") from problem
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        raise IdmError(f"{path} is no plan of this program: {problem!r}") from problem
    raise IdmError(f"{path} is a plan of kind {data['kind']!r}; there are fourier and trapezoid")


def _fourier(data: Mapping[str, Any], axes: tuple[str, ...], proofs: tuple[Proof, ...]) -> Plan:
    offset = _numbers(data["offset"], (len(axes),))
    a = _numbers(data["a"], (len(axes), len(data["a"][0])))
    b = _numbers(data["b"], a.shape)
    period_s, periods = float(data["period_s"]), int(data["periods"])
    if not (period_s > 0 and periods >= 1):
        raise IdentificationError(f"{periods} periods of {period_s:g} s are no motion")
    harmonics = np.arange(1, a.shape[1] + 1)
    left = max(np.abs(a.sum(axis=1)).max(), np.abs((b * harmonics).sum(axis=1)).max())
    if left > REST * max(np.abs(a).max(), np.abs(b * harmonics).max()):
        raise IdentificationError("the series is not at rest at its ends: sum a and sum l b must vanish")
    return Plan(
        robot=str(data["robot"]),
        axes=axes,
        series=FourierSeries(period_s, offset, a, b),
        periods=periods,
        criterion=str(data["criterion"]),
        seed=int(data["seed"]),
        outcomes=tuple(None if value is None else float(value) for value in data["outcomes"]),
        proofs=proofs,
    )


def _trapezoid(data: Mapping[str, Any], axes: tuple[str, ...], proofs: tuple[Proof, ...]) -> TrapezoidPlan:
    moves = tuple(tuple(Move(**move) for move in own) for own in data["moves"])
    motion = Trapezoids(float(data["duration_s"]), _numbers(data["start"], (len(axes),)), moves)
    return TrapezoidPlan(str(data["robot"]), axes, motion, float(data["accelerations_used"]), proofs)


def _numbers(values: Any, shape: tuple[int, ...]) -> Array:
    array = np.array(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{array.shape} numbers where {shape} finite ones belong")
    return array


def _proof(entry: Mapping[str, Any]) -> Proof:
    limit = Limit(*(entry[name] for name in ("kind", "name", "low", "high", "unit")))
    return Proof(limit, float(entry["proved_low"]), float(entry["proved_high"]))
