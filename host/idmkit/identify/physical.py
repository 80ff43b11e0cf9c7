"""What makes parameters physical: bodies have a density, friction dissipates.

The ten parameters of a body belong to a distribution of positive mass if and only if its pseudo-inertia

    P = [[tr(I)/2 E - I, m c], [m c', m]]

is positive (semi)definite (Wensing, Kim and Slotine, 2018), which includes the triangle inequality.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.dynamics.base_parameters import BaseParameters
from idmkit.dynamics.chain import INERTIAL_NAMES
from idmkit.identify.friction import FrictionTerm, Mover

Array = NDArray[np.float64]

NOTHING_WEIGHT, CAD_WEIGHT = 1e-9, 1e-5
"""Weights of the prior: without drawings only what the samples do not see at all is drawn to zero; with drawings, what
they hardly see is drawn to the drawings."""
NONNEGATIVE = ("I", "M", "Ia", "Iam", "Fv", "Fvm", "Fc", "Fcm", "Fl", "Flm")
_SPEEDS = np.linspace(0.02, 1.0, 25)
"""Speeds, in parts of the top speed, at which all friction of a mover together must dissipate."""


@dataclass(frozen=True, eq=False)
class PhysicalModel:
    """Full parameters behind the columns of an estimator.

    Full parameters x [m] are the parameters `names`: ten for each body first, in the order of INERTIAL_NAMES, then
    the rest. Columns of the equations = `mapping` [p, m] @ x. `bodies` counts the bodies. `nonnegative` are places
    in x; `dissipation` [c, m] @ x must not be negative. `prior` [m] is where x goes that the samples do not see, with
    `prior_weights` [m] in parts of the torque's.
    """

    names: tuple[str, ...]
    mapping: Array
    bodies: int
    nonnegative: tuple[int, ...]
    dissipation: Array
    prior: Array
    prior_weights: Array


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise |matrix @ x - target|^2 over physical x [m]; `matrix` [r, m] and `target` [r] are scaled to length 1."""

    model: PhysicalModel
    matrix: Array
    target: Array


def physical_model(
    bodies: Sequence[str],
    base: BaseParameters,
    columns: Sequence[str],
    movers: Sequence[Mover],
    terms: Sequence[FrictionTerm],
    top_speeds: Array,
    cad: dict[str, float] | None = None,
) -> PhysicalModel:
    """The physical model behind `columns`: the base parameters, then the coefficients of `terms`.

    `bodies` are the names of the links, "" for each parameter that the robot's model has no column for; `top_speeds`
    [n] of the movers. `cad` gives values of full parameters from drawings; without, small bodies are preferred.
    """
    inertial = [f"{body}.{name}" for body in bodies for name in INERTIAL_NAMES]
    others = [name for name in base.all_names if name not in inertial]
    keys = [term.key for term in terms]
    names = (*inertial, *others, *keys)
    mapping = np.zeros((len(columns), len(names)))
    mapping[: len(base.names), [names.index(name) for name in base.all_names]] = base.grouping
    mapping[range(len(base.names), len(columns)), range(len(names) - len(keys), len(names))] = 1.0
    nonnegative = tuple(k for k, name in enumerate(names) if name.rpartition(".")[2] in NONNEGATIVE)
    prior = np.array([0.0 if cad is None else cad.get(name, 0.0) for name in names])
    dissipation = _dissipation(names, movers, terms, top_speeds)
    weights = np.full(len(names), NOTHING_WEIGHT)
    if cad is not None:
        weights[: len(inertial)] = CAD_WEIGHT
    return PhysicalModel(names, mapping, len(bodies), nonnegative, dissipation, prior, weights)


def pseudo_inertia(parameters: Array) -> Array:
    """P [4, 4] of the ten parameters of a body in the order of INERTIAL_NAMES."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = parameters
    half = (xx + yy + zz) / 2
    return np.array(
        [[half - xx, -xy, -xz, x], [-xy, half - yy, -yz, y], [-xz, -yz, half - zz, z], [x, y, z, m]], dtype=float
    )


def from_pseudo_inertia(P: Array) -> Array:
    """The ten parameters [10] of P [4, 4]."""
    trace = P[0, 0] + P[1, 1] + P[2, 2]
    return np.array(
        [P[3, 3], P[0, 3], P[1, 3], P[2, 3], trace - P[0, 0], -P[0, 1], trace - P[1, 1], -P[0, 2], -P[1, 2],
         trace - P[2, 2]]
    )  # fmt: skip


def violation(model: PhysicalModel, x: Array) -> float:
    """How far x [m] is outside, relative to its own size: 0 where every body and all friction are physical."""
    worst = 0.0
    for body in range(model.bodies):
        P = pseudo_inertia(x[10 * body : 10 * body + 10])
        values = np.linalg.eigvalsh(P)
        worst = max(worst, -float(values[0]) / max(float(np.abs(values).max()), 1e-300))
    rest = np.concatenate((x[list(model.nonnegative)], model.dissipation @ x))
    scale = np.abs(x[10 * model.bodies :]).max(initial=0.0)
    return max(worst, -float(rest.min(initial=0.0)) / max(float(scale), 1e-300))


def _dissipation(
    names: Sequence[str], movers: Sequence[Mover], terms: Sequence[FrictionTerm], top_speeds: Array
) -> Array:
    """Rows [c, m]: friction of each mover with terms of its own, at speeds in both directions."""
    rows = []
    for k, mover in enumerate(movers):
        own = [term for term in terms if term.mover == mover and term.kind not in ("offset", "Fl")]
        suffix = "m" if mover.coupled else ""
        plain = {f"{mover.axis}.Fv{suffix}", f"{mover.axis}.Fc{suffix}"} & set(names)
        for share in _SPEEDS if own and plain else ():
            u = share * top_speeds[k]
            for sign in (1.0, -1.0):
                row = np.zeros(len(names))
                for name, value in ((f"{mover.axis}.Fv{suffix}", u), (f"{mover.axis}.Fc{suffix}", 1.0)):
                    if name in names:
                        row[names.index(name)] = value
                for term in own:
                    value = sign * term.torque(np.array([sign * u]), np.array([sign]), np.zeros(1))[0]
                    row[names.index(term.key)] = value
                rows.append(row)
    return np.array(rows).reshape(-1, len(names))
