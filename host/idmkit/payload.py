"""The payload alone, with the links' parameters fixed to what a record without payload showed.

What the links' parameters are uncertain by makes the payload uncertain, too; it is part of the payload's standard
deviations. With a the payload's parameters, b the links' and A, B their columns at the samples of the record,
a = A+ (tau - B b), so cov(a) = cov(A+ noise) + A+ B cov(b) B' A+'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from idmkit.errors import IdentificationError
from idmkit.finding import Finding
from idmkit.fitting import Fit, Prepared, fit_record, prepare
from idmkit.identify import Estimate, equations_of, fit_least_squares
from idmkit.records import Record
from idmkit.robot import Robot
from idmkit.robot_graph import model_name, robot_graph
from idmkit.unknowns import Unknowns, unknowns_of

Array = NDArray[np.float64]

CERTAIN_PERCENT = 5.0
"""A standard deviation above this is worth a finding: the payload would better be weighed."""


def fit_payload(
    loaded: Record,
    unloaded: Record,
    robot: Robot,
    *,
    model: int | None = None,
    cutoff_hz: float | None = None,
    speeds: tuple[float, float] | None = None,
    noticed: Sequence[Finding] = (),
) -> Fit:
    """Identifies the payload that `loaded` was recorded with; arguments as in `fit_record`.

    The result's parameters are the links' (as given) and the payload's. Raises IdentificationError where the model has
    no payload or where a parameter is not known that only a payload shows.
    """
    _check_payload(robot, model)
    links = fit_record(unloaded, robot, model=model, cutoff_hz=cutoff_hz, speeds=speeds)
    if not links.result.verdict.accepted:
        reasons = [finding for finding in links.result.verdict.findings if finding.severity == "refusal"]
        raise IdentificationError(
            f"the record without payload does not give the links' parameters: {reasons[0].message} "
            "A payload can only be told from links that are known"
        )
    prepared = prepare(loaded, robot, model, cutoff_hz, speeds)
    unknowns = _payload_of(prepared, links)
    observations = prepared.observe(unknowns.regressor)
    estimate = fit_least_squares(equations_of(observations))
    estimate = _with_links(prepared, unknowns, estimate, links)
    found = [*noticed, _fixed(links), *_uncertain(unknowns, estimate)]
    return prepared.judged(unknowns, observations, estimate, found)


def _check_payload(robot: Robot, model: int | None) -> None:
    """Refuses models on which no payload shows, before anything is identified."""
    graph = robot_graph(robot, model=model)
    payload = graph.keys_of("payload")
    links = {key: 1.0 for key in graph.keys if key not in payload}
    if not payload or not graph.regressor(links).names:
        raise IdentificationError(
            f"no payload shows on model {model_name(robot, model=model)}; choose a model that has one (docs/models.md)"
        )


def _payload_of(prepared: Prepared, links: Fit) -> Unknowns:
    graph = prepared.graph
    payload = graph.keys_of("payload")
    values = {key: value for key, value in links.result.values().items() if key not in payload}
    open_keys = [key for key in graph.keys if key not in values and key not in payload]
    if open_keys:
        raise IdentificationError(
            f"{', '.join(open_keys)} must be known before a payload can be: give the geometry in the robot file "
            "([axes.geometry])"
        )
    for axis in prepared.robot.axes:
        if f"{axis.name}.gcos" in values and "tilt" not in axis.geometry:
            raise IdentificationError(
                f"axis {axis.name!r}: its slope must be known before a payload can be. The motor's inertia is part of "
                "M, so Mgcos / M is not good enough; give tilt (rad from the vertical) in the robot file "
                "([axes.geometry])"
            )
    return unknowns_of(prepared.robot, graph, values)


def _with_links(prepared: Prepared, unknowns: Unknowns, estimate: Estimate, links: Fit) -> Estimate:
    """The estimate with what the links' uncertainty adds to its covariance."""
    carried = dict(zip(estimate.names, map(float, estimate.values), strict=True))
    others = {key: value for key, value in unknowns.known.items() if key not in links.estimate.names}
    known = unknowns.graph.no_payload() | others | carried
    linear = unknowns.graph.regressor(known)
    own = equations_of(prepared.observe(unknowns.regressor))
    seen = [name for name in links.estimate.names if name in linear.names]
    behind = equations_of(prepared.observe(linear.select(seen)))
    A = own.regressor[own.used]
    scale = np.linalg.norm(A, axis=0)
    gain = np.linalg.lstsq(A / scale, behind.regressor[own.used], rcond=None)[0] / scale[:, None]
    places = [links.estimate.names.index(name) for name in seen]
    added = gain @ links.estimate.covariance[np.ix_(places, places)] @ gain.T
    return replace(estimate, covariance=estimate.covariance + added)


def _fixed(links: Fit) -> Finding:
    count = len(links.estimate.names)
    text = f"{count} parameters of links and friction come from the record without payload; their uncertainty is part "
    text += "of the payload's."
    return Finding("links_fixed", "info", "", text, {"parameters": count})


def _uncertain(unknowns: Unknowns, estimate: Estimate) -> list[Finding]:
    units = {parameter.key: parameter.unit for parameter in unknowns.graph.parameters}
    listed, evidence = [], {}
    for name, value, std in zip(estimate.names, map(float, estimate.values), map(float, estimate.std), strict=True):
        percent = 100 * std / abs(value) if value else math.inf
        if percent > CERTAIN_PERCENT:
            listed.append(f"{name} = {value:.4g} +- {std:.2g} {units[name]} ({percent:.0f} %)")
            evidence[name] = percent
    if not listed:
        return []
    text = f"uncertain by more than {CERTAIN_PERCENT:g} %: {', '.join(listed)}."
    step = "Where it matters, accelerate more, or weigh the payload and enter its data."
    return [Finding("payload_uncertain", "warning", "", text, evidence, step)]
