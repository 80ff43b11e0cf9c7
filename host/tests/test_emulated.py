"""Emulated boards: the same bits as on the host, the same firmware on a rig (`make test-emulated`).

A board or a tool that is missing is a failure, not a skip.
"""

from array import array

import numpy as np
import pytest
from compiled_models import MODELS, READY, model
from emulated import Mps2, Pico, RawRepl
from test_fixedpoint_viper import boundary_states

from idmkit.bench import Bench, RobotModel, capture_while, write_model
from idmkit.board.model_file import compile_module
from idmkit.errors import RigError
from idmkit.fixedpoint import Emulator, emit_viper
from idmkit.fixedpoint.native import compile_native
from idmkit.fixedpoint.program import Code
from idmkit.link import motion
from idmkit.link.client import Board
from idmkit.rig import Rig
from idmkit.rig.model_cost import ARCHITECTURE, model_costs
from idmkit.robot import load_robot

pytestmark = pytest.mark.emulated
BLOCK = 250
"""States at a time in the Pico's memory."""
CHANNELS = ("position_command", "torque_model", "torque_feedback", "torque_error")

RUN = """
import gc, model, native
from uctypes import bytearray_at
from idmwire.sine import SINE
def run(x, p, y, count, inverse_dynamics):
    wide, high = 16 * model.N_AXES, 4 * (model.N_AXES + 1)
    parameters = bytearray_at(p, 4 * model.N_PARAMETERS)
    for k in range(count):
        inverse_dynamics(bytearray_at(x + k * wide, wide), parameters, bytearray_at(y + k * high, high), SINE, 0)
"""
BACKENDS = ("model", "native")
"""The modules on the board: viper's, and gcc's."""


def compiled(program, architecture, folder):
    """The model as machine code for a core, as a board gets it: model.mpy and native.mpy."""
    (folder / "model.mpy").write_bytes(compile_module(program, architecture))
    (folder / "native.mpy").write_bytes(compile_native(program, architecture))
    return [folder / f"{name}.mpy" for name in BACKENDS]


def parameter_sets(program):
    rng = np.random.default_rng(1)
    extremes = [parameter.limit for parameter in program.parameters]
    return extremes, [-limit for limit in extremes], [int(rng.integers(-m, m + 1)) for m in extremes]


def agrees(board, repl, program, x, p, addresses):
    """Runs the states on the board in both modules, with inputs and outputs at these addresses of its memory."""
    at_x, at_p, at_y = addresses
    board.write(at_x, x.tobytes())
    board.write(at_p, array("i", p).tobytes())
    n = program.n_axes + 1
    expected = Emulator(program).run(x, p)
    for backend in BACKENDS:
        board.write(at_y, bytes(4 * n * len(x)))
        repl.run(f"run({at_x}, {at_p}, {at_y}, {len(x)}, {backend}.inverse_dynamics)")
        y = np.frombuffer(board.read(at_y, 4 * n * len(x)), dtype=np.int32).reshape(-1, n)
        np.testing.assert_array_equal(y, expected, err_msg=backend)


def names_agree(repl, program):
    """Both modules have the names that the firmware reads."""
    limits = tuple(parameter.limit for parameter in program.parameters)
    for backend in BACKENDS:
        names = "PROGRAM_HASH", "N_AXES", "N_PARAMETERS", "PARAMETER_LIMITS"
        found = repl.run(f"print([{', '.join(f'{backend}.{name}' for name in names)}])")
        assert eval(found) == [program.hash, program.n_axes, len(limits), limits]


@pytest.mark.parametrize("name", MODELS)
def test_cortex_m3_gives_the_emulators_bits(name, tmp_path):
    program, limits = model(name)
    x = boundary_states(program, limits)
    assert len(x) >= 10_000
    with Mps2(tmp_path, compiled(program, "armv7m", tmp_path)) as board:
        repl = RawRepl(board.port)
        repl.run(RUN)
        names_agree(repl, program)
        for p in parameter_sets(program):
            agrees(board, repl, program, x, p, [board.FREE + (k << 22) for k in range(3)])
        repl.close()


