#!/usr/bin/env python3
"""Scores predictions of the TX40's torque on the half of its record that the fit has not seen.

One line of JSON: error in percent an axis and their mean, for plain friction and with the friction ladder, and the
ratio to the best reference. Everything is chosen inside the training half.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "host" / "tests"))

import numpy as np
import tx40


def main() -> int:
    """Both directions, with and without the ladder; exit code 1 where the ladder misses the goal."""
    results, passed = {}, True
    for train, test in (("A", "B"), ("B", "A")):
        for ladder in (False, True):
            fit = tx40.fit_half(train, estimator="consistent", ladder=ladder)
            errors = tx40.score(tx40.prediction(fit), test)
            reference = np.array(tx40.REFERENCE[test])
            results[f"{train} -> {test}, {'friction ladder' if ladder else 'plain friction'}"] = {
                "percent": [round(float(error), 2) for error in errors],
                "mean_percent": round(float(errors.mean()), 2),
                "ratio_to_reference": round(float(errors.mean() / reference.mean()), 3),
                "worst_axis_to_reference": round(float((errors / reference).max()), 3),
                "terms": [
                    p.name for p in fit.result.parameters if p.name.split(".")[1][:2] in ("Fa", "Fs", "F2", "Fl")
                ],
            }
            if ladder:
                passed &= bool(errors.mean() <= tx40.GOAL[test] and (errors / reference).max() <= 1.05)
    print(json.dumps({"results": results, "goal_mean_percent": tx40.GOAL, "passed": passed}))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
