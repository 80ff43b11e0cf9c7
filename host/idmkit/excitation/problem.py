"""The optimisation problem of a Fourier plan over CasADi symbols: variables, criterion, limits on a grid.

Variables of an axis: its middle as a part of half its range, then coordinates in the space of series at rest as parts
of its top speed; all of order 1. Every limit gives a row a sample, (value - middle of the limit)/half of it, which must
stay within +-1 and, so that this holds between the samples too, a little less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from idmkit.excitation.criterion import ExcitedModel, criterion_function
from idmkit.excitation.fourier import PROOF_POINTS, Array, FourierSeries, harmonic_matrix, rest_basis
from idmkit.excitation.kinematics import tool_position
from idmkit.excitation.limits import Limit, Limits

POINTS_PER_HARMONIC = 12
"""Samples a period, times the degree. What lies between them is allowed for by Ehlich and Zeller's factor."""
MARGIN = math.cos(math.pi / POINTS_PER_HARMONIC) * math.cos(math.pi / PROOF_POINTS)
"""Share of a limit on position and its derivatives that samples may use, so that the proof holds between them."""


@dataclass(frozen=True, eq=False)
class Problem:
    """`objective` and `rows` are MX of `x`. Row r belongs to `limits[owner[r]]` and must be in +-bound[r]."""

    x: Any
    objective: Any
    rows: Any
    bound: Array
    owner: NDArray[np.intp]
    limits: tuple[Limit, ...]
    period_s: float
    harmonics: int

    def series(self, x: Array, model: ExcitedModel) -> FourierSeries:
        """The motion of a solution."""
        axes = model.robot.axes
        parts = np.reshape(x, (len(axes), -1))
        low, high = (np.array([getattr(axis, f"position_{end}") for axis in axes]) for end in ("min", "max"))
        top = np.array([axis.velocity_max for axis in axes])
        both = top[:, None] * (parts[:, 1:] @ rest_basis(self.harmonics).T)
        offset = (low + high) / 2 + (high - low) / 2 * parts[:, 0]
        return FourierSeries(self.period_s, offset, both[:, : self.harmonics], both[:, self.harmonics :])


def build_problem(
    model: ExcitedModel, limits: Limits, *, criterion: str, period_s: float, harmonics: int, torque_margin: float
) -> Problem:
    """Problem on POINTS_PER_HARMONIC samples a harmonic; torque and box keep `torque_margin` of their limits free."""
    n = len(model.robot.axes)
    points = POINTS_PER_HARMONIC * harmonics
    t = np.arange(points, dtype=np.float64) * np.float64(period_s / points)
    basis = rest_basis(harmonics)
    x = ca.MX.sym("x", n * (1 + basis.shape[1]))
    parts = ca.reshape(x, 1 + basis.shape[1], n)
    bounded = _Rows([], [], [], [])
    states = _states(model, limits, parts, t, basis, period_s, bounded)
    graph = model.graph
    for group, expressions in ((limits.torque, _torques), (limits.box, _tool)):
        if not group:
            continue
        outputs = expressions(model)
        values = ca.Function("limited", [graph.q, graph.qd, graph.qdd], outputs).map(points)(*states[:3])
        for value in values if len(outputs) > 1 else [values]:
            for j, limit in enumerate(group):
                bounded.add(limit, value[j, :].T, 1 - torque_margin)
    columns_t = model.weighted_rows().map(points)(*states[:3])
    # Of the mean of the samples: the number of points should not show.
    M = columns_t @ columns_t.T / points
    objective = criterion_function(criterion, len(model.names))(M)
    if criterion == "logdet":
        objective /= len(model.names)
    return Problem(
        x=x,
        objective=objective,
        rows=ca.vertcat(*bounded.rows),
        bound=np.array(bounded.bounds),
        owner=np.array(bounded.owners, dtype=np.intp),
        limits=tuple(bounded.limits),
        period_s=period_s,
        harmonics=harmonics,
    )


@dataclass
class _Rows:
    """Rows of a problem while they are collected; see `Problem`."""

    rows: list[Any]
    bounds: list[float]
    owners: list[int]
    limits: list[Limit]

    def add(self, limit: Limit, value: Any, bound: float) -> None:
        """One row a sample for `value` [N]."""
        if limit not in self.limits:
            self.limits.append(limit)
        self.rows.append((value - (limit.low + limit.high) / 2) / ((limit.high - limit.low) / 2))
        self.bounds += [bound] * value.numel()
        self.owners += [self.limits.index(limit)] * value.numel()


def _states(
    model: ExcitedModel, limits: Limits, parts: Any, t: Array, basis: Array, period_s: float, bounded: _Rows
) -> list[Any]:
    """q, qd, qdd, jerk [n, N] as MX of the variables, their limits added to `bounded`."""
    harmonics = basis.shape[0] // 2
    steepest = harmonics * 2 * math.pi / period_s
    states = []
    for k, kind in enumerate(limits.states):
        matrix = ca.DM(harmonic_matrix(t, period_s, harmonics, k) @ basis)
        columns = []
        for j, (axis, limit) in enumerate(zip(model.robot.axes, kind, strict=True)):
            value = axis.velocity_max * (matrix @ parts[1:, j])
            if k == 0:
                value += (limit.low + limit.high) / 2 + (limit.high - limit.low) / 2 * parts[0, j]
            columns.append(value)
            # Bernstein: a derivative is at most H w times what is derived; often the limit then follows from the last.
            if k < 2 or steepest * limits.states[k - 1][j].high > limit.high:
                bounded.add(limit, value, MARGIN)
        states.append(ca.horzcat(*columns).T)
    return states


def _torques(model: ExcitedModel) -> list[Any]:
    """Torques [n] with Coulomb friction that changes its sign half a threshold early, and late: both are possible."""
    graph, torque = model.graph, model.torque_expression()
    ratio = graph.qd / ca.DM(model.thresholds)
    return [ca.substitute(torque, graph.direction, ca.tanh(6 * ratio + sign * 3)) for sign in (1, -1)]


def _tool(model: ExcitedModel) -> list[Any]:
    return [tool_position(model.robot, model.graph.q)]
