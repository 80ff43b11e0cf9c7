"""The rig with a MicroPython process behind the pty: granted time, same bits, restarts, clear errors.

The board's part is played by a small bus master in MicroPython (rig_scripts/bus_master.py).
"""

import math
import os
from dataclasses import replace
from pathlib import Path

import pytest

from idmkit.errors import RigError
from idmkit.rig import Rig
from idmkit.rig.process import find_micropython
from idmkit.robot import load_robot

SCRIPTS = Path(__file__).parent / "rig_scripts"


def two_axes():
    crank, slide = load_robot("crank"), load_robot("slide")
    drive = replace(slide.axes[0].drive, node_id=2)
    return replace(
        crank,
        axes=(crank.axes[0], replace(slide.axes[0], drive_or_none=drive)),
        rig={"axes": crank.rig["axes"] + slide.rig["axes"]},
    )


@pytest.fixture(autouse=True)
def master(monkeypatch):
    monkeypatch.setenv("BUS_NODES", "1")
    monkeypatch.setenv("BUS_AMPLITUDE", "100000")


def rig_of(robot="crank", script="bus_master.py", **options):
    robot = load_robot(robot) if isinstance(robot, str) else robot
    return Rig(robot, firmware=SCRIPTS / script, **options)


def ask(rig):
    """(cycle, position, CRC over all answers) as the script has them."""
    descriptor = os.open(rig.port, os.O_RDWR | os.O_NOCTTY)
    try:
        os.write(descriptor, b"?")
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(descriptor, 100)
    finally:
        os.close(descriptor)
    cycle, position, crc = line.split()
    return int(cycle), int(position), crc


def test_time_passes_only_by_grants():
    with rig_of() as rig:
        assert rig.cycle == 0
        rig.advance(10)
        assert rig.cycle == 10
        assert ask(rig)[0] == 10
        rig.advance(1)
        assert ask(rig)[0] == 11


@pytest.mark.parametrize("robot", ["crank", "two axes"])
def test_same_bits_in_every_run_however_the_grants_are_cut(robot, monkeypatch):
    if robot == "two axes":
        robot = two_axes()
        monkeypatch.setenv("BUS_NODES", "1,2")
    results = []
    for grants in ([1500], [500] * 3, [1] * 100 + [1400]):
        with rig_of(robot) as rig:
            for grant in grants:
                rig.advance(grant)
            results.append(ask(rig))
    assert results[0] == results[1] == results[2]
    assert results[0][0] == 1500
    with rig_of(robot, seed=2) as rig:
        rig.advance(1500)
        assert ask(rig)[2] != results[0][2]


def test_a_restart_keeps_port_folder_robot_and_cycle(tmp_path):
    with rig_of(folder=tmp_path) as rig:
        rig.advance(900)
        before, port = ask(rig), rig.port
        rig.restart()
        assert (rig.port, rig.cycle, rig.folder) == (port, 900, tmp_path)
        rig.advance(5)
        cycle, position, _ = ask(rig)
        assert (rig.cycle, cycle) == (905, 5)
        # The drives were cut off in motion: the brake needs a moment.
        assert abs(position - before[1]) < 2000


def test_truth_wall_and_contact_are_reached_through_the_rig():
    with rig_of() as rig:
        assert rig.truth()["crank"]["I"] == pytest.approx(0.12003)
        rig.place_wall(0, 0.4)
        assert rig.contact_cycle(0) is None
        rig.advance(1000)
        # The script's sine starts at cycle 300 and swings to 200000 counts; the axis follows four cycles later.
        reach = 200000 / load_robot("crank").axes[0].drive.counts_per_unit
        due = 300 + 1000 * math.acos(1 - 2 * 0.4 / reach) / (2 * math.pi) + 4
        assert rig.contact_cycle(0) == pytest.approx(due, abs=2)
        rig.place_wall(0, None)
        assert rig.contact_cycle(0) is None


def test_a_model_reaches_the_boards_folder(tmp_path):
    rig = rig_of(folder=tmp_path, model_source="N_AXES = 1\n")
    rig.close()
    assert (tmp_path / "model.py").read_text() == "N_AXES = 1\n"


def test_a_firmware_that_dies_is_reported_with_its_last_words(tmp_path):
    with rig_of(folder=tmp_path, script="dies.py") as rig:
        with pytest.raises(RigError, match=r"exit code 1; stderr: .*the store is full"):
            rig.advance(100)
        with pytest.raises(RigError, match="the store is full"):
            rig.advance(1)
        assert rig.cycle == 3


def test_faults_and_silence_are_made_on_demand(monkeypatch):
    with rig_of() as rig:
        rig.advance(400)
        position = ask(rig)[1]
        rig.drive(0).fault(0x2310)
        rig.advance(400)
        assert abs(ask(rig)[1] - position) < 2000  # on its brake, while the script goes on
        monkeypatch.setattr("idmkit.rig.rig.STALL_S", 0.3)
        rig.drive(0).mute()
        with pytest.raises(RigError, match="no SYNC"):  # the script waits for the answer of a drive
            rig.advance(10)


def test_a_firmware_that_never_syncs_is_given_up(monkeypatch):
    monkeypatch.setattr("idmkit.rig.rig.STALL_S", 0.3)
    with rig_of(script="mute.py") as rig, pytest.raises(RigError, match=r"no SYNC for 0.3 s.*is still running"):
        rig.advance(1)


def test_a_rig_that_is_not_running_says_so():
    rig = rig_of()
    with pytest.raises(RigError, match="start"):
        rig.advance(1)
    rig.start()
    with pytest.raises(RigError, match="runs already"):
        rig.start()
    rig.advance(1)
    rig.close()
    rig.close()
    with pytest.raises(RigError, match="start"):
        rig.advance(1)


def test_closing_leaves_no_process_and_no_folder():
    with rig_of() as rig:
        rig.advance(5)
        process = rig._process._process
        folder = rig.folder
        assert folder.exists()
    assert process.returncode is not None
    assert not folder.exists()


def test_micropython_is_named_or_its_absence_explained(monkeypatch, tmp_path):
    assert find_micropython().exists()
    monkeypatch.setenv("IDMKIT_MICROPYTHON", str(tmp_path / "absent"))
    with pytest.raises(RigError, match="IDMKIT_MICROPYTHON names"):
        find_micropython()
    monkeypatch.delenv("IDMKIT_MICROPYTHON")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(RigError, match=r"install idmkit\[rig\]"):
        find_micropython()


def test_a_file_that_is_no_program_is_explained(tmp_path):
    broken = tmp_path / "micropython"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    rig = rig_of(micropython=broken)
    with pytest.raises(RigError, match="cannot be started"):
        rig.start()
    rig.close()
