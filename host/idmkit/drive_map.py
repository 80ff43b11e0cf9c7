"""From amperes to joint torque: a drive map, identified from what a known load takes (thesis 2.4; R40).

A record in amperes alone gives every parameter in amperes. A load that is known in Nm, mounted for one record and
absent in another, sets the scale, and how much less a further ampere brings, where iron saturates. For each axis, with
current i, the columns Y of links and friction, and the load's torque b (known, 0 without it)

    k1 i + k3 i^3 + k5 i^5 = Y theta + b

holds row by row. The current is noisy, so least squares would make k too small. The witnesses for i are the currents
that motion and load predict, i^ = Y beta + b gamma, which know nothing of the noise; with Y projected out of everything

    k = (Z' F)^-1 Z' b,   F = [i, i^3, i^5],   Z = [i^, i^^3, i^^5].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from idmkit.axis import Axis
from idmkit.dynamics.graph import Graph
from idmkit.errors import IdentificationError, RecordError
from idmkit.fitting import Prepared, prepare
from idmkit.identify.covariance import long_run_covariance
from idmkit.identify.equations import Equations, equations_of
from idmkit.identify.observations import Observations
from idmkit.records import Channel, Record
from idmkit.robot import Robot
from idmkit.unknowns import Unknowns, results, unknowns_of

Array = NDArray[np.float64]

POWERS = (1, 3, 5)
MAX_PERCENT = 5.0
"""Of the torque, at the largest and at the middle current: a map that is less certain is refused."""
LEAST_SHARE = 0.05
"""Of the load's torque that must be unlike anything that links and friction can do."""
SURE = 4.0
"""Standard deviations from which on a further power is taken."""
TWO_SIGMA = 1.959964
_RANK, _ALIKE = 1e-6, 1e10


@dataclass(frozen=True, eq=False)
class DriveMap:
    """Torque = sum of coefficients[j] i^(2 j + 1), Nm or N at the joint, for |i| up to `current_max` in A.

    `covariance` [p, p] belongs to `coefficients` [p]. `load` is the rms of the known load's torque, `share` the part of
    it that is unlike links and friction, `residual` the rms of what stays unexplained; Nm or N.
    """

    axis: str
    unit: str
    coefficients: Array
    covariance: Array
    current_max: float
    load: float
    share: float
    residual: float

    def torque(self, current: Array | float) -> Array:
        """Joint torque of currents in A."""
        return _powers(current, len(self.coefficients)) @ self.coefficients

    def std(self, current: Array | float) -> Array:
        """Standard deviation of `torque`."""
        rows = _powers(current, len(self.coefficients))
        return np.asarray(np.sqrt(np.einsum("...p,pq,...q->...", rows, self.covariance, rows)))

    @property
    def percent(self) -> float:
        """The larger standard deviation at the largest and at half of the largest current, percent of the torque."""
        at = np.array([0.5, 1.0]) * self.current_max
        return float(100 * np.max(self.std(at) / np.abs(self.torque(at))))

    def intervals(self) -> list[tuple[float, float]]:
        """(coefficient, half of its 95 % interval)."""
        return [(float(k), TWO_SIGMA * math.sqrt(v)) for k, v in zip(self.coefficients, np.diag(self.covariance),
                                                                    strict=True)]  # fmt: skip

    def mapping(self) -> list[str]:
        """Lines for the channel in a mapping file, which make a torque of its amperes."""
        numbers = ", ".join(f"{k:.6g}" for k in self.coefficients)
        return ['quantity = "torque"', 'unit = "A"', f"torque_per_ampere = [{numbers}]"]


def _powers(current: Array | float, count: int) -> Array:
    return np.stack([np.asarray(current, dtype=float) ** power for power in POWERS[:count]], axis=-1)


def fit_drive_maps(
    records: Sequence[tuple[Record, Mapping[str, float]]], robot: Robot, *, cutoff_hz: float | None = None
) -> tuple[list[DriveMap], dict[str, str]]:
    """Maps of the axes on which a load acts, from records in amperes (channels of quantity current) and their loads.

    Beside them, by axis, why there is none: the load is too small for the noise, or not to be told from the links.

    A load is {} or values in SI by name: a payload parameter of the model, or an axis, for a constant torque that its
    motor has to supply more. Raises IdentificationError where a load is not known or no axis has a map; RecordError for
    a record that cannot be used.
    """
    if not any(load for _, load in records):
        raise IdentificationError("a drive map needs at least one record with a known load; say which with --loaded")
    currents = [_currents(record, robot) for record, _ in records]
    peaks = [max(float(np.nanmax(np.abs(each[k]))) for each in currents) for k in range(len(robot.axes))]
    parts = [_Part.of(record, load, robot, peaks, cutoff_hz) for record, load in records]
    maps, refused = [], {}
    for k, axis in enumerate(robot.axes):
        if not any(np.any(part.load[k]) for part in parts):
            refused[axis.name] = f"{axis.name}: the loads take no torque on this axis"
            continue
        try:
            maps.append(_fit_axis(axis, k, parts, peaks[k]))
        except IdentificationError as problem:
            refused[axis.name] = str(problem)
    if not maps:
        raise IdentificationError(next(iter(refused.values())))
    return maps, refused


