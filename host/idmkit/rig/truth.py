"""What the plant was measured to have: forward dynamics probed at many states, solved for the parameters.

This knows the plant only through MuJoCo, and nothing of the models in idmkit.dynamics: it is what identified
parameters are compared with. tau = I qdd - MgA sin q + Fv qd + Fc sign(qd) (crank in a tilted plane), or
tau = M qdd + Mgcos + Fv qd + Fc sign(qd) (slide).
"""

from __future__ import annotations

import mujoco
import numpy as np

from idmkit.rig.plant import Plant
from idmkit.robot import Robot

PROBES = 200
SLOWEST = 0.05
"""Share of the top speed below which no probe is taken: soft friction has not reached its value at a crawl."""

NAMES = {"revolute": ("I", "MgA", "Fv", "Fc"), "prismatic": ("M", "Mgcos", "Fv", "Fc")}


def measure(robot: Robot, plant: Plant) -> dict[str, dict[str, float]]:
    """Parameters by axis name; `residual` is the largest torque (Nm or N) that they leave unexplained.

    Every axis moves in every probe, so that a coupling between axes would show in the residual.
    """
    rng = np.random.default_rng(0)
    count = len(robot.axes)
    low = np.array([axis.position_min for axis in robot.axes])
    high = np.array([axis.position_max for axis in robot.axes])
    top = np.array([axis.velocity_max for axis in robot.axes])
    torque_limit = np.array([axis.drive.joint_peak_torque for axis in robot.axes])
    q = rng.uniform(low, high, (PROBES, count))
    qd = rng.choice([-1.0, 1.0], (PROBES, count)) * rng.uniform(SLOWEST, 1.0, (PROBES, count)) * top
    tau = rng.uniform(-1, 1, (PROBES, count)) * torque_limit
    qdd = _accelerations(plant, q, qd, tau)
    result = {}
    for index, axis in enumerate(robot.axes):
        position = -np.sin(q[:, index]) if axis.revolute else np.ones(PROBES)
        columns = np.stack([qdd[:, index], position, qd[:, index], np.sign(qd[:, index])], axis=1)
        values = np.linalg.lstsq(columns, tau[:, index], rcond=None)[0]
        named = dict(zip(NAMES[axis.joint], (float(value) for value in values), strict=True))
        named["residual"] = float(np.max(np.abs(columns @ values - tau[:, index])))
        result[axis.name] = named
    return result


def _accelerations(plant: Plant, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Accelerations (probes, n) of a copy of the plant without walls, brakes released."""
    model = plant.released_copy()
    data = mujoco.MjData(model)
    result = np.empty_like(q)
    for probe in range(len(q)):
        data.qpos[:] = q[probe]
        data.qvel[:] = qd[probe]
        data.qfrc_applied[:] = tau[probe]
        data.qacc_warmstart[:] = 0
        mujoco.mj_forward(model, data)
        result[probe] = data.qacc
    return result
