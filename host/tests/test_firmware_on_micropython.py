"""The firmware's tests, each module in a process of its own on real MicroPython.

With 64-bit words on the pip wheel; with 32-bit words, as boards have them, on build/micropython-unix32
(pytest -m words32, `make test-32bit`). A runtime that is missing is a failure, not a skip.
"""

from __future__ import annotations

import subprocess

import pytest
from runtimes import ROOT, WORDS, micropython

MODULES = sorted(path.stem for path in (ROOT / "firmware" / "tests").glob("test_*.py"))


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
