"""Runs `idm` as users do: as a process."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

IDM = [sys.executable, "-m", "idmkit.cli.main"]


def start(*arguments: object, cwd: Path | None = None) -> subprocess.Popen[str]:
    """Starts `idm` with these arguments, nobody at the keyboard."""
    return subprocess.Popen(
        [*IDM, *(str(argument) for argument in arguments)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Waits for its end."""
    out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def idm(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs `idm` to its end."""
    return finish(start(*arguments, cwd=cwd))


@contextlib.contextmanager
def rig_process(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`idm rig`, and the port it prints; ended as a script ends it."""
    process = start("rig", *arguments)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"port: (\S+)\n", line)
        assert found, f"{line!r}: {process.stderr.read() if process.stderr else ''}"
        yield process, found[1]
    except BaseException:
        process.kill()
        raise
    finally:
        ours = process.poll() is None
        if ours:
            process.send_signal(signal.SIGTERM)
        _, err = process.communicate()
    if ours:
        assert (process.returncode, err) == (0, "")


def assert_a_clear_sentence(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """It failed, and said why in a sentence or two on stderr, and nothing else."""
    assert done.returncode not in (0, 2), done.stdout
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("idm ")
    (message,) = done.stderr.strip().splitlines()
    assert message.count(". ") <= 3
    for word in words:
        assert word in message
