"""A record and a robot in, a judged result out: the path that the command line and scripts take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from idmkit.dynamics.axes import axes_graph
from idmkit.dynamics.graph import Graph
from idmkit.dynamics.regressor import Regressor
from idmkit.errors import IdentificationError
from idmkit.finding import Finding
from idmkit.identify import Estimate, Observations, equations_of, fit_least_squares, observe
from idmkit.records import AxisLimits, CleanRecord, Record, clean
from idmkit.records.plausibility import check_velocity
from idmkit.robot import Axis, Robot
from idmkit.verdict import AxisFacts, AxisResult, ParameterResult, Result, TorqueErrors, judge, torque_errors


@dataclass(frozen=True, eq=False)
class Fit:
    """A judged result with what it was made from, for reports."""

    result: Result
    observations: Observations
    estimate: Estimate
    revolute: tuple[bool, ...]


def fit_record(
    record: Record,
    robot: Robot,
    *,
    model: int | None = None,
    cutoff_hz: float | None = None,
    noticed: Sequence[Finding] = (),
) -> Fit:
    """Identifies the axes of `robot` from `record` by least squares and judges the result.

    `model` replaces the dynamic model number of every axis, `cutoff_hz` the robot file's cutoff (Hz); `noticed`
    are findings from before, such as those of an import. Raises
    RecordError for a record that cannot be used and IdentificationError for one that says too little; what is
    merely doubtful is in the verdict.
    """
    numbers = [axis.dynamic_model if model is None else model for axis in robot.axes]
    names = [axis.name for axis in robot.axes]
    graph = axes_graph([(a.name, a.joint, number) for a, number in zip(robot.axes, numbers, strict=True)])
    regressor = graph.regressor()
    cutoff = _cutoff(robot) if cutoff_hz is None else cutoff_hz
    cleaned = clean(record, {axis.name: _limits(axis) for axis in robot.axes})
    runs = [axis.identification_or_none for axis in robot.axes]
    thresholds = [None if run is None else run.velocity_threshold for run in runs]
    observations = observe(cleaned, names, regressor, cutoff, thresholds)
    estimate = fit_least_squares(equations_of(observations))
    errors = torque_errors(observations, estimate)
    parameters, derived = _parameters(graph, regressor, estimate, robot)
    everything = [*noticed, *cleaned.findings, *_velocity_findings(cleaned, observations), *derived]
    verdict = judge(observations, estimate, errors, [_facts(axis) for axis in robot.axes], everything)
    result = Result(
        robot=robot.name,
        model=", ".join(
            f"{'rotary' if axis.revolute else 'linear'} {number}"
            for axis, number in zip(robot.axes, numbers, strict=True)
        ),
        estimator=estimate.estimator,
        samples=observations.rows,
        sample_rate_hz=observations.sample_rate_hz,
        cutoff_hz=cutoff,
        gravity=robot.gravity,
        parameters=parameters,
        axes=tuple(_axis_results(parameters, observations, errors)),
        verdict=verdict,
    )
    return Fit(result, observations, estimate, graph.revolute)


def _cutoff(robot: Robot) -> float:
    """The highest of the axes' cutoffs; refused where the robot file has none."""
    if any(axis.identification_or_none is None for axis in robot.axes):
        raise IdentificationError(
            f"robot {robot.name!r} has no cutoff_hz (table [axes.identification]); give one with --cutoff HZ"
        )
    return max(axis.identification.cutoff_hz for axis in robot.axes)


def _limits(axis: Axis) -> AxisLimits:
    return AxisLimits(axis.revolute, axis.position_min, axis.position_max, axis.velocity_max, _torque_max(axis))


def _torque_max(axis: Axis) -> float | None:
    return None if axis.drive_or_none is None else axis.drive_or_none.joint_peak_torque


