"""A coverage-guided search for bytes that break a parser of the link or the parameter image; needs atheris (Linux).

    tools/fuzz_coverage.py [-runs=N] [-seed=N] ...     options of libFuzzer

Starts from the corpus in shared/tests/corpus, which the tests replay, and leaves there the smallest set of inputs that
reaches what was reached. A finding is left as crash-* in build/.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["idmwire", "idmkit.link", "motionboard"]):
    import fuzz_targets
    from fuzz_streams import CORPUS

BUILD = Path(__file__).resolve().parents[1] / "build"
LONGEST = 700
HERE = "--here"


def search(options: list[str]) -> None:
    """Runs libFuzzer, which ends the process. To merge, it starts itself by the first of its arguments."""
    atheris.Setup([f"{sys.executable} {__file__}", *options], fuzz_targets.check)
    atheris.Fuzz()


def main() -> None:
    """Searches in a copy of the corpus, then keeps what adds to it."""
    if any(option.startswith(("-merge", HERE)) for option in sys.argv):
        search([option for option in sys.argv[1:] if option != HERE])
        return
    with tempfile.TemporaryDirectory() as found:
        options = [f"-max_len={LONGEST}", f"-artifact_prefix={BUILD}/", *sys.argv[1:]]
        done = subprocess.run([sys.executable, __file__, HERE, *options, found, CORPUS], check=False)
        if done.returncode:
            raise SystemExit(f"a finding: see crash-* in {BUILD}")
        with tempfile.TemporaryDirectory() as kept:
            subprocess.run(
                [sys.executable, __file__, "-merge=1", f"-max_len={LONGEST}", kept, CORPUS, found],
                check=True, capture_output=True,
            )  # fmt: skip
            before = {path.name for path in CORPUS.iterdir()}
            for path in CORPUS.iterdir():
                path.unlink()
            for path in Path(kept).iterdir():
                (CORPUS / path.name).write_bytes(path.read_bytes())
    after = {path.name for path in CORPUS.iterdir()}
    print(f"{len(after)} inputs in the corpus, {len(after - before)} of them new")


if __name__ == "__main__":
    main()
