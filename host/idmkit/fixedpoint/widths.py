"""Pass 5: which products are made wide and which operands are cut without rounding, by a model of the error.

Every cut and every rounding loses something between -e and e (cut without rounding: 2e to one side), which reaches
a torque times a slope. At the sampled states their squares add up; SPREAD times the root of the sum foretells the
largest error that a search finds. Products get wider where most of it comes from until every axis is within its
budget; then operands are cut without rounding, two machine instructions cheaper, as far as the budget lasts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from idmkit.fixedpoint.formula import Op
from idmkit.fixedpoint.product import Width
from idmkit.fixedpoint.samples import Samples
from idmkit.fixedpoint.scaling import Lowering, Plan

SPREAD = 5.0
"""Largest error found by search, in standard deviations at the worst sampled state."""
NEGLIGIBLE = 2e-3
"""Share of what is too much, below which a product is not worth widening."""
_ROUNDS = 40
_BATCH = 0.85
"""Share of the budget that each round of widening aims at."""

Floats = NDArray[np.float64]


class ErrorModel:
    """Mean square error of each axis at every sampled state, Nm^2 or N^2, and where it comes from.

    `cuts` by (operand, bits): [axes, S]; `products`: what a product's own cuts add, by product; `rest`: all else.
    """

    def __init__(self, lowering: Lowering, samples: Samples) -> None:
        nodes = lowering.formula.nodes
        axes, count = len(samples.slopes), samples.values.shape[1]
        reach: defaultdict[tuple[int, int], Floats] = defaultdict(lambda: np.zeros((axes, count)))
        loss: dict[tuple[int, int], float] = {}
        self.products: dict[int, Floats] = {}
        for product, cuts in lowering.cuts.items():
            slope = np.stack([slopes[product] for slopes in samples.slopes])
            own = np.zeros((axes, count))
            for cut in (cut for cut in cuts if cut.error > 0):
                operand, other = nodes[product].args[cut.operand], nodes[product].args[1 - cut.operand]
                key = operand, cut.bits
                effect = slope * samples.values[other]
                reach[key] += effect
                loss[key] = cut.error
                own += (effect * cut.error) ** 2 / 3
            self.products[product] = own
        self.cuts = {key: (effect * loss[key]) ** 2 / 3 for key, effect in reach.items()}
        self.rest = np.zeros((axes, count))
        for place, error in lowering.rounding.items():
            if error:
                self.rest += np.stack([(slopes[place] * error) ** 2 / 3 for slopes in samples.slopes])
        self.total: Floats = sum(self.cuts.values(), self.rest)

    def largest(self) -> Floats:
        """Foretold largest error of each axis [n]."""
        found: Floats = SPREAD * np.sqrt(self.total.max(axis=1))
        return found


def choose(lower: Callable[[Plan], Lowering], samples: Samples, budget: Sequence[float]) -> Plan:
    """The plan that meets the budget [n], or has done all it can."""
    allowed = np.array(budget)
    plan = Plan()
    for _ in range(_ROUNDS):
        model = ErrorModel(lower(plan), samples)
        wider = _wider(model, plan, allowed)
        if not wider:
            break
        plan = Plan(plan.widths | {place: Width(plan.widths.get(place, Width.NARROW) + 1) for place in wider})
    return Plan(plan.widths, _floors(model, allowed, samples))


def _wider(model: ErrorModel, plan: Plan, allowed: Floats) -> set[int]:
    """Products to widen: at the worst state of each axis above its budget, those that add most."""
    chosen: set[int] = set()
    for axis in np.flatnonzero(model.largest() > allowed):
        state = int(model.total[axis].argmax())
        excess = model.total[axis, state] - (_BATCH * allowed[axis] / SPREAD) ** 2
        shares = {
            place: float(own[axis, state])
            for place, own in model.products.items()
            if own[axis, state] > NEGLIGIBLE * excess and plan.widths.get(place, Width.NARROW) < Width.FULL
        }
        for place in sorted(shares, key=lambda p: (-shares[p], p)):
            if excess <= 0:
                break
            chosen.add(place)
            excess -= shares[place]
    return chosen


def _floors(model: ErrorModel, allowed: Floats, samples: Samples) -> frozenset[int]:
    """Nodes whose cuts may lose up to twice as much, cheapest first, while the budget lasts."""
    added: defaultdict[int, Floats] = defaultdict(lambda: np.zeros(model.total.shape))
    for (operand, _), square in model.cuts.items():
        if samples.formula.nodes[operand].op is not Op.CONSTANT:
            added[operand] += 3 * square
    total = model.total.copy()
    room = ((allowed / SPREAD) ** 2)[:, None]
    chosen = set()
    for operand in sorted(added, key=lambda place: (float((added[place] / room).max()), place)):
        if np.all(total + added[operand] <= room):
            total += added[operand]
            chosen.add(operand)
    return frozenset(chosen)