def test_what_a_module_takes_is_measured():
    """Of heap machine code and little else: the file also holds names and relocations, which do not stay."""
    program, _ = model("scara")
    modules = {"viper": compile_module(program, ARCHITECTURE), "native": compile_native(program, ARCHITECTURE)}
    costs = model_costs(modules)
    for name, module in modules.items():
        assert 0.5 * len(module) < costs[name].heap < 1.5 * len(module)
        assert costs[name].instructions > program.count(Code.MUL)
    assert costs["native"].heap < costs["viper"].heap
    assert costs["native"].instructions < costs["viper"].instructions


def drive(folder, emulator):
    """HELLO, settings and model, arm, move, capture; then a power cycle. What was captured, and both HELLOs."""
    robot = load_robot("crank")
    model = RobotModel.of(robot)
    joints = [axis.joint for axis in robot.axes]
    with Rig(robot, folder=folder, emulator=emulator, model_source=emit_viper(model.program)) as rig:
        values = dict.fromkeys((parameter.key for parameter in model.program.parameters), 0.0)
        values |= {f"crank.{name}": value for name, value in rig.truth()["crank"].items() if name != "residual"}
        with Board.open(rig.port, joints) as board:
            bench = Bench(robot, board, rig.advance)
            write_model(bench, model.program, values)
            with bench.armed():
                run = capture_while(
                    bench, CHANNELS, 300, lambda cycle: motion.move(board, [0.2], 250, start_cycle=cycle)
                )
        rig.restart()
        with Board.open(rig.port, joints) as again:
            return run, board.hello, again.hello


def test_a_cortex_m3_moves_a_robot_and_remembers_it(tmp_path):
    """The same numbers in every cycle as from the board that is a process, 64-bit words and all."""
    run, before, after = drive(tmp_path / "mps2", "mps2")
    assert (before.board, before.word_bits) == ("mps2", 32)
    assert (after.robot, after.generation) == ("crank", 1)
    expected, process, _ = drive(tmp_path / "unix", None)
    assert (process.board, process.word_bits, process.program_hash) == ("unix", 64, before.program_hash)
    assert run.first_cycle == expected.first_cycle
    for got, wanted in zip(run.record.channels, expected.record.channels, strict=True):
        np.testing.assert_array_equal(got.samples, wanted.samples, err_msg=got.name)
    assert run.record.channels[0].samples[-1] == pytest.approx(0.2, abs=1e-6)


def test_an_emulator_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("IDMKIT_MPS2_IMAGE", str(tmp_path / "none.elf"))
    with pytest.raises(RigError, match=r"IDMKIT_MPS2_IMAGE names .*none\.elf, which is no file; run make emulators"):
        Rig(load_robot("crank"), emulator="mps2")


@pytest.mark.parametrize("name", READY)
def test_pico_gives_the_emulators_bits(name, tmp_path):
    """On 1,000 states of each ready model: seven million cycles a second are few for more."""
    program, limits = model(name)
    x = boundary_states(program, limits)
    x = x[:: len(x) // 1000][:1000]
    with Pico() as board:
        repl = RawRepl(board.port)
        for path in compiled(program, "armv6m", tmp_path):
            board.put(repl, path.name, path.read_bytes())
        repl.run(RUN)
        sizes = x[:BLOCK].nbytes, 4 * len(program.parameters), 4 * (program.n_axes + 1) * BLOCK
        repl.run(f"import uctypes\nmemory = [bytearray(n) for n in {sizes}]")
        addresses = [int(a) for a in repl.run("print(*(uctypes.addressof(m) for m in memory))").split()]
        for begin in range(0, len(x), BLOCK):
            agrees(board, repl, program, x[begin : begin + BLOCK], parameter_sets(program)[2], addresses)
        repl.close()


def test_the_pico_answers_on_its_usb_port():
    with Pico() as pico:
        # Without the boot window: a second of polling takes the emulator half a minute.
        RawRepl(pico.port).start("import boards.rpi_pico\nboards.rpi_pico.Board.BOOT_WINDOW_MS = 0\nimport main")
        with Board.open(pico.port, timeout_s=30, patience_s=120) as board:
            assert (board.hello.board, board.hello.word_bits, board.mismatch) == ("rpi_pico", 32, None)
            assert board.status().state == "disarmed"
