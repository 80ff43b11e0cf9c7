"""The estimators by name, and the friction ladder around them: from a model's eyes on a record to an estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idmkit.dynamics.base_parameters import BaseParameters
from idmkit.dynamics.chain import INERTIAL_NAMES
from idmkit.errors import IdentificationError
from idmkit.finding import Finding
from idmkit.identify import (
    Equations,
    Estimate,
    LinearModel,
    Observations,
    equations_of,
    fit_consistent,
    fit_huber,
    fit_least_squares,
)
from idmkit.identify.essential import fit_essential
from idmkit.identify.friction import FrictionTerm, Mover, WithFriction, candidate_terms, movers_of
from idmkit.identify.instrumental import fit_instrumental
from idmkit.identify.ladder import Rung, climb
from idmkit.identify.least_squares import axis_weights
from idmkit.identify.physical import physical_model
from idmkit.robot import Robot
from idmkit.unknowns import Unknowns
from idmkit.verdict import ParameterResult

Array = NDArray[np.float64]

ESTIMATORS = ("ls", "wls", "huber", "iv", "essential", "consistent")
"""Least squares, weighted by axis, robust against outliers, instrumental variables from the commanded motion, weighted
with the essential parameters only, physically consistent."""
LOAD_PASSES = 2


@dataclass(frozen=True, eq=False)
class Outcome:
    """An estimate with the model it is of and the observations that this model made.

    `added` are results of friction terms beside the model's own parameters; `full` are all parameters of the bodies,
    friction and rotors by name, from a physically consistent estimate, else None.
    """

    model: LinearModel
    observations: Observations
    estimate: Estimate
    added: tuple[ParameterResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    full: dict[str, float] | None = None


def estimate(
    robot: Robot,
    unknowns: Unknowns,
    observe: Callable[[LinearModel], Observations],
    estimator: str,
    *,
    ladder: bool,
    drawings: bool = False,
    observe_command: Callable[[LinearModel], Observations] | None = None,
) -> Outcome:
    """Estimates the unknowns with one of ESTIMATORS from what `observe` makes of the record.

    `observe_command` does the same with the commanded instead of the measured motion, for instrumental variables.

    With `ladder`, friction terms beyond viscous and Coulomb are added where blocks of the record that were held out
    become better predicted; samples at low speed then count, since they show the friction there. `drawings` draws
    what a physically consistent estimate hardly sees to the masses in an arm's description.
    """
    if estimator not in ESTIMATORS:
        raise IdentificationError(f"there is no estimator {estimator!r}; there are {', '.join(ESTIMATORS)}")
    if estimator == "essential" and ladder:
        raise IdentificationError("essential parameters and the friction ladder do not go together; choose one")
    task = _Task(robot, unknowns, observe, observe_command, estimator, ladder, drawings)
    observations = observe(unknowns.regressor)
    plain, full = task.fit(unknowns.regressor, observations, ())
    if estimator == "essential":
        chosen = unknowns.regressor.select(plain.names)
        return Outcome(chosen, observe(chosen), plain, findings=(_essential_finding(unknowns, plain),))
    if not ladder:
        return Outcome(unknowns.regressor, observations, plain, full=full)
    rungs = task.climb(observations, plain)
    terms = tuple(rung.term for rung in rungs)
    model: LinearModel = unknowns.regressor
    best = plain
    for _ in range(LOAD_PASSES if terms else 0):
        model = task.with_friction(terms, best, observations)
        observations = observe(model)
        best, full = task.fit(model, observations, terms)
    return Outcome(model, observations, best, _added(terms, best), tuple(_ladder_findings(rungs)), full)


@dataclass(frozen=True, eq=False)
class _Task:
    """What all steps of one estimation share."""

    robot: Robot
    unknowns: Unknowns
    observe: Callable[[LinearModel], Observations]
    observe_command: Callable[[LinearModel], Observations] | None
    estimator: str
    ladder: bool
    drawings: bool

    @property
    def with_slow(self) -> bool:
        """Whether samples below the threshold count: for the ladder, and for arms whose file has no thresholds.

        On an arm some axis is always slow, and its torque still shows what the others do.
        """
        unasked = all(axis.identification_or_none is None for axis in self.robot.axes)
        return self.ladder or (self.robot.serial is not None and unasked)

    @property
    def movers(self) -> tuple[Mover, ...]:
        """What friction acts on: the axes, or the motors of a coupled wrist."""
        motors = None if self.robot.serial is None else self.robot.serial.motors
        graph = self.unknowns.graph
        return movers_of(graph.axes, graph.revolute, None if motors is None else motors.speeds)

    @property
    def bodies(self) -> dict[str, None]:
        """Names of the columns that make the torque of the bodies and rotors, not of friction."""
        kinds = {parameter.key: parameter for parameter in self.unknowns.graph.parameters}
        names = self.unknowns.regressor.names
        return dict.fromkeys(n for n in names if kinds[n].kind == "model" and kinds[n].name not in ("Iam", "k"))

    def fit(
        self, model: LinearModel, observations: Observations, terms: tuple[FrictionTerm, ...]
    ) -> tuple[Estimate, dict[str, float] | None]:
        equations = equations_of(observations, with_slow=self.with_slow)
        if self.estimator == "consistent":
            return self._consistent(equations, observations, terms)
        if self.estimator == "huber":
            return fit_huber(equations), None
        if self.estimator == "essential":
            return fit_essential(equations), None
        if self.estimator == "iv":
            if self.observe_command is None:
                raise IdentificationError("instrumental variables need the commanded motion")
            instruments = equations_of(self.observe_command(model), with_slow=self.with_slow)
            return fit_instrumental(equations, instruments), None
        return fit_least_squares(equations, weighted=self.estimator == "wls"), None

    def _consistent(
        self, equations: Equations, observations: Observations, terms: tuple[FrictionTerm, ...]
    ) -> tuple[Estimate, dict[str, float]]:
        links = () if self.robot.serial is None else self.robot.serial.chain.names
        ratios = np.array([mover.ratios for mover in self.movers])
        top = np.abs(observations.qd @ ratios.T).max(axis=0)
        base = self.unknowns.base or _identity(self.unknowns.regressor.names)
        model = physical_model(links, base, equations.names, self.movers, terms, top, self._drawings())
        found = fit_consistent(equations, model)
        return found.estimate, dict(zip(model.names, (float(x) for x in found.full), strict=True))

    def _drawings(self) -> dict[str, float] | None:
        """Inertial parameters that the arm's description gives of all links; ModelError where it lacks some."""
        if not self.drawings or self.robot.serial is None:
            return None
        chain = self.robot.serial.chain
        return {
            f"{joint}.{name}": float(value)
            for joint, body in zip(chain.names, chain.known_inertials(), strict=True)
            for name, value in zip(INERTIAL_NAMES, body.parameters, strict=True)
        }

    def climb(self, observations: Observations, plain: Estimate) -> list[Rung]:
        terms = candidate_terms(self.movers, plain.names, observations.qd)
        equations = equations_of(self.observe(self.with_friction(terms, plain, observations)), with_slow=True)
        weights = axis_weights(equations_of(observations, with_slow=True), plain.values)
        return climb(equations, terms, weights, plain.values)

    def with_friction(
        self, terms: tuple[FrictionTerm, ...] | list[FrictionTerm], of: Estimate, observations: Observations
    ) -> WithFriction:
        values = dict(zip(of.names, of.values, strict=True))
        load = {name: float(values[name]) for name in self.bodies}
        rate, cutoff = observations.sample_rate_hz, observations.cutoff_hz
        return WithFriction(self.unknowns.regressor, self.movers, terms, load, rate, cutoff)


