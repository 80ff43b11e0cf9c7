"""Native modules: the emulator's bits where viper's are, arguments that are too short, and what may be missing.

They need MicroPython's source and compilers, which the 32-bit MicroPython needs as well; the Arm ones run in
test_emulated.py.
"""

import subprocess
from array import array

import numpy as np
import pytest
from compiled_models import MODELS, model
from firmware_bench import session
from test_fixedpoint_viper import ROOT, RUN, boundary_states, micropython

from idmkit.bench import flash_model
from idmkit.cli.main import main
from idmkit.errors import ModelError
from idmkit.fixedpoint import Emulator, compile_robot
from idmkit.fixedpoint.native import COMPILERS, SOURCE_VARIABLE, compile_native, emit_native
from idmkit.fixedpoint.program import SINE_ENTRIES
from idmwire.sine import SINE

WORDS = {32: "x86", 64: "x64"}

SHORT = """
from array import array
import model
from idmwire.sine import SINE
n, p = model.N_AXES, model.N_PARAMETERS
for short in range(4):
    sizes = [4 * n, p, n + 1, len(SINE)]
    sizes[short] -= 1
    try:
        model.inverse_dynamics(*(array("i", [0] * size) for size in sizes), 0)
    except ValueError as error:
        print(error)
try:
    model.inverse_dynamics(0, 0, 0, 0, 0)
except TypeError:
    print("TypeError")
"""


def run(script, words, folder):
    (folder / "run.py").write_text(script)
    environment = {"MICROPYPATH": f"{folder}:{ROOT}/shared"}
    done = subprocess.run(
        [micropython(words), "run.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.words32
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("name", MODELS)
def test_native_module_and_emulator_agree_to_the_bit(name, words, tmp_path):
    program, limits = model(name)
    x = boundary_states(program, limits)
    assert len(x) >= 10_000
    (tmp_path / "model.mpy").write_bytes(compile_native(program, WORDS[words]))
    x.tofile(tmp_path / "x.bin")
    extremes = [parameter.limit for parameter in program.parameters]
    for p in (extremes, [-limit for limit in extremes], [limit // 3 for limit in extremes]):
        (tmp_path / "p.bin").write_bytes(array("i", p).tobytes())
        assert int(run(RUN, words, tmp_path)) == program.hash
        y = np.fromfile(tmp_path / "y.bin", dtype=np.int32).reshape(-1, program.n_axes + 1)
        np.testing.assert_array_equal(y, Emulator(program).run(x, p))


@pytest.mark.words32
def test_the_command_writes_the_module(tmp_path):
    assert main(["build", "slide", "--native", "armv7m", "-o", str(tmp_path / "model.mpy")]) == 0
    program, _ = model("slide")
    assert (tmp_path / "model.mpy").read_bytes() == compile_native(program, "armv7m")


@pytest.mark.words32
@pytest.mark.parametrize("words", WORDS)
def test_a_board_takes_a_native_module(words, tmp_path):
    """Before it uses it, the board repeats the states that come along."""
    with session(words, tmp_path, with_model=False) as bench:
        program = compile_robot(bench.robot)
        assert bench.board.greet_again().program_hash == 0
        flash_model(bench.board, program, native=True)
        assert bench.board.greet_again().program_hash == program.hash


@pytest.mark.words32
@pytest.mark.parametrize("words", WORDS)
def test_short_arguments_are_refused(words, tmp_path):
    """Viper would read beyond them."""
    (tmp_path / "model.mpy").write_bytes(compile_native(model("scara")[0], WORDS[words]))
    said = run(SHORT, words, tmp_path).splitlines()
    assert said == ["an array of int32 is too short for this model"] * 4 + ["TypeError"]


def test_the_sine_table_is_as_long_as_the_module_asks_for():
    assert len(SINE) == SINE_ENTRIES
    assert f"words(args[3], {SINE_ENTRIES}, MP_BUFFER_READ)" in emit_native(model("crank")[0])


def test_what_is_missing_is_named(tmp_path, monkeypatch, capsys):
    program, _ = model("crank")
    with pytest.raises(ModelError, match="no native modules are made for xtensawin; there are armv6m, armv7m"):
        compile_native(program, "xtensawin")
    monkeypatch.setenv(SOURCE_VARIABLE, str(tmp_path))
    with pytest.raises(ModelError, match=f"{tmp_path} holds no source of MicroPython.* run make emulators"):
        compile_native(program, "x64")
    (tmp_path / "py").mkdir()
    (tmp_path / "tools").mkdir()
    (tmp_path / "py" / "dynruntime.h").touch()
    (tmp_path / "tools" / "mpy_ld.py").write_text("raise SystemExit('no pyelftools')")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ModelError, match="arm-none-eabi-gcc, which compiles native modules for armv7m, is not on PATH"):
        compile_native(program, "armv7m")
    (tmp_path / "gcc").touch(mode=0o755)
    with pytest.raises(ModelError, match=r"could not make the native module: no pyelftools"):
        compile_native(program, "x64")
    assert main(["build", "crank", "--native", "x64"]) == 1
    assert "name it, -o MODEL.mpy" in capsys.readouterr().err
    assert main(["build", "crank", "--native", "x64", "-o", str(tmp_path / "model.mpy")]) == 1
    assert "could not make the native module" in capsys.readouterr().err
    assert not (tmp_path / "model.mpy").exists()
    assert set(COMPILERS) == {"armv6m", "armv7m", "x86", "x64"}
