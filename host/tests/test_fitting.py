"""From record and robot to a judged result, on simulated runs of the ready robots; each way to spoil one is noticed."""

import json
from dataclasses import replace

import numpy as np
import pytest
from simulated import identification_run, measured, record_of

from idmkit.errors import IdentificationError, IdmError, RecordError
from idmkit.fitting import fit_record
from idmkit.records import Channel
from idmkit.verdict import load_result


def crank_record(seed=0):
    motion = identification_run("crank")
    return measured(motion, seed), motion.robot


def with_axis(robot, **changes):
    return replace(robot, axes=(replace(robot.axes[0], **changes),))


def with_run(robot, **changes):
    return with_axis(robot, identification_or_none=replace(robot.axes[0].identification, **changes))


def altered(index, change):
    record, robot = crank_record()
    return record.replaced({index: change(record.channels[index].samples)}), robot


def codes(result):
    return {finding.code: finding for finding in result.verdict.findings}


def test_the_result_has_the_stored_form(tmp_path):
    record, robot = crank_record()
    result = fit_record(record, robot).result
    result.save(tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text())
    assert list(data) == [
        "schema",
        "robot",
        "model",
        "estimator",
        "samples",
        "sample_rate_hz",
        "cutoff_hz",
        "gravity",
        "parameters",
        "axes",
        "verdict",
    ]
    assert (data["robot"], data["model"], data["cutoff_hz"], data["gravity"]) == ("crank", "rotary 3", 20.0, 9.80665)
    assert all(list(entry) == ["name", "value", "std", "rsd_percent", "unit"] for entry in data["parameters"])
    assert [entry["name"] for entry in data["parameters"]] == [
        f"crank.{n}" for n in ("I", "L2", "MgA", "gL", "Fv", "Fc")
    ]
    assert list(data["axes"][0]) == [
        "name",
        "viscous_friction",
        "coulomb_friction",
        "velocity_threshold",
        "moving_samples",
        "max_relative_error_percent",
        "mean_relative_error_percent",
        "relative_error_percent",
    ]
    assert list(data["verdict"]) == ["accepted", "findings"]
    assert load_result(tmp_path / "r.json") == result


def test_a_good_run_is_accepted_with_small_errors():
    record, robot = crank_record()
    result = fit_record(record, robot).result
    axis = result.axes[0]
    assert result.verdict.accepted
    assert set(codes(result)) == {"without_payload"}
    assert 0 < axis.mean_relative_error_percent < axis.max_relative_error_percent < 2
    # Five periods of the 20 Hz cutoff are trimmed at each end.
    assert result.samples == record.rows - 500
    assert 0.8 * result.samples < axis.moving_samples < result.samples


def test_what_only_a_payload_would_show_comes_from_the_geometry():
    record, robot = crank_record()
    by_name = {parameter.name: parameter for parameter in fit_record(record, robot).result.parameters}
    assert by_name["crank.L2"].value == pytest.approx(0.16)
    assert by_name["crank.gL"].value == pytest.approx(0.4 * robot.gravity)
    assert by_name["crank.L2"].std is None
    open_ended = fit_record(record, with_axis(robot, geometry={})).result
    assert {"crank.L2", "crank.gL"}.isdisjoint(open_ended.values())
    assert "is left open" in codes(open_ended)["without_payload"].message


def test_the_slide_takes_gcos_from_its_other_parameters_or_from_the_tilt():
    motion = identification_run("slide")
    record = measured(motion, 0)
    values = fit_record(record, motion.robot).result.values()
    assert values["slide.gcos"] == pytest.approx(values["slide.Mgcos"] / values["slide.M"])
    tilted = with_axis(motion.robot, geometry={"tilt": 0.5})
    assert fit_record(record, tilted).result.values()["slide.gcos"] == pytest.approx(9.80665 * np.cos(0.5))


def test_another_model_can_be_asked_for_and_fails_by_the_success_rule_or_says_so():
    record, robot = crank_record()
    result = fit_record(record, robot, model=1).result
    assert result.model == "rotary 1"
    assert {"torque_error", "unexplained"} & set(codes(result))


def test_torque_of_the_wrong_sign_is_refused_as_such():
    result = fit_record(*altered(1, np.negative)).result
    assert not result.verdict.accepted
    assert codes(result)["sign"].severity == "refusal"
    assert "opposite signs" in codes(result)["sign"].message


def test_torque_of_the_wrong_scale_is_refused_as_such():
    result = fit_record(*altered(1, lambda torque: 5 * torque)).result
    assert not result.verdict.accepted
    assert "MgA = 15" in codes(result)["out_of_range"].message or "I = 0.6" in codes(result)["out_of_range"].message
    with pytest.raises(RecordError, match="looks like thousandths"):
        fit_record(*altered(1, lambda torque: 1000 * torque))


