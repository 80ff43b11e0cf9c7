"""Compiled programs: known text, proved and measured error, saturation, parameters, limits from the robot file.

Run as a script, this file writes the golden programs anew.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from compiled_models import MACHINES, SINGLE, all_axes, arm, graph_and_limits, model

from idmkit.errors import ModelError, RobotFileError
from idmkit.fixedpoint import (
    Emulator,
    Limits,
    ParameterOutOfRange,
    compile_program,
    compile_robot,
    error_report,
    robot_limits,
)
from idmkit.fixedpoint.limits import HEADROOM
from idmkit.fixedpoint.program import Code
from idmkit.fixedpoint.ranges import Interval
from idmkit.fixedpoint.report import input_counts, torque_errors
from idmkit.robot import load_robot
from idmkit.robot_graph import robot_graph

GOLDEN = Path(__file__).parent / "golden"
GOLDEN_MODELS = {"axes": all_axes, "arm": arm}
TORQUE_STEP = 2.0**-16
PEAK_SHARE = 1e-3
"""What a compiled model may lose on any axis, as a share of the drive's peak torque."""


@pytest.mark.parametrize("name", GOLDEN_MODELS)
def test_programs_are_the_golden_ones(name):
    """A change here means: boards must be given their program and their image anew."""
    assert model(name)[0].text() == (GOLDEN / f"program_{name}.txt").read_text()


def test_hash_is_a_small_integer_and_follows_the_program():
    graph, limits = arm()
    program = compile_program(graph, limits)
    again = compile_program(*arm())
    velocity = limits.inputs[2]
    faster = (*limits.inputs[:2], Interval(velocity.low, velocity.high + 1), *limits.inputs[3:])
    other = compile_program(graph, replace(limits, inputs=faster))
    assert program.hash == again.hash != other.hash
    assert 0 < program.hash < 2**30


@pytest.mark.parametrize("name", [*SINGLE, "axes", "arm"])
def test_error_is_within_its_proved_bound(name):
    program, limits = model(name)
    report = error_report(program, limits, draws=20, states=5000)
    for axis in report.axes:
        assert 0 < axis.rms < axis.largest <= axis.bound
    assert report.proved + report.saturated == len(program.code)
    assert (report.saturated_states > 0) == (name == "arm"), "only the arm is made to leave the wire's range"
    assert report.axes[0].axis in report.text()


@pytest.mark.parametrize("name", [*SINGLE, *MACHINES])
def test_robots_lose_less_than_a_thousandth_of_peak_torque(name):
    """On every axis, wrists too, at the worst states that a search finds; no value inside the box is limited."""
    program, limits = model(name)
    report = error_report(program, limits)
    assert max(axis.largest_percent for axis in report.axes) < 100 * PEAK_SHARE
    assert min(axis.largest_percent for axis in report.axes) > 0
    assert report.saturated_states == 0
    assert report.parameter_sets == 103


def test_widening_brings_the_error_within_the_budget():
    graph, limits = arm()
    tight = compile_program(graph, limits)
    loose = compile_program(graph, replace(limits, peak_torque=(1e9, 1e9)))
    assert all(t < loose_bound for t, loose_bound in zip(tight.error_bounds, loose.error_bounds, strict=True))
    assert tight.count(Code.MUL) > loose.count(Code.MUL)