def _identity(names: tuple[str, ...]) -> BaseParameters:
    """Base parameters of a model whose parameters can all be told apart."""
    count = len(names)
    return BaseParameters(names, tuple(range(count)), (), np.eye(count), names, dict.fromkeys(names, 1.0), ())


def _added(terms: tuple[FrictionTerm, ...], estimate: Estimate) -> tuple[ParameterResult, ...]:
    results = []
    values = dict(zip(estimate.names, zip(estimate.values, estimate.std, strict=True), strict=True))
    for term in terms:
        value, std = (float(number) for number in values[term.key])
        known = bool(np.isfinite(std))
        rsd = 100 * std / abs(value) if known and value else None
        results.append(ParameterResult(term.key, value, std if known else None, rsd, term.unit))
        if term.kind == "Fs":
            unit = "rad/s" if term.mover.revolute else "m/s"
            results.append(ParameterResult(f"{term.key}_speed", term.speed, None, None, unit))
    return tuple(results)


def _essential_finding(unknowns: Unknowns, estimate: Estimate) -> Finding:
    out = [name for name in unknowns.regressor.names if name not in estimate.names]
    text = (
        f"{len(estimate.names)} of {len(unknowns.regressor.names)} parameters are essential; the torque is explained "
    )
    text += f"as well, within 2 %, without {', '.join(out)}." if out else "as well by none fewer."
    evidence = {"essential": len(estimate.names), "parameters": len(unknowns.regressor.names)}
    return Finding("essential", "info", "", text, evidence)


def _ladder_findings(rungs: list[Rung]) -> list[Finding]:
    if not rungs:
        text = "viscous and Coulomb friction suffice: no further term predicts held-out blocks better by 1 %."
        return [Finding("friction_ladder", "info", "", text, {"terms": 0})]
    steps = ", ".join(f"{rung.term.key} ({100 * rung.error:.0f} %)" for rung in rungs)
    text = f"friction terms added, with the squared error of held-out blocks after each: {steps}."
    return [Finding("friction_ladder", "info", "", text, {"terms": len(rungs), "held_out_error": rungs[-1].error})]