def _currents(record: Record, robot: Robot) -> list[Array]:
    found = []
    for axis in robot.axes:
        samples = record.channel(axis.name, "current").samples
        if not np.isfinite(samples).any() or not np.nanmax(np.abs(samples)) > 0:
            raise RecordError(f"the current of axis {axis.name!r} is 0 or missing throughout; record it in motion")
        found.append(samples)
    return found


@dataclass(frozen=True, eq=False)
class _Part:
    """One record, decimated: `current` [P, n, K] its powers over their peaks, `load` [n, K] all known torque."""

    equations: Equations
    current: Array
    load: Array

    @classmethod
    def of(
        cls, record: Record, load: Mapping[str, float], robot: Robot, peaks: Sequence[float], cutoff_hz: float | None
    ) -> _Part:
        """Filters every power of the current as a torque is filtered, and the load's torque alike."""
        prepared = [prepare(_as_torque(record, robot, peaks, power), robot, None, cutoff_hz, None) for power in POWERS]
        unknowns = unknowns_of(robot, prepared[0].graph)
        seen = [each.observe(unknowns.regressor) for each in prepared]
        equations = equations_of(seen[0])
        kept = np.searchsorted(seen[0].row, equations.row)
        scale = np.array([_nominal(axis) * peak for axis, peak in zip(robot.axes, peaks, strict=True)])
        current = np.stack([(each.torque + each.known)[:, kept] / scale[:, None] for each in seen])
        known = _load_torque(prepared[0], unknowns, seen[0], load)[:, kept] + seen[0].known[:, kept]
        return cls(equations, current, known)


def _nominal(axis: Axis) -> float:
    """Nm or N of an ampere as the robot file has it: what a record is checked with before the map is known."""
    return abs(axis.drive.joint_rated_torque) / axis.drive.rated_current


def _as_torque(record: Record, robot: Robot, peaks: Sequence[float], power: int) -> Record:
    """The record with a power of the current, 1 at the peak, in place of the torque."""
    channels: list[Channel] = []
    for axis, peak in zip(robot.axes, peaks, strict=True):
        channels.append(record.channel(axis.name, "position"))
        current = record.channel(axis.name, "current")
        samples = _nominal(axis) * peak * (current.samples / peak) ** power
        unit = "Nm" if axis.revolute else "N"
        channels.append(replace(current, name="torque", quantity="torque", unit=unit, samples=samples))
    return replace(record, channels=tuple(channels))


def _load_torque(prepared: Prepared, unknowns: Unknowns, seen: Observations, load: Mapping[str, float]) -> Array:
    """[n, S]: what the load takes from each motor, low-passed as the current is."""
    graph, names = prepared.graph, [axis.name for axis in prepared.robot.axes]
    payload = graph.keys_of("payload")
    unknown = [name for name in load if name not in payload and name not in names]
    if unknown:
        raise IdentificationError(
            f"{unknown[0]!r} is no load of this robot; a load is a payload parameter ({', '.join(payload) or 'none'}) "
            f"or a constant torque on an axis ({', '.join(names)})"
        )
    total = np.repeat(np.array([[load.get(name, 0.0)] for name in names]), seen.rows, axis=1)
    carried = np.array([load.get(key, 0.0) for key in payload])
    if carried.any():
        total = total + _payload_torque(prepared, graph, unknowns, dict(zip(payload, carried.tolist(), strict=True)))
    return total


def _payload_torque(prepared: Prepared, graph: Graph, unknowns: Unknowns, carried: Mapping[str, float]) -> Array:
    """[n, S]; what is not known of the links must not matter, so it is tried with two values."""
    given = {each.name: each.value for each in results(unknowns, {}, prepared.robot)[0]}
    tried = []
    for value in (0.0, 1.0):
        links = {key: given.get(key, value) for key in graph.keys if key not in carried}
        seen = prepared.observe(graph.regressor(links))
        tried.append(seen.regressor @ np.array([carried[name] for name in seen.names]))
    if not np.allclose(tried[0], tried[1], rtol=1e-6, atol=1e-9):
        raise IdentificationError(
            "the load's torque depends on the geometry, which is not known: give it in the robot file ([axes.geometry])"
        )
    return np.asarray(tried[0])


