"""`idm`: the table of verbs, and what happens to errors."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Sequence

from idmkit import __version__
from idmkit.errors import IdmError

# Before a verb brings in numpy: for matrices as small as these, threads cost more than they bring. Whoever knows
# better sets the variable.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

VERBS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "excite, capture, identify, write back and prove, on a virtual rig"),
    "rig": ("rig", "a virtual rig: real firmware, drives and physics behind a port"),
    "info": ("info", "what the board on a port says about itself"),
    "board": ("board", "the boards of this machine; keep what one holds, write it back"),
    "flash": ("flash", "install or update the firmware of a board"),
    "check": ("check", "before the first fast motion: signs, torque scale, limits, noise, delays"),
    "commission": ("commission", "the whole way of a robot onto its board, up to the first thing that is wrong"),
    "identify": ("identify", "excite the robot on a board, capture, identify and judge"),
    "experiment": ("experiment", "settling, tracking, collisions and more on a virtual rig, as tables and a picture"),
    "delays": ("delays", "measure when the model's torque is best sent, and how late position and torque come back"),
    "params": ("params", "show the parameters on a board, or write them"),
    "line": ("line", "move the tool of a robot in a straight line, with bounded jerk"),
    "advise": ("advise", "are the sines of the identification run a good excitation, what would be better"),
    "plan": ("plan", "the motion that tells most about the parameters, within all limits of the robot"),
    "fit": ("fit", "identify the parameters of a robot from a record, no board needed"),
    "cutoffs": ("cutoffs", "compare low-pass cutoffs on a record, raw against filtered, and advise one"),
    "model": ("model", "the conventions of a robot's model: frames, parameters, units, what can be identified"),
    "verdict": ("verdict", "why an identification failed or is not to be trusted, with evidence"),
    "sequential": ("sequential", "identify a two-link arm one axis after the other, and compare"),
    "build": ("build", "compile a robot's model for its board, or to plain C; what that loses and costs"),
    "drives": ("drives", "what the drives behind a board say, and where the robot file says otherwise"),
    "flash-model": ("flash_model", "put a robot's compiled model on its board, tested there before it is used"),
    "drive-map": ("drive_map", "what torque an ampere makes, from records with and without a known load"),
    "import": ("import_", "turn a recorded table (CSV) into a record"),
    "repeatability": ("repeatability", "how well identifications repeat: means, variations, drift over several"),
    "delta-map": ("delta_map", "a delta's stiffness, resonance and shortest acceleration; map, fit to resonances"),
    "prg": ("prg", "a softMC identification program (IDNT1.PRG) from a result, or a result from one"),
    "rec": ("rec", "an identification record (IDNT1.REC) from a record, or a record from one; drawn"),
    "torque-factor": ("torque_factor", "softMC's TorqueFactor of a drive and its mechanics, explained"),
}
"""verb: module in idmkit.cli, one line of help. A module has add_arguments(parser) and run(arguments) -> exit code."""

FAILED = 1
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb; errors go to stderr in a sentence or two, with a traceback only under --debug."""
    words = sys.argv[1:] if argv is None else list(argv)
    verb, debug = "", False
    try:
        arguments = _parse(words)
        verb, debug = f" {arguments.verb}", arguments.debug
        module = importlib.import_module(f"idmkit.cli.{VERBS[arguments.verb][0]}")
        code = int(module.run(arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print(f"idm{verb}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Who reads has had enough (`idm ... | head`); the interpreter must not try again at its end.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (IdmError, OSError) as problem:
        if debug:
            traceback.print_exc()
        print(f"idm{verb}: {_sentence(problem)}", file=sys.stderr)
        return FAILED


def _sentence(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem.strerror or problem)
    return str(problem)


def _parse(words: Sequence[str]) -> argparse.Namespace:
    """Parses; only the module of the verb in `words` is imported, so that help and errors come at once."""
    parser = argparse.ArgumentParser(
        prog="idm",
        description="Identify the inverse dynamic model of a robot and put it on its motion board.",
        epilog="Begin with `idm demo`, which needs no robot. `idm VERB --help` explains a verb.",
    )
    parser.add_argument("--version", action="version", version=f"idmkit {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    asked = next((word for word in words if not word.startswith("-")), None)
    parsers = {}
    for verb, (module, summary) in VERBS.items():
        parsers[verb] = sub = verbs.add_parser(verb, help=summary, description=summary[0].upper() + summary[1:] + ".")
        sub.add_argument("--debug", action="store_true", help="show the traceback of an error")
        if verb == asked:
            importlib.import_module(f"idmkit.cli.{module}").add_arguments(sub)
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        # The verb's own usage helps; that of `idm` would not.
        parsers[arguments.verb].error(f"unrecognized arguments: {' '.join(unknown)}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
