"""How much a motion tells about the parameters: the information matrix of the base parameters.

    M = sum_k W_k' S^-2 W_k,   W_k: base regressor of sample k, columns scaled;   S: torque noise of the joints

so M^-1 is the covariance of the scaled parameters. A parameter is scaled by the torque that it makes, root mean
square in units of the noise, at random states within the limits: the scale depends on the robot alone, not on the
motion, and motions can be compared by trace(M^-1). Samples slower than an axis' velocity threshold do not count for
that axis, as in the fit.

Criteria, all to be made small: "logdet" = -log det M (volume of the confidence ellipsoid, independent of the scale),
"trace" = log trace M^-1, "condition" = log(trace M trace M^-1)/2, which bounds the condition number kappa of the
scaled regressor, as kappa <= exp(condition) <= p kappa, and is smooth where kappa is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from idmkit.dynamics.graph import Graph
from idmkit.dynamics.regressor import Regressor
from idmkit.errors import ModelError
from idmkit.excitation.fourier import Array
from idmkit.robot import Robot
from idmkit.robot_graph import robot_graph
from idmkit.unknowns import unknowns_of

CRITERIA = ("logdet", "trace", "condition")

NOISE_SHARE = 0.01
"""Torque noise of a joint as a part of its rated torque, where nothing better is known."""
REFERENCE_STATES = 2000
BLIND = 1e-12
"""Smallest over largest eigenvalue of M below which a motion leaves parameters open."""


@dataclass(frozen=True, eq=False)
class ExcitedModel:
    """What is to be identified of a robot, and how well torques are measured.

    `names` [p]: base parameters, `scale` [p] their columns' root mean square at random states over the noise;
    `noise` [n]: standard deviation of the joints' torque (Nm, N), equal for all samples; `thresholds` [n]: velocity
    thresholds (rad/s, m/s). `nominal`: values of all parameters that make torque, None where they are not known.
    """

    robot: Robot
    graph: Graph
    regressor: Regressor
    known: dict[str, float]
    noise: Array
    thresholds: Array
    scale: Array
    nominal: dict[str, float] | None

    @property
    def names(self) -> tuple[str, ...]:
        """Keys of the p base parameters."""
        return self.regressor.names

    def information(self, q: Array, qd: Array, qdd: Array) -> Array:
        """M [p, p] of the samples [N, n], with sign(qd) and the thresholds as the fit has them."""
        M = np.zeros((len(self.names), len(self.names)))
        for rows in self.regressor.rows(q, qd, qdd):
            columns = self.regressor.columns[rows.axis]
            fast = np.abs(qd[rows.samples, rows.axis]) > self.thresholds[rows.axis]
            part = rows.matrix[fast] / (self.scale[columns] * self.noise[rows.axis])
            M[np.ix_(columns, columns)] += part.T @ part
        return M

    def torque_expression(self) -> Any:
        """Torques, SX [n], with the nominal parameters; ModelError where there are none."""
        if self.nominal is None:
            raise ModelError("torque limits need nominal parameters")
        values = [self.nominal.get(key, self.known.get(key, 0.0)) for key in self.graph.keys]
        return ca.densify(ca.substitute(self.graph.tau, self.graph.theta, ca.SX(ca.DM(values))))

    def weighted_rows(self) -> ca.Function:
        """(q, qd, qdd) -> scaled and weighted regressor, transposed [p, n], smooth.

        A row fades out below its threshold, and the sign of a speed with it, so that gradients exist.
        """
        graph = self.graph
        values = [self.known.get(key, 0.0) for key in graph.keys]
        places = [graph.index(name) for name in self.names]
        # Linear in the unknowns, so the derivative does not depend on what stands for them.
        tau = ca.substitute(ca.jacobian(graph.tau, graph.theta)[:, places], graph.theta, ca.SX(ca.DM(values)))
        ratio = graph.qd / ca.DM(self.thresholds)
        fourth = ratio**4
        weight = fourth / (1 + fourth) / ca.DM(self.noise)
        tau = ca.substitute(tau, graph.direction, ca.tanh(2 * ratio))
        rows = ca.diag(weight) @ tau @ ca.diag(1 / ca.DM(self.scale))
        return ca.Function("rows", [graph.q, graph.qd, graph.qdd], [ca.densify(rows.T)])


def excited_model(
    robot: Robot, *, nominal: Mapping[str, float] | None = None, noise: Sequence[float] | None = None
) -> ExcitedModel:
    """The base parameters of a robot without payload. `noise` [n] defaults to a part of the drives' rated torques.

    Raises RobotFileError where drive or identification tables are missing, ModelError for unknown nominal keys.
    """
    graph = robot_graph(robot)
    unknowns = unknowns_of(robot, graph)
    regressor = unknowns.regressor
    if noise is None:
        noise = [NOISE_SHARE * axis.drive.joint_rated_torque for axis in robot.axes]
    if len(noise) != len(robot.axes) or not all(value > 0 for value in noise):
        raise ModelError(f"torque noise is {list(noise)}; give one positive number for each of {len(robot.axes)} axes")
    if nominal is not None:
        for key in nominal:
            graph.index(key)
        missing = [name for name in regressor.names if name not in nominal]
        if missing:
            raise ModelError(f"nominal parameters lack {', '.join(missing)}; give all that the model has")
    sigma = np.array(noise, dtype=float)
    return ExcitedModel(
        robot=robot,
        graph=graph,
        regressor=regressor,
        known=unknowns.known,
        noise=sigma,
        thresholds=np.array([axis.identification.velocity_threshold for axis in robot.axes]),
        scale=_scale(robot, regressor, sigma),
        nominal=None if nominal is None else dict(nominal),
    )


def criterion_function(name: str, size: int) -> ca.Function:
    """(M [p, p]) -> one of CRITERIA, by Cholesky's factor: NaN where M is singular."""
    M = ca.SX.sym("M", size, size)
    R = ca.chol(M)
    if name == "logdet":
        value = -2 * ca.sum1(ca.log(ca.diag(R)))
    elif name in CRITERIA:
        # trace M^-1 = |R^-1|^2; column k of R^-1 by back substitution, written out.
        inverse = ca.SX(0)
        for k in range(size):
            column: dict[int, Any] = {}
            for i in range(k, -1, -1):
                rest = ca.SX(1.0 if i == k else 0.0)
                for j in range(i + 1, k + 1):
                    rest -= R[i, j] * column[j]
                column[i] = rest / R[i, i]
                inverse += column[i] ** 2
        value = ca.log(inverse) if name == "trace" else (ca.log(ca.trace(M)) + ca.log(inverse)) / 2
    else:
        raise ModelError(f"no criterion {name!r}; there are {', '.join(CRITERIA)}")
    return ca.Function(name, [M], [value])


