"""Tests that run unchanged on any bench: `pytest hil_tests --bench NAME` (see docs/benches.md)."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from bench_file import EMULATED, BenchFile, Power, load_bench

from idmkit.bench import Bench, RobotModel, identification_run, write_settings
from idmkit.board import backup
from idmkit.board.restore import restore
from idmkit.errors import IdmError, LinkError
from idmkit.fitting import Fit, fit_record
from idmkit.fixedpoint import emit_viper
from idmkit.link.client import Board
from idmkit.rig import Rig
from idmkit.rig.qemu import MPS2

RETRY_S = 0.5


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bench", default="virtual", metavar="NAME", help="bench in hil_tests/benches, or a bench file")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what stands here, and leaves out what this bench cannot do, with the reason."""
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    if not here:
        return
    try:
        bench_file = load_bench(config.getoption("--bench"))
    except IdmError as problem:
        raise pytest.UsageError(f"--bench: {problem}") from problem
    for item in here:
        item.add_marker("hil")
        for marker, reason in bench_file.lacks.items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


class Stand:
    """An open bench and the switch of its power."""

    def __init__(self, bench: Bench, switch_off_and_on: Callable[[], Board]) -> None:
        self.bench = bench
        self._switch_off_and_on = switch_off_and_on

    def power_cycle(self) -> None:
        """Cuts the power of board and drives, gives it back, and greets the board anew."""
        self.bench.board.close()
        self.bench.board = self._switch_off_and_on()


@contextmanager
def virtual_stand(bench_file: BenchFile, model: RobotModel) -> Iterator[Stand]:
    joints = [axis.joint for axis in bench_file.robot.axes]
    emulator = MPS2 if bench_file.port == EMULATED else None
    with Rig(bench_file.robot, model_source=emit_viper(model.program), emulator=emulator) as rig:

        def switch() -> Board:
            rig.restart()
            return Board.open(rig.port, joints)

        stand = Stand(Bench(bench_file.robot, Board.open(rig.port, joints), rig.advance), switch)
        try:
            yield stand
        finally:
            stand.bench.board.close()


@contextmanager
def real_stand(bench_file: BenchFile) -> Iterator[Stand]:
    joints = [axis.joint for axis in bench_file.robot.axes]

    def switch() -> Board:
        power = bench_file.power
        assert power is not None, "tests that need it are marked needs_power_cycle"
        command(power.off)
        time.sleep(power.off_s)
        command(power.on)
        return open_again(bench_file, joints, power)

    stand = Stand(Bench(bench_file.robot, Board.open(bench_file.port, joints, dtr=bench_file.dtr)), switch)
    try:
        yield stand
    finally:
        stand.bench.board.close()


def command(line: str) -> None:
    done = subprocess.run(shlex.split(line), capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise LinkError(f"`{line}` ended with exit code {done.returncode}: {said}")


def open_again(bench_file: BenchFile, joints: list[str], power: Power) -> Board:
    """A USB port is gone while the power is off and comes back some time after it."""
    deadline = time.monotonic() + power.boot_s
    while True:
        try:
            return Board.open(bench_file.port, joints, dtr=bench_file.dtr)
        except LinkError:
            if time.monotonic() > deadline:
                raise
            time.sleep(RETRY_S)


@pytest.fixture(scope="session")
def bench_file(pytestconfig: pytest.Config) -> BenchFile:
    return load_bench(pytestconfig.getoption("--bench"))


@pytest.fixture(scope="session")
def model(bench_file: BenchFile) -> RobotModel:
    """The bench's robot, as graph and as compiled program."""
    return RobotModel.of(bench_file.robot)


@pytest.fixture(scope="session")
def stand(
    bench_file: BenchFile, model: RobotModel, record_testsuite_property: Callable[[str, object], None]
) -> Iterator[Stand]:
    with ExitStack() as stack:
        try:
            stand = stack.enter_context(
                virtual_stand(bench_file, model) if bench_file.virtual else real_stand(bench_file)
            )
        except IdmError as problem:
            pytest.fail(f"bench {bench_file.name}: {problem}", pytrace=False)
        hello = stand.bench.board.hello
        record_testsuite_property("bench", bench_file.name)
        record_testsuite_property("board", hello.board)
        record_testsuite_property("firmware", ".".join(str(part) for part in hello.firmware_version))
        record_testsuite_property("protocol", ".".join(str(part) for part in hello.protocol))
        yield stand


@pytest.fixture
def bench(stand: Stand) -> Bench:
    """The robot of this bench, its board, and how time passes there."""
    return stand.bench


@pytest.fixture
def board(stand: Stand) -> Board:
    """The open link to the board; after a power cycle it is another one, `bench.board`."""
    return stand.bench.board


@pytest.fixture
def power_cycle(stand: Stand) -> Callable[[], None]:
    """Cuts the power of board and drives and gives it back."""
    return stand.power_cycle


@pytest.fixture(scope="module")
def as_it_was(stand: Stand, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the board held before a module's tests it holds afterwards."""
    before = backup.take(stand.bench.board)
    if before.settings is not None and before.settings.robot != stand.bench.robot.name:
        pytest.fail(f"the board is set up for {before.settings.robot}, the bench is of {stand.bench.robot.name}")
    yield
    if before.settings is not None:
        restore(stand.bench.board, before, tmp_path_factory.mktemp("before"))


@pytest.fixture(scope="session")
def identified(stand: Stand) -> Fit:
    """One identification run of the whole robot, for all tests."""
    write_settings(stand.bench)
    return fit_record(identification_run(stand.bench).record, stand.bench.robot)
