"""Friction beyond viscous and Coulomb: terms that a ladder may add, each linear in its coefficient.

A mover is what friction acts on: an axis, or a motor that turns several axes. At the mover's speed u, with
direction d (the sign of u) and the load l that the gear carries, the terms are

    offset  1                  a constant
    Fa      |u|                viscous friction that differs between the directions
    Fs      d exp(-|u| / vs)   Stribeck: more (or less) friction at low speed, vs the speed at which it fades
    F2      u |u|              viscous friction that grows faster or slower than the speed
    Fl      d |l|              friction in proportion to the load

An axis j that turns the mover with ratio c_j gets c_j times the mover's friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import IdentificationError
from idmkit.identify.observations import LinearModel, mean_direction
from idmkit.signals import low_pass

Array = NDArray[np.float64]
Kind = Literal["offset", "Fa", "Fs", "F2", "Fl"]

STRIBECK_SPEEDS = (0.03, 0.1, 0.3)
"""Speeds vs that are tried, in parts of the mover's top speed."""
_UNITS = {
    True: {"offset": "Nm", "Fa": "Nm s/rad", "Fs": "Nm", "F2": "Nm s^2/rad^2", "Fl": "1"},
    False: {"offset": "N", "Fa": "N s/m", "Fs": "N", "F2": "N s^2/m^2", "Fl": "1"},
}


@dataclass(frozen=True)
class Mover:
    """Friction acts at the speed ratios . qd and loads axis j with `ratios[j]` times itself.

    `axis` names it; `coupled` says that it is the motor of this axis which turns others, too.
    """

    axis: str
    coupled: bool
    revolute: bool
    ratios: tuple[float, ...]


@dataclass(frozen=True)
class FrictionTerm:
    """One term of one mover; `speed` is vs (rad/s or m/s) of a Stribeck term."""

    mover: Mover
    kind: Kind
    speed: float = 0.0

    @property
    def key(self) -> str:
        """Name of the coefficient: "axis.Fs", of a coupled motor "axis.Fsm"."""
        return f"{self.mover.axis}.{self.kind}{'m' if self.mover.coupled else ''}"

    @property
    def label(self) -> str:
        """Unique among candidates, too: with the speed of a Stribeck term."""
        return f"{self.key}({self.speed:.4g})" if self.kind == "Fs" else self.key

    @property
    def unit(self) -> str:
        """SI unit of the coefficient."""
        return _UNITS[self.mover.revolute][self.kind]

    def torque(self, u: Array, direction: Array, load: Array) -> Array:
        """Torque [S] for a coefficient of 1."""
        if self.kind == "offset":
            return np.ones_like(u)
        if self.kind == "Fa":
            return np.abs(u)
        if self.kind == "Fs":
            return np.asarray(direction * np.exp(-np.abs(u) / self.speed))
        return np.asarray(u * np.abs(u) if self.kind == "F2" else direction * np.abs(load))


def movers_of(axes: Sequence[str], revolute: Sequence[bool], speeds: Array | None = None) -> tuple[Mover, ...]:
    """One mover an axis. `speeds` [n, n]: motor speeds behind their own gears = speeds @ joint speeds."""
    ratios = np.eye(len(axes)) if speeds is None else speeds
    return tuple(
        Mover(axis, bool(np.count_nonzero(row) > 1), turns, tuple(float(value) for value in row))
        for axis, turns, row in zip(axes, revolute, ratios, strict=True)
    )


def candidate_terms(movers: Sequence[Mover], present: Sequence[str], qd: Array) -> list[FrictionTerm]:
    """The terms that a ladder may add to a model whose parameters are `present`, for speeds qd [S, n]."""
    terms = []
    for mover in movers:
        top = float(np.abs(qd @ np.array(mover.ratios)).max())
        if top == 0:
            continue
        if f"{mover.axis}.offset" not in present:
            terms.append(FrictionTerm(mover, "offset"))
        terms.append(FrictionTerm(mover, "Fa"))
        terms += [FrictionTerm(mover, "Fs", share * top) for share in STRIBECK_SPEEDS]
        terms += [FrictionTerm(mover, "F2"), FrictionTerm(mover, "Fl")]
    return terms


class WithFriction:
    """A linear model with friction terms added as columns behind its own.

    `movers` are all n movers, in the order of the axes. `load` maps the names of some of the model's columns to
    values: they make the torque of the bodies, from which the load of each mover follows. It is low-passed at
    `cutoff_hz` before its absolute value is taken, which would turn noise into load. `sample_rate_hz` places reversals
    between samples.
    """

    def __init__(
        self,
        model: LinearModel,
        movers: Sequence[Mover],
        terms: Sequence[FrictionTerm],
        load: dict[str, float],
        sample_rate_hz: float,
        cutoff_hz: float,
    ) -> None:
        keys = [term.key for term in terms]
        self.names = (*model.names, *(keys if len(set(keys)) == len(keys) else [term.label for term in terms]))
        if len(set(self.names)) != len(self.names):
            raise IdentificationError(f"two parameters have one name: {', '.join(self.names)}")
        self._model = model
        self._terms = [(movers.index(term.mover), term) for term in terms]
        self._ratios = np.array([mover.ratios for mover in movers])
        self._load_columns = [model.names.index(name) for name in load]
        self._load_values = np.array(list(load.values()))
        self._rate = sample_rate_hz
        self._cutoff_hz = cutoff_hz

    def __call__(self, q: Array, qd: Array, qdd: Array, direction: Array) -> tuple[Array, Array]:
        """(Y [n, S, p], offset [n, S]) as the model's own, with the terms' columns behind."""
        own, offset = self._model(q, qd, qdd, direction)
        u = qd @ self._ratios.T
        d = mean_direction(u, qdd @ self._ratios.T, self._rate)
        bodies = own[:, :, self._load_columns] @ self._load_values
        # Virtual work: motor torques = speeds^-T joint torques.
        carried = np.linalg.solve(self._ratios.T, low_pass(bodies.T, self._rate, self._cutoff_hz).T)
        added = np.empty((*own.shape[:2], len(self._terms)))
        for place, (k, term) in enumerate(self._terms):
            added[:, :, place] = self._ratios[k][:, None] * term.torque(u[:, k], d[:, k], carried[k])
        return np.concatenate((own, added), axis=2), offset
