"""idm advise ROBOT: are the sines of the identification run a good excitation, and what would be better?"""

from __future__ import annotations

import argparse
import dataclasses
import json

from idmkit.errors import IdmError
from idmkit.robot import load_robot
from idmkit.sine_advice import Advice, advise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("robot", metavar="ROBOT", help="robot file, or the name of a ready robot")
    parser.add_argument("--frequencies", metavar="F1,F2,...", help="Hz, one an axis, instead of the robot file's")
    parser.add_argument("--factor", type=float, default=1.0, help="common factor on all frequencies")
    parser.add_argument("--duration", type=float, metavar="S", help="length of the record instead of the robot file's")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Judges, prints."""
    advice = advise(
        load_robot(arguments.robot),
        frequencies=_numbers(arguments.frequencies),
        factor=arguments.factor,
        duration_s=arguments.duration,
    )
    if arguments.json:
        print(json.dumps(dataclasses.asdict(advice), indent=2))
    else:
        _show(advice)
    return 0


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(word) for word in text.split(",")]
    except ValueError as problem:
        raise IdmError(f"--frequencies takes numbers with commas between them, not {text!r}") from problem


def _show(advice: Advice) -> None:
    print(f"frequencies: {advice.quality}")
    print(f"\n  {'axis':<10} {'Hz':>8} {'periods':>8} {'range %':>8} {'speed %':>8} {'accel. %':>8}")
    for axis in advice.axes:
        print(
            f"  {axis.name:<10} {axis.frequency_hz:>8.4g} {axis.periods:>8.4g} {100 * axis.range_used:>8.0f} "
            f"{100 * axis.speed_used:>8.0f} {100 * axis.acceleration_used:>8.0f}"
        )
    if advice.pairs:
        print()
    for pair in advice.pairs:
        print(f"  {pair.quality:<7} {pair}")
    if len(advice.axes) > 1:
        counts = ", ".join(str(count) for count in advice.repeats_periods)
        print(f"\n  all together repeat after {advice.repeats_s:.4g} s ({counts} periods)")
    print(f"  factor {advice.factor:.4g} on the frequencies takes {advice.factor_limit} to its limit")
    for remark in advice.remarks:
        print(f"  ! {remark}")
    if advice.suggested_hz is not None:
        print(f"  better: --frequencies {','.join(f'{value:g}' for value in advice.suggested_hz)}")
