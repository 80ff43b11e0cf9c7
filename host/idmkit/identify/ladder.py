"""Which friction terms a robot needs: forward selection by blocked cross validation inside the training data.

Neighbouring samples know each other, so the samples that are held out are whole blocks of time, with a margin
between them and the rest. Sums over the blocks are kept once; then a trial costs one small system of equations a
block, and every term of every mover can be tried in every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from idmkit.identify.equations import Equations
from idmkit.identify.friction import FrictionTerm

Array = NDArray[np.float64]

BLOCKS = 5
MARGIN = 3
"""Rows left out beside a block: over one period of the low-pass's cutoff residuals are alike."""
LEAST_GAIN = 0.01
"""A term must take so much off the error of the blocks that were held out."""
HOLD = 1e-2
"""Weight that holds a parameter of the model to its value, in parts of its column."""
HOLD_ADDED = 1e-8
"""The same for an added term, whose value is free."""


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: the term, and the held-out error after it in parts of the error without any."""

    term: FrictionTerm
    error: float


def climb(equations: Equations, terms: Sequence[FrictionTerm], weights: Array, centre: Array) -> list[Rung]:
    """Adds the term that lowers the held-out error most, until none lowers it by 1 %.

    `equations` hold the p columns of the model and, behind them, one for each of `terms`; `weights` [n] are 1/sigma
    of the axes. `centre` [p] are values of the model's parameters, physically consistent where possible: a fit to
    some blocks is held to them, or directions that these blocks hardly show would decide. A mover gets each kind
    of term once.
    """
    sums = _BlockSums(equations, weights, centre)
    own = list(range(len(centre)))
    start = current = sums.held_out_error(own)
    chosen: list[int] = []
    rungs: list[Rung] = []
    while start > 0:
        taken = {(terms[k].mover, terms[k].kind) for k in chosen}
        trials = [k for k, term in enumerate(terms) if (term.mover, term.kind) not in taken]
        behind = [len(own) + k for k in chosen]
        errors = [sums.held_out_error([*own, *behind, len(own) + k]) for k in trials]
        if not errors or min(errors) > (1 - LEAST_GAIN) * current:
            break
        current = min(errors)
        chosen.append(trials[int(np.argmin(errors))])
        rungs.append(Rung(terms[chosen[-1]], current / start))
    return rungs


class _BlockSums:
    """[Y tau]' [Y tau] of each block, and of each block with its margins."""

    def __init__(self, equations: Equations, weights: Array, centre: Array) -> None:
        added = len(equations.names) - len(centre)
        self._centre = np.concatenate((centre, np.zeros(added)))
        self._hold = np.concatenate((np.full(len(centre), HOLD), np.full(added, HOLD_ADDED)))
        count = equations.torque.shape[1]
        edges = np.linspace(0, count, BLOCKS + 1).astype(int)
        self._blocks = [self._sum(equations, weights, a, b) for a, b in pairwise(edges)]
        total = self._sum(equations, weights, 0, count)
        self._training = [
            total - self._sum(equations, weights, max(0, a - MARGIN), min(count, b + MARGIN))
            for a, b in pairwise(edges)
        ]

    @staticmethod
    def _sum(equations: Equations, weights: Array, first: int, last: int) -> Array:
        part = slice(first, last)
        scale = np.sqrt(equations.used[:, part]) * weights[:, None]
        augmented = np.concatenate((equations.regressor[:, part], equations.torque[:, part, None]), axis=2)
        rows = (augmented * scale[:, :, None]).reshape(-1, augmented.shape[2])
        return np.asarray(rows.T @ rows)

    def held_out_error(self, columns: list[int]) -> float:
        """Sum over the blocks of the squared error of a fit to the other blocks."""
        places = [*columns, self._blocks[0].shape[0] - 1]
        centre = self._centre[columns]
        error = 0.0
        for block, training in zip(self._blocks, self._training, strict=True):
            normal = training[np.ix_(columns, columns)]
            diagonal = np.diag(normal)
            scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
            scaled = normal / np.outer(scale, scale) + np.diag(self._hold[columns])
            values = centre + np.linalg.solve(scaled, (training[columns, -1] - normal @ centre) / scale) / scale
            vector = np.append(-values, 1.0)
            error += float(vector @ block[np.ix_(places, places)] @ vector)
        return error
