"""Loops of the virtual drives at their margins: for each speed-loop bandwidth the stiffest position loop.

The open loop of one axis, cut at the motor's torque, for the rigid inertia that the drive was tuned for: the servo of
idmkit.rig.servo in z, period 0.25 ms. P of position, PI of speed, both with the same share s of the bandwidth w:
position gain s w, integral time 1/(s w).
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from idmkit.rig.spec import SUBSTEP_S, RigAxis, read_rig_spec
from idmkit.robot import Robot

GAIN_MARGIN_DB = 6.0
PHASE_MARGIN_DEG = 45.0
BANDWIDTHS_HZ = (6.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 60.0, 80.0, 100.0)
"""What is tried; of those the ones that a share of at least LEAST keeps within the margins."""
LEAST = 0.05
_POINTS = 4000


@dataclass(frozen=True)
class Margins:
    """Gain margin, up or down whichever is less, dB; phase margin, degrees, negative for an unstable loop."""

    gain_db: float
    phase_deg: float

    @property
    def kept(self) -> bool:
        """Whether both are enough."""
        return self.gain_db >= GAIN_MARGIN_DB and self.phase_deg >= PHASE_MARGIN_DEG


def open_loop(axis: RigAxis, frequency_hz: NDArray[np.float64]) -> NDArray[np.complex128]:
    """The open loop of an axis at these frequencies (Hz), below half of 4 kHz."""
    T = SUBSTEP_S
    z = np.exp(2j * np.pi * frequency_hz * T)
    bandwidth = 2 * math.pi * axis.speed_loop_hz
    share = 1 - math.exp(-T / axis.current_lag_s)
    keep = math.exp(-T / axis.speed_filter_s)
    plant = T * T / 2 * (z + 1) / (z - 1) ** 2
    current = share / (z - (1 - share))
    speed = (1 - keep) / T * (1 - 1 / z) / (1 - keep / z)
    control = bandwidth * (axis.position_gain + speed) * (1 + T / axis.integral_time_s / (z - 1))
    return np.asarray(plant * current * control)


def margins(axis: RigAxis) -> Margins:
    """Margins of an axis' loop."""
    frequency = np.geomspace(0.01, 0.499 / SUBSTEP_S, _POINTS)
    loop = open_loop(axis, frequency)
    size, angle = np.abs(loop), np.angle(loop)
    crossing = np.flatnonzero((size[:-1] > 1) & (size[1:] <= 1))
    # Above half a turn of lag the angle comes back as a lead: there is no margin, but a lack of it.
    phase = min(angle[k] + math.pi if angle[k] < 0 else angle[k] - math.pi for k in crossing)
    real = np.flatnonzero((loop.imag[:-1] * loop.imag[1:] < 0) & (loop.real[:-1] < 0))
    gain = min((abs(20 * math.log10(size[k])) for k in real), default=math.inf)
    return Margins(gain, math.degrees(phase))


def tuned(axis: RigAxis, speed_loop_hz: float, share: float) -> RigAxis:
    """An axis with these loops."""
    stiff = share * 2 * math.pi * speed_loop_hz
    return replace(axis, speed_loop_hz=speed_loop_hz, position_gain=stiff, integral_time_s=1 / stiff)


def stiffest(axis: RigAxis, speed_loop_hz: float) -> float | None:
    """The largest share that keeps the margins at a bandwidth, to a hundredth; None below LEAST."""
    shares = [k / 100 for k in range(100, 0, -1) if k / 100 >= LEAST]
    return next((share for share in shares if margins(tuned(axis, speed_loop_hz, share)).kept), None)


def tunings(robot: Robot) -> dict[float, Robot]:
    """The robot with each speed-loop bandwidth (Hz) that keeps the margins on all axes, at its stiffest."""
    result = {}
    axes = read_rig_spec(robot).axes
    for hz in BANDWIDTHS_HZ:
        shares = [stiffest(axis, hz) for axis in axes]
        if None not in shares:
            result[hz] = _with_loops(robot, [tuned(a, hz, s) for a, s in zip(axes, shares, strict=True) if s])
    return result


def _with_loops(robot: Robot, axes: list[RigAxis]) -> Robot:
    rig = copy.deepcopy(robot.rig)
    for table, axis in zip(rig["axes"], axes, strict=True):
        table.update(
            speed_loop_hz=axis.speed_loop_hz, position_gain=axis.position_gain, integral_time_s=axis.integral_time_s
        )
    return replace(robot, rig=rig)
