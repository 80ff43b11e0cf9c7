"""The firmware by mip: from this folder and from a web server, by mpremote and by MicroPython itself."""

from __future__ import annotations

import functools
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import mip_package
import pytest
from repl_boards import UnixBoard

import idmkit
from idmkit.board import firmware
from idmkit.link.client import Board
from idmkit.link.repl import Repl
from idmkit.rig.process import find_micropython

ROOT = mip_package.ROOT


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """This repository on a web server."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=ROOT)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def expected() -> dict[str, bytes]:
    return {place: (ROOT / source).read_bytes() for place, source in mip_package.urls()}


def test_the_package_lists_what_there_is() -> None:
    """`tools/mip_package.py` writes it anew."""
    assert mip_package.FILE.read_text() == mip_package.text(), "run tools/mip_package.py"


def test_one_version() -> None:
    version = ".".join(str(part) for part in firmware.firmware_version())
    assert json.loads(mip_package.FILE.read_text())["version"] == version == idmkit.__version__
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("by", ["folder", "url"])
def test_mpremote_installs_it_and_it_runs(by: str, url: str, tmp_path: Path) -> None:
    (tmp_path / "board").mkdir()
    with UnixBoard(tmp_path / "board") as board:
        done = subprocess.run(
            [sys.executable, "-m", "mpremote", "connect", board.port, "resume", "mip", "install", "--target", ".",
             f"{url}/" if by == "url" else "package.json"],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert board.files() == expected()
        with Repl.enter(board.port, wait_s=5) as repl:
            repl.reset()
        with Board.open(board.port) as link:
            assert (link.hello.board, link.mismatch) == ("unix", None)


def test_micropython_installs_it_by_itself(url: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [find_micropython(), "-c", f"import mip; mip.install({url + '/package.json'!r}, target='.', mpy=False)"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    got = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*.py")}
    assert got == expected()
