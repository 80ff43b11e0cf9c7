"""idm commission PORT --robot ROBOT: the whole way, from the first greeting to collision thresholds, step by step."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from idmkit.bench.commission import Commission, Step
from idmkit.bench.identify import reach_of_identification
from idmkit.cli.benches import open_bench
from idmkit.cli.confirm import may_move
from idmkit.cli.fit import REFUSED
from idmkit.cli.identify import add_run_arguments, read_run_arguments, save_identification, today
from idmkit.cli.printing import print_findings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_run_arguments(parser, "record, result, figure and page")


def run(arguments: argparse.Namespace) -> int:
    """Takes all steps; returns 0, or 3 where one was refused."""
    robot, model, plan = read_run_arguments(arguments)
    folder: Path = arguments.output
    quiet = arguments.json
    with open_bench(robot, model, arguments.port) as bench:
        may_move(
            bench,
            arguments.port,
            f"each axis slowly for a check, then, faster, between the ends of its identification: "
            f"{reach_of_identification(robot, plan)}; last, fast moves at the limits of the robot file",
            yes=arguments.yes,
        )
        commission = Commission(
            bench,
            model,
            plan,
            date="" if bench.virtual else today(),
            say=(lambda _: None) if quiet else (lambda text: print(f"    {text} ...", flush=True)),
        )
        steps = []
        for step in commission.steps():
            steps.append(step)
            if not quiet:
                _print(step)
    refused = steps[-1].refused
    files = _save(commission, steps, folder)
    lines = [] if refused else commission.robot_file()
    if quiet:
        print(json.dumps(_as_dict(steps, files, lines), default=str))
        return REFUSED if refused else 0
    if refused:
        print(f"\nSTOPPED at: {steps[-1].name}. Nothing that came after it was done; correct this and begin again")
    else:
        print("\nDone: model, delays and thresholds are stored on the board. The same for the robot file:\n")
        print("\n".join(f"  {line}" for line in lines))
    for name, path in files.items():
        print(f"{name}: {path}")
    return REFUSED if refused else 0


def _print(step: Step) -> None:
    print(f"  {step.name}: {step.verdict.upper() if step.refused else step.verdict}", end="")
    print(f" ({step.said})" if step.said else "", flush=True)
    print_findings(step.findings)


def _save(commission: Commission, steps: list[Step], folder: Path) -> dict[str, Path]:
    """What there is to keep: of a refused run, too, the record tells why."""
    from idmkit.report.page import chapter, save_report, verbatim

    if commission.record is None or commission.fit is None:
        return {}
    robot, fit = commission.robot, commission.fit
    files = save_identification(fit, commission.record, robot, folder)
    files["page"] = folder / f"{robot.name}_commission.html"
    chapters = [chapter("The way", ("step", "verdict", ""), [(s.name, s.verdict, s.said) for s in steps])]
    if commission.with_model is not None:
        chapters.append(chapter("What the model gains", *_gain(commission)))
    if not steps[-1].refused:
        chapters.append(verbatim("For the robot file", commission.robot_file()))
    seen = [] if commission.seen is None else [("another motion", commission.seen)]
    save_report(fit, files["page"], seen, chapters)
    return files


def _gain(commission: Commission) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows: tracking error and settling, without and with the model."""
    assert commission.without is not None
    assert commission.with_model is not None
    cycle_ms = 1e3 * commission.robot.cycle_time_s
    rows = []
    for k, axis in enumerate(commission.robot.axes):
        cells = []
        for proof in (commission.without, commission.with_model):
            cycles = proof.settling[k]
            cells.append(f"{1e3 * proof.tracking[k].rms:.4f} {'mrad' if axis.revolute else 'mm'}")
            cells.append("never" if cycles is None else f"{cycle_ms * cycles:.0f} ms")
        rows.append((axis.name, *cells))
    return ("axis", "tracking rms without", "settling", "tracking rms with", "settling"), rows


def _as_dict(steps: list[Step], files: dict[str, Path], lines: list[str]) -> dict[str, Any]:
    return {
        "passed": not steps[-1].refused,
        "steps": [
            {"step": s.name, "verdict": s.verdict, "said": s.said, "findings": [f.as_dict() for f in s.findings]}
            for s in steps
        ],
        "robot_file": lines,
        "files": {name: str(path) for name, path in files.items()},
    }
