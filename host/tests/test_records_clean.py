"""Defects put into a good record are found, counted and repaired, or refused."""

import math
from dataclasses import replace

import numpy as np
import pytest

from idmkit.errors import RecordError
from idmkit.records import AxisLimits, Channel, Record, clean, reduced

RATE, SECONDS = 500.0, 6.0
LIMITS = {"a": AxisLimits(revolute=True, position_min=-4, position_max=4, velocity_max=10, torque_max=20)}


def good(offset: float = 0.0) -> Record:
    """A sine of 2 rad at 0.5 Hz with encoder steps of 1e-4 rad, and a torque with noise of 0.05 Nm."""
    time = np.arange(round(RATE * SECONDS)) / RATE
    position = offset + 2 * np.sin(math.pi * time)
    torque = 5 * np.sin(math.pi * time + 0.4) + 0.05 * np.random.default_rng(0).standard_normal(len(time))
    return Record(
        RATE,
        (
            Channel("position", "position", "rad", "a", np.round(position, 4)),
            Channel("torque", "torque", "Nm", "a", torque),
        ),
    )


def changed(record: Record, index: int, change) -> Record:
    samples = record.channels[index].samples.copy()
    result = change(samples)
    return record.replaced({index: samples if result is None else result})


def cleaned(record: Record):
    return clean(record, LIMITS)


def found(result, code: str):
    match = [finding for finding in result.findings if finding.code == code]
    assert len(match) == 1, [finding.code for finding in result.findings]
    return match[0]


def close_to_good(result, tolerance: float = 2e-3) -> bool:
    """Positions agree with the undamaged record within a few encoder steps."""
    return np.nanmax(np.abs(result.record.channels[0].samples - good().channels[0].samples)) < tolerance


def test_a_good_record_passes_unchanged():
    record = good()
    result = cleaned(record)
    assert result.findings == ()
    assert all(
        np.array_equal(a.samples, b.samples) for a, b in zip(result.record.channels, record.channels, strict=True)
    )
    assert result.segments() == [slice(0, record.rows)]


def test_cells_without_numbers_are_interpolated_with_a_count():
    def damage(samples):
        samples[[100, 101, 700]] = math.nan
        samples[900] = math.inf

    result = cleaned(changed(good(), 0, damage))
    assert found(result, "not_a_number").evidence["rows"] == 4
    assert result.record.gaps == ()
    assert close_to_good(result)


def test_a_channel_of_nothing_is_refused_by_name():
    record = good().replaced({1: np.full(3000, math.nan)})
    with pytest.raises(RecordError, match="a: torque holds no number in 3000 of 3000 rows"):
        cleaned(record)


def test_a_long_gap_cuts_the_record():
    def damage(samples):
        samples[1000:1200] = math.nan

    result = cleaned(changed(good(), 1, damage))
    assert result.record.gaps == ((1000, 200),)
    assert result.segments() == [slice(0, 1000), slice(1200, 3000)]
    assert np.isnan(result.record.channels[0].samples[1000:1200]).all()
    assert found(result, "gaps").evidence["longest_s"] == pytest.approx(0.4)


def test_gaps_of_a_capture_are_known_already():
    record = good()
    for channel in record.channels:
        channel.samples[500:700] = math.nan
    result = cleaned(replace(record, gaps=((500, 200),)))
    assert result.record.gaps == ((500, 200),)
    assert [finding.code for finding in result.findings] == ["gaps"]


@pytest.mark.parametrize("offset", [0.0, 3.0, -40.0])
def test_wraps_are_taken_out(offset):
    record = good(offset)
    wrapped = changed(record, 0, lambda samples: np.mod(samples + math.pi, 2 * math.pi) - math.pi)
    limits = {"a": replace(LIMITS["a"], position_min=-100, position_max=100)}
    result = clean(wrapped, limits)
    moved = result.record.channels[0].samples - record.channels[0].samples
    # The number of whole turns before the first sample is not in the record.
    assert np.ptp(moved) < 1e-9
    assert abs(moved[0] / (2 * math.pi) - round(moved[0] / (2 * math.pi))) < 1e-9
    codes = [finding.code for finding in result.findings]
    assert codes == ([] if offset == 0 else ["wraps"])


def test_wraps_of_an_encoder_behind_a_gear_show_their_own_period():
    period = 2 * math.pi / 32
    result = cleaned(changed(good(), 0, lambda samples: np.mod(samples, period)))
    finding = found(result, "wraps")
    assert finding.evidence["period"] == pytest.approx(period, rel=0.1)


def test_spikes_are_replaced_in_position_and_in_torque():
    def hit(height):
        def damage(samples):
            samples[[300, 1500, 1501]] += height

        return damage

    for index, height in ((0, 0.5), (1, 15.0)):
        result = cleaned(changed(good(), index, hit(height)))
        assert found(result, "spikes").evidence["samples"] == 3
        assert np.abs(result.record.channels[index].samples - good().channels[index].samples).max() < 0.3


def test_many_torque_spikes_are_what_the_drive_did_and_stay():
    rng = np.random.default_rng(1)
    rows = rng.choice(3000, 60, replace=False)

    def damage(samples):
        samples[rows] += 12 * rng.choice([-1, 1], 60)

    result = cleaned(changed(good(), 1, damage))
    assert found(result, "spikes").evidence["replaced"] == 0
    assert result.record.channels[1].samples[rows[0]] != good().channels[1].samples[rows[0]]


def test_isolated_stale_rows_are_interpolated():
    record = good()
    rows = [200, 640, 1900]
    for channel in record.channels:
        channel.samples[rows] = channel.samples[[row - 1 for row in rows]]
    result = cleaned(record)
    assert found(result, "stale_rows").evidence["rows"] == 3
    assert close_to_good(result)


