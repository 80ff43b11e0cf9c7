"""Sums over samples from which every linear estimator follows, collected block by block.

Weights of least squares are constant on an axis, so one pass that keeps, for each axis j,

    Y_j' Y_j,  Y_j' tau_j,  tau_j' tau_j

serves least squares, weighted least squares at any weights, and the residual variances, in memory that does not
grow with the record. These sums have the square of Y's condition number. Where that is too much (see
`AxisSums.condition`), a second form keeps the triangular factor of [Y_j tau_j] instead: slower, and as good as QR
of the whole matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import blas

from idmkit.dynamics.regressor import Regressor
from idmkit.dynamics.rotations import Array
from idmkit.errors import ModelError

Form = Literal["normal", "triangular"]

NORMAL_CONDITION_LIMIT = 1e6
"""Column-scaled condition of Y up to which normal equations keep four digits: 1e6^2 of the 16 of a float64."""


@dataclass(frozen=True, eq=False)
class AxisSums:
    """What is kept of one axis: `columns` [c] of the regressor; `count` samples.

    `factor` [c + 1, c + 1], upper triangular with factor' factor = [Y tau]' [Y tau], in the triangular form;
    None in the normal form. `squares` [c + 1, c + 1] is that product in either form.
    """

    columns: NDArray[np.intp]
    count: int
    squares: Array
    factor: Array | None

    @property
    def normal(self) -> Array:
        """Y' Y [c, c]."""
        return self.squares[:-1, :-1]

    @property
    def moment(self) -> Array:
        """Y' tau [c]."""
        return self.squares[:-1, -1]

    def squared_residual(self, theta: Array) -> float:
        """|tau - Y theta|^2 for parameters [c] of this axis."""
        vector = np.append(-theta, 1.0)
        if self.factor is not None:
            return float(np.sum((self.factor @ vector) ** 2))
        return max(float(vector @ self.squares @ vector), 0.0)


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of all axes, for the p parameters `names`."""

    names: tuple[str, ...]
    axes: tuple[AxisSums, ...]

    def normal_equations(self, weights: ArrayLike) -> tuple[Array, Array]:
        """(A [p, p], b [p]) = sum over axes of weight_j (Y_j' Y_j, Y_j' tau_j), weights [n] = 1/variance."""
        p = len(self.names)
        A, b = np.zeros((p, p)), np.zeros(p)
        for weight, axis in zip(np.asarray(weights, dtype=float), self.axes, strict=True):
            A[np.ix_(axis.columns, axis.columns)] += weight * axis.normal
            b[axis.columns] += weight * axis.moment
        return A, b

    def triangular(self, weights: ArrayLike) -> tuple[Array, Array, float]:
        """(R [p, p], z [p], rest): the weighted problem is |R theta - z|^2 + rest. Weights [n] = 1/variance.

        Needs the triangular form; ModelError otherwise.
        """
        p = len(self.names)
        parts = []
        for weight, axis in zip(np.asarray(weights, dtype=float), self.axes, strict=True):
            if axis.factor is None:
                raise ModelError("these sums are in the normal form; accumulate them in the triangular form")
            part = np.zeros((len(axis.factor), p + 1))
            part[:, [*axis.columns, p]] = np.sqrt(weight) * axis.factor
            parts.append(part)
        R = _triangle(np.vstack(parts))
        if len(R) < p + 1:
            R = np.vstack([R, np.zeros((p + 1 - len(R), p + 1))])
        return R[:p, :p], R[:p, p], float(R[p, p] ** 2)

    def residual_variance(self, theta: ArrayLike) -> Array:
        """Variance [n] of tau_j - Y_j theta on each axis: |e_j|^2 / (N_j - p/n), p parameters shared by n axes."""
        values = np.asarray(theta, dtype=float)
        shared = len(self.names) / len(self.axes)
        free = [axis.count - shared for axis in self.axes]
        if min(free) <= 0:
            raise ModelError(f"{self.axes[0].count} samples cannot determine {len(self.names)} parameters")
        return np.array(
            [axis.squared_residual(values[axis.columns]) / f for axis, f in zip(self.axes, free, strict=True)]
        )

    def condition(self, weights: ArrayLike) -> float:
        """Condition number of the weighted regressor with its columns scaled to length 1.

        Above NORMAL_CONDITION_LIMIT the normal form has lost the digits that would be needed to tell it exactly.
        """
        A, _ = self.normal_equations(weights)
        lengths = np.sqrt(np.diag(A))
        if np.any(lengths == 0):
            return float("inf")
        values = np.linalg.eigvalsh(A / np.outer(lengths, lengths))
        return float("inf") if values[0] <= 0 else float(np.sqrt(values[-1] / values[0]))


class Reduction:
    """A low-pass that torque and regressor pass alike, of which every `step`-th value is kept (parallel decimation).

    Output k is sum_i taps[i] x[k step + i]; it needs whole samples on both sides, so a piece of a record loses its
    ends. Symmetric `taps` delay nothing but by (len(taps) - 1)/2 samples. Zeros behind the taps fill a whole step.
    """

    def __init__(self, taps: ArrayLike, step: int) -> None:
        values = np.asarray(taps, dtype=float)
        if step < 1 or values.ndim != 1 or len(values) < 1:
            raise ModelError(f"a reduction needs a step of at least 1 and at least one tap, got {step}, {values.shape}")
        self.step = step
        self._phases = np.pad(values, (0, -len(values) % step)).reshape(-1, step)

    @property
    def overlap(self) -> int:
        """Samples that consecutive pieces must share to give the outputs of one long piece."""
        return (len(self._phases) - 1) * self.step

    def outputs(self, count: int) -> int:
        """Number of outputs of `count` samples."""
        return max(count // self.step - len(self._phases) + 1, 0)

    def __call__(self, columns: Array) -> Array:
        """[c, m] in Fortran order from [c, N] samples along contiguous rows: pass a transposed matrix of columns."""
        m = self.outputs(columns.shape[1])
        whole = columns.shape[1] // self.step
        parts = columns[:, : whole * self.step].reshape(len(columns), whole, self.step) @ self._phases.T
        return np.asarray(sum(parts[:, j : j + m, j] for j in range(len(self._phases))))


class Accumulator:
    """Collects `Sums` of a regressor over pieces of a record.

    With a `reduction`, each piece is filtered on its own: consecutive pieces that share `Reduction.overlap` samples
    give the sums of one long piece.
    """

    def __init__(self, regressor: Regressor, *, form: Form = "normal", reduction: Reduction | None = None) -> None:
        self._regressor = regressor
        self._form = form
        self._reduction = reduction
        self._stride = regressor.block
        if reduction is not None:
            self._stride = reduction.step * reduction.outputs(regressor.block)
            if self._stride == 0:
                raise ModelError(
                    f"a filter over {reduction.overlap + reduction.step} samples does not fit a block of "
                    f"{regressor.block}; reduce in two stages, or use a shorter filter"
                )
        self._counts = [0] * regressor.n_axes
        sizes = [len(columns) + 1 for columns in regressor.columns]
        self._sums = [np.zeros((size, size), order="F") for size in sizes]

    def add(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tau: ArrayLike,
        *,
        direction: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        """Adds samples [N, n]: rad, rad/s, rad/s^2, Nm (m, N). `weights` [N, n] multiply squared residuals."""
        n = self._regressor.n_axes
        torque = np.asarray(tau, dtype=float).reshape(-1, n)
        factors = None if weights is None else np.sqrt(np.asarray(weights, dtype=float).reshape(-1, n))
        states = [np.asarray(x, dtype=float).reshape(-1, n) for x in (q, qd, qdd)]
        if len(torque) != len(states[0]) or (factors is not None and len(factors) != len(torque)):
            raise ModelError(f"{len(torque)} samples of torque for {len(states[0])} of motion")
        for rows in self._regressor.rows(states[0], states[1], states[2], direction, stride=self._stride):
            tall = rows.augmented
            tall[:, -1] = torque[rows.samples, rows.axis]
            if rows.offset is not None:
                tall[:, -1] -= rows.offset
            if factors is not None:
                tall = np.asfortranarray(tall * factors[rows.samples, rows.axis, None])
            if self._reduction is not None:
                tall = self._reduction(tall.T).T
            self._collect(rows.axis, tall)

    def _collect(self, axis: int, augmented: Array) -> None:
        self._counts[axis] += len(augmented)
        if len(augmented) == 0:
            return
        if self._form == "normal":
            # Upper triangle of augmented' augmented, added in place.
            blas.dsyrk(1.0, augmented, beta=1.0, c=self._sums[axis], trans=1, overwrite_c=1)
            return
        stacked = _triangle(np.vstack([self._sums[axis], augmented]))
        self._sums[axis][: len(stacked)] = stacked

    def sums(self) -> Sums:
        """What was collected so far."""
        axes = []
        for columns, count, kept in zip(self._regressor.columns, self._counts, self._sums, strict=True):
            if self._form == "normal":
                squares = np.triu(kept) + np.triu(kept, 1).T
                axes.append(AxisSums(columns, count, squares, None))
            else:
                axes.append(AxisSums(columns, count, kept.T @ kept, kept.copy()))
        return Sums(self._regressor.names, tuple(axes))


def _triangle(matrix: Array) -> Array:
    """R of the QR factorisation of a matrix [rows, c]: upper triangular [min(rows, c), c]."""
    return np.asarray(np.linalg.qr(matrix, mode="r"))
