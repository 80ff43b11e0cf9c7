"""Identification runs of a machine spoiled on purpose: each cause is named where it is.

The counts of many runs and machines are `make bench-verdict`.
"""

import pytest
from spoiled_runs import CLASSES, good

from idmkit.errors import IdentificationError
from idmkit.fitting import fit_record

ROBOT, SEED = "scara", 2000


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind != "too_slow"])
def test_the_cause_is_named(kind):
    spoil, codes = CLASSES[kind]
    spoiled = spoil(ROBOT, SEED)
    findings = fit_record(spoiled.record, spoiled.robot).result.verdict.findings
    named = [finding for finding in findings if finding.code in codes]
    assert named
    if spoiled.axes:
        assert any({f.axis, str(f.evidence.get("against", ""))} & spoiled.axes for f in named)


def test_a_motion_below_the_velocity_threshold_is_refused_before_the_fit():
    spoiled = CLASSES["too_slow"][0](ROBOT, SEED)
    with pytest.raises(IdentificationError, match="move faster or longer"):
        fit_record(spoiled.record, spoiled.robot)


def test_a_good_run_is_accepted_without_a_warning():
    run = good(ROBOT, SEED)
    verdict = fit_record(run.record, run.robot).result.verdict
    assert verdict.accepted
    assert {finding.severity for finding in verdict.findings} == {"info"}
    (unseen,) = (finding for finding in verdict.findings if finding.code == "torque_factor_unseen")
    assert "j3" in str(unseen.evidence["axes"])
