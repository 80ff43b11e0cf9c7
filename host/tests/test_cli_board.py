"""`idm` against boards, and against what is none: a clear sentence each, nothing written."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import cli
import pytest
from fake_board import FakeBoard
from free_rig import FreeRig
from pty_board import PtyBoard

from idmkit.cli.main import main
from idmkit.link.client import Board
from idmkit.robot import load_robot

IDENTIFY = ("--robot", "crank", "-o", ".", "--write")


class Echo:
    """A terminal, or RX bridged to TX."""

    def __init__(self) -> None:
        self._out: list[bytes] = []

    def feed(self, data: bytes) -> None:
        self._out += [data] if data else []

    def take(self) -> list[bytes]:
        out, self._out = self._out, []
        return out


class Silent:
    """Something that takes what it is sent and says nothing."""

    def feed(self, data: bytes) -> None:
        pass

    def take(self) -> list[bytes]:
        return []


class Noisy(Silent):
    """A device with another protocol, or at another baud rate."""

    def take(self) -> list[bytes]:
        return [bytes(range(0x80, 0xA0)) + b"\0"]


class Stranger(FakeBoard):
    """A board that was flashed before the last change of the protocol."""

    def __init__(self) -> None:
        super().__init__()
        self.schema_hash ^= 1


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, subprocess.CompletedProcess[str]]]:
    """`idm identify` against everything that is no board of ours, all at once; each in an empty folder of its own."""
    devices = {"echo": Echo(), "silence": Silent(), "noise": Noisy(), "stranger": Stranger(), "in use": FakeBoard()}
    boards = {name: PtyBoard(device) for name, device in devices.items()}
    ports = {name: board.port for name, board in boards.items()} | {"nothing": "/dev/no-such-port", "nonsense": "a:b"}
    with Board.open(boards["in use"].port, ("revolute",)):
        processes = {}
        for name, port in ports.items():
            folder = tmp_path_factory.mktemp(name.replace(" ", "_"))
            processes[name] = (cli.start("identify", port, *IDENTIFY, cwd=folder), folder)
        done = {name: cli.finish(process) for name, (process, _) in processes.items()}
    yield done
    for board in boards.values():
        board.unplug()
    for _, folder in processes.values():
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("echo", ("No motion board answers on", "gives back what it is sent")),
        ("silence", ("No motion board answers on", "silence after")),
        ("noise", ("No motion board answers on", "bytes came that are no frame")),
        ("stranger", ("the schema hash", "update the board's firmware or this package")),
        ("in use", ("is in use", "Close the other program")),
        ("nothing", ("There is no port /dev/no-such-port", "list_ports")),
        ("nonsense", ("a:b",)),
    ],
)
def test_what_is_no_board_is_said_in_a_sentence(
    refusals: dict[str, subprocess.CompletedProcess[str]], name: str, words: tuple[str, ...]
) -> None:
    cli.assert_a_clear_sentence(refusals[name], *words)


def test_a_board_of_another_schema_still_says_who_it_is() -> None:
    with PtyBoard(Stranger()) as board:
        done = cli.idm("info", board.port)
    assert done.returncode == 0, done.stderr
    assert "board fake" in done.stdout
    assert "! The board on" in done.stdout
    assert "differ in the schema hash" in done.stdout


def stored(folder: Path) -> list[str]:
    """What the board keeps, besides the compiled model and what the process says."""
    return sorted(path.name for path in folder.iterdir() if path.name not in ("model.py", "firmware.stderr"))


def test_a_board_that_stops_answering_half_way(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    with FreeRig(load_robot("crank"), tmp_path / "board") as rig:
        process = cli.start("identify", rig.port, *IDENTIFY, cwd=here)
        rig.wait_for_cycle(4000)
        rig.kill_the_board()
        done = cli.finish(process)
    cli.assert_a_clear_sentence(done, "stopped answering", "Check power and cable")
    assert list(here.iterdir()) == []
    assert stored(tmp_path / "board") == []


def children(process: subprocess.Popen[str]) -> list[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(number) for number in listed.split()]


def test_a_port_that_vanishes_half_way(tmp_path: Path) -> None:
    with cli.rig_process("crank") as (rig, port):
        process = cli.start("identify", port, *IDENTIFY, cwd=tmp_path)
        # Whenever it comes, before, in or behind the run, it must be said.
        time.sleep(3.0)
        (firmware,) = children(rig)
        os.kill(firmware, signal.SIGKILL)
        done = cli.finish(process)
        rig.wait()
        assert rig.stderr is not None
        said = rig.stderr.read()
    assert rig.returncode == 1
    assert said.startswith("idm rig: the firmware's CAN stream ended; its process ended with exit code -9")
    cli.assert_a_clear_sentence(done)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def fake_robot(tmp_path: Path) -> Path:
    """The crank, under the name that the fake board is set up for."""
    file = tmp_path / "fake.toml"
    file.write_text(load_robot("crank").file.read_text().replace('name = "crank"', 'name = "fake"', 1))
    return file


REACH = "crank from -2.5 to 3.5 rad at up to 9.42 rad/s"


def test_a_real_robot_does_not_move_unasked(fake_robot: Path, tmp_path: Path) -> None:
    device = FakeBoard()
    with PtyBoard(device) as board:
        done = cli.idm("identify", board.port, "--robot", fake_robot, cwd=tmp_path)
    cli.assert_a_clear_sentence(done, f"the robot would move ({REACH})", "give --yes")
    assert "arm" not in device.executed
    assert "apply" not in device.executed


@pytest.mark.parametrize("answer", ["n", "", "yes please"])
def test_a_real_robot_moves_only_on_a_yes(
    answer: str, fake_robot: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = []

    def ask(question: str) -> str:
        asked.append(question)
        return answer

    monkeypatch.setattr("sys.stdin", type("Keyboard", (), {"isatty": lambda _: True})())
    monkeypatch.setattr("builtins.input", ask)
    device = FakeBoard()
    with PtyBoard(device) as board:
        assert main(["identify", board.port, "--robot", str(fake_robot), "-o", str(tmp_path)]) == 1
    assert asked == [f"The robot will move: {REACH}. Is its space clear? [y/N] "]
    assert capsys.readouterr().err == "idm identify: nothing was moved\n"
    assert "arm" not in device.executed
