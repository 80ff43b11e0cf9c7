"""Writes package.json, by which mip installs the firmware: `mpremote mip install --target / FOLDER-OR-URL`.

The list is made of what there is, the version is the firmware's own (firmware/motionboard/__init__.py).
"""

from __future__ import annotations

import json
from pathlib import Path

from idmkit.board.firmware import MAIN, PACKAGES, firmware_version

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "package.json"


def urls() -> list[list[str]]:
    """For every file its place on the board and in this repository."""
    sources = [ROOT / "firmware" / MAIN]
    for name in PACKAGES:
        sources += sorted((ROOT / ("shared" if name == "idmwire" else "firmware") / name).glob("*.py"))
    places = [path.relative_to(ROOT).as_posix() for path in sources]
    return [[place.partition("/")[2], place] for place in places]


def text() -> str:
    """package.json, a file a line."""
    version = ".".join(str(part) for part in firmware_version())
    lines = ",\n".join(f"  {json.dumps(pair)}" for pair in urls())
    return f'{{"version": {json.dumps(version)}, "urls": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