def test_a_source_slower_than_the_record_sets_the_rate():
    record = good()
    for channel in record.channels:
        channel.samples[:] = np.repeat(channel.samples[::10], 10)
    result = cleaned(record)
    assert found(result, "stale_source").evidence["percent"] > 70
    assert result.record.sample_rate_hz == pytest.approx(50, rel=1e-3)


def timed(record: Record, time: np.ndarray) -> Record:
    return replace(record, time=time)


def test_jitter_is_said_and_resampled():
    rng = np.random.default_rng(3)
    time = np.arange(3000) / RATE + 2e-4 * rng.uniform(-1, 1, 3000)
    result = cleaned(timed(good().replaced({0: 2 * np.sin(math.pi * time)}), time))
    assert result.record.time is None
    assert found(result, "jitter").severity == "info"
    grid = time[0] + np.arange(result.record.rows) / result.record.sample_rate_hz
    # Cubic interpolation of a slow sine: far below an encoder step.
    assert np.abs(result.record.channels[0].samples - 2 * np.sin(math.pi * grid)).max() < 1e-6


def test_rows_lost_in_time_are_found():
    keep = np.ones(3000, dtype=bool)
    keep[[50, 800, 801]] = False
    keep[2000:2100] = False
    record = good()
    short = replace(record.replaced({k: c.samples[keep] for k, c in enumerate(record.channels)}), time=None)
    result = cleaned(timed(short, (np.arange(3000) / RATE)[keep]))
    assert found(result, "gaps_filled").evidence["rows"] == 3
    assert found(result, "gaps").evidence["rows"] == 100
    assert result.record.gaps == ((2000, 100),)
    assert result.record.rows == 3000
    assert close_to_good(result)


def test_repeated_stamps_are_left_out():
    time = np.arange(3000) / RATE
    time[100] = time[99]
    result = cleaned(timed(good(), time))
    assert found(result, "repeated_times").evidence["rows"] == 1


def test_rows_without_time_are_left_out():
    time = np.arange(3000) / RATE
    time[500] = math.nan
    result = cleaned(timed(good(), time))
    assert found(result, "rows_without_time").evidence["rows"] == 1
    assert close_to_good(result)


def test_time_going_backwards_is_refused_with_the_place():
    time = np.arange(3000) / RATE
    time[1500:] -= 2.0
    with pytest.raises(
        RecordError, match=r"backwards after row 1500: 2\.998000 s is followed by 1\.000000 s \(1 place"
    ):
        cleaned(timed(good(), time))


def test_degrees_and_thousandths_are_refused_with_a_guess():
    with pytest.raises(RecordError, match=r"position reaches 114\.6 rad, 28\.6 times .* looks like degrees"):
        cleaned(changed(good(), 0, np.degrees))
    with pytest.raises(RecordError, match=r"torque reaches 5\d\d\d Nm.* looks like thousandths"):
        cleaned(changed(good(), 1, lambda samples: 1000 * samples))


def test_a_torque_held_at_a_limit_is_found_and_its_rows_are_marked():
    result = cleaned(changed(good(), 1, lambda samples: np.clip(samples, -4.2, 4.2)))
    clips = [finding for finding in result.findings if finding.code == "torque_clipped"]
    assert {finding.evidence["limit"] for finding in clips} == {4.2, -4.2}
    torque = good().channels[1].samples
    assert result.clipped.sum() == np.sum(np.abs(torque) >= 4.2)


def test_a_smooth_crest_of_a_coarse_channel_is_no_clipping():
    result = cleaned(good().replaced({1: np.round(5 * np.sin(np.arange(3000) / 200), 2)}))
    assert result.findings == ()


def test_a_round_extreme_among_odd_values_is_a_limit():
    record = good()
    speed = np.random.default_rng(5).normal(0, 3, 3000).clip(-14, 14) / 1.0001
    speed[1234] = 15.0
    channel = Channel("velocity", "velocity", "rad/s", "a", speed)
    limits = {"a": replace(LIMITS["a"], velocity_max=40)}
    result = clean(replace(record, channels=(*record.channels, channel)), limits)
    finding = found(result, "velocity_clipped")
    assert finding.evidence["limit"] == 15.0
    assert "exactly 15 rad/s in 1 sample" in finding.message


def test_axes_must_have_common_names():
    with pytest.raises(RecordError, match="the record has axes a, the robot file b: none in common"):
        clean(good(), {"b": LIMITS["a"]})


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows_are_refused(rows):
    record = good()
    with pytest.raises(RecordError, match=f"{rows} row"):
        cleaned(record.replaced({k: c.samples[:rows] for k, c in enumerate(record.channels)}))


def test_a_record_much_faster_than_the_cutoff_is_reduced():
    record = good()
    for channel in record.channels:
        channel.samples[1000:1200] = math.nan
    result = cleaned(replace(record, gaps=((1000, 200),)))
    assert reduced(result, RATE / 50) is result
    slow = reduced(result, 5.0)  # 500 Hz are 100 times 5 Hz; every 4th row leaves 25 times
    assert slow.record.sample_rate_hz == RATE / 4
    assert found(slow, "rate_reduced").evidence == {"factor": 4}
    assert slow.record.rows == 750
    assert slow.record.gaps == ((250, 50),)
    whole = good().channels[0].samples[::4]
    inner = np.r_[20:230, 320:730]
    # An encoder step, and what the low-pass takes from a slow sine: nothing.
    assert np.abs(slow.record.channels[0].samples - whole)[inner].max() < 1e-4


def test_a_clipped_row_among_those_reduced_to_one_counts():
    result = cleaned(good())
    marked = replace(result, clipped=np.arange(3000) == 1001)
    assert np.flatnonzero(reduced(marked, 5.0).clipped).tolist() == [250]
