"""Base parameters: which of a model's parameters the motion can tell apart, and how the rest adds to them.

A small random regressor decides. Its columns are scaled to length 1, so that the decision does not depend on units.
They are taken in a fixed order of preference; a column is a base parameter when what its predecessors leave of it
is more than rounding. So the choice is the same in every run, and what comes first in the order stays by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from idmkit.dynamics.graph import Graph
from idmkit.dynamics.regressor import Regressor
from idmkit.dynamics.rotations import Array
from idmkit.errors import ModelError

DEPENDENT = 1e-8
"""Share of a scaled column that its predecessors leave, below which it depends on them. Rounding leaves 1e-13."""

NOTHING = 1e-12
"""Length of a column relative to the longest (all in SI units) below which it holds only rounding."""

WEAK = (1e-12, 1e-4)
"""Shares in this range are neither rounding nor a clear parameter: axes that are almost parallel, say."""


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """b base parameters of a model with p columns.

    `names`: keys of the columns that stand for them, in the regressor's order; `columns` their indices.
    `grouping` [b, p]: base values = grouping @ values of all columns; the rest of a base parameter's name.
    `dependent`: keys of the other columns. `shares` maps each key to what its predecessors left of its column;
    `weak` are the keys whose share lies in the range WEAK.
    """

    names: tuple[str, ...]
    columns: tuple[int, ...]
    dependent: tuple[str, ...]
    grouping: Array
    all_names: tuple[str, ...]
    shares: dict[str, float]
    weak: tuple[str, ...]

    def index(self, name: str) -> int:
        """Place of a key among all columns; ModelError for one that is none of them."""
        if name not in self.all_names:
            raise ModelError(f"{name!r} is no column of the regressor; columns are {', '.join(self.all_names)}")
        return self.all_names.index(name)

    def values(self, theta: ArrayLike) -> Array:
        """Base values [b] (or [b, k]) of values [p] ([p, k]) of all columns."""
        return np.asarray(self.grouping @ np.asarray(theta, dtype=float))

    def expression(self, name: str) -> str:
        """A base parameter written out: "joint_2.mx + 0.225 joint_3.m + ..."."""
        row = self.grouping[self.names.index(name)]
        own = self.index(name)
        terms = [name]
        for column in np.flatnonzero(row):
            if column == own:
                continue
            size = abs(row[column])
            factor = "" if abs(size - 1) < 1e-9 else f"{size:.6g} "
            terms.append(f"{'-' if row[column] < 0 else '+'} {factor}{self.all_names[column]}")
        return " ".join(terms)


def base_graph(graph: Graph, base: BaseParameters) -> Graph:
    """The graph of the base parameters alone: the same torque at `BaseParameters.values`, in fewer operations.

    Parameters that act only together with others are 0 in it; a payload stays as it is.
    """
    kept = [k for k, parameter in enumerate(graph.parameters) if parameter.kind == "payload"]
    kept = sorted({*kept, *(graph.index(name) for name in base.names)})
    theta = ca.vertcat(*(graph.theta[k] if k in kept else ca.SX(0) for k in range(len(graph.parameters))))
    return replace(
        graph,
        parameters=tuple(graph.parameters[k] for k in kept),
        theta=graph.theta[kept],
        tau=ca.substitute(graph.tau, graph.theta, theta),
    )


def base_parameters(
    regressor: Regressor,
    *,
    order: Sequence[str] = (),
    keep: Sequence[str] = (),
    position_limits: ArrayLike | None = None,
    seed: int = 0,
) -> BaseParameters:
    """Finds the base parameters of a regressor.

    `order`: keys in order of preference; those left out come first, as they stand. `keep`: keys to prefer to all
    others, since their values are known or wanted by themselves. `position_limits` [n, 2] (rad, m; default
    +-pi and +-1): where the robot can go. Raises ModelError for an unknown key.
    """
    unknown = [key for key in (*order, *keep) if key not in regressor.names and key not in regressor.vanished]
    if unknown:
        raise ModelError(f"the model has no parameter {', '.join(unknown)}; it has {', '.join(regressor.names)}")
    W = _random_rows(regressor, position_limits, seed)
    lengths = np.linalg.norm(W, axis=0)
    W[:, lengths < NOTHING * lengths.max()] = 0.0
    lengths[lengths < NOTHING * lengths.max()] = 1.0
    W = W / lengths
    sequence = _sequence(regressor.names, order, keep)
    chosen, Q, shares = _choose(W, sequence)
    others = [k for k in range(len(regressor.names)) if k not in chosen]
    columns = tuple(sorted(chosen))
    places = {column: place for place, column in enumerate(columns)}
    grouping = np.zeros((len(columns), len(regressor.names)))
    grouping[range(len(columns)), columns] = 1.0
    R = Q.T @ W
    scaled = np.linalg.solve(R[:, chosen], R[:, others])
    scaled[np.abs(scaled) < DEPENDENT] = 0.0
    rows = [places[k] for k in chosen]
    grouping[np.ix_(rows, others)] = scaled * lengths[others] / lengths[chosen][:, None]
    names = regressor.names
    return BaseParameters(
        names=tuple(names[k] for k in columns),
        columns=columns,
        dependent=tuple(names[k] for k in others),
        grouping=grouping,
        all_names=names,
        shares={names[k]: share for k, share in shares.items()},
        weak=tuple(names[k] for k, share in sorted(shares.items()) if WEAK[0] < share < WEAK[1]),
    )


def _random_rows(regressor: Regressor, limits: ArrayLike | None, seed: int) -> Array:
    """Regressor [n N, p] at random states, with ten rows and more a column."""
    n = regressor.n_axes
    count = 10 + 10 * len(regressor.names) // n
    rng = np.random.default_rng(seed)
    bounds = np.tile([-np.pi, np.pi], (n, 1)) if limits is None else np.asarray(limits, dtype=float)
    if bounds.shape != (n, 2) or not np.all(bounds[:, 0] < bounds[:, 1]):
        raise ModelError(f"position limits must be {n} pairs (low, high), got {bounds.tolist()}")
    q = rng.uniform(bounds[:, 0], bounds[:, 1], (count, n))
    # Speeds and accelerations of order 1 beside gravity of order 10 would leave rotor inertias small shares.
    qd, qdd = rng.uniform(-5, 5, (count, n)), rng.uniform(-20, 20, (count, n))
    Y, _ = regressor(q, qd, qdd)
    return np.ascontiguousarray(Y.reshape(n * count, -1))


def _sequence(names: tuple[str, ...], order: Sequence[str], keep: Sequence[str]) -> list[int]:
    ranks = {key: place for place, key in enumerate(order)}
    ranks |= {key: place - len(keep) - 1 for place, key in enumerate(keep)}
    return sorted(range(len(names)), key=lambda k: (ranks.get(names[k], -0.5), k))


def _choose(W: Array, sequence: list[int]) -> tuple[list[int], Array, dict[int, float]]:
    """(columns that their predecessors leave something of, an orthonormal basis of them [rows, b], all shares)."""
    basis = np.zeros(W.shape, order="F")
    chosen: list[int] = []
    shares: dict[int, float] = {}
    for k in sequence:
        Q = basis[:, : len(chosen)]
        rest = W[:, k].copy()
        # Gram-Schmidt, twice: the first pass leaves rounding of the size that was removed.
        for _ in range(2):
            rest -= Q @ (Q.T @ rest)
        shares[k] = float(np.linalg.norm(rest))
        if shares[k] > DEPENDENT:
            basis[:, len(chosen)] = rest / shares[k]
            chosen.append(k)
    return chosen, basis[:, : len(chosen)], shares
