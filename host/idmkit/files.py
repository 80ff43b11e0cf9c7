"""Files that are either complete or not there: written beside their place and moved when done."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from idmkit.errors import IdmError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path in the folder of `path`; on success it takes the place of `path`, else it is removed.

    The temporary file keeps the suffix of `path`. Raises IdmError where the folder cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    except OSError as problem:
        raise IdmError(f"{path} cannot be written: {problem.strerror or problem}") from problem
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_json(path: Path) -> Any:
    """What a JSON file holds; raises IdmError that says what is wrong with the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise IdmError(f"{path} cannot be read: {problem.strerror or problem}") from problem
    except ValueError as problem:
        raise IdmError(f"{path} is not JSON: {problem}") from problem


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 text, all of it or nothing."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
