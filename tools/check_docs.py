#!/usr/bin/env python3
"""Check that what the documentation names exists: links, files, commands, code names.

Usage: tools/check_docs.py [FILE.md ...] (default: README.md, CHANGELOG.md and everything in docs/)

In `code` spans these are checked, everything else passes:
  make test                    a target of the Makefile
  idm fit                      a module of host/idmkit/cli
  shared/idmwire/scales.py     a file or folder, from the root, from the page, or a file name somewhere in the tree
  idmkit.link.client.Client    a dotted name that starts with one of our packages, looked up in the source
  TorqueErrorFilter, rig_seed, advance()    a name that occurs somewhere in the source
The lines of fenced blocks that start with `make` or `idm` are checked as commands.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Where our packages have their roots.
PACKAGES = {
    "idmkit": "host", "idmwire": "shared", "motionboard": "firmware", "drives": "firmware", "boards": "firmware",
}  # fmt: skip
SOURCE_FOLDERS = ("host", "shared", "firmware", "hil_tests", "tools")
SOURCE_SUFFIXES = {".py", ".toml", ".json", ""}

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`]+)`")
HEADING = re.compile(r"^#+ +(.*)")
PATH = re.compile(r"[\w.*-]+(/[\w.*-]*)+|[\w-]+\.(py|toml|md|json|npz)")
DOTTED = re.compile(rf"({'|'.join(PACKAGES)})(\.\w+)+")
NAME = re.compile(r"([A-Za-z_]\w*)(\(\))?")


def pages() -> list[Path]:
    """Everything that counts as documentation."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def problems(page: Path) -> Iterator[str]:
    """What is wrong on one page, each as `file:line: what`."""
    fenced = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if fenced:
            found = command(line.strip()) if line.strip() else None
            complaints = [found] if found else []
        else:
            complaints = [c for target in LINK.findall(CODE.sub("", line)) if (c := link(page, target))]
            complaints += [c for text in CODE.findall(line) if (c := code(page, text))]
        yield from (f"{page.relative_to(ROOT)}:{number}: {complaint}" for complaint in complaints)


def link(page: Path, target: str) -> str | None:
    """Complaint about a link: its file or its heading does not exist. Addresses are not fetched."""
    if "://" in target or target.startswith("mailto:"):
        return None
    name, _, anchor = target.partition("#")
    file = page.parent / name if name else page
    if not file.exists():
        return f"the link {target} leads nowhere"
    if anchor and anchor not in anchors(file):
        return f"the link {target} names a heading that {file.name} does not have"
    return None


@cache
def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = (m.group(1) for line in page.read_text(encoding="utf-8").splitlines() if (m := HEADING.match(line)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def code(page: Path, text: str) -> str | None:
    """Complaint about a code span: what it names does not exist."""
    if (complaint := command(text)) or text.startswith(("make ", "idm ")):
        return complaint
    if DOTTED.fullmatch(text) and not PATH.fullmatch(text):
        return None if resolves(text) else f"there is no {text}"
    if PATH.fullmatch(text):
        return None if exists(page, text) else f"there is no file {text}"
    if (match := NAME.fullmatch(text)) and looks_like_ours(text):
        return None if match.group(1) in words() else f"the name {text} does not occur in the source"
    return None


def command(text: str) -> str | None:
    """Complaint about `make TARGET` or `idm VERB`."""
    program, _, rest = text.partition(" ")
    first = next((word for word in rest.split() if "=" not in word), "")
    if program == "make" and first and not re.search(rf"^{re.escape(first)}:", makefile(), re.MULTILINE):
        benchmark = first.startswith("bench-") and (ROOT / "tools" / f"{first.replace('-', '_')}.py").exists()
        return None if benchmark else f"the Makefile has no target {first}"
    if program == "idm" and re.fullmatch(r"[a-z]+", first):
        modules = {path.stem.rstrip("_") for path in (ROOT / "host/idmkit/cli").glob("*.py")}
        return None if first in modules else f"idm has no command {first}"
    return None


@cache
def makefile() -> str:
    """Text of the Makefile."""
    return (ROOT / "Makefile").read_text(encoding="utf-8")


def looks_like_ours(text: str) -> bool:
    """A call, snake_case or CamelCase; plain words and CAPITALS may be anybody's."""
    bare = text.removesuffix("()")
    snake_case = "_" in bare.strip("_") and not bare.isupper()
    return bare != text or snake_case or re.search(r"[a-z][A-Z]", bare) is not None


def exists(page: Path, text: str) -> bool:
    """Is there such a file or folder, from the root, from the page, or (a bare name) anywhere in the source?"""
    if any(next(folder.glob(text.rstrip("/")), None) for folder in (ROOT, page.parent)):
        return True
    return "/" not in text and any(path.name == text for path in source_files())


def resolves(dotted: str) -> bool:
    """Does the source define this dotted name? Modules are parsed, not imported."""
    names = dotted.split(".")
    place = ROOT / PACKAGES[names[0]]
    for position, name in enumerate(names):
        if (place / name).is_dir():
            place /= name
        elif (place / f"{name}.py").exists():
            return defines(place / f"{name}.py", names[position + 1 :])
        else:
            return defines(place / "__init__.py", names[position:])
    return True


def defines(module: Path, names: list[str]) -> bool:
    """Does a module define name, or class.member?"""
    if not module.exists():
        return not names
    body: list[ast.stmt] = ast.parse(module.read_text(encoding="utf-8")).body
    for name in names:
        found = next((node for node in body if name in defined_by(node)), None)
        if found is None:
            return False
        body = found.body if isinstance(found, ast.ClassDef) else []
    return True


def defined_by(node: ast.stmt) -> set[str]:
    """The names that a statement binds."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


@cache
def source_files() -> list[Path]:
    """Files in which names are looked up."""
    found = [path for folder in SOURCE_FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [path for path in found if path.suffix in SOURCE_SUFFIXES and "__pycache__" not in path.parts]


@cache
def words() -> set[str]:
    """Every name that occurs in the source."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in [*source_files(), ROOT / "pyproject.toml"]]
    return {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}


def main(arguments: list[str]) -> int:
    """Print what is wrong; 1 if anything is."""
    chosen = [Path(argument).resolve() for argument in arguments] or pages()
    found = [problem for page in chosen for problem in problems(page)]
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
