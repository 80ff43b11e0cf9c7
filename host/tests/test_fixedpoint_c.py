"""The C text: gcc's program has the emulator's bits on the vectors it ships with, and the formula's values in float."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from compiled_models import MODELS, model

from idmkit.fixedpoint.c_source import VECTORS, vectors, write_c
from idmkit.fixedpoint.report import input_counts
from idmkit.fixedpoint.scaling import INPUT_EXPONENTS


def compiled(folder, *arguments):
    gcc = shutil.which("gcc")
    assert gcc, "no gcc: the tests of the C text need a C compiler"
    done = subprocess.run(
        [gcc, "-O1", "-Wall", "-Wextra", "-Werror", *arguments, "-lm"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", MODELS)
def test_c_has_the_emulators_bits(name, tmp_path):
    program, limits = model(name)
    paths = write_c(program, limits, tmp_path)
    assert [path.name for path in paths] == ["model.h", "model.c", "check.c", "vectors.txt"]
    rows = vectors(program, limits)
    assert len(rows) >= 0.75 * VECTORS
    assert 0 < np.count_nonzero(rows[:, -1]) < len(rows), "limited and unlimited states"
    compiled(tmp_path, "-fsanitize=undefined", "-fno-sanitize-recover", "model.c", "check.c", "-o", "check")
    done = subprocess.run(["./check", "vectors.txt"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == f"{len(rows)} vectors, 0 wrong\n", done.stderr
    assert done.returncode == 0


def test_a_wrong_vector_is_found(tmp_path):
    program, limits = model("slide")
    write_c(program, limits, tmp_path)
    compiled(tmp_path, "model.c", "check.c", "-o", "check")
    (tmp_path / "bad.txt").write_text((tmp_path / "vectors.txt").read_text().replace("\n", "1\n", 1))
    done = subprocess.run(["./check", "bad.txt"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert " 1 wrong" in done.stdout


@pytest.mark.parametrize("name", ["crank", "scara", "tx40"])
def test_c_in_floating_point_is_the_formula(name, tmp_path):
    program, limits = model(name)
    write_c(program, limits, tmp_path)
    compiled(tmp_path, "-shared", "-fPIC", "model.c", "-o", "model.so")
    function = ctypes.CDLL(str(tmp_path / "model.so")).inverse_dynamics_float
    rng = np.random.default_rng(3)
    low, high = input_counts(program, limits)
    scale = np.repeat([2.0**exponent for exponent in INPUT_EXPONENTS], program.n_axes)
    x = rng.integers(low, high + 1, (50, len(low))) * scale
    theta = rng.uniform(
        [i.low for i in limits.parameters], [i.high for i in limits.parameters], (50, len(limits.parameters))
    )
    tau = np.empty((50, program.n_axes))
    for k in range(50):
        function(*(row[k].ctypes.data_as(ctypes.c_void_p) for row in (x, theta, tau)))
    np.testing.assert_allclose(tau, program.formula.evaluate(x, theta), rtol=1e-12, atol=1e-10)
