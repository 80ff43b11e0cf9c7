"""How well an identification repeats: the same parameters from several results, and what their scatter says.

The Axystems pages call (largest - smallest)/mean the "mean variation"; it grows with the number of runs, so std/mean
stands beside it. Two more things are asked: do the values drift from run to run (friction falls while a machine warms
up), and do they scatter more than each result's own standard deviation promises?
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, linregress

from idmkit.errors import IdmError
from idmkit.finding import Finding
from idmkit.verdict import ParameterResult, Result

Array = NDArray[np.float64]

LEAST_RUNS = 2
DRIFT_RUNS = 5
CHANCE = 0.001
"""Probability with which chance alone makes a drift or an excess of scatter that is reported."""


@dataclass(frozen=True, eq=False)
class Repeated:
    """One parameter over N runs: `values` [N], and `stds` [N] that each result reported (NaN: none).

    `range_percent` is 100 (max - min)/|mean|, the page's "mean variation"; `std_percent` 100 std/|mean| with N - 1 in
    the standard deviation. `drift_percent` is the change from the first to the last run on a straight line, in percent
    of the mean, `drift_chance` the probability of such a line by chance (NaN below five runs). `excess` is the standard
    deviation over the root mean square of the reported ones, `excess_chance` the probability of that by chance.
    """

    name: str
    unit: str
    values: Array
    stds: Array
    mean: float
    range_percent: float
    std_percent: float
    drift_percent: float
    drift_chance: float
    excess: float
    excess_chance: float


@dataclass(frozen=True)
class Repeatability:
    """The parameters that all runs have, with findings about drift and scatter; `runs` names the results."""

    runs: tuple[str, ...]
    parameters: tuple[Repeated, ...]
    findings: tuple[Finding, ...]


def repeatability(results: Sequence[Result], names: Sequence[str]) -> Repeatability:
    """Compares results of one robot and model in the order in which they were made; `names` for the table.

    Raises IdmError for fewer than two results, and for results of different robots or models.
    """
    if len(results) < LEAST_RUNS:
        raise IdmError(f"{len(results)} result(s) cannot repeat; give two or more, ten are good")
    kinds = {(result.robot, result.model) for result in results}
    if len(kinds) > 1:
        listed = "; ".join(f"{robot}: {model}" for robot, model in sorted(kinds))
        raise IdmError(f"these results are not of one robot and model ({listed}); compare like with like")
    tables = [{parameter.name: parameter for parameter in result.parameters} for result in results]
    shared = [p for p in results[0].parameters if all(p.name in table for table in tables)]
    if not shared:
        raise IdmError("the results have no parameter in common")
    found = tuple(repeated([table[parameter.name] for table in tables]) for parameter in shared)
    findings = [finding for parameter in found for finding in _findings(parameter)]
    return Repeatability(tuple(names), found, tuple(findings))


def repeated(runs: Sequence[ParameterResult]) -> Repeated:
    """Statistics of one parameter over its runs."""
    values = np.array([run.value for run in runs])
    stds = np.array([math.nan if run.std is None else run.std for run in runs])
    count, mean = len(values), float(values.mean())
    scale = 100 / abs(mean) if mean else math.nan
    std = float(values.std(ddof=1))
    drift, drift_chance = math.nan, math.nan
    if count >= DRIFT_RUNS and std > 0:
        line = linregress(np.arange(count), values)
        drift, drift_chance = scale * float(line.slope) * (count - 1), float(line.pvalue)
    expected = float(np.mean(stds**2))
    excess, excess_chance = math.nan, math.nan
    if math.isfinite(expected) and expected > 0:
        excess = std / math.sqrt(expected)
        excess_chance = float(chi2.sf((count - 1) * excess**2, count - 1))
    return Repeated(
        name=runs[0].name,
        unit=runs[0].unit,
        values=values,
        stds=stds,
        mean=mean,
        range_percent=scale * float(np.ptp(values)),
        std_percent=scale * std,
        drift_percent=drift,
        drift_chance=drift_chance,
        excess=excess,
        excess_chance=excess_chance,
    )


def _findings(parameter: Repeated) -> list[Finding]:
    findings = []
    axis, _, name = parameter.name.rpartition(".")
    if parameter.drift_chance < CHANCE:
        way = "rises" if parameter.drift_percent > 0 else "falls"
        text = f"{name} {way} by {abs(parameter.drift_percent):.2g} % over the {len(parameter.values)} runs."
        evidence = {"drift_percent": parameter.drift_percent, "chance": parameter.drift_chance}
        step = "Warm the machine up until this stops, or identify at the temperature of its work."
        findings.append(Finding("drift", "warning", axis, text, evidence, step))
    elif parameter.excess_chance < CHANCE:
        text = f"{name} scatters {parameter.excess:.3g} times as much as the results' own standard deviations say."
        evidence = {"excess": parameter.excess, "chance": parameter.excess_chance}
        step = "Look for what changes between the runs: temperature, payload, position of the robot."
        findings.append(Finding("scatter", "warning", axis, text, evidence, step))
    return findings
