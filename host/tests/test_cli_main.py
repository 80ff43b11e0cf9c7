"""`idm` itself: help, wrong arguments, interruptions, and what no verb has foreseen."""

from __future__ import annotations

import cli
import pytest
from fake_board import FakeBoard
from pty_board import PtyBoard

from idmkit.cli import demo
from idmkit.cli.main import VERBS, main
from idmkit.errors import IdmError


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([verb, "--help"])
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith(f"usage: idm {verb}")
    summary = VERBS[verb][1]
    assert f"{summary[0].upper()}{summary[1:]}." in " ".join(said.out.split())


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    out = capsys.readouterr().out
    for verb in VERBS:
        assert f"\n    {verb}" in out
    assert "Begin with `idm demo`" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the following arguments are required: VERB"),
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        (["demo", "--nonsense"], "usage: idm demo"),
        (["identify"], "the following arguments are required: PORT, --robot"),
        (["rig", "crank", "--seed", "x"], "invalid int value: 'x'"),
        (["params", "/dev/x", "--robot", "crank", "--write", "r.json", "--settings"], "not allowed with"),
    ],
)
def test_wrong_arguments_are_answered_with_the_usage(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    err = capsys.readouterr().err
    assert err.startswith("usage: idm")
    assert said in err


@pytest.mark.parametrize("verb", ["info", "params"])
def test_a_rig_of_its_own_is_for_identify_alone(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "rig:", *(["--robot", "crank"] if verb == "params" else [])]) == 1
    assert "start a rig that stays with `idm rig ROBOT`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("problem", "code", "said"),
    [
        (IdmError("it is so; do that"), 1, "idm demo: it is so; do that\n"),
        (FileNotFoundError(2, "No such file or directory", "some/file"), 1, "idm demo: some/file: No such file"),
        (OSError("no number"), 1, "idm demo: no number\n"),
        (KeyboardInterrupt(), 130, "idm demo: interrupted\n"),
        (BrokenPipeError(), 1, ""),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_a_code(
    problem: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise problem

    monkeypatch.setattr(demo, "run", fail)
    assert main(["demo"]) == code
    err = capsys.readouterr().err
    assert err.startswith(said)
    assert "Traceback" not in err
    if code == 1 and said:
        assert main(["demo", "--debug"]) == code
        assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    with PtyBoard(FakeBoard()) as board:
        process = cli.start("info", board.port)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.wait()
    assert process.returncode == 1
    assert process.stderr.read() == ""
