"""Speed of an identification, beside Pinocchio on the same samples: one line of JSON.

Everybody gets the TX40's URDF and 50,000 samples of six axes in memory, one BLAS thread, and gives base parameters
by weighted least squares with the variance of each axis. Seconds are the best of several runs; `ratio_...` is a
peer's time divided by ours, so above 1 means that we are faster. Then ten million samples are streamed through the
low-pass, the derivatives and the sums, in a process of its own whose peak memory is reported.

Peers: Pinocchio's regressor called from Python, with friction columns, normal equations and Cholesky, on all columns
and on the base columns alone; the same in a compiled loop, block by block so that it stays in the cache, where g++
and Pinocchio's headers are found (build/); FIGAROH as shipped, without weights, where it is installed.
"""
# ruff: noqa: E402 - the numbers of threads count only when they are set before numpy is loaded

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import ctypes
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, qr
from scipy.signal import firwin

from idmkit.dynamics.accumulate import Accumulator, AxisSums, Reduction, Sums
from idmkit.dynamics.base_parameters import base_parameters
from idmkit.dynamics.chain import INERTIAL_NAMES, gravity_vector
from idmkit.dynamics.regressor import Regressor
from idmkit.dynamics.serial import preferred_order, serial_graph
from idmkit.dynamics.urdf import read_urdf
from idmkit.signals.derivative import spline_derivatives
from idmkit.signals.lowpass import edge_rows, low_pass

Array = NDArray[np.float64]

Links = Callable[[Array, Array, Array], Array]

ROOT = Path(__file__).resolve().parents[1]
URDF = ROOT / "host/idmkit/robots/tx40.urdf"
SAMPLES = 50_000
STREAMED = 10_000_000
RATE_HZ, CUTOFF_HZ = 1000.0, 20.0
CHUNK = 50_000
ROUNDS = 10
FLAT = ((10**4, 5), (10**5, 5), (10**6, 2), (10**7, 1))
"""Samples and repetitions of the streams that show how the time a sample depends on the length."""
COLUMNS = 84
"""Of a peer: 60 of the links, then six rotors, viscous and Coulomb frictions, and offsets."""
SIGMA = np.array([1.0, 1.2, 0.6, 0.2, 0.25, 0.1])


def motion(start: int, count: int) -> tuple[Array, Array, Array]:
    """Positions, velocities, accelerations [count, 6] of a sum of sines."""
    t = np.arange(start, start + count)[:, None] / RATE_HZ
    w = 2 * np.pi * 0.3 * np.array([1.0, 1.27, 1.43, 1.13, 1.61, 1.73])
    a, phase = np.array([0.9, 0.7, 1.0, 0.8, 1.1, 0.6]), np.arange(6.0)
    return a * np.sin(w * t + phase), a * w * np.cos(w * t + phase), -a * w * w * np.sin(w * t + phase)


def best(work: dict[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, Any]]:
    """(seconds of each one's fastest run, their results). Rounds, so that a busy machine is busy for everybody."""
    seconds = dict.fromkeys(work, float("inf"))
    results: dict[str, Any] = {}
    for _ in range(ROUNDS):
        for name, run in work.items():
            start = time.perf_counter()
            results[name] = run()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds, results


def weighted_least_squares(sums: Sums, ridge: float = 0.0) -> tuple[Array, Array]:
    """(values [p], variances [6]): least squares, then twice with the variances of its residuals as weights."""
    variances = np.ones(len(sums.axes))
    for _ in range(3):
        A, b = sums.normal_equations(1 / variances)
        values = cho_solve(cho_factor(A + ridge * np.trace(A) * np.eye(len(b))), b)
        variances = sums.residual_variance(values)
    return values, variances


def our_model() -> Regressor:
    """From the URDF to the regressor of the base parameters."""
    chain = read_urdf(URDF, gravity_vector((0, 0, -1), 9.81)).chain
    graph = serial_graph(chain)
    regressor = graph.regressor()
    return regressor.select(base_parameters(regressor, order=preferred_order(chain, graph)).names)


