"""Parameter sets: what is kept of them, and which changes are a drift."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from idmkit.errors import IdmError
from idmkit.parameter_sets import compare, keep, read_parameters
from idmkit.verdict import ParameterResult, Result, Verdict


def parameter(name: str, value: float, std: float | None = None) -> ParameterResult:
    return ParameterResult(name, value, std, None, "Nm")


def a_result(*parameters: ParameterResult) -> Result:
    return Result("crank", "by hand", "none", 0, 1000.0, 20.0, 9.80665, parameters, (), Verdict(True, ()))


def test_a_kept_set_says_when_under_which_conditions_and_from_what(tmp_path: Path) -> None:
    place = tmp_path / "warm.json"
    result = a_result(parameter("crank.Fc", 0.35, 0.01), parameter("crank.Fv", 0.08))
    moment = datetime(2026, 3, 4, 5, 6, 7, 890, tzinfo=UTC)
    kept = keep(place, result, 7, 0xDEADBEEF, conditions="20 °C, no load", record="warm.npz", now=moment)
    assert kept == tmp_path / "warm.set-20260304T050607Z.json"
    said = json.loads(kept.read_text(encoding="utf-8"))
    assert said.pop("parameters")[0] == {
        "name": "crank.Fc", "value": 0.35, "std": 0.01, "rsd_percent": None, "unit": "Nm"
    }  # fmt: skip
    assert said == {
        "schema": 1, "robot": "crank", "written": "2026-03-04T05:06:07+00:00", "conditions": "20 °C, no load",
        "record": "warm.npz", "result": "warm.json", "generation": 7, "crc": 0xDEADBEEF,
    }  # fmt: skip
    result.save(place)
    assert read_parameters(kept, "crank") == read_parameters(place, "crank") == list(result.parameters)


def test_a_drift_is_large_and_no_chance() -> None:
    before = [parameter(name, 2.0, 0.1) for name in ("same", "little", "large", "down", "gone")]
    now = [parameter("same", 2.0), parameter("little", 2.19), parameter("large", 2.5), parameter("down", 1.5)]
    changes = {change.name: change for change in compare(before, now)}
    assert list(changes) == ["same", "little", "large", "down"]
    assert [change.percent for change in changes.values()] == pytest.approx([0.0, 9.5, 25.0, -25.0])
    assert [change.alarm for change in changes.values()] == [False, False, True, True]
    # Within three standard deviations of both, 0.6 here, it may be chance.
    assert not compare([parameter("wide", 2.0, 0.12)], [parameter("wide", 2.59, 0.16)])[0].alarm
    assert compare([parameter("wide", 2.0, 0.12)], [parameter("wide", 2.61, 0.16)])[0].alarm
    assert compare(before, now, alarm_percent=9.0)[1].std == 0.1
    assert not compare([parameter("a", 100.0)], [parameter("a", 109.0)])[0].alarm
    assert compare([parameter("a", 100.0)], [parameter("a", 109.0)], alarm_percent=8.0)[0].alarm


def test_a_parameter_that_was_zero() -> None:
    still, came = compare([parameter("a", 0.0), parameter("b", 0.0)], [parameter("a", 0.0), parameter("b", -1.0)])
    assert (still.percent, still.alarm) == (0.0, False)
    assert (came.percent, came.alarm) == (-math.inf, True)


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    with pytest.raises(IdmError, match="no parameter in common"):
        compare([parameter("a", 1.0)], [parameter("b", 1.0)])
    place = tmp_path / "set.json"
    with pytest.raises(IdmError, match="cannot be read"):
        read_parameters(place, "crank")
    for text in ("", "[]", "{}", '{"schema": 1, "robot": "crank", "parameters": [{"name": 1}]}'):
        place.write_text(text)
        with pytest.raises(IdmError, match="neither a kept set nor a result"):
            read_parameters(place, "crank")
    place.write_text('{"schema": 9}')
    with pytest.raises(IdmError, match="has schema 9"):
        read_parameters(place, "crank")
    a_result(parameter("a", 1.0)).save(place)
    with pytest.raises(IdmError, match="is of the robot 'crank', the robot file is of 'slide'"):
        read_parameters(place, "slide")
