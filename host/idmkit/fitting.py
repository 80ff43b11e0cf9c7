"""A record and a robot in, a judged result out: the path that the command line and scripts take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from idmkit.dynamics.graph import Graph
from idmkit.errors import IdentificationError
from idmkit.estimators import estimate as estimate_by_name
from idmkit.finding import Finding
from idmkit.identify import Estimate, LinearModel, Observations, equations_of, fit_least_squares, observe
from idmkit.identify.instrumental import commanded
from idmkit.identify.skew import time_skew
from idmkit.records import AxisLimits, CleanRecord, Record, clean, reduced
from idmkit.records.plausibility import check_velocity
from idmkit.robot import Axis, Robot
from idmkit.robot_graph import model_name, robot_graph
from idmkit.unknowns import Unknowns, results, unknowns_of
from idmkit.verdict import AxisResult, ParameterResult, Result, TorqueErrors, judge, torque_errors
from idmkit.verdict.causes import facts_of
from idmkit.verdict.machine import machine_findings

SKEW_PASSES = 2


@dataclass(frozen=True, eq=False)
class Fit:
    """A judged result with what it was made from, for reports.

    `model` is the linear model that the estimate's values belong to; `full` are all parameters of an arm's bodies, from
    a physically consistent estimate.
    """

    result: Result
    observations: Observations
    estimate: Estimate
    unknowns: Unknowns
    model: LinearModel
    full: dict[str, float] | None = None

    @property
    def revolute(self) -> tuple[bool, ...]:
        """Kinds of the axes."""
        return self.unknowns.graph.revolute


def fit_record(
    record: Record,
    robot: Robot,
    *,
    model: int | None = None,
    cutoff_hz: float | None = None,
    speeds: tuple[float, float] | None = None,
    noticed: Sequence[Finding] = (),
    estimator: str | None = None,
    ladder: bool = False,
    drawings: bool = False,
    skew: bool = False,
) -> Fit:
    """Identifies the axes of `robot` from `record` and judges the result.

    `estimator` is one of `estimators.ESTIMATORS`: by default least squares, weighted for a serial arm. `ladder` adds
    friction terms where blocks of the record that are held out ask for them; `drawings` draws what a physically
    consistent estimate hardly sees to the masses in an arm's description. `skew` estimates the time between torque
    and motion of each axis and corrects it.

    `model` replaces the dynamic model number of every axis or of the machine, `cutoff_hz` the robot file's cutoff
    (Hz). `speeds` are a velocity threshold and a ceiling for every axis, in parts of its velocity_max, instead of the
    robot file's. `noticed` are findings from before, such as those of an import. Raises RecordError for a record that
    cannot be used and IdentificationError for one that says too little; what is merely doubtful is in the verdict.
    """
    prepared = prepare(record, robot, model, cutoff_hz, speeds)
    unknowns = unknowns_of(robot, prepared.graph)
    if estimator is None:
        estimator = "ls" if robot.serial is None else "wls"
    findings = list(noticed)
    if skew:
        prepared, found = _without_skew(prepared, unknowns)
        findings += found
    outcome = estimate_by_name(
        robot,
        unknowns,
        prepared.observe,
        estimator,
        ladder=ladder,
        drawings=drawings,
        observe_command=prepared.observe_command,
    )
    everything = [*findings, *outcome.findings]
    fit = prepared.judged(unknowns, outcome.observations, outcome.estimate, everything, outcome.added)
    return replace(fit, model=outcome.model, full=outcome.full)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A clean record and how it is to be looked at; made by `prepare`."""

    robot: Robot
    cleaned: CleanRecord
    model: int | None
    cutoff_hz: float
    thresholds: tuple[float | None, ...]
    ceilings: tuple[float | None, ...]

    @property
    def graph(self) -> Graph:
        """The graph of all parameters."""
        return robot_graph(self.robot, model=self.model)

    def observe(self, regressor: LinearModel) -> Observations:
        """The record through the eyes of a model."""
        names = [axis.name for axis in self.robot.axes]
        return observe(self.cleaned, names, regressor, self.cutoff_hz, self.thresholds, self.ceilings)

    def observe_command(self, regressor: LinearModel) -> Observations:
        """The same with the commanded motion in place of the measured one."""
        names = [axis.name for axis in self.robot.axes]
        cleaned = commanded(self.cleaned, names)
        return observe(cleaned, names, regressor, self.cutoff_hz, self.thresholds, self.ceilings)

    def judged(
        self,
        unknowns: Unknowns,
        observations: Observations,
        estimate: Estimate,
        noticed: Sequence[Finding],
        added: tuple[ParameterResult, ...] = (),
    ) -> Fit:
        """The estimate with everything that there is to say about it; `added` are parameters beside the model's own."""
        robot = self.robot
        errors = torque_errors(observations, estimate)
        identified = {
            name: (float(value), float(std))
            for name, value, std in zip(estimate.names, estimate.values, estimate.std, strict=True)
        }
        parameters, derived = results(unknowns, identified, robot)
        everything = [*noticed, *self.cleaned.findings, *_velocity_findings(self.cleaned, observations), *derived]
        if robot.machine is not None:
            everything += machine_findings(estimate, robot.machine.parameter_ranges)
        verdict = judge(observations, estimate, errors, [facts_of(axis) for axis in robot.axes], everything)
        result = Result(
            robot=robot.name,
            model=model_name(robot, model=self.model),
            estimator=estimate.estimator,
            samples=observations.rows,
            sample_rate_hz=observations.sample_rate_hz,
            cutoff_hz=self.cutoff_hz,
            gravity=robot.gravity,
            parameters=(*parameters, *added),
            axes=tuple(_axis_results(parameters, observations, errors)),
            verdict=verdict,
        )
        return Fit(result, observations, estimate, unknowns, unknowns.regressor)