def _fit_axis(axis: Axis, k: int, parts: Sequence[_Part], peak: float) -> DriveMap:
    """One axis: the highest power that the records ask for."""
    used = [part.equations.used[k] for part in parts]
    Y = np.concatenate([part.equations.regressor[k][own] for part, own in zip(parts, used, strict=True)])
    F = np.concatenate([part.current[:, k, own].T for part, own in zip(parts, used, strict=True)])
    b = np.concatenate([part.load[k, own] for part, own in zip(parts, used, strict=True)])
    basis = _basis(Y)
    free = b - basis @ (basis.T @ b)
    unit, load = "Nm" if axis.revolute else "N", float(np.sqrt(np.mean(b**2)))
    share = float(np.linalg.norm(free) / np.linalg.norm(b))
    if share < LEAST_SHARE:
        raise IdentificationError(
            f"{axis.name}: the load takes {load:.3g} {unit} rms, and all but {100 * share:.2g} % of it is what links "
            f"and friction might take as well ({100 * LEAST_SHARE:g} % are needed); add a record of the same motion "
            f"without the load"
        )
    # What the current would be without noise: a line in motion and load.
    both = np.column_stack((basis, free / np.linalg.norm(free)))
    line = both @ (both.T @ F[:, 0])
    ticks = [part.equations.tick[own] for part, own in zip(parts, used, strict=True)]
    largest = float(np.max(np.abs(F[:, 0])))
    for count in range(1, len(POWERS) + 1):
        Z = _powers(line, count)
        Z, A = (M - basis @ (basis.T @ M) for M in (Z, F[:, :count]))
        cross = Z.T @ A
        if count > 1 and np.linalg.cond(cross) > _ALIKE:
            break
        inverse = np.linalg.inv(cross)
        values = inverse @ (Z.T @ free)
        residual = free - A @ values
        covariance = inverse @ _scores(Z * residual[:, None], ticks) @ inverse.T
        if count > 1 and abs(values[-1]) < SURE * math.sqrt(covariance[-1, -1]):
            continue
        scale = 1 / np.array([peak**power for power in POWERS[:count]])
        chosen = DriveMap(
            axis.name, unit, values * scale, covariance * np.outer(scale, scale), peak * largest, load, share,
            float(np.sqrt(np.mean(residual**2))),
        )  # fmt: skip
    _check_map(chosen)
    return chosen


def _basis(Y: Array) -> Array:
    """Orthonormal columns that span those of Y, which need not be independent on one axis."""
    norms = np.linalg.norm(Y, axis=0)
    scaled = Y[:, norms > 0] / norms[norms > 0]
    left, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
    return np.asarray(left[:, sizes > _RANK * sizes[0]])


def _scores(scores: Array, ticks: Sequence[NDArray[np.intp]]) -> Array:
    """Covariance of the sum of the scores; records do not know of each other."""
    total = np.zeros((scores.shape[1], scores.shape[1]))
    first = 0
    for tick in ticks:
        spread = np.zeros((int(tick[-1]) + 1 if len(tick) else 1, scores.shape[1]))
        spread[tick] = scores[first : first + len(tick)]
        first += len(tick)
        total += long_run_covariance(spread)
    return total


def _check_map(found: DriveMap) -> None:
    """Raises IdentificationError for a map that is too uncertain, or one in which more current makes less torque."""
    at = np.linspace(0, found.current_max, 201)
    falls = np.diff(found.torque(at)) * found.coefficients[0] <= 0
    if falls.any():
        raise IdentificationError(
            f"{found.axis}: above {at[np.argmax(falls)]:.3g} A of {found.current_max:.3g} A more current would make "
            f"less torque; that is no drive's map. Friction may differ between the records (warm up first), or the "
            f"load is not what was said"
        )
    if found.percent <= MAX_PERCENT:
        return
    more = found.percent / MAX_PERCENT
    raise IdentificationError(
        f"{found.axis}: the map would be {found.coefficients[0]:.4g} {found.unit}/A, but only to +- "
        f"{found.percent:.2g} % (one standard deviation; {MAX_PERCENT:g} % are allowed). The load takes "
        f"{found.load:.3g} {found.unit} rms where {found.residual:.2g} {found.unit} stay unexplained: take a load "
        f"{more:.1f} times as large, or record {more**2:.0f} times as long"
    )
