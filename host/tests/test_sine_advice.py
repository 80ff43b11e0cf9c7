"""The page's three examples (the second with its frequency corrected), and what the limits allow."""

import dataclasses
import json

import pytest

from idmkit.cli.main import main
from idmkit.errors import IdentificationError
from idmkit.robot import load_robot
from idmkit.sine_advice import WORST, advise, frequency_pairs, repetition, suggest

NAMES = ("j1", "j2", "j3")
CRANK = load_robot("crank")


def arm(*frequencies: float, duration_s: float = 10.0):
    """A robot of cranks, one a frequency."""
    axis = CRANK.axes[0]
    axes = tuple(
        dataclasses.replace(
            axis,
            name=f"j{k}",
            identification_or_none=dataclasses.replace(
                axis.identification, frequency_hz=frequency, duration_s=duration_s
            ),
        )
        for k, frequency in enumerate(frequencies, start=1)
    )
    return dataclasses.replace(CRANK, axes=axes)


def worst(frequencies, duration_s):
    pairs = frequency_pairs(NAMES, frequencies, duration_s)
    return max(pairs, key=lambda pair: WORST[pair.quality])


def test_first_example_is_bad():
    pair = worst((1, 2, 1.2), 3)
    assert (pair.axes, pair.periods, pair.quality) == (("j1", "j2"), (1, 2), "bad")


def test_second_example_is_medium():
    """Printed with 1.2 twice; three periods of j2 and two of j3 need 1.8."""
    pair = worst((1, 1.8, 1.2), 3)
    assert (pair.axes, pair.periods, pair.quality) == (("j2", "j3"), (3, 2), "medium")
    assert worst((1, 1.2, 1.2), 3).quality == "bad"


def test_third_example_is_good_and_repeats_after_11_13_15_periods():
    assert worst((1.1, 1.3, 1.5), 3).quality == "good"
    seconds, periods = repetition((1.1, 1.3, 1.5))
    assert periods == (11, 13, 15)
    assert seconds == pytest.approx(10.0)


def test_the_page_s_delta_program_is_good():
    pairs = frequency_pairs("1234", [0.3 * f for f in (1, 1.27, 1.43, 1.13)], 20)
    assert {pair.quality for pair in pairs} == {"good"}


def test_nearly_equal_frequencies_stay_in_step_while_the_record_is_short():
    """j5 and j6 of the page's PUMA program: 1.21 and 1.17 part by an eighth of a period in 20 s."""
    (short,) = frequency_pairs(("j5", "j6"), (0.15 * 1.21, 0.15 * 1.17), 20)
    (long,) = frequency_pairs(("j5", "j6"), (0.15 * 1.21, 0.15 * 1.17), 100)
    assert (short.quality, short.periods) == ("bad", (1, 1))
    assert "up to 0.034 of a period" in str(short)
    assert (long.quality, long.periods) == ("good", (121, 117))


def test_a_common_factor_changes_no_ratio():
    for factor in (0.01, 0.3, 7.0):
        _, periods = repetition([factor * f for f in (1, 1.27, 1.43, 1.13)])
        assert periods == (100, 127, 143, 113)


def test_factor_takes_the_first_axis_to_its_limit():
    robot = arm(0.4, 0.52)
    advice = advise(robot)
    faster = advise(robot, factor=advice.factor)
    assert max(max(axis.speed_used, axis.acceleration_used) for axis in faster.axes) == pytest.approx(1)
    assert advice.factor_limit == "the acceleration of j2"
    run = robot.axes[0].identification
    assert advice.axes[0].speed_used == pytest.approx(run.peak_velocity / robot.axes[0].velocity_max)
    assert advice.axes[0].speed_factor == pytest.approx(robot.axes[0].velocity_max / run.peak_velocity)


def test_beyond_a_limit_is_said():
    remarks = advise(arm(0.4), factor=3).remarks
    assert any("goes beyond its limit; multiply all frequencies by" in remark for remark in remarks)


def test_three_periods_and_the_range_are_asked_for():
    advice = advise(arm(0.4, duration_s=5.0))
    assert advice.needed_s == pytest.approx(7.5)
    assert advice.axes[0].periods == pytest.approx(2.0)
    assert advice.axes[0].to_limits == pytest.approx((3.5, 2.5))
    assert any("record at least 7.5 s for three" in remark for remark in advice.remarks)
    assert any("j1 uses 50 % of its range" in remark for remark in advice.remarks)


def test_a_better_choice_is_good_and_near():
    frequencies = (1.0, 2.0, 1.0, 3.0)
    better = suggest(frequencies, 10.0)
    assert better is not None
    assert {pair.quality for pair in frequency_pairs("1234", better, 10.0)} == {"good"}
    assert all(abs(new / old - 1) <= 0.25 for new, old in zip(better, frequencies, strict=True))
    advice = advise(arm(0.4, 0.4))
    assert advice.quality == "bad"
    assert advice.suggested_hz is not None


def test_one_axis_has_no_pairs():
    advice = advise(CRANK)
    assert (advice.quality, advice.pairs) == ("good", ())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"frequencies": [1, 2]}, "2 frequencies for 1 axes"),
        ({"frequencies": [0]}, "positive"),
        ({"factor": -1}, "pos"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(IdentificationError, match=words):
        advise(CRANK, **options)


def test_the_command(capsys):
    assert main(["advise", "crank", "--duration", "4"]) == 0
    out = capsys.readouterr().out
    assert "takes the acceleration of crank to its limit" in out
    assert "record at least 6 s" in out
    assert main(["advise", "crank", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["quality"] == "good"
    assert main(["advise", "crank", "--frequencies", "one"]) == 1
    assert "takes numbers" in capsys.readouterr().err
