"""The momentum observer: the torque with which the surroundings push, from measured positions and torques.

With the generalised momentum p = M(q) qd and the kinetic energy T = qd' p / 2, Lagrange's equations read

    dp/dt = tau - friction - gravity(q) + dT/dq + tau_external

and no acceleration is needed. Between half cycles p is known from two neighbouring positions, so the change of p over
a cycle gives the mean external torque of that cycle; the residual r is that, low-passed to first order, which is what
the usual observer r = K (p - integral (tau - ... + r)) comes to with K = 2 pi bandwidth.

It runs on the host, over samples that the board streams: a block of samples is 10 to 30 cycles old when it comes, so
this observer judges and warns, while the board's torque error stops.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from idmkit.dynamics.graph import Graph

Array = NDArray[np.float64]

HISTORY = 2
"""Samples before the first residual: a velocity at a sample needs its neighbours."""


class MomentumObserver:
    """External torques of a robot whose model is `graph` with parameters `values` (SI, by key).

    `torque_lags` are the drives' lags between torque and its sample, in cycles in [0, 1]; `bandwidth_hz` is the
    observer's. Parameters that `values` lacks count as 0. A payload that is picked up is another set of values.
    """

    def __init__(
        self,
        graph: Graph,
        values: Mapping[str, float],
        cycle_time_s: float,
        torque_lags: Array,
        bandwidth_hz: float,
    ) -> None:
        self.graph = graph
        self.cycle_time_s = cycle_time_s
        self.torque_lags = np.asarray(torque_lags, dtype=float)
        self.gain = 1 - math.exp(-2 * math.pi * bandwidth_hz * cycle_time_s)
        self._theta = [float(values.get(key, 0.0)) for key in graph.keys]

    @cached_property
    def _functions(self) -> tuple[ca.Function, ca.Function]:
        """p(q, qd), and what stands beside the motor's torque: gravity + friction - dT/dq, of (q, qd, direction)."""
        graph, n = self.graph, self.graph.n_axes
        zero = ca.DM.zeros(n)
        friction_keys = set(graph.keys_of("friction"))
        friction_only = [v if key in friction_keys else 0.0 for key, v in zip(graph.keys, self._theta, strict=True)]

        def torque(*values: Any) -> Any:
            symbols = [graph.q, graph.qd, graph.qdd, graph.direction, graph.theta]
            return ca.substitute([graph.tau], symbols, [ca.SX(value) for value in values])[0]

        q, qd, direction = (ca.SX.sym(name, n) for name in ("q", "qd", "direction"))
        gravity = torque(q, zero, zero, zero, self._theta)
        momentum = torque(q, zero, qd, zero, self._theta) - gravity
        friction = torque(q, qd, zero, direction, friction_only)
        beside = gravity + friction - ca.gradient(ca.dot(qd, momentum) / 2, q)
        return ca.Function("p", [q, qd], [momentum]), ca.Function("beside", [q, qd, direction], [beside])

    def residual(self, position: Array, torque: Array) -> Array:
        """External torques r [S, n] (Nm, N) from positions [S, n] and measured torques [S, n].

        Each is from samples up to its own. The first HISTORY rows are 0.
        """
        T = self.cycle_time_s
        momentum, beside = self._functions
        middle, step = (position[1:] + position[:-1]) / 2, np.diff(position, axis=0) / T
        p = _mapped(momentum, middle, step)
        speed = (position[2:] - position[:-2]) / (2 * T)
        # Coulomb friction turns with the velocity; in a cycle with a reversal, by its mean.
        half = np.abs(step[1:] - step[:-1]) / 2
        direction = np.divide(np.clip(speed, -half, half), half, out=np.sign(speed), where=half > 0)
        lags = self.torque_lags
        driven = (1 - lags) * torque[1:-1] + lags * torque[2:]
        external = np.diff(p, axis=0) / T - driven + _mapped(beside, position[1:-1], speed, direction)
        filtered = lfilter([self.gain], [1, self.gain - 1], external, axis=0)
        return np.vstack((np.zeros((HISTORY, position.shape[1])), filtered))


def _mapped(function: ca.Function, *rows: Array) -> Array:
    """A function of columns over rows [S, n] of its arguments."""
    return np.asarray(function.map(len(rows[0]))(*(part.T for part in rows))).T