def test_degrees_for_radians_are_refused():
    with pytest.raises(RecordError, match="looks like degrees"):
        fit_record(*altered(0, np.degrees))


def test_a_torque_of_another_motion_is_refused():
    rng = np.random.default_rng(0)
    result = fit_record(*altered(1, rng.permutation)).result
    assert not result.verdict.accepted
    assert codes(result)["torque_error"].severity == "refusal"


def test_saturation_is_found_though_the_recorder_clips_nothing():
    record, robot = crank_record()
    small = with_axis(robot, drive_or_none=replace(robot.axes[0].drive, peak_torque=0.6))
    finding = codes(fit_record(record, small).result)["saturation"]
    assert finding.evidence["torque_max"] == pytest.approx(6.0)


def short(seconds):
    record, robot = crank_record()
    rows = round(seconds * record.sample_rate_hz)
    return record.replaced({k: c.samples[:rows] for k, c in enumerate(record.channels)}), robot


def test_a_short_record_is_said_to_be_short():
    finding = codes(fit_record(*short(4.0)).result)["too_short"]
    assert finding.evidence["periods"] == pytest.approx(1.75, abs=0.05)
    with pytest.raises(IdentificationError, match="Record longer"):
        fit_record(*short(0.3))


def test_a_slow_motion_is_said_to_be_slow():
    """A tenth of the amplitude at a tenth of the speed: inertia drowns, and the reason is named."""
    motion = identification_run("crank")
    time = np.arange(16000) / 1000
    position = 0.3 * np.cos(2 * np.pi * 0.5 * time)
    velocity = -0.3 * np.pi * np.sin(np.pi * time)
    torque = -3.0 * np.sin(position) + 0.35 * np.sign(velocity)
    torque += 0.05 * np.random.default_rng(0).standard_normal(len(time))
    robot = with_run(motion.robot, velocity_threshold=0.1)
    result = fit_record(record_of(robot, position, torque), robot).result
    assert codes(result)["too_slow"].evidence["top_speed"] == pytest.approx(0.3 * np.pi, rel=0.01)
    assert codes(result)["region_small"].evidence["span"] == pytest.approx(0.6, rel=0.01)


def test_standstill_is_refused_in_a_sentence():
    motion = identification_run("crank")
    position, torque = np.full(5000, 0.5), np.random.default_rng(0).standard_normal(5000)
    with pytest.raises(IdentificationError, match="moves faster than its velocity threshold 1 in 0"):
        fit_record(record_of(motion.robot, position, torque), motion.robot)


def test_a_velocity_channel_that_contradicts_the_position_is_said():
    record, robot = crank_record()
    speed = np.gradient(record.channels[0].samples) * record.sample_rate_hz
    for factor, words in ((-1.0, "opposite sign"), (57.3, "as degrees would"), (2.0, "is 2 times")):
        wide = with_axis(robot, velocity_max=1000.0)
        channel = Channel("velocity", "velocity", "rad/s", "crank", factor * speed)
        result = fit_record(replace(record, channels=(*record.channels, channel)), wide).result
        assert words in codes(result)["velocity_differs"].message


def test_cutoffs_are_checked_against_motion_and_rate():
    record, robot = crank_record()
    slide = identification_run("slide")
    with pytest.raises(IdentificationError, match="would cut off the motion itself"):
        fit_record(measured(slide, 0), slide.robot, cutoff_hz=0.9)
    with pytest.raises(IdentificationError, match="Nyquist"):
        fit_record(record, robot, cutoff_hz=500)
    unknown = with_axis(robot, identification_or_none=None)
    with pytest.raises(IdentificationError, match="give one with --cutoff HZ"):
        fit_record(record, unknown)
    assert fit_record(record, unknown, cutoff_hz=20).result.axes[0].velocity_threshold == pytest.approx(0.94, rel=0.01)


def test_results_that_are_none_are_said_to_be_none(tmp_path):
    path = tmp_path / "r.json"
    with pytest.raises(IdmError, match="cannot be read"):
        load_result(path)
    path.write_text("{")
    with pytest.raises(IdmError, match="is not JSON"):
        load_result(path)
    path.write_text('{"schema": 1}')
    with pytest.raises(IdmError, match="no identification result"):
        load_result(path)
    path.write_text('{"schema": 7}')
    with pytest.raises(IdmError, match="schema 7, this program reads 1"):
        load_result(path)
