"""What the plant was measured to have: inverse dynamics probed at many states, solved for the parameters.

The torques and accelerations are MuJoCo's. Of single axes this knows tau = I qdd - MgA sin q + Fv qd + Fc sign(qd)
(crank in a tilted plane) and tau = M qdd + Mgcos + Fv qd + Fc sign(qd) (slide). A machine's parameters are defined by
its model only, so its linear form serves; `residual` says how well the plant is described by it at all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from idmkit.rig.plant import Plant
from idmkit.robot import Robot
from idmkit.robot_graph import robot_graph

Array = NDArray[np.float64]

PROBES = 200
SOFT_RATE = 300.0
"""1/s, of the speed: the largest acceleration in a probe."""
SLOWEST = 0.05
"""Share of the top speed below which no probe is taken: soft friction has not reached its value at a crawl."""

NAMES = {"revolute": ("I", "MgA", "Fv", "Fc"), "prismatic": ("M", "Mgcos", "Fv", "Fc")}


def measure(robot: Robot, plant: Plant) -> dict[str, dict[str, float]]:
    """Parameters by axis name; those of a machine as a whole by the robot's name.

    `residual` is the largest torque (Nm or N) that they leave unexplained on the axis. Every axis moves in every
    probe, so that a coupling between axes would show in the residual.
    """
    q, qd, qdd, tau = _probes(robot, plant)
    if robot.machine is not None:
        return _machine(robot, q, qd, qdd, tau)
    result = {}
    for index, axis in enumerate(robot.axes):
        position = -np.sin(q[:, index]) if axis.revolute else np.ones(PROBES)
        columns = np.stack([qdd[:, index], position, qd[:, index], np.sign(qd[:, index])], axis=1)
        values = np.linalg.lstsq(columns, tau[:, index], rcond=None)[0]
        named = dict(zip(NAMES[axis.joint], (float(value) for value in values), strict=True))
        named["residual"] = float(np.max(np.abs(columns @ values - tau[:, index])))
        result[axis.name] = named
    return result


def _machine(robot: Robot, q: Array, qd: Array, qdd: Array, tau: Array) -> dict[str, dict[str, float]]:
    assert robot.machine is not None
    graph = robot_graph(robot)
    regressor = graph.regressor(graph.no_payload() | robot.machine.known)
    matrix, offset = regressor(q, qd, qdd)
    target = tau.T - offset
    rows = matrix.reshape(-1, matrix.shape[2])
    scale = np.linalg.norm(rows, axis=0)
    values = np.linalg.lstsq(rows / scale, target.ravel(), rcond=None)[0] / scale
    rest = np.abs(matrix @ values - target).max(axis=1)
    owners = {parameter.key: (parameter.axis or robot.name, parameter.name) for parameter in graph.parameters}
    result: dict[str, dict[str, float]] = {robot.name: {}}
    for key, value in zip(regressor.names, values, strict=True):
        owner, name = owners[key]
        result.setdefault(owner, {})[name] = float(value)
    for index, axis in enumerate(robot.axes):
        result[axis.name]["residual"] = float(rest[index])
    return result


def _probes(robot: Robot, plant: Plant) -> tuple[Array, Array, Array, Array]:
    """(q, qd, qdd, tau), each (probes, n), of a copy of the plant without walls, brakes released."""
    rng = np.random.default_rng(0)
    size = (PROBES, len(robot.axes))
    low = np.array([axis.position_min for axis in robot.axes])
    high = np.array([axis.position_max for axis in robot.axes])
    top = np.array([axis.velocity_max for axis in robot.axes])
    most = np.array([axis.acceleration_max for axis in robot.axes])
    q = rng.uniform(low, high, size)
    qd = rng.choice([-1.0, 1.0], size) * rng.uniform(SLOWEST, 1.0, size) * top
    # MuJoCo's friction would pull back against a deceleration above 1000/s of the speed (FRICTION_SOLVER's 2 ms).
    qdd = rng.uniform(-1, 1, size) * np.minimum(most, SOFT_RATE * np.abs(qd))
    return q, qd, qdd, plant.torques(plant.released_copy(), q, qd, qdd)