@dataclass(frozen=True)
class Quality:
    """What an information matrix says. `trace`: of the scaled covariance; `condition`: of the scaled regressor."""

    logdet: float
    trace: float
    condition: float
    weakest: str

    @property
    def complete(self) -> bool:
        """Whether every base parameter can be identified."""
        return bool(np.isfinite(self.trace))


def quality(M: Array, names: Sequence[str]) -> Quality:
    """Criteria of an information matrix [p, p]; `weakest` is the parameter with the largest part in its weakest axis.

    Infinite where the motion leaves a parameter open.
    """
    values, vectors = np.linalg.eigh(M)
    weakest = names[int(np.argmax(np.abs(vectors[:, 0])))]
    if not values[0] > BLIND * values[-1]:
        return Quality(-np.inf, np.inf, np.inf, weakest)
    return Quality(
        logdet=float(np.log(values).sum()),
        trace=float((1 / values).sum()),
        condition=float(np.sqrt(values[-1] / values[0])),
        weakest=weakest,
    )


def _scale(robot: Robot, regressor: Regressor, noise: Array) -> Array:
    rng = np.random.default_rng(0)
    size = (REFERENCE_STATES, len(robot.axes))
    q = rng.uniform([axis.position_min for axis in robot.axes], [axis.position_max for axis in robot.axes], size)
    top = np.array([axis.velocity_max for axis in robot.axes])
    most = np.array([axis.acceleration_max for axis in robot.axes])
    Y, _ = regressor(q, rng.uniform(-top, top, size), rng.uniform(-most, most, size))
    return np.asarray(np.sqrt(((Y / noise[:, None, None]) ** 2).sum(axis=0).mean(axis=0)))
