"""`idm`: the table of verbs, and what happens to errors."""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback
from collections.abc import Sequence

from idmkit import __version__
from idmkit.errors import IdmError

VERBS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "excite, capture, identify, write back and prove, on a virtual rig"),
    "rig": ("rig", "a virtual rig: real firmware, drives and physics behind a port"),
    "info": ("info", "what the board on a port says about itself"),
    "identify": ("identify", "excite the robot on a board, capture, identify and judge"),
    "params": ("params", "show the parameters on a board, or write them"),
    "advise": ("advise", "are the sines of the identification run a good excitation, what would be better"),
    "fit": ("fit", "identify the parameters of a robot from a record, no board needed"),
    "verdict": ("verdict", "why an identification failed or is not to be trusted, with evidence"),
    "import": ("import_", "turn a recorded table (CSV) into a record"),
    "repeat": ("repeat", "how well identifications repeat: means, variations, drift over several results"),
    "stiffness": ("stiffness", "a delta's stiffness, resonance and shortest acceleration; map, fit to resonances"),
    "prg": ("prg", "a softMC identification program (IDNT1.PRG) from a result, or a result from one"),
    "rec": ("rec", "an identification record (IDNT1.REC) from a record, or a record from one; drawn"),
    "torque-factor": ("torque_factor", "softMC's TorqueFactor of a drive and its mechanics, explained"),
}
"""verb: module in idmkit.cli, one line of help. A module has add_arguments(parser) and run(arguments) -> exit code."""

FAILED = 1
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb; errors go to stderr in a sentence or two, with a traceback only under --debug."""
    parser = _parser(sys.argv[1:] if argv is None else argv)
    arguments = parser.parse_args(argv)
    module = importlib.import_module(f"idmkit.cli.{VERBS[arguments.verb][0]}")
    try:
        return int(module.run(arguments))
    except IdmError as problem:
        if arguments.debug:
            traceback.print_exc()
        print(f"idm {arguments.verb}: {problem}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"idm {arguments.verb}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return FAILED
    except OSError as problem:
        if arguments.debug:
            traceback.print_exc()
        where = f"{problem.filename}: " if problem.filename else ""
        print(f"idm {arguments.verb}: {where}{problem.strerror or problem}", file=sys.stderr)
        return FAILED


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The parser; only the module of the verb in `argv` is imported, so that help and errors come at once."""
    parser = argparse.ArgumentParser(
        prog="idm", description="Identify the inverse dynamic model of a robot and put it on its motion board."
    )
    parser.add_argument("--version", action="version", version=f"idmkit {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    asked = next((word for word in argv if not word.startswith("-")), None)
    for verb, (module, summary) in VERBS.items():
        sub = verbs.add_parser(verb, help=summary, description=summary[0].upper() + summary[1:] + ".")
        sub.add_argument("--debug", action="store_true", help="show the traceback of an error")
        if verb == asked:
            importlib.import_module(f"idmkit.cli.{module}").add_arguments(sub)
    return parser


if __name__ == "__main__":
    sys.exit(main())