def _facts(axis: Axis) -> AxisFacts:
    run = axis.identification_or_none
    return AxisFacts(
        name=axis.name,
        revolute=axis.revolute,
        position_min=axis.position_min,
        position_max=axis.position_max,
        velocity_max=axis.velocity_max,
        torque_max=_torque_max(axis),
        frequency_hz=None if run is None else run.frequency_hz,
        parameter_ranges=axis.parameter_ranges,
    )


def _velocity_findings(cleaned: CleanRecord, observations: Observations) -> list[Finding]:
    """Compares recorded velocities, where there are any, with those derived from the positions."""
    findings: list[Finding] = []
    for k, axis in enumerate(observations.axes):
        channel = cleaned.record.find(axis, "velocity")
        if channel is not None:
            used = replace(channel, samples=channel.samples[observations.row])
            findings += check_velocity(used, observations.qd[:, k])
    return findings


def _parameters(
    graph: Graph, regressor: Regressor, estimate: Estimate, robot: Robot
) -> tuple[tuple[ParameterResult, ...], list[Finding]]:
    """Identified parameters and those that follow from elsewhere, in the model's order; what stays unknown is said."""
    identified = {
        name: (float(value), float(std))
        for name, value, std in zip(estimate.names, estimate.values, estimate.std, strict=True)
    }
    results: list[ParameterResult] = []
    findings: list[Finding] = []
    for parameter in graph.parameters:
        if parameter.key in identified:
            value, std = identified[parameter.key]
            known = math.isfinite(std)
            rsd = 100 * std / abs(value) if known and value else None
            results.append(ParameterResult(parameter.key, value, std if known else None, rsd, parameter.unit))
        elif parameter.key in regressor.vanished:
            axis = next(axis for axis in robot.axes if axis.name == parameter.axis)
            found = _from_elsewhere(parameter.name, axis, robot.gravity, identified)
            findings.append(_vanished_finding(parameter.name, axis, found))
            if found is not None:
                results.append(ParameterResult(parameter.key, found[0], None, None, parameter.unit))
    return tuple(results), findings


def _from_elsewhere(
    name: str, axis: Axis, gravity: float, identified: dict[str, tuple[float, float]]
) -> tuple[float, str] | None:
    """(value, where from) of a parameter that only a payload would show; None where nothing says it."""
    length = axis.geometry.get("crank_length")
    if name == "L2" and length is not None:
        return length**2, "crank_length in the robot file"
    if name == "gL" and length is not None:
        return gravity * length, "crank_length in the robot file"
    if name == "gcos" and "tilt" in axis.geometry:
        return gravity * math.cos(axis.geometry["tilt"]), "tilt in the robot file"
    mass, weight = (identified.get(f"{axis.name}.{other}") for other in ("M", "Mgcos"))
    if name == "gcos" and mass is not None and weight is not None and mass[0] > 0:
        return weight[0] / mass[0], "Mgcos / M, which takes the motor's inertia for moved mass"
    return None


def _vanished_finding(name: str, axis: Axis, found: tuple[float, str] | None) -> Finding:
    text = f"{name} does not show without payload"
    if found is not None:
        text += f"; it follows from {found[1]}."
        return Finding("without_payload", "info", axis.name, text, {"value": found[0]})
    step = "Give the geometry in the robot file ([axes.geometry]), or identify with a payload."
    return Finding("without_payload", "info", axis.name, text + " and is left open.", {}, step)


def _axis_results(
    parameters: tuple[ParameterResult, ...], observations: Observations, errors: list[TorqueErrors]
) -> list[AxisResult]:
    values = {parameter.name: parameter.value for parameter in parameters}
    return [
        AxisResult(
            name=axis,
            viscous_friction=values.get(f"{axis}.Fv"),
            coulomb_friction=values.get(f"{axis}.Fc"),
            velocity_threshold=float(observations.velocity_thresholds[k]),
            moving_samples=errors[k].samples,
            max_relative_error_percent=errors[k].max_percent,
            mean_relative_error_percent=errors[k].mean_percent,
            relative_error_percent=errors[k].relative_percent,
        )
        for k, axis in enumerate(observations.axes)
    ]