def our_fit(regressor: Regressor, data: tuple[Array, ...]) -> tuple[Array, Array]:
    """One pass over the samples, then weighted least squares from its sums."""
    accumulator = Accumulator(regressor)
    accumulator.add(*data)
    return weighted_least_squares(accumulator.sums())


class Peer:
    """Pinocchio's regressor, called from Python once a sample."""

    def __init__(self) -> None:
        import pinocchio

        self.function = pinocchio.computeJointTorqueRegressor
        self.model = pinocchio.buildModelFromUrdf(str(URDF))
        self.data = self.model.createData()

    def links(self, q: Array, qd: Array, qdd: Array) -> Array:
        """[N, 6, 60] by a loop in Python."""
        W = np.empty((len(q), 6, 60))
        for k in range(len(q)):
            W[k] = self.function(self.model, self.data, q[k], qd[k], qdd[k])
        return W

    def base(self) -> list[int]:
        """Base columns of a regressor [N, 6, COLUMNS] by pivoted QR of random rows."""
        q, qd, qdd = np.random.default_rng(1).uniform(-3, 3, (3, 200, 6))
        rows = with_friction(self.links(q, qd, qdd), qd, qdd).reshape(-1, COLUMNS)
        _, R, order = qr(rows, mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        return sorted(int(k) for k in order[: int((size > 1e-9 * size[0]).sum())])


def with_friction(links: Array, qd: Array, qdd: Array) -> Array:
    """[N, 6, COLUMNS]: the links' columns [N, 6, 60], rotors, viscous and Coulomb friction, offsets."""
    W = np.zeros((len(qd), 6, COLUMNS))
    W[:, :, :60] = links
    for j in range(6):
        W[:, j, 60 + j], W[:, j, 66 + j], W[:, j, 72 + j], W[:, j, 78 + j] = qdd[:, j], qd[:, j], np.sign(qd[:, j]), 1
    return W


def peer_fit(peer: Peer, data: tuple[Array, ...], links: Links, block: int, all_columns: bool) -> tuple[Array, Array]:
    """The whole regressor of `block` samples with its friction, normal equations an axis, Cholesky, WLS."""
    columns = list(range(COLUMNS)) if all_columns else peer.base()
    sums = np.zeros((6, len(columns) + 1, len(columns) + 1))
    for start in range(0, SAMPLES, block):
        q, qd, qdd, tau = (values[start : start + block] for values in data)
        W = with_friction(links(q, qd, qdd), qd, qdd)
        if not all_columns:
            W = W.take(columns, axis=2)
        for j in range(6):
            moment = W[:, j].T @ tau[:, j]
            sums[j, :-1, :-1] += W[:, j].T @ W[:, j]
            sums[j, :-1, -1] += moment
            sums[j, -1, :-1] += moment
            sums[j, -1, -1] += tau[:, j] @ tau[:, j]
    axes = tuple(AxisSums(np.arange(len(columns)), SAMPLES, total, None) for total in sums)
    # All columns together depend on each other; a trace of weight on the parameters makes them solvable.
    return weighted_least_squares(Sums(tuple(map(str, columns)), axes), 1e-10 if all_columns else 0.0)


CPP = r"""
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/regressor.hpp>
using Row = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
static pinocchio::Model* model;
static pinocchio::Data* data;
extern "C" void load(int n, const double* R, const double* p) {
  model = new pinocchio::Model();
  pinocchio::JointIndex parent = 0;
  for (int j = 0; j < n; ++j) {
    Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>> rotation(R + 9 * j);
    Eigen::Map<const Eigen::Vector3d> place(p + 3 * j);
    pinocchio::SE3 placement{Eigen::Matrix3d(rotation), Eigen::Vector3d(place)};
    parent = model->addJoint(parent, pinocchio::JointModelRZ(), placement, "j" + std::to_string(j));
  }
  data = new pinocchio::Data(*model);
}
extern "C" void links(long count, const double* q, const double* v, const double* a, double* W) {
  const long n = model->nv;
  for (long k = 0; k < count; ++k) {
    Eigen::Map<const Eigen::VectorXd> qk(q + k * n, n), vk(v + k * n, n), ak(a + k * n, n);
    pinocchio::computeJointTorqueRegressor(*model, *data, qk, vk, ak);
    Eigen::Map<Row>(W + k * n * 10 * n, n, 10 * n) = data->jointTorqueRegressor;
  }
}
"""
DEFINES = (
    "NDEBUG", "BOOST_MPL_LIMIT_LIST_SIZE=30", "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)  # fmt: skip


def compiled_loop(peer: Peer) -> Links | str:
    """The same loop in C++ over Pinocchio's headers, or why there is none."""
    import casadi
    import cmeel
    import pinocchio

    folder = ROOT / "build/bench_identify"
    folder.mkdir(parents=True, exist_ok=True)
    source, library = folder / "links.cpp", folder / f"links-{pinocchio.__version__}.so"
    if not library.exists():
        prefix = Path(cmeel.__path__[0]).parent / "cmeel.prefix"
        # Pinocchio's wheels bring no Eigen; CasADi's bring the same version's headers.
        includes = [prefix / "include", Path(casadi.__path__[0]) / "include/eigen3"]
        source.write_text(CPP)
        command = ["g++", "-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", str(source), "-o", str(library)]
        command += [f"-D{name}" for name in DEFINES] + [f"-I{path}" for path in includes]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return "no g++"
        if done.returncode:
            return next((line for line in done.stderr.splitlines() if "error" in line), "g++ failed")[:200]
    functions = ctypes.CDLL(str(library))
    array = np.ctypeslib.ndpointer(dtype=float, flags="C")
    functions.load.argtypes = [ctypes.c_int, array, array]
    functions.links.argtypes = [ctypes.c_long, array, array, array, array]
    placements = [peer.model.jointPlacements[j] for j in range(1, 7)]
    functions.load(6, np.array([p.rotation for p in placements]), np.array([p.translation for p in placements]))

    def links(q: Array, qd: Array, qdd: Array) -> Array:
        W = np.empty((len(q), 6, 60))
        functions.links(len(q), q, qd, qdd, W)
        return W

    return links


def figaroh(peer: Peer, data: tuple[Array, ...]) -> float | str:
    """Seconds of FIGAROH's own way to base parameters and least squares, or why there are none."""
    try:
        import contextlib
        import io

        with contextlib.redirect_stdout(io.StringIO()):
            from figaroh.tools.qrdecomposition import get_baseParams
            from figaroh.tools.regressor import (
                RegressorBuilder,
                RegressorConfig,
                build_regressor_reduced,
                get_index_eliminate,
            )
    except ImportError:
        return "not installed"
    q, qd, qdd, tau = data

    class Holder:
        model, data = peer.model, peer.data

    names = [f"{name}{j}" for j in range(6) for name in INERTIAL_NAMES]
    names += [f"{name}{j}" for name in ("fv", "fs", "off") for j in range(6)]
    parameters = dict.fromkeys(names, 1.0)

    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        builder = RegressorBuilder(Holder(), RegressorConfig(has_friction=True, has_joint_offset=True))
        W = builder.build_basic_regressor(q, qd, qdd, {"act_idxv": list(range(6))})
        dropped, kept = get_index_eliminate(W, parameters, 1e-6)
        base, *_ = get_baseParams(build_regressor_reduced(W, dropped), kept, parameters)
    np.linalg.lstsq(base, tau.T.ravel(), rcond=None)
    return round(time.perf_counter() - start, 4)


def stream(total: int, filtered: bool) -> dict[str, float]:
    """Streams `total` samples in chunks; seconds without the making of the samples, peak memory of the process."""
    regressor = our_model()
    reduction = Reduction(firwin(201, CUTOFF_HZ, fs=RATE_HZ), 20) if filtered else None
    accumulator = Accumulator(regressor, reduction=reduction)
    trim = edge_rows(CUTOFF_HZ, RATE_HZ)
    margin = trim if reduction is None else trim + reduction.overlap // 2
    rng = np.random.default_rng(0)
    theta = rng.normal(size=len(regressor.names))
    seconds = 0.0
    for start in range(0, total, CHUNK):
        count = min(CHUNK, total - start)
        before = margin if filtered else 0
        q, qd, qdd = motion(start - before, count + 2 * before)
        tau = regressor.torque(theta, q, qd, qdd) + rng.normal(size=q.shape) * SIGMA
        if filtered:
            q = q + rng.normal(size=q.shape) * 1e-5
        begin = time.perf_counter()
        if filtered:
            q = low_pass(q, RATE_HZ, CUTOFF_HZ)
            qd, qdd = spline_derivatives(q, RATE_HZ)
            q, qd, qdd, tau = (values[trim : len(values) - trim] for values in (q, qd, qdd, tau))
        accumulator.add(q, qd, qdd, tau)
        seconds += time.perf_counter() - begin
    values, _ = weighted_least_squares(accumulator.sums())
    # Not ru_maxrss, which a process inherits from the one that started it.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    return {
        "samples": total,
        "seconds": round(seconds, 3),
        "us_per_sample": round(1e6 * seconds / total, 3),
        "peak_memory_MB": round(peak),
        "parameter_error": round(float(np.linalg.norm(values - theta) / np.linalg.norm(theta)), 6),
    }


def streamed(total: int, how: str) -> dict[str, float]:
    """`stream` in a process of its own, so that the peak memory is its own."""
    command = [sys.executable, __file__, how, str(total)]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def compare(data: tuple[Array, ...]) -> dict[str, Any]:
    """Seconds and ratios of everybody on the same samples."""
    peer, regressor = Peer(), our_model()
    work: dict[str, Callable[[], Any]] = {
        "ours": lambda: our_fit(our_model(), data),
        "ours_model": our_model,
        "ours_sums_and_fit": lambda: our_fit(regressor, data),
        "pinocchio_python_all": lambda: peer_fit(Peer(), data, peer.links, SAMPLES, True),
        "pinocchio_python": lambda: peer_fit(Peer(), data, peer.links, SAMPLES, False),
    }
    loop = compiled_loop(peer)
    if not isinstance(loop, str):
        work["pinocchio_compiled"] = lambda: peer_fit(Peer(), data, loop, 2048, False)
    seconds, results = best(work)
    # The same problem was solved: as many base parameters leave the same noise.
    for name in set(results) & {"pinocchio_python", "pinocchio_compiled"}:
        assert len(results["ours"][0]) == len(results[name][0])
        np.testing.assert_allclose(results["ours"][1], results[name][1], rtol=1e-6)
    slow = figaroh(peer, data)
    result: dict[str, Any] = {"base_parameters": len(results["ours"][0])}
    result |= {f"{name}_s": round(value, 4) for name, value in seconds.items()}
    if isinstance(loop, str):
        result["pinocchio_compiled_s"] = loop
    result["figaroh_s"] = slow
    peers = {name: value for name, value in seconds.items() if not name.startswith("ours")}
    if isinstance(slow, float):
        peers["figaroh"] = slow
    return result | {f"ratio_{name}": round(value / seconds["ours"], 2) for name, value in peers.items()}


def main() -> None:
    """Runs everything, or, as its own child, one stream."""
    if len(sys.argv) == 3:
        print(json.dumps(stream(int(sys.argv[2]), filtered=sys.argv[1] == "filtered")))
        return
    q, qd, qdd = motion(0, SAMPLES)
    rng = np.random.default_rng(0)
    regressor = our_model()
    tau = regressor.torque(rng.normal(size=len(regressor.names)), q, qd, qdd) + rng.normal(size=q.shape) * SIGMA
    result: dict[str, Any] = {"benchmark": "identify", "samples": SAMPLES, "axes": 6, "blas_threads": 1}
    result |= compare((q, qd, qdd, tau))
    # Short streams several times: they last milliseconds, less than what a busy machine takes away at a time.
    flat = [[streamed(total, "plain") for _ in range(runs)] for total, runs in FLAT]
    result["us_per_sample_1e4_to_1e7"] = [min(run["us_per_sample"] for run in runs) for runs in flat]
    result["streamed"] = streamed(STREAMED, "filtered")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
