#!/usr/bin/env python3
"""Prints how often the 95 % intervals of 200 seeded identifications hold the parameters that the plant has.

One line of JSON; exit code 1 where a share leaves 90 to 99 %.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "host" / "tests"))

from simulated import coverage

RUNS = 200
LOW, HIGH = 0.90, 0.99
COLOURED = 0.95
"""Each sample of the coloured noise has so much of the one before: a corner at 8 Hz, among the motion's harmonics."""


def main() -> int:
    """Runs both ready robots with white and with coloured noise; seeds 0 to 199."""
    shares = {
        f"{name}, {colour} noise": {key: hits / RUNS for key, hits in coverage(name, range(RUNS), rho).items()}
        for name in ("crank", "slide")
        for colour, rho in (("white", 0.0), ("coloured", COLOURED))
    }
    passed = all(LOW <= share <= HIGH for robot in shares.values() for share in robot.values())
    print(json.dumps({"runs": RUNS, "interval": 0.95, "limits": [LOW, HIGH], "inside": shares, "passed": passed}))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
