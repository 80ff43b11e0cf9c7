"""`idm demo`: what it claims, and that it claims the same every time. Three runs at once, for all tests."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import cli
import pytest

from idmkit.records import load_record

WAYS = ("without model", "identified", "true")
PNG = b"\x89PNG\r\n\x1a\n"


class Runs:
    """The crank twice, for people, and the slide once, for programs; each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folders = {name: folder / name for name in ("first", "second", "slide")}
        for name in self.folders:
            self.folders[name].mkdir()
        processes = {
            "first": cli.start("demo", "-o", "here", cwd=self.folders["first"]),
            "second": cli.start("demo", "crank", "-o", "here", cwd=self.folders["second"]),
            "slide": cli.start("demo", "slide", "--json", cwd=self.folders["slide"]),
        }
        self.done = {name: cli.finish(process) for name, process in processes.items()}
        for done in self.done.values():
            assert done.returncode == 0, done.stderr
        self.text = self.done["first"].stdout
        self.slide: dict[str, Any] = json.loads(self.done["slide"].stdout)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("demo"))


def numbers(line: str) -> list[float]:
    return [float(word) for word in line.split() if re.fullmatch(r"-?[\d.]+(e-?\d+)?", word)]


def row(text: str, name: str) -> list[float]:
    """The numbers of the table row that begins with `name`."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"  {name} ")]
    return numbers(line)


def test_two_runs_print_the_same_and_record_the_same_bits(runs: Runs) -> None:
    assert runs.done["first"].stdout == runs.done["second"].stdout
    for file in ("crank_record.npz", "crank_result.json"):
        first, second = (runs.folders[name] / "here" / file for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()


def test_only_the_wall_clock_differs_and_it_stands_apart(runs: Runs) -> None:
    for done in runs.done.values():
        assert re.fullmatch(r"\n[\d.]+ s of the robot's time in [\d.]+ s.\n", done.stderr)


def test_the_true_parameters_lie_within_four_standard_deviations(runs: Runs) -> None:
    found = [line for line in runs.text.splitlines() if re.match(r"  crank\.\w+ ", line) and " - " not in line]
    assert [line.split()[0] for line in found] == ["crank.I", "crank.MgA", "crank.Fv", "crank.Fc"]
    for line in found:
        identified, std, true, off = numbers(line)[:4]
        assert abs(identified - true) <= 4 * std
        assert abs(off) <= 4
    for parameter in runs.slide["parameters"]:
        if parameter["std"] is not None:
            assert abs(parameter["value"] - parameter["true"]) <= 4 * parameter["std"]


def test_the_identified_model_tracks_as_well_as_the_true_one(runs: Runs) -> None:
    rms = {way: row(runs.text, way)[0] for way in WAYS}
    assert rms["identified"] <= 1.1 * rms["true"]
    assert rms["identified"] < 0.1 * rms["without model"]
    slide = {way: runs.slide["performance"][way][0]["tracking_rms"] for way in WAYS}
    assert slide["identified"] <= 1.1 * slide["true"]
    assert slide["identified"] < 0.1 * slide["without model"]


def test_the_identified_model_settles_as_soon_as_the_true_one(runs: Runs) -> None:
    # The crank's cycle is 1 ms, so milliseconds are cycles.
    crank = {way: row(runs.text, way)[2] for way in WAYS}
    slide = {way: runs.slide["performance"][way][0]["settling_cycles"] for way in WAYS}
    for settling in (crank, slide):
        assert settling["identified"] <= settling["true"] + 2
        assert settling["identified"] < settling["without model"]


def test_both_stops_are_shown(runs: Runs) -> None:
    assert re.search(r"TorqueThreshold: set to [\d.]+ Nm, it stopped a move that needs [\d.]+ Nm", runs.text)
    assert re.search(r"the axis came to rest [\d.]+ rad further on", runs.text)
    assert re.search(r"Collision: found \d+ cycles \(\d+ ms\) after the first contact with a wall", runs.text)
    stop, collision = runs.slide["torque_threshold"], runs.slide["collision"]
    assert stop["at_rest"]
    assert 0 < stop["limit"] < stop["needed"]
    assert stop["travel"] > 0
    assert collision["torque_error"] > collision["threshold"] > collision["free_error"]
    # Not before the contact, and within what the filter and the shortest duration of the robot file take: 10 ms.
    assert 0 < collision["delay_cycles"] <= 10


def test_files_are_where_it_says(runs: Runs) -> None:
    places = dict(re.findall(r"^(record|result|figure|proof): (\S+)$", runs.text, re.MULTILINE))
    assert sorted(places) == sorted(runs.slide["files"])
    for name, folder, files in (("crank", "first", places), ("slide", "slide", runs.slide["files"])):
        here = runs.folders[folder]
        record = load_record(here / files["record"])
        assert record.provenance.robot == name
        assert json.loads((here / files["result"]).read_text())["verdict"]["accepted"]
        for picture in ("figure", "proof"):
            assert (here / files[picture]).read_bytes().startswith(PNG)


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done: subprocess.CompletedProcess[str] = cli.idm("demo", "-o", tmp_path / "file" / "sub")
    cli.assert_a_clear_sentence(done, "Not a directory", "file/sub")


def test_an_unknown_robot_is_answered_with_those_there_are() -> None:
    cli.assert_a_clear_sentence(cli.idm("demo", "cranck"), "no ready robot", "crank, ")
