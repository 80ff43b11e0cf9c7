"""The MicroPythons of the tests: 64-bit words from the pip wheel, 32-bit words as `make emulators` builds it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORDS = [64, pytest.param(32, marks=pytest.mark.words32)]


def tool(name: str) -> str:
    """A program of the environment that runs the tests, else one on PATH."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which(name, path=folders)
    assert found, f"no {name} in the virtual environment or on PATH: run make setup"
    return found


def micropython(words: int) -> str:
    """Path of the MicroPython with this word size."""
    if words == 32:
        path = ROOT / "build" / "micropython-unix32"
        assert path.exists(), f"{path} is missing: run make emulators"
        return str(path)
    return os.environ.get("IDMKIT_MICROPYTHON") or tool("micropython")
