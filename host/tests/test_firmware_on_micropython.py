"""The firmware's tests, each module in a process of its own on real MicroPython.

With 64-bit words on the pip wheel; with 32-bit words, as boards have them, on build/micropython-unix32
(pytest -m words32, `make test-32bit`). A runtime that is missing is a failure, not a skip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(path.stem for path in (ROOT / "firmware" / "tests").glob("test_*.py"))
WORDS = [64, pytest.param(32, marks=pytest.mark.words32)]


def micropython(words: int) -> str:
    """Path of the MicroPython with this word size."""
    if words == 32:
        path = ROOT / "build" / "micropython-unix32"
        assert path.exists(), f"{path} is missing: run make emulators"
        return str(path)
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = os.environ.get("IDMKIT_MICROPYTHON") or shutil.which("micropython", path=folders)
    assert found, "no micropython in the virtual environment or on PATH: run make setup"
    return found


def run(words: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run MicroPython as the rig does: the same import path, the same size of heap."""
    return subprocess.run(
        [micropython(words), "-X", "heapsize=1M", *arguments],
        cwd=ROOT,
        env={"MICROPYPATH": "firmware:shared:firmware/tests"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("words", WORDS)
def test_word_size(words: int) -> None:
    result = run(words, "-c", "import sys; print(sys.maxsize)")
    assert result.stdout.strip() == str(2 ** (words - 1) - 1), result.stderr


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("module", MODULES)
def test_module(module: str, words: int) -> None:
    result = run(words, "firmware/tests/run.py", module)
    assert result.returncode == 0, f"{result.stdout}{result.stderr}"
