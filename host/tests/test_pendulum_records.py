"""Records of a real pendulum, through mapping file and command line path: signs, offsets and units must be right."""

from pathlib import Path

import pytest

from idmkit.fitting import fit_record
from idmkit.records import import_tables, load_mapping
from idmkit.robot import load_robot

FOLDER = Path(__file__).parent / "data" / "dfki_simple_pendulum"


def fitted(name: str, cutoff_hz: float):
    record, noticed = import_tables([FOLDER / f"{name}_data_measured.csv.gz"], load_mapping(FOLDER / "mapping.toml"))
    return fit_record(record, load_robot(FOLDER / "pendulum.toml"), cutoff_hz=cutoff_hz, noticed=noticed).result


@pytest.mark.parametrize("cutoff_hz", [5.0, 10.0, 20.0, 50.0])
def test_the_commanded_gravity_torque_comes_out(cutoff_hz):
    result = fitted("gravcomp", cutoff_hz)
    values = result.values()
    # What the record's makers commanded: m g l sin q with m g l = 3.31 Nm.
    assert values["pendulum.MgA"] == pytest.approx(3.31, rel=0.01)
    # The command knows no inertia and no friction: what is found of them is next to nothing.
    assert abs(values["pendulum.I"]) < 5e-3
    assert abs(values["pendulum.Fc"]) < 0.03
    assert result.axes[0].relative_error_percent < 2
    assert result.verdict.accepted


def test_missing_rows_of_a_one_kilohertz_record_are_counted():
    findings = {finding.code: finding for finding in fitted("gravcomp", 20.0).verdict.findings}
    # Steps of 5.49 ms and 1.82 ms among steps of 1 ms: four rows and one are missing.
    assert findings["gaps_filled"].evidence["rows"] == 5
    assert findings["too_slow"].evidence["top_speed"] < 3


def test_the_speed_that_stops_at_exactly_fifteen_is_said():
    result = fitted("sysid", 8.0)
    clips = [finding for finding in result.verdict.findings if finding.code == "velocity_clipped"]
    assert [clip.evidence["limit"] for clip in clips] == [15.0]
    assert "exactly 15 rad/s" in clips[0].message
    assert clips[0].next_step


def test_a_torque_full_of_control_spikes_is_refused_with_the_number():
    result = fitted("sysid", 8.0)
    assert not result.verdict.accepted
    refusals = [finding for finding in result.verdict.findings if finding.severity == "refusal"]
    assert "torque_error" in {finding.code for finding in refusals}