def prepare(
    record: Record,
    robot: Robot,
    model: int | None,
    cutoff_hz: float | None,
    speeds: tuple[float, float] | None,
    *,
    every_row: bool = False,
) -> Prepared:
    """Cleans a record; arguments as in `fit_record`. `every_row` keeps rows that the cutoff does not ask for."""
    window: list[tuple[float | None, float | None]]
    if speeds is not None:
        low, high = speeds
        if not 0 <= low < high:
            raise IdentificationError(
                f"speeds from {low:g} to {high:g} of velocity_max leave no sample; give the lower share first"
            )
        window = [(low * axis.velocity_max, high * axis.velocity_max) for axis in robot.axes]
    else:
        runs = [axis.identification_or_none for axis in robot.axes]
        window = [(None, None) if run is None else (run.velocity_threshold, run.velocity_ceiling) for run in runs]
    cutoff = _cutoff(robot) if cutoff_hz is None else cutoff_hz
    cleaned = clean(record, {axis.name: _limits(axis) for axis in robot.axes})
    return Prepared(
        robot=robot,
        cleaned=cleaned if every_row else reduced(cleaned, cutoff),
        model=model,
        cutoff_hz=cutoff,
        thresholds=tuple(low for low, _ in window),
        ceilings=tuple(high for _, high in window),
    )


def _without_skew(prepared: Prepared, unknowns: Unknowns) -> tuple[Prepared, list[Finding]]:
    """The record with the delay of each torque as it is estimated, in two passes, and what is said of it."""
    before = prepared.cleaned.record
    for _ in range(SKEW_PASSES):
        observations = prepared.observe(unknowns.regressor)
        equations = equations_of(observations)
        skews = time_skew(observations, fit_least_squares(equations, weighted=len(observations.axes) > 1))
        delays = {skew.axis: skew.delay_s for skew in skews}
        record = prepared.cleaned.record
        channels = tuple(
            replace(c, delay_s=c.delay_s + delays.get(c.axis, 0.0)) if c.quantity == "torque" else c
            for c in record.channels
        )
        cleaned = replace(prepared.cleaned, record=replace(record, channels=channels))
        prepared = replace(prepared, cleaned=cleaned)
    findings = []
    for skew in skews:
        total = (
            prepared.cleaned.record.channel(skew.axis, "torque").delay_s - before.channel(skew.axis, "torque").delay_s
        )
        text = (
            f"the torque describes the time {1e3 * total:.2f} +- {1e3 * skew.std_s:.2f} ms before that of the motion; "
        )
        text += "corrected."
        evidence = {"delay_s": total, "std_s": skew.std_s, "rows": total * before.sample_rate_hz}
        findings.append(Finding("time_skew", "info", skew.axis, text, evidence))
    return prepared, findings


def _cutoff(robot: Robot) -> float:
    """The highest of the axes' cutoffs; refused where the robot file has none."""
    if any(axis.identification_or_none is None for axis in robot.axes):
        raise IdentificationError(
            f"robot {robot.name!r} has no cutoff_hz (table [axes.identification]); give one with --cutoff HZ"
        )
    return max(axis.identification.cutoff_hz for axis in robot.axes)


def _limits(axis: Axis) -> AxisLimits:
    return AxisLimits(axis.revolute, axis.position_min, axis.position_max, axis.velocity_max, axis.peak_torque)


def _velocity_findings(cleaned: CleanRecord, observations: Observations) -> list[Finding]:
    """Compares recorded velocities, where there are any, with those derived from the positions."""
    findings: list[Finding] = []
    for k, axis in enumerate(observations.axes):
        channel = cleaned.record.find(axis, "velocity")
        if channel is not None:
            used = replace(channel, samples=channel.samples[observations.row])
            findings += check_velocity(used, observations.qd[:, k])
    return findings


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
