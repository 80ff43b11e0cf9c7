"""IPOPT on a plan's problem: seeded starts, progress, and what to say where the limits leave no motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from idmkit.errors import IdentificationError
from idmkit.excitation.fourier import Array
from idmkit.excitation.problem import Problem

MAX_ITERATIONS = 150
FEASIBLE = 1e-5
"""Part of a limit by which a solution may exceed its bound; the margins of the problem hold a hundred times more."""
CAUSE = 1e-3
"""Part of a limit that must be given up before it is named as a cause."""
START_SIZE = 0.25
_OPTIONS: dict[str, Any] = {
    "print_time": False,
    "ipopt.print_level": 0,
    "ipopt.sb": "yes",
    "ipopt.hessian_approximation": "limited-memory",
    "ipopt.max_iter": MAX_ITERATIONS,
    "ipopt.tol": 1e-3,
    "ipopt.constr_viol_tol": FEASIBLE / 10,
    "ipopt.acceptable_tol": 1e-2,
    "ipopt.acceptable_iter": 5,
    "ipopt.acceptable_obj_change_tol": 1e-4,
    "ipopt.acceptable_constr_viol_tol": FEASIBLE / 10,
}

Step = Callable[[int], None]


def random_start(problem: Problem, n_axes: int, rng: np.random.Generator) -> Array:
    """Variables of a moderate motion around random middles."""
    count = problem.x.numel() // n_axes
    x = rng.normal(0.0, START_SIZE / np.sqrt(count), (n_axes, count))
    x[:, 0] = rng.uniform(-0.3, 0.3, n_axes)
    return np.asarray(x.ravel())


def optimise(problem: Problem, start: Array, step: Step | None = None) -> tuple[Array, float] | None:
    """(x, objective) where IPOPT found a motion within all limits from `start`, else None.

    `step` is called with the number of iterations so far.
    """
    options = dict(_OPTIONS)
    watch = None if step is None else _Watch(problem, step)
    if watch is not None:
        options["iteration_callback"] = watch
    solver = ca.nlpsol("plan", "ipopt", {"x": problem.x, "f": problem.objective, "g": problem.rows}, options)
    solution = solver(x0=start, lbg=-problem.bound, ubg=problem.bound)
    x, objective = np.array(solution["x"]).ravel(), float(solution["f"])
    excess = float(np.max(np.abs(np.array(solution["g"]).ravel()) - problem.bound))
    return (x, objective) if np.isfinite(objective) and excess <= FEASIBLE else None


def within_limits(problem: Problem, start: Array) -> Array:
    """`start`, or a motion near it that keeps all limits.

    Raises IdentificationError that names the limits which no motion keeps: those that must give way in the
    solution that gives up least.
    """
    values = np.array(ca.Function("rows", [problem.x], [problem.rows])(start)).ravel()
    over = np.abs(values) - problem.bound
    if np.all(over <= 0):
        return start
    slack = ca.MX.sym("slack", len(problem.limits))
    loose = slack[problem.owner.tolist()]
    rows = ca.vertcat(problem.rows - loose, problem.rows + loose)
    count = len(over)
    # -bound - slack <= row <= bound + slack, as two one-sided conditions.
    low = np.concatenate([np.full(count, -np.inf), -problem.bound])
    high = np.concatenate([problem.bound, np.full(count, np.inf)])
    first = np.zeros(len(problem.limits))
    np.maximum.at(first, problem.owner, np.maximum(over, 0.0))
    variables = ca.vertcat(problem.x, slack)
    solver = ca.nlpsol("slack", "ipopt", {"x": variables, "f": ca.sum1(slack), "g": rows}, _OPTIONS)
    size = problem.x.numel()
    solution = solver(
        x0=np.concatenate([start, first]),
        lbx=np.concatenate([np.full(size, -np.inf), np.zeros(len(first))]),
        lbg=low,
        ubg=high,
    )
    found = np.array(solution["x"]).ravel()
    given_up = {problem.limits[k]: s for k, s in enumerate(found[size:]) if s > CAUSE}
    if given_up:
        causes = []
        for limit, part in sorted(given_up.items(), key=lambda item: -item[1]):
            causes.append(f"{limit} is exceeded by {part * (limit.high - limit.low) / 2:.3g} {limit.unit} at least")
        raise IdentificationError(
            f"no motion keeps all limits: {'; '.join(causes)}. Widen what is named, or move the robot's other limits "
            "to where it can be kept"
        )
    return np.asarray(found[:size])


class _Watch(ca.Callback):
    """Counts IPOPT's iterations."""

    def __init__(self, problem: Problem, step: Step) -> None:
        ca.Callback.__init__(self)
        self._sizes = {"x": problem.x.numel(), "f": 1, "g": len(problem.bound), "lam_x": problem.x.numel()}
        self._sizes |= {"lam_g": len(problem.bound), "lam_p": 0}
        self._step = step
        self._count = 0
        self.construct("watch", {})

    def get_n_in(self) -> int:
        return int(ca.nlpsol_n_out())

    def get_n_out(self) -> int:
        return 1

    def get_name_in(self, index: int) -> str:
        return str(ca.nlpsol_out(index))

    def get_sparsity_in(self, index: int) -> Any:
        size = self._sizes[ca.nlpsol_out(index)]
        return ca.Sparsity.dense(size, 1) if size else ca.Sparsity(0, 0)

    def eval(self, _: Any) -> list[int]:
        self._count += 1
        self._step(self._count)
        return [0]