def test_inputs_beyond_the_limits_are_held_and_counted():
    program, limits = model("crank")
    _, high = input_counts(program, limits)
    p = [parameter.limit // 8 for parameter in program.parameters]
    far = high + np.array([2**24, 10**6, 10**6, 5])
    at = high + np.array([2**24, 1, 1, 0])
    y = Emulator(program).run([far, -far], p)
    assert y[:, -1].tolist() == [3, 3]
    assert Emulator(program).run([high], p)[0, -1] == 0
    assert abs(int(y[0, 0]) - int(Emulator(program).run([at], p)[0, 0])) <= 1


def test_a_torque_beyond_the_wire_is_limited_and_counted():
    program, limits = model("arm")
    _, high = input_counts(program, limits)
    y = Emulator(program).run([high], [parameter.limit for parameter in program.parameters])
    assert y[0, -1] > 0
    largest = np.abs(y[0, :-1]).max()
    assert 2**30 - 2**8 < largest < 2**30


def test_parameters_become_mantissas_and_back():
    program, limits = model("crank")
    values = {p.key: 0.4 * (i.low + i.high) for p, i in zip(program.parameters, limits.parameters, strict=True)}
    for key, value in program.values(program.mantissas(values)).items():
        exponent = next(p.exponent for p in program.parameters if p.key == key)
        assert abs(value - values[key]) <= 2.0 ** (exponent - 1)


def test_a_parameter_outside_its_range_says_recompile():
    program, _ = model("crank")
    values = dict.fromkeys((p.key for p in program.parameters), 0.0)
    largest = program.parameters[0].maximum
    program.mantissas(values | {"crank.I": largest})
    with pytest.raises(ParameterOutOfRange, match=r"crank\.I = .* recompile"):
        program.mantissas(values | {"crank.I": largest * 1.001})
    with pytest.raises(ParameterOutOfRange):
        program.mantissas(values | {"crank.I": float("nan")})
    with pytest.raises(ModelError, match=r"missing crank\.I, unknown crank\.J"):
        program.mantissas({key: 0.0 for key in values if key != "crank.I"} | {"crank.J": 1.0})


def test_emulator_refuses_mantissas_that_nothing_is_proved_for():
    program, _ = model("slide")
    p = [parameter.limit for parameter in program.parameters]
    with pytest.raises(ModelError, match="within the program's limits"):
        Emulator(program).run([[0] * 4], [p[0] + 1, *p[1:]])
    with pytest.raises(ModelError, match="within the program's limits"):
        Emulator(program).run([[0] * 4], p[1:])


def test_parameters_have_headroom_of_two_bits_in_both_signs():
    program, limits = model("crank")
    index = [p.key for p in program.parameters].index("crank.Fv")
    declared = limits.parameters[index].high
    assert program.parameters[index].maximum == pytest.approx(4 * declared, rel=2.0**-13)
    theta = np.zeros(len(program.parameters))
    theta[index] = -program.parameters[index].maximum
    low, high = input_counts(program, limits)
    assert torque_errors(program, np.array([low, high]), theta).max() <= program.error_bounds[0]


def without(robot, *names, **changes):
    axis = robot.axes[0]
    ranges = {name: pair for name, pair in axis.parameter_ranges.items() if name not in names}
    return replace(robot, axes=(replace(axis, parameter_ranges=ranges, **changes),))


def limits_of(robot):
    graph = robot_graph(robot)
    limits = robot_limits(robot, graph)
    return dict(zip(graph.keys, limits.parameters, strict=True))


def test_without_a_declared_range_geometry_or_the_peak_torque_decide():
    robot = load_robot("crank")
    axis = robot.axes[0]
    limits = limits_of(without(robot, "I", "L2", "gL", "Fc", "payload_mass"))
    peak = axis.drive.joint_peak_torque
    assert limits["crank.I"].high * HEADROOM == pytest.approx(peak / axis.acceleration_max)
    assert limits["crank.Fc"].high * HEADROOM == pytest.approx(peak)
    assert limits["crank.L2"] == Interval(0.0, axis.geometry["crank_length"] ** 2)
    assert limits["crank.payload_mass"] == Interval(0.0, 0.0)


def test_a_robot_without_payload_has_no_payload_terms():
    robot = without(load_robot("crank"), "payload_mass", "payload_inertia")
    program = compile_robot(robot)
    assert program.count(Code.PARAMETER) == 4
    with pytest.raises(ParameterOutOfRange, match="payload_mass"):
        program.mantissas(dict.fromkeys((p.key for p in program.parameters), 0.0) | {"crank.payload_mass": 0.1})


def test_a_robot_known_from_records_only_cannot_be_compiled():
    with pytest.raises(RobotFileError, match="drive"):
        compile_robot(without(load_robot("crank"), drive_or_none=None))


def test_infinite_or_reversed_limits_are_refused():
    graph, limits = graph_and_limits("slide")
    for bad in (Interval(-float("inf"), 1), Interval(2, 1), Interval(0, float("nan"))):
        with pytest.raises(ModelError, match="finite"):
            compile_program(graph, replace(limits, inputs=(bad, *limits.inputs[1:])))
    with pytest.raises(ModelError, match="positive"):
        Limits(limits.inputs, limits.parameters, (0.0,))


def test_an_axis_without_model_gives_friction_only():
    robot = without(load_robot("slide"), dynamic_model=0)
    program = compile_robot(robot)
    assert [p.key for p in program.parameters][:2] == ["slide.Fv", "slide.Fc"]
    assert program.count(Code.PARAMETER) == 2


if __name__ == "__main__":
    for model_name in GOLDEN_MODELS:
        (GOLDEN / f"program_{model_name}.txt").write_text(model(model_name)[0].text())
